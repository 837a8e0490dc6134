// Reading a plan and deciding by it; see plan.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/reordering/plan.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/fnv.hpp"

namespace corewise::preload::reorder {
namespace {

constexpr int kMost = 1 << 20;  ///< ranks or units; more is no plan

bool is_order(const std::vector<int>& ranks) {
  std::vector<bool> seen(ranks.size());
  for (const int rank : ranks) {
    if (rank < 0 || static_cast<std::size_t>(rank) >= ranks.size() || seen[static_cast<std::size_t>(rank)])
      return false;
    seen[static_cast<std::size_t>(rank)] = true;
  }
  return !ranks.empty();
}

Plan read_order(std::string_view list) {
  Plan plan;
  while (!list.empty()) {
    int rank = -1;
    const auto [end, error] = std::from_chars(list.data(), list.data() + list.size(), rank);
    if (error != std::errc()) return {};
    plan.order.push_back(rank);
    list.remove_prefix(static_cast<std::size_t>(end - list.data()));
    if (!list.empty() && list.front() != ',') return {};
    if (!list.empty()) list.remove_prefix(1);
  }
  if (!is_order(plan.order)) return {};
  plan.kind = Plan::Kind::order;
  return plan;
}

template <class Number>
bool read_numbers(std::istream& from, std::size_t count, std::vector<Number>& into) {
  into.resize(count);
  for (Number& number : into)
    if (!(from >> number) || number < 0) return false;
  return true;
}

bool within(const std::vector<int>& values, int end) {
  return std::all_of(values.begin(), values.end(), [end](int value) { return value < end; });
}

Plan read_file(const std::string& text) {
  std::istringstream from(text);
  std::string name;
  int version = 0, ranks = 0, units = 0;
  Plan plan;
  if (!(from >> name >> version >> ranks >> units) || name != "corewise-reorder" || version != 1) return {};
  if (ranks < 1 || units < 1 || ranks > kMost || units > kMost) return {};
  const auto unit_count = static_cast<std::size_t>(units);
  if (unit_count * unit_count > text.size()) return {};  // a distance takes two letters
  if (!read_numbers(from, unit_count, plan.os_index) ||
      !read_numbers(from, static_cast<std::size_t>(ranks), plan.unit_of_rank) ||
      !read_numbers(from, unit_count * unit_count, plan.distance) || !within(plan.unit_of_rank, units))
    return {};
  plan.kind = Plan::Kind::placement;
  plan.farthest = *std::max_element(plan.distance.begin(), plan.distance.end());
  return plan;
}

std::string content(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

/// CPUs of the core that `cpu` belongs to; itself where the kernel does not say.
std::vector<int> core_of(int cpu) {
  char path[96];
  std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  std::istringstream list(content(path));
  std::vector<int> cpus;
  for (int first = 0; list >> first;) {
    int last = first;
    if (list.peek() == '-') list.ignore() >> last;
    for (int each = first; each <= last && each - first < 64; ++each) cpus.push_back(each);
    if (list.peek() == ',') list.ignore();
  }
  return cpus.empty() ? std::vector<int>{cpu} : cpus;
}

bool holds(const std::vector<int>& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

/// The only unit with an index among `cpus`; kUnbound for several, kElsewhere for none.
std::int64_t only_unit(const Plan& plan, const std::vector<int>& cpus) {
  std::int64_t found = Seat::kElsewhere;
  for (std::size_t unit = 0; unit < plan.os_index.size(); ++unit) {
    if (!holds(cpus, plan.os_index[unit])) continue;
    if (found != Seat::kElsewhere) return Seat::kUnbound;
    found = static_cast<std::int64_t>(unit);
  }
  return found;
}

std::string text_of(std::size_t number) {
  return std::to_string(number);
}

Decision stay(std::string reason) {
  return {{}, std::move(reason)};
}

/// What keeps the seats from being one plan's, in words; empty when nothing does.
std::string disagreement(const std::vector<Seat>& seats) {
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    if (seats[rank].unit == Seat::kNoPlan) return "launch rank " + text_of(rank) + " could not read the plan";
    if (seats[rank].plan != seats[0].plan) return "launch ranks 0 and " + text_of(rank) + " have different plans";
  }
  return {};
}

/// What keeps launch rank `rank` from being placed, in words.
std::string misplaced(const Plan& plan, std::size_t rank, std::int64_t unit) {
  if (unit == Seat::kUnbound)
    return "launch rank " + text_of(rank) + " is not bound to one unit (bind ranks to cores: --bind-to core)";
  if (unit == Seat::kElsewhere)
    return "launch rank " + text_of(rank) + " runs on a CPU that is no unit of the placement's machine";
  if (!holds(plan.unit_of_rank, static_cast<int>(unit)))
    return "launch rank " + text_of(rank) + " runs on CPU " +
           std::to_string(plan.os_index[static_cast<std::size_t>(unit)]) + ", where the placement has no rank";
  return {};
}

/// Gives the ranks of one node (`members`, ascending launch ranks) their places among themselves.
std::string order_node(const Plan& plan, const std::vector<Seat>& seats, const std::vector<std::size_t>& members,
                       std::vector<int>& launch_ranks) {
  if (members.size() != plan.unit_of_rank.size())
    return "a node has " + text_of(members.size()) + " ranks, the placement places " +
           text_of(plan.unit_of_rank.size());
  std::vector<std::int64_t> occupant(plan.os_index.size(), -1);
  for (const std::size_t rank : members) {
    const std::int64_t unit = seats[rank].unit;
    if (std::string why = misplaced(plan, rank, unit); !why.empty()) return why;
    std::int64_t& before = occupant[static_cast<std::size_t>(unit)];
    if (before >= 0)
      return "launch ranks " + std::to_string(before) + " and " + text_of(rank) + " share CPU " +
             std::to_string(plan.os_index[static_cast<std::size_t>(unit)]);
    before = static_cast<std::int64_t>(rank);
  }
  for (std::size_t i = 0; i < members.size(); ++i)
    launch_ranks[members[i]] = static_cast<int>(occupant[static_cast<std::size_t>(plan.unit_of_rank[i])]);
  return {};
}

Decision place(const Plan& plan, const std::vector<Seat>& seats) {
  std::vector<int> launch_ranks(seats.size(), -1);
  for (std::size_t first = 0; first < seats.size(); ++first) {
    if (launch_ranks[first] >= 0) continue;
    std::vector<std::size_t> members;
    for (std::size_t rank = first; rank < seats.size(); ++rank)
      if (seats[rank].node == seats[first].node) members.push_back(rank);
    if (std::string why = order_node(plan, seats, members, launch_ranks); !why.empty()) return stay(why);
  }
  return {launch_ranks, {}};
}

Decision ordered(const Plan& plan, std::size_t size) {
  if (plan.order.size() != size)
    return stay("the world has " + text_of(size) + " ranks, the order names " + text_of(plan.order.size()));
  return {plan.order, {}};
}

Decision reversed(std::size_t size) {
  Decision decision;
  for (std::size_t rank = size; rank-- > 0;) decision.launch_ranks.push_back(static_cast<int>(rank));
  return decision;
}

}  // namespace

Plan read_plan(std::string_view text) {
  constexpr std::string_view kOrder = "order:";
  Plan plan;
  std::string whole(text);
  if (text == "reverse") {
    plan.kind = Plan::Kind::reverse;
  } else if (text.substr(0, kOrder.size()) == kOrder) {
    plan = read_order(text.substr(kOrder.size()));
  } else {
    whole = content(whole.c_str());
    plan = read_file(whole);
  }
  plan.hash = fnv(whole);
  return plan;
}

std::int64_t find_unit(const Plan& plan) {
  if (plan.kind == Plan::Kind::none) return Seat::kNoPlan;
  if (plan.kind != Plan::Kind::placement) return Seat::kUnbound;  // such plans do not ask
  const std::vector<int> cpus = allowed_cpus();
  if (cpus.empty()) return Seat::kUnbound;
  const std::int64_t unit = only_unit(plan, cpus);
  if (unit == Seat::kUnbound) return unit;
  const std::vector<int> core = core_of(cpus.front());
  for (const int cpu : cpus)
    if (!holds(core, cpu)) return Seat::kUnbound;
  return unit >= 0 ? unit : only_unit(plan, core);
}

Decision decide(const Plan& plan, const std::vector<Seat>& seats) {
  if (std::string why = disagreement(seats); !why.empty()) return stay(why);
  switch (plan.kind) {
    case Plan::Kind::reverse:
      return reversed(seats.size());
    case Plan::Kind::order:
      return ordered(plan, seats.size());
    case Plan::Kind::placement:
      return place(plan, seats);
    case Plan::Kind::none:
      break;
  }
  return stay("there is no plan");
}

std::int64_t distance(const Plan& plan, const std::vector<Seat>& seats, int a, int b) {
  const Seat& from = seats[static_cast<std::size_t>(a)];
  const Seat& to = seats[static_cast<std::size_t>(b)];
  if (plan.kind != Plan::Kind::placement) return std::abs(static_cast<std::int64_t>(a) - b);
  if (from.node != to.node) return 4 * (1 + plan.farthest);
  const std::size_t units = plan.os_index.size();
  return plan.distance[static_cast<std::size_t>(from.unit) * units + static_cast<std::size_t>(to.unit)];
}

}  // namespace corewise::preload::reorder

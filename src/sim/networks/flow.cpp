// Max-min fair sharing of links by classes of flows.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/networks/flow.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/rng.hpp"

namespace corewise::sim {
namespace {

using machine::LinkId;
using machine::UnitId;

/// Up to so many active classes everything is solved together and remembered; beyond, only what a change moves.
constexpr std::size_t kSmallSet = 64;
constexpr std::size_t kMemorySlots = 4096;
/// Where a change touches more than one link in so many, the whole crowd is solved at once: looking for whom the
/// change displaces takes longer than solving for all.
constexpr std::size_t kWide = 4;
/// Start times that a new flow is compared with.
constexpr std::size_t kMostOpen = 8;
/// Rounding errors of a service are far smaller than this part of a tick; a flow that lacks less is through.
constexpr double kTickSlack = 1e-3;
/// Rates of a crowd that differ by less are equal.
constexpr double kRateSlack = 1e-12;
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

std::vector<double> capacities(const machine::Machine& machine) {
  std::vector<double> capacity;
  for (const machine::Link& link : machine.links) {
    capacity.push_back(link.bandwidth_gb_per_s / static_cast<double>(kTicksPerNs));
  }
  return capacity;
}

constexpr auto later_end = [](const auto& a, const auto& b) {
  return a.end != b.end ? a.end > b.end : a.message > b.message;
};

constexpr auto larger_share = [](const auto& a, const auto& b) {
  return a.rate != b.rate ? a.rate > b.rate : a.link > b.link;
};

/// Rounded up; of 0 or more. (std::ceil is a call into the library.)
Time whole_ticks(double ticks) {
  const double least = ticks - kTickSlack;
  const auto below = static_cast<Time>(least);
  return static_cast<double>(below) < least ? below + 1 : below;
}

}  // namespace

// ---- MaxMin ----

MaxMin::MaxMin(std::vector<double> capacity) : capacity_(std::move(capacity)), links_(capacity_.size()) {}

MaxMin::Share MaxMin::share_of(LinkId link) const {
  const LinkState& state = links_[static_cast<std::size_t>(link)];
  return {std::max(state.left, 0.0) / state.unfixed, link};
}

void MaxMin::enter(std::span<const FlowDemand> demands, std::span<const double> taken) {
  users_.clear();
  shares_.clear();
  entered_.clear();
  for (std::size_t d = 0; d < demands.size(); ++d) {
    for (const LinkId link : demands[d].links) {
      LinkState& state = links_[static_cast<std::size_t>(link)];
      if (state.first < 0) {
        state = {capacity_[static_cast<std::size_t>(link)], 0, -1};
        if (!taken.empty()) state.left -= taken[static_cast<std::size_t>(link)];
        entered_.push_back(link);
      }
      state.unfixed += demands[d].flows;
      users_.push_back({static_cast<std::int32_t>(d), state.first});
      state.first = static_cast<std::int32_t>(users_.size()) - 1;
    }
  }
  for (const LinkId link : entered_) shares_.push_back(share_of(link));
  std::make_heap(shares_.begin(), shares_.end(), larger_share);
}

/// Gives the link's share to those of its users that have no rate yet; returns how many those are.
std::size_t MaxMin::fix_users(std::span<const FlowDemand> demands, std::span<FlowRate> rates, const Share& share) {
  std::size_t fixed = 0;
  const LinkState& state = links_[static_cast<std::size_t>(share.link)];
  for (std::int32_t u = state.first; u >= 0; u = users_[static_cast<std::size_t>(u)].next) {
    const auto demand = static_cast<std::size_t>(users_[static_cast<std::size_t>(u)].demand);
    if (rates[demand].limit >= 0) continue;
    rates[demand] = {share.rate, share.link};
    ++fixed;
    for (const LinkId link : demands[demand].links) {
      LinkState& other = links_[static_cast<std::size_t>(link)];
      other.left -= share.rate * demands[demand].flows;
      other.unfixed -= demands[demand].flows;
    }
  }
  return fixed;
}

void MaxMin::solve(std::span<const FlowDemand> demands, std::span<FlowRate> rates, std::span<const double> taken) {
  std::fill(rates.begin(), rates.end(), FlowRate{});
  enter(demands, taken);
  for (std::size_t fixed = 0; fixed < demands.size();) {
    const Share least = shares_.front();
    std::pop_heap(shares_.begin(), shares_.end(), larger_share);
    shares_.pop_back();
    if (links_[static_cast<std::size_t>(least.link)].unfixed == 0) continue;
    const Share present = share_of(least.link);
    if (present.rate > least.rate) {  // others took less than their share here: later
      shares_.push_back(present);
      std::push_heap(shares_.begin(), shares_.end(), larger_share);
      continue;
    }
    fixed += fix_users(demands, rates, least);
  }
  for (const LinkId link : entered_) links_[static_cast<std::size_t>(link)].first = -1;
}

// ---- FlowNetwork: messages ----

FlowNetwork::FlowNetwork(Engine& engine, const machine::Machine& machine)
    : Network(engine, machine),
      capacity_(capacities(machine)),
      solver_(capacity_),
      pair_at_(machine.units.size() * machine.units.size(), kNone),
      links_(machine.links.size()),
      taken_(machine.links.size()),
      memory_(kMemorySlots) {}

FlowNetwork::ClassId FlowNetwork::new_class(const machine::Route& route) {
  const auto id = static_cast<ClassId>(classes_.size());
  Class made;
  auto seed = static_cast<std::uint64_t>(id);
  made.key = splitmix64(seed);
  made.first_link = static_cast<std::int32_t>(route_links_.size());
  made.hops = static_cast<std::int32_t>(route.links.size());
  for (const LinkId link : route.links) {
    route_links_.push_back(link);
    made.latency +=
        std::llround(machine_.links[static_cast<std::size_t>(link)].latency_ns * static_cast<double>(kTicksPerNs));
  }
  classes_.push_back(std::move(made));
  uses_.emplace_back();
  return id;
}

/// On an idle network the routes of a pair work side by side; the slowest link, with all routes over it, decides.
double FlowNetwork::ticks_per_byte(const machine::Routes& routes) const {
  double slowest = 0;
  std::vector<std::pair<LinkId, int>> uses;
  for (const machine::Route& route : routes) {
    for (const LinkId link : route.links) {
      const auto at = std::find_if(uses.begin(), uses.end(), [&](const auto& use) { return use.first == link; });
      if (at == uses.end()) {
        uses.emplace_back(link, 1);
      } else {
        ++at->second;
      }
    }
  }
  for (const auto& [link, count] : uses) {
    const double part = static_cast<double>(count) / static_cast<double>(routes.size());
    slowest = std::max(slowest, part / capacity_[static_cast<std::size_t>(link)]);
  }
  return slowest;
}

const FlowNetwork::Pair& FlowNetwork::pair_of(UnitId from, UnitId to) {
  std::int32_t& at = pair_at_[index_of(from, to)];
  if (at != kNone) return pairs_[static_cast<std::size_t>(at)];
  at = static_cast<std::int32_t>(pairs_.size());
  Pair& pair = pairs_.emplace_back();
  const auto routes = machine_.routes(from, to);
  pair.first = static_cast<ClassId>(classes_.size());
  pair.routes = static_cast<std::int32_t>(routes.size());
  for (const machine::Route& route : routes) {
    pair.latency = std::max(pair.latency, classes_[static_cast<std::size_t>(new_class(route))].latency);
  }
  pair.ticks_per_byte = ticks_per_byte(routes);
  return pair;
}

Time FlowNetwork::alone(UnitId from, UnitId to, std::uint64_t bytes) const {
  const auto routes = machine_.routes(from, to);
  Time latency = 0;
  for (const machine::Route& route : routes) {
    Time sum = 0;
    for (const LinkId link : route.links) {
      sum += std::llround(machine_.links[static_cast<std::size_t>(link)].latency_ns *
                          static_cast<double>(kTicksPerNs));
    }
    latency = std::max(latency, sum);
  }
  return latency + whole_ticks(static_cast<double>(bytes) * ticks_per_byte(routes));
}

std::int32_t FlowNetwork::new_message(const Message& message) {
  if (free_messages_.empty()) {
    messages_.push_back(message);
    return static_cast<std::int32_t>(messages_.size()) - 1;
  }
  const std::int32_t index = free_messages_.back();
  free_messages_.pop_back();
  messages_[static_cast<std::size_t>(index)] = message;
  return index;
}

void FlowNetwork::send(UnitId from, UnitId to, std::uint64_t bytes, const Handler& delivered) {
  count_sent(from, bytes);
  const Pair pair = pair_of(from, to);
  const Time expected =
      engine_.now() + pair.latency + whole_ticks(static_cast<double>(bytes) * pair.ticks_per_byte);
  const std::int32_t message = new_message({delivered, bytes, expected, from, to, pair.routes});
  if (classes_[static_cast<std::size_t>(pair.first)].hops == 0) {
    engine_.after(0, {&deliver_local, this, static_cast<std::uint64_t>(message)});
    return;
  }
  for (ClassId id = pair.first; id < pair.first + pair.routes; ++id) {
    start_at(engine_.now() + classes_[static_cast<std::size_t>(id)].latency, id, message);
  }
}

void FlowNetwork::deliver_local(void* self, std::uint64_t message) {
  auto& network = *static_cast<FlowNetwork*>(self);
  network.messages_[message].parts_left = 1;
  network.end_part(static_cast<std::int32_t>(message));
  network.deliver_finished();
}

/// Flows that start at one time share an event: programs in step send many of them.
void FlowNetwork::start_at(Time when, ClassId id, std::int32_t message) {
  for (const std::uint32_t batch : open_) {
    if (batches_[batch].when != when) continue;
    batches_[batch].flows.push_back({id, message});
    return;
  }
  if (free_batches_.empty()) {
    free_batches_.push_back(static_cast<std::uint32_t>(batches_.size()));
    batches_.emplace_back();
  }
  const std::uint32_t batch = free_batches_.back();
  free_batches_.pop_back();
  batches_[batch].when = when;
  batches_[batch].flows.push_back({id, message});
  if (open_.size() == kMostOpen) open_.erase(open_.begin());
  open_.push_back(batch);
  engine_.at(when, {&start_batch, this, batch});
}

void FlowNetwork::start_batch(void* self, std::uint64_t batch) {
  auto& network = *static_cast<FlowNetwork*>(self);
  const auto index = static_cast<std::uint32_t>(batch);
  const auto at = std::find(network.open_.begin(), network.open_.end(), index);
  if (at != network.open_.end()) network.open_.erase(at);
  network.starting_.swap(network.batches_[index].flows);
  network.free_batches_.push_back(index);
  for (const Starting& flow : network.starting_) network.start_part(flow.id, flow.message);
  network.starting_.clear();
  network.deliver_finished();
}

/// The bytes of a message are divided evenly over its routes, the first ones taking what is left over.
void FlowNetwork::start_part(ClassId id, std::int32_t index) {
  const Message& message = messages_[static_cast<std::size_t>(index)];
  const Pair& pair = pair_of(message.from, message.to);
  const auto routes = static_cast<std::uint64_t>(pair.routes);
  const auto which = static_cast<std::uint64_t>(id - pair.first);
  const std::uint64_t bytes =
      routes == 1 ? message.bytes : message.bytes / routes + (which < message.bytes % routes ? 1 : 0);
  start(id, index, bytes);
}

void FlowNetwork::start(ClassId id, std::int32_t message, std::uint64_t bytes) {
  Class& entered = classes_[static_cast<std::size_t>(id)];
  entered.bytes += bytes;
  ++entered.flows;
  if (bytes == 0) {
    end_part(message);
    return;
  }
  if (entered.position == kNone) activate(id);
  advance(id);
  ++use_of(id).flows;
  entered.parts.push_back({entered.service + static_cast<double>(bytes), message});
  std::push_heap(entered.parts.begin(), entered.parts.end(), later_end);
  sum_ += entered.key;
  occupy(entered);
  if (!entered.changed) changed_.push_back(id);
  entered.changed = true;
  ask_for_solution();
}

void FlowNetwork::end_part(std::int32_t message) {
  if (--messages_[static_cast<std::size_t>(message)].parts_left == 0) finished_.push_back(message);
}

void FlowNetwork::deliver_finished() {
  delivering_.swap(finished_);
  for (const std::int32_t index : delivering_) {
    const Message message = messages_[static_cast<std::size_t>(index)];
    free_messages_.push_back(index);
    count_received(message.from, message.to, message.bytes, std::max<Time>(0, engine_.now() - message.expected));
    message.delivered();
  }
  delivering_.clear();
}

// ---- classes on links ----

void FlowNetwork::occupy(const Class& entered) {
  for (const LinkId link : links_of(entered)) {
    LinkState& state = links_[static_cast<std::size_t>(link)];
    if (state.flows++ == 0) state.busy_since = engine_.now();
    state.most = std::max(state.most, state.flows);
  }
}

void FlowNetwork::release(const Class& left) {
  for (const LinkId link : links_of(left)) {
    LinkState& state = links_[static_cast<std::size_t>(link)];
    if (--state.flows == 0) state.busy += engine_.now() - state.busy_since;
  }
}

void FlowNetwork::activate(ClassId id) {
  Class& entered = classes_[static_cast<std::size_t>(id)];
  entered.position = static_cast<std::int32_t>(active_.size());
  entered.service = 0;
  entered.updated = engine_.now();
  use_of(id) = {};
  active_.push_back({id, kForever});
  for (const LinkId link : links_of(entered)) links_[static_cast<std::size_t>(link)].users.push_back(id);
}

void FlowNetwork::deactivate(std::size_t position) {
  const ClassId id = active_[position].id;
  Class& left = classes_[static_cast<std::size_t>(id)];
  for (const LinkId link : links_of(left)) std::erase(links_[static_cast<std::size_t>(link)].users, id);
  left.position = kNone;
  active_[position] = active_.back();
  active_.pop_back();
  if (position < active_.size()) {
    classes_[static_cast<std::size_t>(active_[position].id)].position = static_cast<std::int32_t>(position);
  }
}

// ---- the end of flows ----

void FlowNetwork::complete_due(void* self, std::uint64_t version) {
  auto& network = *static_cast<FlowNetwork*>(self);
  if (version != network.version_) return;  // rates have changed since
  network.scheduled_ = kForever;
  for (std::size_t position = network.active_.size(); position-- > 0;) {
    if (network.active_[position].next <= network.engine_.now()) network.end_due_parts(position);
  }
  network.ask_for_solution();
  network.deliver_finished();
}

/// The earliest flow of the class is due, and with it those that lack less than a tick's rounding.
void FlowNetwork::end_due_parts(std::size_t position) {
  const ClassId id = active_[position].id;
  Class& due = classes_[static_cast<std::size_t>(id)];
  advance(id);
  const double reached = std::max(due.service, due.parts.front().end) + use_of(id).rate * kTickSlack;
  while (!due.parts.empty() && due.parts.front().end <= reached) {
    end_part(due.parts.front().message);
    std::pop_heap(due.parts.begin(), due.parts.end(), later_end);
    due.parts.pop_back();
    --use_of(id).flows;
    sum_ -= due.key;
    release(due);
  }
  active_[position].next = kForever;
  if (!due.changed) changed_.push_back(id);
  due.changed = true;
  if (due.parts.empty()) deactivate(position);
}

// ---- solutions ----

void FlowNetwork::ask_for_solution() {
  if (asked_) return;
  asked_ = true;
  engine_.after(0, {&solve_now, this, 0});
}

void FlowNetwork::solve_now(void* self, std::uint64_t) {
  static_cast<FlowNetwork*>(self)->solve();
}

void FlowNetwork::solve() {
  asked_ = false;
  if (active_.size() > kSmallSet) {
    solve_crowd();
  } else if (!active_.empty() && !recall()) {
    set_.clear();
    for (const Active& active : active_) set_.push_back(active.id);
    solve_set();
    for (std::size_t i = 0; i < set_.size(); ++i) apply(set_[i], rates_[i]);
    remember();
  }
  for (const ClassId id : changed_) classes_[static_cast<std::size_t>(id)].changed = false;
  changed_.clear();
  schedule_next();
}

/// Gives a class its rate; its next end changes with the rate or with its flows.
void FlowNetwork::apply(ClassId id, const FlowRate& given) {
  Use& use = use_of(id);
  use.limit = given.limit;
  if (given.rate == use.rate && !classes_[static_cast<std::size_t>(id)].changed) return;
  advance(id);
  use.rate = given.rate;
  expect_end(id);
}

/// When the next flow of the class ends by its rate of now.
void FlowNetwork::expect_end(ClassId id) {
  const Class& moving = classes_[static_cast<std::size_t>(id)];
  const double left = moving.parts.front().end - moving.service;
  active_[static_cast<std::size_t>(moving.position)].next =
      engine_.now() + std::max<Time>(0, whole_ticks(left / use_of(id).rate));
}

/// Solves for the classes of set_, into rates_.
void FlowNetwork::solve_set(std::span<const double> taken) {
  std::sort(set_.begin(), set_.end());
  demands_.clear();
  for (const ClassId id : set_) {
    demands_.push_back({links_of(classes_[static_cast<std::size_t>(id)]), use_of(id).flows});
  }
  rates_.resize(set_.size());
  solver_.solve(demands_, rates_, taken);
  rates_solved_ += set_.size();
}

bool FlowNetwork::recall() {
  const auto& known = memory_[sum_ % kMemorySlots];
  if (known.size() != active_.size()) return false;
  for (const Remembered& one : known) {
    if (use_of(one.id).flows != one.flows) return false;
  }
  for (const Remembered& one : known) apply(one.id, one.given);
  return true;
}

void FlowNetwork::remember() {
  auto& slot = memory_[sum_ % kMemorySlots];
  slot.clear();
  for (std::size_t i = 0; i < set_.size(); ++i) slot.push_back({set_[i], demands_[i].flows, rates_[i]});
}

// ---- solutions of a crowd ----

/// Solves for the classes that a change limits, the others keeping their rates; then with those that must give or
/// may take more, until there are none. Where that is going to be many, for all at once.
void FlowNetwork::solve_crowd() {
  set_.clear();
  touched_links_.clear();
  choose_limited();
  for (std::size_t solved = 0; solved < set_.size();) {
    if (touched_links_.size() * kWide > links_.size()) {
      for (const Active& active : active_) choose(active.id);
      solve_chosen({});
      break;
    }
    solved = set_.size();
    count_taken();
    solve_chosen(taken_);
    choose_displaced();
  }
  for (const LinkId link : touched_links_) links_[static_cast<std::size_t>(link)].touched = false;
  for (const ClassId id : set_) {
    use_of(id).chosen = false;
    expect_end(id);
  }
}

/// Solves for the classes of set_ and gives them their rates.
void FlowNetwork::solve_chosen(std::span<const double> taken) {
  solve_set(taken);
  for (std::size_t i = 0; i < set_.size(); ++i) {
    use_of(set_[i]).rate = rates_[i].rate;
    use_of(set_[i]).limit = rates_[i].limit;
  }
}

void FlowNetwork::choose(ClassId id) {
  if (use_of(id).chosen) return;
  use_of(id).chosen = true;
  set_.push_back(id);
  advance(id);  // its rate is about to change
  for (const LinkId link : links_of(classes_[static_cast<std::size_t>(id)])) {
    LinkState& state = links_[static_cast<std::size_t>(link)];
    if (state.touched) continue;
    state.touched = true;
    touched_links_.push_back(link);
  }
}

/// What changed, and what a link of it limits.
void FlowNetwork::choose_limited() {
  for (const ClassId id : changed_) {
    const Class& changed = classes_[static_cast<std::size_t>(id)];
    if (changed.position != kNone) choose(id);
    for (const LinkId link : links_of(changed)) {
      for (const ClassId other : on(link)) {
        if (use_of(other).limit == link) choose(other);
      }
    }
  }
}

void FlowNetwork::count_taken() {
  for (const LinkId link : touched_links_) {
    double taken = 0;
    for (const ClassId id : on(link)) {
      const Use& other = use_of(id);
      if (!other.chosen) taken += other.rate * other.flows;
    }
    taken_[static_cast<std::size_t>(link)] = taken;
  }
}

void FlowNetwork::choose_displaced() {
  for (std::size_t i = touched_links_.size(); i-- > 0;) displaced_on(touched_links_[i]);
}

/// A link that limits somebody is full and gives nobody more. Who has more than those that it limits, and whom it
/// limits although it is not full or gives others more, is solved for again.
void FlowNetwork::displaced_on(LinkId link) {
  double used = 0, most = 0, limited = kUnlimited;          // of all; of those of set_ that it limits
  double most_of_others = 0, least_of_others = kUnlimited;  // of those that keep their rates; that it limits
  for (const ClassId id : on(link)) {
    const Use& user = use_of(id);
    used += user.rate * user.flows;
    most = std::max(most, user.rate);
    const double limited_here = user.limit == link ? user.rate : kUnlimited;
    if (user.chosen) {
      limited = std::min(limited, limited_here);
    } else {
      most_of_others = std::max(most_of_others, user.rate);
      least_of_others = std::min(least_of_others, limited_here);
    }
  }
  const bool full = used >= capacity_[static_cast<std::size_t>(link)] * (1 - kRateSlack);
  const double too_much = limited * (1 + kRateSlack);
  const double too_little = full ? most * (1 - kRateSlack) : kUnlimited;
  if (most_of_others <= too_much && least_of_others >= too_little) return;
  for (const ClassId id : on(link)) {
    const Use& user = use_of(id);
    if (!user.chosen && (user.rate > too_much || (user.limit == link && user.rate < too_little))) choose(id);
  }
}

void FlowNetwork::schedule_next() {
  Time earliest = kForever;
  for (const Active& active : active_) earliest = std::min(earliest, active.next);
  if (earliest == scheduled_) return;
  scheduled_ = earliest;
  ++version_;
  if (earliest != kForever) engine_.at(earliest, {&complete_due, this, version_});
}

std::vector<LinkStatistics> FlowNetwork::link_statistics() const {
  std::vector<LinkStatistics> statistics(links_.size());
  for (std::size_t l = 0; l < links_.size(); ++l) {
    const Time open = links_[l].flows > 0 ? engine_.now() - links_[l].busy_since : 0;
    statistics[l].busy = links_[l].busy + open;
    statistics[l].largest_queue = links_[l].most;
  }
  for (const Class& one : classes_) {
    for (const LinkId link : links_of(one)) {
      statistics[static_cast<std::size_t>(link)].bytes += one.bytes;
      statistics[static_cast<std::size_t>(link)].packets += one.flows;
    }
  }
  return statistics;
}

}  // namespace corewise::sim

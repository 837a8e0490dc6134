// The queue at every PPE. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/messages/forwarding.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>

namespace corewise::simmpi {
namespace {

using machine::UnitId;
using sim::Time;

constexpr std::uint64_t kProbeBytes = 1U << 20U;

/// The part of each unit at a level, by number, and the names of the parts.
struct Parts {
  Parts(const machine::Machine& machine, std::size_t level) {
    std::map<std::string, int> numbers;
    for (const machine::Unit& unit : machine.units) {
      std::string name;
      for (std::size_t i = 0; i < std::min(level, unit.domains.size()); ++i) {
        name += (i > 0 ? "/" : "") + unit.domains[i];
      }
      const auto [at, added] = numbers.try_emplace(name, static_cast<int>(names.size()));
      if (added) names.push_back(name);
      of_unit.push_back(at->second);
    }
  }
  std::vector<int> of_unit;
  std::vector<std::string> names;
};

Parts cells_of(const machine::Machine& machine) {
  return {machine, std::numeric_limits<std::size_t>::max()};
}

std::string short_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

/// What the quickest message takes that crosses the level: ns without bytes, and ns per byte.
struct Quickest {
  double latency_ns = std::numeric_limits<double>::infinity();
  double byte_ns = std::numeric_limits<double>::infinity();
};

Quickest quickest(const machine::Machine& machine, const sim::Network& network, std::size_t level) {
  const std::vector<int> part = Parts(machine, level).of_unit;
  const Parts cells = cells_of(machine);
  std::vector<UnitId> first(cells.names.size(), -1);  // one unit of each Cell says enough
  for (std::size_t unit = part.size(); unit-- > 0;) {
    first[static_cast<std::size_t>(cells.of_unit[unit])] = static_cast<UnitId>(unit);
  }
  Quickest found;
  for (const UnitId from : first) {
    for (const UnitId to : first) {
      if (part[static_cast<std::size_t>(from)] == part[static_cast<std::size_t>(to)]) continue;
      const auto ticks_per_ns = static_cast<double>(sim::kTicksPerNs);
      const auto empty = static_cast<double>(network.alone(from, to, 0)) / ticks_per_ns;
      const auto full = static_cast<double>(network.alone(from, to, kProbeBytes)) / ticks_per_ns;
      found.latency_ns = std::min(found.latency_ns, empty);
      found.byte_ns = std::min(found.byte_ns, (full - empty) / static_cast<double>(kProbeBytes));
    }
  }
  return found;
}

}  // namespace

Status Forwarding::check(const Settings& settings, const machine::Machine& machine, const sim::Network& network) {
  const Quickest alone = quickest(machine, network, static_cast<std::size_t>(settings.forward_level));
  const std::string why = ", what a message of '" + machine.name + "' alone has time for";
  if (2 * settings.forward_ns > alone.latency_ns) {
    return bad_field("", "forward_ns", short_text(settings.forward_ns),
                     "0 to " + short_text(alone.latency_ns / 2) + why);
  }
  constexpr double kRounding = 1e-6;
  if (1 / settings.forward_gb_per_s > alone.byte_ns * (1 + kRounding)) {
    return bad_field("", "forward_gb_per_s", short_text(settings.forward_gb_per_s),
                     short_text(1 / alone.byte_ns) + " or more" + why);
  }
  return {};
}

Forwarding::Forwarding(sim::Engine& engine, sim::Network& network, const machine::Machine& machine,
                       const Settings& settings)
    : engine_(engine), network_(network), settings_(settings) {
  const Parts cells = cells_of(machine);
  for (const std::string& name : cells.names) ppes_.push_back({.cell = name});
  cell_of_unit_ = cells.of_unit;
  part_of_unit_ = Parts(machine, static_cast<std::size_t>(settings.forward_level)).of_unit;
}

Time Forwarding::work(std::uint64_t bytes) const {
  const double ns = settings_.forward_ns + static_cast<double>(bytes) / settings_.forward_gb_per_s;
  return static_cast<Time>(ns * static_cast<double>(sim::kTicksPerNs));
}

Time Forwarding::send(UnitId from, UnitId to, std::uint64_t bytes, const sim::Handler& delivered) {
  const Time now = engine_.now();
  if (!crosses(from, to)) {
    network_.send(from, to, bytes, delivered);
    return now;
  }
  std::uint64_t index = passages_.size();
  if (free_.empty()) {
    passages_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  passages_[index] = {delivered, bytes, from, to};
  Ppe& own = ppe(from);
  const Time begin = std::max(now, own.free);
  const Time takes = work(bytes);
  own.free = begin + takes;
  own.busy += takes;
  own.waiting += begin - now;
  ++own.left;
  if (begin == now) {
    leave(this, index);
  } else {
    engine_.at(begin, {&leave, this, index});
  }
  return begin;
}

void Forwarding::leave(void* self, std::uint64_t index) {
  auto& forwarding = *static_cast<Forwarding*>(self);
  const Passage& message = forwarding.passages_[index];
  forwarding.network_.send(message.from, message.to, message.bytes, {&come_in, self, index});
}

void Forwarding::come_in(void* self, std::uint64_t index) {
  auto& forwarding = *static_cast<Forwarding*>(self);
  const Passage& message = forwarding.passages_[index];
  Ppe& own = forwarding.ppe(message.to);
  const Time now = forwarding.engine_.now();
  const Time takes = forwarding.work(message.bytes);
  own.free = std::max(now, own.free + takes);
  own.busy += takes;
  own.waiting += own.free - now;
  ++own.came;
  if (own.free == now) {
    pass_on(self, index);
  } else {
    forwarding.engine_.at(own.free, {&pass_on, self, index});
  }
}

void Forwarding::pass_on(void* self, std::uint64_t index) {
  auto& forwarding = *static_cast<Forwarding*>(self);
  const sim::Handler delivered = forwarding.passages_[index].delivered;
  forwarding.free_.push_back(index);
  delivered();
}

}  // namespace corewise::simmpi

// Limits: reading the rules, spreading ranks over cores, repairing placements. See limits.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/limits.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace corewise::place {

namespace {

std::string below(int count, const char* what) {
  return "0 to " + std::to_string(count - 1) + ", the " + what;
}

/// Fixed ranks, then the others, each on every unit that it may have.
class AllowedPlacements {
 public:
  AllowedPlacements(const Limits& limits, const std::function<bool(std::span<const machine::UnitId>)>& visit)
      : limits_(limits), visit_(visit), filling_(limits) {
    unit_of_rank_.assign(static_cast<std::size_t>(limits.ranks()), -1);
    used_.assign(static_cast<std::size_t>(limits.units()), 0);
    for (int rank = 0; rank < limits.ranks(); ++rank) {
      if (limits.is_fixed(rank)) put(rank, limits.unit_of(rank));
    }
  }

  bool from(int rank) {
    while (rank < limits_.ranks() && limits_.is_fixed(rank)) ++rank;
    if (rank == limits_.ranks()) return visit_(unit_of_rank_);
    for (int unit = 0; unit < limits_.units(); ++unit) {
      if (used_[static_cast<std::size_t>(unit)] || !limits_.is_open(unit) || !filling_.has_room(unit)) continue;
      put(rank, unit);
      const bool goes_on = from(rank + 1);
      filling_.take(unit);
      used_[static_cast<std::size_t>(unit)] = 0;
      if (!goes_on) return false;
    }
    return true;
  }

 private:
  void put(int rank, machine::UnitId unit) {
    unit_of_rank_[static_cast<std::size_t>(rank)] = unit;
    used_[static_cast<std::size_t>(unit)] = 1;
    filling_.put(unit);
  }

  const Limits& limits_;
  const std::function<bool(std::span<const machine::UnitId>)>& visit_;
  Limits::Filling filling_;
  std::vector<machine::UnitId> unit_of_rank_;
  std::vector<char> used_;
};

}  // namespace

void Limits::Filling::count(machine::UnitId unit, int change) {
  const int core = limits_.core_[index(unit)];
  const int least = limits_.cores_[index(core)].least;
  int& here = ranks_on_[index(core)];
  above_least_ -= std::max(0, here - least);
  here += change;
  above_least_ += std::max(0, here - least);
}

bool Limits::Filling::has_room(machine::UnitId unit) const {
  const int core = limits_.core_[index(unit)];
  const Core& of = limits_.cores_[index(core)];
  const int here = ranks_on_[index(core)];
  return here < of.least || (here < of.most && above_least_ < limits_.above_least_);
}

Result<Limits> Limits::of(const machine::Machine& machine, int ranks, const LimitRules& rules) {
  Limits made;
  made.rules_ = rules;
  const int units = static_cast<int>(machine.units.size());
  if (ranks < 1 || ranks > units) {
    return bad_field("", "ranks", std::to_string(ranks), "1 to " + std::to_string(units) + ", the machine's units");
  }
  made.unit_of_fixed_.assign(index(ranks), -1);
  made.open_.assign(index(units), 1);
  if (Status status = made.take_rules(units); !status.ok()) return status;
  const std::vector<machine::UnitId> first = machine::core_of_unit(machine);
  std::map<machine::UnitId, int> core_of_first;
  for (int unit = 0; unit < units; ++unit) {
    const machine::UnitId key = rules.share_cores ? unit : first[index(unit)];
    const auto [known, is_new] = core_of_first.emplace(key, static_cast<int>(made.cores_.size()));
    if (is_new) made.cores_.emplace_back();
    made.core_.push_back(known->second);
    made.cores_[index(known->second)].units.push_back(unit);
  }
  if (Status status = made.spread(); !status.ok()) return status;
  made.any_ = !rules.fixed.empty() || !rules.kept_free.empty() || (ranks < units && !made.cores().empty());
  return made;
}

Status Limits::take_rules(int units) {
  for (const machine::UnitId unit : rules_.kept_free) {
    if (unit < 0 || unit >= units) return bad_field("", "keep-free", std::to_string(unit), below(units, "units"));
    open_[index(unit)] = 0;
  }
  for (const auto& [rank, unit] : rules_.fixed) {
    const std::string found = std::to_string(rank) + "=" + std::to_string(unit);
    if (rank < 0 || rank >= ranks()) return bad_field("", "fix", found, below(ranks(), "ranks"));
    if (unit < 0 || unit >= units) return bad_field("", "fix", found, below(units, "units"));
    if (unit_of_fixed_[index(rank)] >= 0) return bad_field("", "fix", found, "each rank once");
    if (std::count(unit_of_fixed_.begin(), unit_of_fixed_.end(), unit) > 0) {
      return bad_field("", "fix", found, "a unit of its own for each rank");
    }
    if (!open_[index(unit)]) return bad_field("", "fix", found, "a unit that is not kept free");
    unit_of_fixed_[index(rank)] = unit;
  }
  for (const auto& [rank, unit] : rules_.fixed) open_[index(unit)] = 0;
  return {};
}

/// Every core as many ranks as the others, within what it holds: a level that all reach, and some one more.
Status Limits::spread() {
  std::vector<int> fixed(cores_.size(), 0);
  std::vector<int> room(cores_.size(), 0);
  for (std::size_t unit = 0; unit < open_.size(); ++unit) room[index(core_[unit])] += open_[unit];
  for (const auto& [rank, unit] : rules_.fixed) ++fixed[index(core_[index(unit)])];
  int all = 0;
  for (std::size_t core = 0; core < cores_.size(); ++core) all += fixed[core] + room[core];
  if (all < ranks()) {
    return bad_field("", "keep-free", std::to_string(units() - all) + " units",
                     "at most " + std::to_string(units() - ranks()) + ", so that every rank has a unit");
  }
  const auto at_level = [&](std::size_t core, int level) {
    return std::max(fixed[core], std::min(fixed[core] + room[core], level));
  };
  const auto sum = [&](int level) {
    int of_all = 0;
    for (std::size_t core = 0; core < cores_.size(); ++core) of_all += at_level(core, level);
    return of_all;
  };
  int level = 0;
  while (sum(level) < ranks() && sum(level + 1) <= ranks()) ++level;
  for (std::size_t core = 0; core < cores_.size(); ++core) {
    cores_[core].least = at_level(core, level);
    cores_[core].most = at_level(core, level + 1);
  }
  above_least_ = ranks() - sum(level);
  return {};
}

bool Limits::leaves_a_choice() const {
  if (!any_) return true;
  int found = 0;
  for_each([&found](std::span<const machine::UnitId>) { return ++found < 2; });
  return found > 1;
}

bool Limits::hold(std::span<const machine::UnitId> unit_of_rank) const {
  if (!any_) return true;
  Filling filling(*this);
  for (int rank = 0; rank < ranks(); ++rank) {
    if (!is_fixed(rank)) continue;
    if (unit_of_rank[index(rank)] != unit_of(rank)) return false;
    filling.put(unit_of(rank));
  }
  for (int rank = 0; rank < ranks(); ++rank) {
    if (is_fixed(rank)) continue;
    const machine::UnitId unit = unit_of_rank[index(rank)];
    if (unit < 0 || !is_open(unit) || !filling.has_room(unit)) return false;
    filling.put(unit);
  }
  return true;
}

machine::Placement Limits::repaired(const machine::Placement& placement) const {
  return hold(placement.unit_of_rank) ? placement : filled(placement);
}

machine::Placement Limits::filled(const machine::Placement& placement) const {
  std::vector<int> fixed_on(open_.size(), -1);
  machine::Placement made{std::vector<machine::UnitId>(unit_of_fixed_)};
  Filling filling(*this);
  for (int rank = 0; rank < ranks(); ++rank) {
    if (!is_fixed(rank)) continue;
    fixed_on[index(unit_of(rank))] = rank;
    filling.put(unit_of(rank));
  }
  std::vector<char> used(open_.size(), 0);
  const auto put = [&](int rank, machine::UnitId unit) {
    if (used[index(unit)] || !is_open(unit) || !filling.has_room(unit)) return false;
    used[index(unit)] = 1;
    filling.put(unit);
    made.unit_of_rank[index(rank)] = unit;
    return true;
  };
  for (int rank = 0; rank < ranks(); ++rank) {
    if (is_fixed(rank)) continue;
    machine::UnitId unit = placement.unit_of_rank[index(rank)];
    while (unit >= 0 && fixed_on[index(unit)] >= 0) unit = placement.unit_of_rank[index(fixed_on[index(unit)])];
    if (unit >= 0) put(rank, unit);
  }
  for (int rank = 0; rank < ranks(); ++rank) {
    for (int unit = 0; made.unit_of_rank[index(rank)] < 0 && unit < units(); ++unit) put(rank, unit);
  }
  return made;
}

machine::Placement Limits::in_order() const {
  return filled({std::vector<machine::UnitId>(unit_of_fixed_.size(), -1)});
}

bool Limits::for_each(const std::function<bool(std::span<const machine::UnitId>)>& visit) const {
  return AllowedPlacements(*this, visit).from(0);
}

bool Limits::kept_by(std::span<const machine::UnitId> image) const {
  if (!any_) return true;
  for (const auto& [rank, unit] : rules_.fixed) {
    if (image[index(unit)] != unit) return false;
  }
  for (std::size_t unit = 0; unit < open_.size(); ++unit) {
    const Core& here = cores_[index(core_[unit])];
    const int there_core = core_[index(image[unit])];
    const Core& there = cores_[index(there_core)];
    if (open_[unit] != open_[index(image[unit])] || here.least != there.least || here.most != there.most)
      return false;
    for (const machine::UnitId other : here.units) {
      if (core_[index(image[index(other)])] != there_core) return false;
    }
  }
  return true;
}

std::vector<std::vector<machine::UnitId>> Limits::cores() const {
  std::vector<std::vector<machine::UnitId>> several;
  for (const Core& core : cores_) {
    if (core.units.size() > 1) several.push_back(core.units);
  }
  return several;
}

}  // namespace corewise::place

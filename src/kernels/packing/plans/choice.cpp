// Choosing among loops: every one that fits is timed once per class. Contract in pack_choice.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/plans/choice.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace corewise::kernels {
namespace {

/// A length to time the class of a length by; equal ones are one class.
std::int64_t class_of(std::int64_t block) {
  constexpr std::int64_t kExact = 64;
  constexpr std::int64_t kLongest = std::int64_t{1} << 17;
  if (block <= kExact) {
    return std::max<std::int64_t>(block, 1);  // of nothing at all
  }
  const auto wide = static_cast<std::uint64_t>(std::min(block, kLongest));
  const auto power = static_cast<std::int64_t>(std::bit_floor(wide));
  return std::has_single_bit(wide) ? power : power + power / 2;
}

/// The same for rows of tiles.
std::int64_t class_of_row(std::int64_t row) {
  constexpr std::int64_t kLeast = 512;
  constexpr std::int64_t kMost = 4096;
  const std::int64_t power = row & -row;
  return power <= kLeast ? 3 * kLeast : std::min(power, kMost);
}

template <class Shape>
std::span<const Candidate<Shape>> rows_of(const KernelSet& set, PackTrial::Loop loop) {
  if constexpr (std::is_same_v<Shape, Blocks>) {
    return loop == PackTrial::Loop::tiles ? set.tiles : set.blocks;
  } else {
    return loop == PackTrial::Loop::runs ? set.runs : set.tables;
  }
}

void set_row(PackTrial& trial, const Candidate<Blocks>& row) {
  trial.blocks = &row;
}
void set_row(PackTrial& trial, const Candidate<Table>& row) {
  trial.table = &row;
}

/// Takes a timed loop into account: the quickest so far, or the next after it.
bool is_best(Choice& choice, const PackTrial& trial, double ns) {
  const bool best = choice.name.empty() || ns < choice.ns;
  if (best) {
    choice.second = std::exchange(choice.name, trial.name);
    choice.second_set = std::exchange(choice.set, trial.set->name);
    choice.second_ns = std::exchange(choice.ns, ns);
  } else if (choice.second.empty() || ns < choice.second_ns) {
    choice.second = trial.name;
    choice.second_set = trial.set->name;
    choice.second_ns = ns;
  }
  return best;
}

}  // namespace

PackTimer default_timer() {
  return [](const PackTrial& trial) {
    const double window = trial.packing ? 1 : 2;
    return trial.loop == PackTrial::Loop::window ? window : 1 + static_cast<double>(trial.rank);
  };
}

LoopChooser::LoopChooser(std::vector<const KernelSet*> sets, PackTimer timer, bool measured)
    : sets_(std::move(sets)), timer_(std::move(timer)), measured_(measured) {}

template <class Shape>
void LoopChooser::race(Chosen& found, PackTrial& trial, const KernelSet& set, const Candidate<Shape>& row) {
  trial.set = &set;
  trial.name = row.name;
  set_row(trial, row);
  if (is_best(found.choice, trial, timer_(trial))) {
    found.row = &row;
    found.set = &set;
  }
  ++trial.rank;
}

template <class Shape>
const LoopChooser::Chosen& LoopChooser::chosen(PackTrial::Loop loop, bool packing, std::int64_t block,
                                               std::int64_t row_bytes) {
  const Key key{loop, packing, block, row_bytes};
  if (const auto known = chosen_.find(key); known != chosen_.end()) {
    return known->second;
  }
  Chosen found;  // kept when all are timed: there may be no memory to time one
  PackTrial trial;
  trial.loop = loop;
  trial.packing = packing;
  trial.block = block;
  trial.row = row_bytes;
  for (const KernelSet* set : sets_) {
    for (const Candidate<Shape>& row : rows_of<Shape>(*set, loop)) {
      const bool moves = packing ? row.pack != nullptr : row.unpack != nullptr;
      if (moves && row.least <= block && block <= row.most) {
        race(found, trial, *set, row);
      }
    }
  }
  if (loop == PackTrial::Loop::tiles) {
    const Chosen& by_rows = chosen<Shape>(PackTrial::Loop::blocks, packing, block, 0);
    race(found, trial, *by_rows.set, *static_cast<const Candidate<Shape>*>(by_rows.row));
  }
  return chosen_.emplace(key, std::move(found)).first->second;
}

template <class Shape>
Kernels<Shape> LoopChooser::choose(PackTrial::Loop loop, std::int64_t block, std::int64_t row) {
  const std::lock_guard lock(mutex_);
  const Chosen& packing = chosen<Shape>(loop, true, class_of(block), row);
  const Chosen& unpacking = chosen<Shape>(loop, false, class_of(block), row);
  return {static_cast<const Candidate<Shape>*>(packing.row)->pack,
          static_cast<const Candidate<Shape>*>(unpacking.row)->unpack, packing.choice, unpacking.choice};
}

Kernels<Blocks> LoopChooser::blocks(std::int64_t block) {
  return choose<Blocks>(PackTrial::Loop::blocks, block);
}

Kernels<Blocks> LoopChooser::tiles(std::int64_t block, std::int64_t row) {
  return choose<Blocks>(PackTrial::Loop::tiles, block, class_of_row(row));
}

Kernels<Table> LoopChooser::table(std::int64_t block) {
  return choose<Table>(PackTrial::Loop::table, block);
}

Kernels<Table> LoopChooser::runs(std::int64_t mean) {
  return choose<Table>(PackTrial::Loop::runs, mean);
}

double LoopChooser::single(PackTrial::Loop loop, bool packing, std::int64_t block) {
  const std::lock_guard lock(mutex_);
  PackTrial trial;
  trial.loop = loop;
  trial.packing = packing;
  trial.block = class_of(block);
  trial.set = sets_.front();
  const Key key{loop, packing, trial.block, 0};
  if (const auto known = chosen_.find(key); known != chosen_.end()) {
    return known->second.choice.ns;
  }
  Chosen found;
  found.choice.ns = timer_(trial);
  return chosen_.emplace(key, std::move(found)).first->second.choice.ns;
}

double LoopChooser::window_ns(bool packing, std::int64_t lane) {
  return single(PackTrial::Loop::window, packing, lane);
}

double LoopChooser::pairs_ns(std::int64_t block) {
  return single(PackTrial::Loop::pairs, true, block);
}

}  // namespace corewise::kernels

// Choosing among loops: every one that fits is timed once per class. Contract in pack_choice.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/pack_choice.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace corewise::kernels {
namespace {

/// The class of a length, and a length to time it by.
struct LengthClass {
  std::size_t index;
  std::int64_t block;
};

LengthClass class_of(std::int64_t block) {
  constexpr std::int64_t kExact = 64;
  constexpr std::int64_t kLongest = std::int64_t{1} << 17;
  block = std::max<std::int64_t>(block, 1);  // of nothing at all
  if (block <= kExact) {
    return {static_cast<std::size_t>(block), block};
  }
  const auto wide = static_cast<std::uint64_t>(std::min(block, kLongest));
  const auto width = static_cast<std::size_t>(std::bit_width(wide));
  const std::int64_t power = std::int64_t{1} << (width - 1);
  const bool exact = std::has_single_bit(wide);
  return {static_cast<std::size_t>(kExact) + 2 * width + (exact ? 0 : 1), exact ? power : power + power / 2};
}

template <class Shape>
std::span<const Candidate<Shape>> rows_of(const KernelSet& set, PackTrial::Loop loop) {
  if constexpr (std::is_same_v<Shape, Blocks>) {
    return set.blocks;
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
const LoopChooser::Chosen& LoopChooser::chosen(PackTrial::Loop loop, bool packing, std::int64_t block) {
  const LengthClass length = class_of(block);
  auto& slot = slots_[static_cast<std::size_t>(loop)][packing ? 1 : 0][length.index];
  if (slot.has_value()) {
    return *slot;
  }
  Chosen found;
  PackTrial trial;
  trial.loop = loop;
  trial.packing = packing;
  trial.block = length.block;
  for (const KernelSet* set : sets_) {
    for (const Candidate<Shape>& row : rows_of<Shape>(*set, loop)) {
      const bool moves = packing ? row.pack != nullptr : row.unpack != nullptr;
      if (moves && row.least <= length.block && length.block <= row.most) {
        trial.set = set;
        trial.name = row.name;
        set_row(trial, row);
        if (is_best(found.choice, trial, timer_(trial))) {
          found.row = &row;
        }
        ++trial.rank;
      }
    }
  }
  return slot.emplace(found);
}

template <class Shape>
Kernels<Shape> LoopChooser::choose(PackTrial::Loop loop, std::int64_t block) {
  const std::lock_guard lock(mutex_);
  const Chosen& packing = chosen<Shape>(loop, true, block);
  const Chosen& unpacking = chosen<Shape>(loop, false, block);
  return {static_cast<const Candidate<Shape>*>(packing.row)->pack,
          static_cast<const Candidate<Shape>*>(unpacking.row)->unpack, packing.choice, unpacking.choice};
}

Kernels<Blocks> LoopChooser::blocks(std::int64_t block) {
  return choose<Blocks>(PackTrial::Loop::blocks, block);
}

Kernels<Table> LoopChooser::table(std::int64_t block) {
  return choose<Table>(PackTrial::Loop::table, block);
}

Kernels<Table> LoopChooser::runs(std::int64_t mean) {
  return choose<Table>(PackTrial::Loop::runs, mean);
}

double LoopChooser::single(PackTrial::Loop loop, bool packing, std::int64_t block) {
  const std::lock_guard lock(mutex_);
  const LengthClass length = class_of(block);
  auto& slot = slots_[static_cast<std::size_t>(loop)][packing ? 1 : 0][length.index];
  if (!slot.has_value()) {
    PackTrial trial;
    trial.loop = loop;
    trial.packing = packing;
    trial.block = length.block;
    trial.set = sets_.front();
    slot.emplace().choice.ns = timer_(trial);
  }
  return slot->choice.ns;
}

double LoopChooser::window_ns(bool packing, std::int64_t lane) {
  return single(PackTrial::Loop::window, packing, lane);
}

double LoopChooser::pairs_ns(std::int64_t block) {
  return single(PackTrial::Loop::pairs, true, block);
}

}  // namespace corewise::kernels

// Timing loops on this core. What is timed is what a message is: every other block of a few KB, in the nearest
// cache and beyond it. SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>

#include "kernels/packing/plans/choice.hpp"

namespace corewise::kernels {
namespace {

using Clock = std::chrono::steady_clock;
using Loop = PackTrial::Loop;

constexpr std::int64_t kSmall = 4096;
constexpr std::int64_t kLarge = 32768;
constexpr int kFewestRounds = 2;
constexpr int kMostRounds = 6;
/// Rounds end when so much time has gone.
constexpr double kLongEnoughNs = 20000;
/// Data bytes moved between two looks at the clock, at least.
constexpr std::int64_t kBatch = 16384;
/// Where the two buffers of programs usually begin, from a line on: what an allocator gives.
constexpr std::size_t kBuffersAt = 16;
/// From the items' place in its page to the packed bytes': loads that follow a store at the same place of another
/// page wait for it on many processors, and some loops more than others.
constexpr std::size_t kApart = 2048;
constexpr std::size_t kAliasing = 64;
constexpr std::size_t kPage = 4096;

/// Of tiles: columns at most, and bytes that the blocks of a column fill: four lines, and what comes before the
/// first.
constexpr std::int64_t kColumns = 512;
constexpr std::int64_t kColumnBytes = 4 * 64 + 64 - static_cast<std::int64_t>(kBuffersAt);

/// The memory of trials: items and packed bytes, and the tables. Kept from one trial to the next.
class Scratch {
 public:
  /// For `bytes` of data in blocks of `block`, every other one; the packed bytes begin `apart` further in their
  /// page.
  void fit(std::int64_t bytes, std::int64_t block, std::size_t apart) {
    fit_both(2 * (bytes + block), 2 * (bytes + block), apart);
  }
  /// For items of so many bytes, and so many packed ones.
  void fit_both(std::int64_t span, std::int64_t bytes, std::size_t apart) {
    const std::size_t before = static_cast<std::size_t>(span) + 2 * kPage;
    const std::size_t all = before + static_cast<std::size_t>(bytes) + 2 * kPage;
    if (memory_.size() < all) {
      memory_.assign(all, std::byte{1});
    }
    items = at_page(memory_.data()) + kBuffersAt;
    packed = at_page(memory_.data() + before) + kBuffersAt + apart;
  }

  /// Runs of `block` bytes in the mean; `even`: all of that length.
  Table table(std::int64_t bytes, std::int64_t block, bool even) {
    const std::int64_t count = std::max<std::int64_t>(1, bytes / block);
    offsets_.clear();
    lengths_.clear();
    const std::int64_t unit = std::max<std::int64_t>(1, block / 2);
    std::uint32_t state = 1;
    for (std::int64_t i = 0; i < count; ++i) {
      state = state * 1664525U + 1013904223U;
      offsets_.push_back(static_cast<std::int32_t>(2 * block * i));
      lengths_.push_back(unit * (1 + static_cast<std::int64_t>((state >> 20) % 3)));
    }
    return {even ? block : 0, offsets_.data(), even ? nullptr : lengths_.data(), count, 0, 1};
  }

  std::byte* items = nullptr;
  std::byte* packed = nullptr;

 private:
  static std::byte* at_page(std::byte* at) { return at + (-reinterpret_cast<std::uintptr_t>(at) % kPage); }

  std::vector<std::byte> memory_;
  std::vector<std::int32_t> offsets_;
  std::vector<std::int64_t> lengths_;
};

/// Of the quickest of several rounds, per call; the first call is not timed.
template <class Run>
double quickest(const Run& run, std::int64_t bytes) {
  const std::int64_t calls = std::max<std::int64_t>(1, kBatch / bytes);
  double best = 0;
  double sum = 0;
  run();
  for (int round = 0; round < kFewestRounds || (round < kMostRounds && sum < kLongEnoughNs); ++round) {
    const auto begin = Clock::now();
    for (std::int64_t i = 0; i < calls; ++i) {
      run();
    }
    const double ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
    best = round == 0 ? ns : std::min(best, ns);
    sum += ns;
  }
  return best / static_cast<double>(calls);
}

template <class Shape>
double time_loop(const PackTrial& trial, const Candidate<Shape>& row, const Shape& shape, const Scratch& scratch,
                 std::int64_t bytes) {
  if (trial.packing) {
    return quickest([&] { row.pack(scratch.packed, scratch.items, shape); }, bytes);
  }
  return quickest([&] { row.unpack(scratch.items, scratch.packed, shape); }, bytes);
}

/// Elements of one lane, every other one.
double time_window(const PackTrial& trial, const Scratch& scratch, std::int64_t bytes) {
  const std::array piece = {Piece{0, trial.block}};
  const std::unique_ptr<const Window> window = make_window(piece, 2 * trial.block, trial.set->windows);
  if (window == nullptr) {
    return HUGE_VAL;
  }
  const WindowKernels kernels = trial.set->window(*window);
  const std::int64_t members = bytes / trial.block / window->group * window->group;
  const double ns = trial.packing
                        ? quickest([&] { kernels.pack(scratch.packed, scratch.items, *window, members); }, bytes)
                        : quickest([&] { kernels.unpack(scratch.items, scratch.packed, *window, members); }, bytes);
  return ns / static_cast<double>(members / window->group * window->vectors);
}

/// A matrix packed by columns, a page from row to row.
double time_tiles(const PackTrial& trial, Scratch& scratch) {
  constexpr auto kStride = static_cast<std::int64_t>(kPage);
  const std::int64_t columns = std::min(kColumns, trial.row / trial.block);
  const std::int64_t rows = kColumnBytes / trial.block;
  scratch.fit_both(columns * kStride, rows * columns * trial.block, kApart);
  return time_loop(trial, *trial.blocks, {trial.block, kStride, columns, trial.block, rows}, scratch,
                   trial.block * rows * columns) /
         static_cast<double>(rows * columns);
}

double time_trial(const PackTrial& trial, Scratch& scratch, std::int64_t bytes, std::size_t apart) {
  bytes = std::max(bytes, trial.block);
  scratch.fit(bytes, trial.block, apart);
  const std::int64_t count = bytes / trial.block;
  const auto blocks = static_cast<double>(count);
  switch (trial.loop) {
    case Loop::blocks:
      return time_loop(trial, *trial.blocks, {trial.block, 2 * trial.block, count, 0, 1}, scratch, bytes) / blocks;
    case Loop::table:
    case Loop::runs:
      return time_loop(trial, *trial.table, scratch.table(bytes, trial.block, trial.loop == Loop::table), scratch,
                       bytes) /
             blocks;
    case Loop::window:
      return time_window(trial, scratch, bytes);
    case Loop::tiles:
    case Loop::pairs:
      break;
  }
  const CopyPairs copy = trial.set->pairs(trial.block);
  const Pairs shape = {trial.block, trial.block, 2 * trial.block, count};
  return quickest([&] { copy(scratch.packed, scratch.items, shape); }, bytes) / blocks;
}

}  // namespace

PackTimer measuring_timer() {
  return [scratch = std::make_shared<Scratch>()](const PackTrial& trial) {
    if (trial.loop == Loop::tiles) {
      return time_tiles(trial, *scratch);
    }
    const double small =
        std::sqrt(time_trial(trial, *scratch, kSmall, kApart) * time_trial(trial, *scratch, kSmall, kAliasing));
    return std::sqrt(small * time_trial(trial, *scratch, kLarge, kApart));
  };
}

}  // namespace corewise::kernels

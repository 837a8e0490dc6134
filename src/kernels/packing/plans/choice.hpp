// Which loop of pack_kernels.hpp moves which blocks: the one that a timer finds quickest, private to the room.
//
// Contract: a chooser asks its timer once for each loop that fits a class of block lengths, when the class is first
// met, and answers the same from then on; it may be used by many threads. Given equal answers of the timer, choices
// are equal. Nothing here knows what is fast: `default_timer` takes what stands first in the tables,
// `measuring_timer` (pack_race.cpp) measures on this core, tests bring their own.
//
// Classes: every length up to 64 bytes; above, every power of two, and the lengths between two of them. Of tiles by
// the rows of the packed stream too: how large a power of two divides their length, which is whether they get in
// each other's way in a cache.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string_view>
#include <tuple>
#include <vector>

#include "kernels/packing/loops/kernels.hpp"

namespace corewise::kernels {

/// One loop, one direction, one class: what a timer is asked about.
struct PackTrial {
  enum class Loop : std::uint8_t {
    blocks,  ///< at even distances
    table,   ///< of runs of one length
    runs,    ///< of different lengths, `block` bytes in the mean
    window,  ///< of lanes of `block` bytes
    pairs,   ///< blocks from one distance to another
    tiles,   ///< rows of blocks side by side, the blocks of a row pages apart; by `blocks`, of `tiles` or of the
             ///< set's `blocks`, which go row by row
  };
  Loop loop = Loop::blocks;
  bool packing = true;
  std::int64_t block = 0;          ///< bytes
  std::int64_t row = 0;            ///< tiles: bytes from row to row of the packed stream
  const KernelSet* set = nullptr;  ///< it is of this
  std::size_t rank = 0;            ///< among those that fit, in the order of the tables; 0 for windows and pairs
  std::string_view name;
  const Candidate<Blocks>* blocks = nullptr;
  const Candidate<Table>* table = nullptr;  ///< of runs too
};

/// Nanoseconds per block (window: per vector). Only their ratios count.
using PackTimer = std::function<double(const PackTrial&)>;

/// Without measuring: a loop costs more than those before it in the table; a window's vector costs a block, and two
/// when it is stored, which is masked.
PackTimer default_timer();
/// By the clock: the geometric mean of 4 KB and of 32 KB of data, every other block, each the quickest of several
/// rounds; of tiles, 36 to 192 KB of data. Tens of microseconds a trial.
PackTimer measuring_timer();

/// What was chosen, for whoever wants to know.
struct Choice {
  std::string_view name;
  std::string_view set;
  double ns = 0;  ///< the timer's answer
  std::string_view second;
  std::string_view second_set;
  double second_ns = 0;  ///< 0 where nothing else fits
};

/// A pair of opposite loops.
template <class Shape>
struct Kernels {
  void (*pack)(std::byte* packed, const std::byte* items, const Shape& shape) = nullptr;
  void (*unpack)(std::byte* items, const std::byte* packed, const Shape& shape) = nullptr;
  Choice packing;
  Choice unpacking;
};

/// The sets that this build has and this host can run, the preferred one first.
std::vector<const KernelSet*> usable_pack_sets();

class LoopChooser {
 public:
  /// `sets`: not empty, the preferred one first; `measured`: whether the timer's answers are nanoseconds.
  LoopChooser(std::vector<const KernelSet*> sets, PackTimer timer, bool measured);

  Kernels<Blocks> blocks(std::int64_t block);
  /// For rows that lie side by side while the blocks of a row are lines or more apart: of the loops for tiles, or
  /// the one that `blocks` answers, row by row.
  /// `row`: bytes of a row in the packed stream.
  Kernels<Blocks> tiles(std::int64_t block, std::int64_t row);
  Kernels<Table> table(std::int64_t block);
  Kernels<Table> runs(std::int64_t mean);
  double window_ns(bool packing, std::int64_t lane);
  double pairs_ns(std::int64_t block);

  const KernelSet& set() const { return *sets_.front(); }
  bool measured() const { return measured_; }

 private:
  /// Loop, whether packing, length and row of the trial.
  using Key = std::tuple<PackTrial::Loop, bool, std::int64_t, std::int64_t>;
  struct Chosen {
    const void* row = nullptr;
    const KernelSet* set = nullptr;
    Choice choice;
  };

  /// Takes a loop into account.
  template <class Shape>
  void race(Chosen& found, PackTrial& trial, const KernelSet& set, const Candidate<Shape>& row);
  template <class Shape>
  Kernels<Shape> choose(PackTrial::Loop loop, std::int64_t block, std::int64_t row = 0);
  /// With the lock held.
  template <class Shape>
  const Chosen& chosen(PackTrial::Loop loop, bool packing, std::int64_t block, std::int64_t row);
  double single(PackTrial::Loop loop, bool packing, std::int64_t block);

  std::vector<const KernelSet*> sets_;
  PackTimer timer_;
  bool measured_;
  std::mutex mutex_;
  std::map<Key, Chosen> chosen_;
};

}  // namespace corewise::kernels

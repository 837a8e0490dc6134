// Alignment: the clocks of all ranks of a world on one time line, in two steps.
//   1. `align`: every rank's ticks become nanoseconds on the clock of its node (ranks of a node share one rate and
//      one offset, so that they line up exactly), and every node's clock becomes that of rank 0's node: linear
//      between the comparisons that the preload recorded (ClockSync), by CLOCK_REALTIME where there is none. Also
//      where rank 0's own file is missing: comparisons are with its clock.
//   2. `align_causally` (waits.hpp) moves what still contradicts cause and effect.
// Contract: ns are counted from the earliest first calibration of the world; a RankClock is monotone; the readers
// may be closed afterwards. The ranks of one call to `align` are one world's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "trace/reader.hpp"

namespace corewise::profile {

/// What a rank's place on the time line rests on.
enum class ClockSource : std::uint8_t {
  reference,  ///< the node whose clock the others are brought to
  compared,   ///< comparisons during the run
  realtime,   ///< nothing but CLOCK_REALTIME: as good as the nodes' time service
};

class Aligner;
class NodeCorrection;

class RankClock {
 public:
  /// A moment of this rank, in ns on the time line shared by all ranks of a world. Negative before its beginning.
  [[nodiscard]] double ns(std::uint64_t ticks) const;
  [[nodiscard]] ClockSource source() const { return source_; }
  /// Ranks of equal number share their clock; from 0.
  [[nodiscard]] int node() const { return node_; }
  /// From now on times are corrected (causal.hpp).
  void correct(std::shared_ptr<const NodeCorrection> correction) { correction_ = std::move(correction); }
  /// Half a round trip of the worst comparison in use; 0 on the reference node and where nothing is known.
  [[nodiscard]] double uncertainty_ns() const { return uncertainty_ns_; }

 private:
  friend class Aligner;

  /// From `node_ns` on, until the next knot; before the first knot the first one holds.
  struct Knot {
    double node_ns;
    double world_ns;
    double rate;
  };
  std::uint64_t origin_ticks_ = 0;
  double ns_per_tick_ = 1;
  std::vector<Knot> knots_{{0, 0, 1}};  ///< sorted by node_ns, never empty
  ClockSource source_ = ClockSource::reference;
  double uncertainty_ns_ = 0;
  int node_ = 0;
  std::shared_ptr<const NodeCorrection> correction_;
};

/// One clock per reader, in the order given.
std::vector<RankClock> align(std::span<const trace::Reader* const> ranks);

}  // namespace corewise::profile

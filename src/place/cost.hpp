// Cost: what a search minimises, handed to it from outside. Owns the score and the two shapes a cost function
// may have: a plain function of a whole placement, and an object that follows single moves.
//
// Contract: a cost is deterministic; equal placements have equal scores, bit for bit.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <compare>
#include <functional>
#include <span>

#include "machine/machine.hpp"

namespace corewise::place {

/// Smaller is better, `primary` first. For link loads: bottleneck in ns, then hop-bytes.
struct Score {
  double primary = 0;
  double secondary = 0;

  friend auto operator<=>(const Score&, const Score&) = default;
};

/// Unit of rank r at [r].
using Assignment = std::span<const machine::UnitId>;
using CostFunction = std::function<Score(Assignment)>;

/// A cost that keeps a current placement and updates only what a move changes.
class IncrementalCost {
 public:
  virtual ~IncrementalCost() = default;
  [[nodiscard]] virtual int ranks() const = 0;
  [[nodiscard]] virtual int units() const = 0;
  /// Starts over from a whole placement.
  virtual void assign(Assignment unit_of_rank) = 0;
  /// The current placement.
  [[nodiscard]] virtual Assignment assignment() const = 0;
  /// Puts `rank` on `unit`; a rank that was there takes the unit left behind. Moving back undoes it.
  virtual void relocate(int rank, machine::UnitId unit) = 0;
  [[nodiscard]] virtual Score score() = 0;
  /// Breaks ties of the primary score while searching: where the worst link stays, a flatter spread of the others
  /// is progress. Smaller is better; meaningless across different primaries.
  [[nodiscard]] virtual double guide() { return score().secondary; }
};

}  // namespace corewise::place

// One rank's part of the flow: its populations and how a time step carries them on.
//
// Between steps the populations are those after the collision, so that a step is one pass over memory: a cell
// pulls the nineteen populations that stream into it, collides them and stores them in the other of two arrays.
// Cells that need no ghosts are done while the messages travel.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "decomposition.hpp"
#include "halo.hpp"
#include "populations.hpp"
#include "taylor_green.hpp"

namespace lbm {

class Flow {
 public:
  /// The vortex at time 0 in the cells of this rank.
  Flow(const Decomposition& decomposition, const TaylorGreen& vortex, double tau, Traffic& traffic);

  void step();

  [[nodiscard]] const Box& cells() const { return cells_; }
  /// Of the cell at `local`, counted from the first of this rank.
  [[nodiscard]] Cell populations(const Vector& local) const { return now_.load(local); }

 private:
  void advance(const Box& box);

  Box cells_;
  double tau_;
  Populations now_;
  Populations next_;
  Halo halo_;
};

}  // namespace lbm

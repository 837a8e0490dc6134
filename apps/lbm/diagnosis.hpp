// What is known about a correct result: mass and momentum are conserved, the vortex decays as the theory says, and
// every population is what the serial reference computes.
//
// All of it uses collectives only, so the point-to-point messages of a run are those of its time steps alone.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "flow.hpp"

namespace lbm {

/// Sums over all cells of the box.
struct Totals {
  double mass = 0;
  RealVector momentum{};
  double speed_squared = 0;        ///< of the fluid
  double exact_speed_squared = 0;  ///< of the exact solution
  double difference_squared = 0;   ///< of their difference
};

/// Collective: the same on every rank.
Totals totals(const Decomposition& decomposition, const Flow& flow, const TaylorGreen& vortex, double time);

/// Collective: on rank 0 of the communicator the largest difference of a population to the reference; 0 elsewhere.
double difference_to_reference(const Decomposition& decomposition, const Flow& flow, const Vector& size,
                               const std::vector<Cell>& expected);

}  // namespace lbm

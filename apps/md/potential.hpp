// The Lennard-Jones potential in reduced units, cut off at 2.5 and shifted so that energy and force both end at
// zero there: without a jump an integrator can conserve energy. Source: Allen and Tildesley, Computer Simulation of
// Liquids (1987), sections 1.3 and 5.2.4. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace md {

constexpr std::size_t kAxes = 3;
using Vector = std::array<double, kAxes>;
using Counts = std::array<int, kAxes>;

constexpr double kCutoff = 2.5;

struct Pair {
  double energy;
  double force_over_distance;  ///< positive where the atoms push each other away
};

/// Without cut-off, at the square of a distance.
constexpr Pair lennard_jones(double squared) {
  const double inverse = 1 / squared;
  const double sixth = inverse * inverse * inverse;
  return {4 * sixth * (sixth - 1), 24 * sixth * (2 * sixth - 1) * inverse};
}

inline constexpr Pair kAtCutoff = lennard_jones(kCutoff * kCutoff);
inline constexpr double kForceAtCutoff = kAtCutoff.force_over_distance * kCutoff;

/// Of two atoms nearer than the cut-off.
inline Pair interaction(double squared) {
  const double distance = std::sqrt(squared);
  const Pair plain = lennard_jones(squared);
  return {plain.energy - kAtCutoff.energy + (distance - kCutoff) * kForceAtCutoff,
          plain.force_over_distance - kForceAtCutoff / distance};
}

/// Floating-point operations of looking at a pair, and of its interaction where it is near.
inline constexpr double kOperationsPerLook = 9;
inline constexpr double kOperationsPerInteraction = 30;
/// Of moving an atom by one step.
inline constexpr double kOperationsPerMove = 18;

inline double distance_squared(const Vector& a, const Vector& b) {
  const double x = a[0] - b[0];
  const double y = a[1] - b[1];
  const double z = a[2] - b[2];
  return x * x + y * y + z * z;
}

/// Adds the force of an atom at `from` on one at `at`, and half of the pair's energy, since its other half is
/// counted at the other atom. False where they are too far apart.
inline bool attract(const Vector& at, const Vector& from, Vector& force, double& energy) {
  const double squared = distance_squared(at, from);
  if (squared >= kCutoff * kCutoff) return false;
  const Pair pair = interaction(squared);
  for (std::size_t axis = 0; axis < kAxes; ++axis)
    force[axis] += pair.force_over_distance * (at[axis] - from[axis]);
  energy += pair.energy / 2;
  return true;
}

}  // namespace md

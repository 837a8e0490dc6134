// The D3Q19 lattice and the BGK collision: nineteen populations per cell, which move to the cell itself, to its
// six face neighbours and to its twelve edge neighbours (there are no links across corners).
//
// The model is the one of Qian, d'Humieres and Lallemand, "Lattice BGK models for Navier-Stokes equation",
// Europhysics Letters 17 (1992); lattice units, cell size and time step are 1. The moments that the theory
// needs are checked at compile time.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace lbm {

using Vector = std::array<int, 3>;
using RealVector = std::array<double, 3>;

constexpr std::size_t kAxes = 3;
constexpr std::size_t kDirections = 19;
using Cell = std::array<double, kDirections>;  ///< the populations of one cell

constexpr std::array<Vector, kDirections> kVelocities = {{
    {0, 0, 0},                                       // rest
    {1, 0, 0}, {-1, 0, 0},  {0, 1, 0},  {0, -1, 0},  // through the faces
    {0, 0, 1}, {0, 0, -1},                           //
    {1, 1, 0}, {-1, -1, 0}, {1, -1, 0}, {-1, 1, 0},  // through the edges
    {1, 0, 1}, {-1, 0, -1}, {1, 0, -1}, {-1, 0, 1},  //
    {0, 1, 1}, {0, -1, -1}, {0, 1, -1}, {0, -1, 1},
}};

constexpr int square(const Vector& v) {
  return v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
}

constexpr int kWeightUnit = 36;
/// The weight of a direction in units of 1/36, by the squared length of its velocity.
constexpr std::array<int, 3> kWeightsBySquare = {12, 2, 1};

constexpr double weight(std::size_t direction) {
  return static_cast<double>(kWeightsBySquare[static_cast<std::size_t>(square(kVelocities[direction]))]) /
         kWeightUnit;
}

constexpr double kSoundSpeedSquared = 1.0 / 3.0;

/// Kinematic viscosity of the BGK fluid with relaxation time `tau`.
constexpr double viscosity(double tau) {
  return kSoundSpeedSquared * (tau - 0.5);
}

/// 36 times the weighted sum of the velocities' components a, b, c, d.
constexpr int moment(std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
  int sum = 0;
  for (const Vector& v : kVelocities) {
    sum += kWeightsBySquare[static_cast<std::size_t>(square(v))] * v[a] * v[b] * v[c] * v[d];
  }
  return sum;
}
// Isotropy of the fourth moment, w c_a c_b c_c c_d = (d_ab d_cd + d_ac d_bd + d_ad d_bc) / 9.
static_assert(moment(0, 0, 0, 0) == 3 * kWeightUnit / 9 && moment(1, 1, 1, 1) == moment(2, 2, 2, 2));
static_assert(moment(0, 0, 1, 1) == kWeightUnit / 9 && moment(0, 0, 2, 2) == moment(1, 1, 2, 2));
static_assert(moment(0, 0, 0, 1) == 0 && moment(0, 0, 1, 2) == 0);

/// Calls `body` with each direction as a compile-time constant, so that zero components cost nothing.
template <class Body>
constexpr void for_each_direction(Body&& body) {
  [&]<std::size_t... direction>(std::index_sequence<direction...>) {
    (body(std::integral_constant<std::size_t, direction>{}), ...);
  }(std::make_index_sequence<kDirections>{});
}

/// sum += component * value for a component of -1, 0 or 1.
template <int component>
constexpr void accumulate(double& sum, double value) {
  if constexpr (component > 0) sum += value;
  if constexpr (component < 0) sum -= value;
}

/// Density and momentum per volume of a cell; velocity is momentum / density.
struct Moments {
  double density = 0;
  RealVector momentum{};
};

inline Moments moments(const Cell& cell) {
  Moments sum;
  for_each_direction([&](auto direction) {
    constexpr Vector c = kVelocities[direction];
    sum.density += cell[direction];
    accumulate<c[0]>(sum.momentum[0], cell[direction]);
    accumulate<c[1]>(sum.momentum[1], cell[direction]);
    accumulate<c[2]>(sum.momentum[2], cell[direction]);
  });
  return sum;
}

/// Relaxes every population towards the local equilibrium: f += (feq - f) / tau.
inline void collide(Cell& cell, double tau) {
  const Moments now = moments(cell);
  const RealVector u = {now.momentum[0] / now.density, now.momentum[1] / now.density,
                        now.momentum[2] / now.density};
  const double uu = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
  const double rate = 1.0 / tau;
  for_each_direction([&](auto direction) {
    constexpr Vector c = kVelocities[direction];
    double cu = 0;
    accumulate<c[0]>(cu, u[0]);
    accumulate<c[1]>(cu, u[1]);
    accumulate<c[2]>(cu, u[2]);
    const double equilibrium = weight(direction) * now.density * (1.0 + 3.0 * cu + 4.5 * cu * cu - 1.5 * uu);
    cell[direction] += (equilibrium - cell[direction]) * rate;
  });
}

}  // namespace lbm

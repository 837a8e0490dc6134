// The order of every sum is that of the parallel program: then the results agree to the last bit on a machine
// (or with a compiler setting) that does not fuse multiplications into additions, and to rounding elsewhere.
// SPDX-License-Identifier: BSD-3-Clause
#include "reference.hpp"

#include "decomposition.hpp"

namespace lbm {

namespace {

std::size_t place_of(const Vector& at, const Vector& size) {
  return (static_cast<std::size_t>(at[0]) * size[1] + at[1]) * size[2] + at[2];
}

void relax(Cell& f, double tau) {
  double density = 0;
  RealVector u{};
  for (std::size_t i = 0; i < kDirections; ++i) {
    density += f[i];
    for (std::size_t axis = 0; axis < kAxes; ++axis) u[axis] += kVelocities[i][axis] * f[i];
  }
  for (double& component : u) component /= density;
  const double rate = 1.0 / tau;
  for (std::size_t i = 0; i < kDirections; ++i) {
    const Vector& c = kVelocities[i];
    const double cu = c[0] * u[0] + c[1] * u[1] + c[2] * u[2];
    const double uu = u[0] * u[0] + u[1] * u[1] + u[2] * u[2];
    const double equilibrium = weight(i) * density * (1.0 + 3.0 * cu + 4.5 * cu * cu - 1.5 * uu);
    f[i] += (equilibrium - f[i]) * rate;
  }
}

void push(const std::vector<Cell>& from, std::vector<Cell>& to, const Vector& size) {
  for_each_cell({{0, 0, 0}, size}, [&](const Vector& at) {
    const Cell& cell = from[place_of(at, size)];
    for (std::size_t i = 0; i < kDirections; ++i) {
      Vector target{};
      for (std::size_t axis = 0; axis < kAxes; ++axis) {
        target[axis] = (at[axis] + kVelocities[i][axis] + size[axis]) % size[axis];
      }
      to[place_of(target, size)][i] = cell[i];
    }
  });
}

}  // namespace

std::vector<Cell> reference(const TaylorGreen& vortex, const Vector& size, double tau, long steps) {
  std::vector<Cell> now;
  now.reserve(static_cast<std::size_t>(volume(size)));
  for_each_cell({{0, 0, 0}, size}, [&](const Vector& at) { now.push_back(vortex.start(at)); });
  std::vector<Cell> next(now.size());
  for (Cell& cell : now) relax(cell, tau);
  for (long step = 0; step < steps; ++step) {
    push(now, next, size);
    for (Cell& cell : next) relax(cell, tau);
    now.swap(next);
  }
  return now;
}

}  // namespace lbm

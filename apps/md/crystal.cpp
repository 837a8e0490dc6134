// Lattice and velocities. SPDX-License-Identifier: BSD-3-Clause
#include "crystal.hpp"

namespace md {
namespace {

constexpr int kAtomsPerCell = 4;
constexpr double kBasis[kAtomsPerCell][kAxes] = {
    {0.25, 0.25, 0.25}, {0.75, 0.75, 0.25}, {0.75, 0.25, 0.75}, {0.25, 0.75, 0.75}};

/// A number in [-1, 1) from a counter (splitmix64, Steele, Lea and Flood 2014).
double random_of(std::uint64_t counter) {
  std::uint64_t bits = (counter + 1) * 0x9e3779b97f4a7c15ULL;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
  bits ^= bits >> 31;
  return static_cast<double>(bits >> 11) * 0x1p-52 - 1;
}

Vector raw_velocity(std::int64_t id) {
  Vector velocity{};
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    velocity[axis] = random_of(static_cast<std::uint64_t>(id) * kAxes + axis);
  }
  return velocity;
}

/// What raw velocities need: no total momentum, and the temperature. Each rank sums over all atoms in one order.
struct Correction {
  Vector mean{};
  double factor = 1;
};

Correction correction(std::int64_t atoms) {
  Correction found;
  double squares = 0;
  for (std::int64_t id = 0; id < atoms; ++id) {
    const Vector velocity = raw_velocity(id);
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      found.mean[axis] += velocity[axis];
      squares += velocity[axis] * velocity[axis];
    }
  }
  const auto count = static_cast<double>(atoms);
  for (double& mean : found.mean) {
    mean /= count;
    squares -= count * mean * mean;
  }
  found.factor = std::sqrt(kTemperature * static_cast<double>(kAxes) * count / squares);
  return found;
}

bool inside(const Vector& position, const Vector& low, const Vector& high) {
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    if (position[axis] < low[axis] || position[axis] >= high[axis]) return false;
  }
  return true;
}

}  // namespace

double cell_edge() {
  return std::cbrt(kAtomsPerCell / kDensity);
}

Vector box_edges(const Counts& cells) {
  Vector edges{};
  for (std::size_t axis = 0; axis < kAxes; ++axis) edges[axis] = cells[axis] * cell_edge();
  return edges;
}

std::int64_t atoms_in(const Counts& cells) {
  return std::int64_t{kAtomsPerCell} * cells[0] * cells[1] * cells[2];
}

std::vector<Atom> crystal(const Counts& cells, const Vector& low, const Vector& high) {
  const Correction correct = correction(atoms_in(cells));
  std::vector<Atom> atoms;
  for (std::int64_t id = 0; id < atoms_in(cells); ++id) {
    const std::int64_t cell = id / kAtomsPerCell;
    const std::int64_t at[kAxes] = {cell % cells[0], cell / cells[0] % cells[1], cell / cells[0] / cells[1]};
    Atom atom;
    atom.id = id;
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      atom.position[axis] = (static_cast<double>(at[axis]) + kBasis[id % kAtomsPerCell][axis]) * cell_edge();
    }
    if (!inside(atom.position, low, high)) continue;
    const Vector raw = raw_velocity(id);
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      atom.velocity[axis] = (raw[axis] - correct.mean[axis]) * correct.factor;
    }
    atoms.push_back(atom);
  }
  return atoms;
}

}  // namespace md

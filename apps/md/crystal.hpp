// The start: atoms on a face-centred cubic lattice with random velocities, the same for any number of ranks.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "potential.hpp"

namespace md {

struct Atom {
  std::int64_t id = 0;
  Vector position{}, velocity{}, force{};
};

/// Velocity Verlet's two halves.
inline void push(Atom& atom, double half_step) {
  for (std::size_t axis = 0; axis < kAxes; ++axis) atom.velocity[axis] += half_step * atom.force[axis];
}

inline void drift(Atom& atom, double step) {
  for (std::size_t axis = 0; axis < kAxes; ++axis) atom.position[axis] += step * atom.velocity[axis];
}

inline double kinetic(const Atom& atom) {
  const Vector& v = atom.velocity;
  return 0.5 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

constexpr double kDensity = 0.8442;    ///< of the liquid near its triple point
constexpr double kTemperature = 1.44;  ///< of the lattice; half of it goes into the potential

/// Edge of a lattice cell, which holds four atoms.
double cell_edge();
/// Edges of the whole box.
Vector box_edges(const Counts& cells);
std::int64_t atoms_in(const Counts& cells);

/// Atoms inside [low, high), all of them for a box that holds everything; forces are zero.
std::vector<Atom> crystal(const Counts& cells, const Vector& low, const Vector& high);

}  // namespace md

// All pairs, nearest images. SPDX-License-Identifier: BSD-3-Clause
#include "reference.hpp"

#include <algorithm>
#include <limits>

namespace md {
namespace {

/// `from`, moved by whole edges until it is nearest to `at`.
Vector nearest_image(const Vector& at, Vector from, const Vector& edges) {
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    from[axis] += edges[axis] * std::round((at[axis] - from[axis]) / edges[axis]);
  }
  return from;
}

double find_forces(std::vector<Atom>& atoms, const Vector& edges) {
  double potential = 0;
  for (Atom& atom : atoms) {
    atom.force = {};
    for (const Atom& other : atoms) {
      if (other.id == atom.id) continue;
      attract(atom.position, nearest_image(atom.position, other.position, edges), atom.force, potential);
    }
  }
  return potential;
}

}  // namespace

Reference solve_serially(const Counts& cells, double step, int steps) {
  const Vector edges = box_edges(cells);
  std::vector<Atom> atoms = crystal(cells, {}, edges);
  double potential = find_forces(atoms, edges);
  for (int number = 0; number < steps; ++number) {
    for (Atom& atom : atoms) {
      push(atom, step / 2);
      drift(atom, step);
    }
    potential = find_forces(atoms, edges);
    for (Atom& atom : atoms) push(atom, step / 2);
  }
  Reference reference;
  reference.energy = potential;
  for (const Atom& atom : atoms) {
    reference.positions.push_back(atom.position);
    reference.energy += kinetic(atom);
  }
  return reference;
}

double farthest(const std::vector<Vector>& positions, const Reference& reference, const Counts& cells) {
  const Vector edges = box_edges(cells);
  double worst = 0;
  for (std::size_t number = 0; number < reference.positions.size(); ++number) {
    const Vector& at = reference.positions[number];
    const double squared = distance_squared(at, nearest_image(at, positions[number], edges));
    if (std::isnan(squared)) return std::numeric_limits<double>::quiet_NaN();
    worst = std::max(worst, std::sqrt(squared));
  }
  return worst;
}

}  // namespace md

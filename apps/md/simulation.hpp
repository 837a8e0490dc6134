// Simulation: velocity Verlet on one rank's atoms. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "exchange.hpp"
#include "link_cells.hpp"

namespace md {

struct Energies {
  double potential = 0, kinetic = 0;
  Vector momentum{};

  [[nodiscard]] double total() const { return potential + kinetic; }
};

class Simulation {
 public:
  Simulation(Exchange& exchange, const Counts& cells, double step);

  /// One step of all ranks together.
  void advance();
  /// Collective: of all ranks.
  [[nodiscard]] Energies energies() const;
  /// Collective: positions by number on rank 0, nothing elsewhere.
  [[nodiscard]] std::vector<Vector> gather(std::int64_t atoms) const;
  [[nodiscard]] std::size_t own() const { return atoms_.size(); }

 private:
  void find_forces();

  Exchange& exchange_;
  double step_;
  LinkCells near_;
  std::vector<Atom> atoms_;
  double potential_ = 0;
};

}  // namespace md

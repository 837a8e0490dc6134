// Steps, forces and sums. SPDX-License-Identifier: BSD-3-Clause
#include "simulation.hpp"

#include "../common/computing.hpp"

namespace md {

Simulation::Simulation(Exchange& exchange, const Counts& cells, double step)
    : exchange_(exchange),
      step_(step),
      near_(exchange.low(), exchange.high()),
      atoms_(crystal(cells, exchange.low(), exchange.high())) {
  find_forces();
}

void Simulation::advance() {
  for (Atom& atom : atoms_) {
    push(atom, step_ / 2);
    drift(atom, step_);
  }
  exchange_.migrate(atoms_);
  find_forces();
  for (Atom& atom : atoms_) push(atom, step_ / 2);
  computing::operations(kOperationsPerMove * static_cast<double>(atoms_.size()));
}

void Simulation::find_forces() {
  std::vector<Vector> positions;
  for (const Atom& atom : atoms_) positions.push_back(atom.position);
  const std::vector<Vector> ghosts = exchange_.ghosts(atoms_);
  positions.insert(positions.end(), ghosts.begin(), ghosts.end());
  near_.fill(positions);
  potential_ = 0;
  long long looks = 0;
  long long interactions = 0;
  for (std::size_t number = 0; number < atoms_.size(); ++number) {
    Atom& atom = atoms_[number];
    atom.force = {};
    near_.for_each_near(atom.position, [&](int other) {
      if (other == static_cast<int>(number)) return;
      ++looks;
      interactions += attract(atom.position, positions[static_cast<std::size_t>(other)], atom.force, potential_);
    });
  }
  computing::operations(kOperationsPerLook * static_cast<double>(looks) +
                        kOperationsPerInteraction * static_cast<double>(interactions));
}

Energies Simulation::energies() const {
  double sums[2 + kAxes] = {potential_};
  for (const Atom& atom : atoms_) {
    sums[1] += kinetic(atom);
    for (std::size_t axis = 0; axis < kAxes; ++axis) sums[2 + axis] += atom.velocity[axis];
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, 2 + kAxes, MPI_DOUBLE, MPI_SUM, exchange_.communicator());
  return {sums[0], sums[1], {sums[2], sums[3], sums[4]}};
}

std::vector<Vector> Simulation::gather(std::int64_t atoms) const {
  constexpr int kFields = 1 + static_cast<int>(kAxes);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(exchange_.communicator(), &rank);
  MPI_Comm_size(exchange_.communicator(), &ranks);
  std::vector<double> own;
  for (const Atom& atom : atoms_) {
    own.push_back(static_cast<double>(atom.id));
    own.insert(own.end(), atom.position.begin(), atom.position.end());
  }
  const int length = static_cast<int>(own.size());
  std::vector<int> lengths(static_cast<std::size_t>(ranks));
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, exchange_.communicator());
  std::vector<int> starts(lengths.size());
  for (std::size_t r = 1; r < lengths.size(); ++r) starts[r] = starts[r - 1] + lengths[r - 1];
  std::vector<double> all(rank == 0 ? static_cast<std::size_t>(starts.back() + lengths.back()) : 0);
  MPI_Gatherv(own.data(), length, MPI_DOUBLE, all.data(), lengths.data(), starts.data(), MPI_DOUBLE, 0,
              exchange_.communicator());
  // An atom that nobody sent stays where no atom is.
  std::vector<Vector> positions(rank == 0 ? static_cast<std::size_t>(atoms) : 0, Vector{NAN, NAN, NAN});
  for (std::size_t at = 0; at < all.size(); at += kFields) {
    positions[static_cast<std::size_t>(all[at])] = {all[at + 1], all[at + 2], all[at + 3]};
  }
  return positions;
}

}  // namespace md

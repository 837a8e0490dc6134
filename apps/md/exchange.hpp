// Exchange: the six neighbours of a rank in the grid of ranks. Owns the rank's part of the box. Along x, then y,
// then z a rank sends to its lower and to its higher neighbour: atoms that have left its part, and copies of atoms
// near its faces (ghosts). What came along one axis goes on along the next, so edges and corners need no messages
// of their own.
//
// Ranks are numbered with x running fastest. An axis with one rank sends nothing: the rank copies to itself.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <array>
#include <vector>

#include "../common/traffic.hpp"
#include "crystal.hpp"

namespace md {

class Exchange {
 public:
  Exchange(const Counts& dims, const Vector& edges, Traffic& traffic);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] MPI_Comm communicator() const { return grid_; }
  [[nodiscard]] const Vector& low() const { return low_; }
  [[nodiscard]] const Vector& high() const { return high_; }

  /// Hands atoms that left this rank's part to the neighbours and takes theirs.
  void migrate(std::vector<Atom>& atoms);
  /// Positions of all atoms within the cut-off of this rank's part, from the neighbours.
  std::vector<Vector> ghosts(const std::vector<Atom>& atoms);

 private:
  enum Side : std::size_t { kLower, kHigher };
  using Message = std::vector<double>;
  using BothWays = std::array<Message, 2>;

  /// Sends out[side] to the neighbour on each side; what the neighbour on each side sent.
  BothWays swap(std::size_t axis, const BothWays& out, int tag);
  [[nodiscard]] double shift(std::size_t axis, Side side) const;

  MPI_Comm grid_ = MPI_COMM_NULL;
  Counts dims_{}, coords_{};
  Vector edges_{}, low_{}, high_{};
  std::array<std::array<int, 2>, kAxes> neighbours_{};
  Traffic& traffic_;
};

}  // namespace md

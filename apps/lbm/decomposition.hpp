// Which cells belong to which rank: the box is cut along each axis into parts as equal as its size allows, and
// the parts are arranged as a periodic Cartesian communicator.
//
// Owns that communicator. MPI may renumber the ranks in it, so everything about cells goes by coordinates.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <optional>
#include <string>

#include "lattice.hpp"

namespace lbm {

/// The cells [begin, begin + extent).
struct Box {
  Vector begin;
  Vector extent;
};

inline long long volume(const Vector& extent) {
  return 1LL * extent[0] * extent[1] * extent[2];
}

/// Calls body(x, y, z) for the cells of a box in memory order.
template <class Body>
void for_each_cell(const Box& box, Body&& body) {
  for (int x = box.begin[0]; x < box.begin[0] + box.extent[0]; ++x) {
    for (int y = box.begin[1]; y < box.begin[1] + box.extent[1]; ++y) {
      for (int z = box.begin[2]; z < box.begin[2] + box.extent[2]; ++z) body(Vector{x, y, z});
    }
  }
}

/// The ranks along each axis: as cubic as MPI_Dims_create can, the most of them along the longest axis.
Vector choose_dims(int ranks, const Vector& size);

/// Why `ranks` ranks arranged as `dims` cannot share a box of `size`; nothing if they can.
std::optional<std::string> misfit(int ranks, const Vector& dims, const Vector& size);

class Decomposition {
 public:
  /// Collective over MPI_COMM_WORLD; requires that nothing misfits.
  Decomposition(const Vector& dims, const Vector& size);
  ~Decomposition() { MPI_Comm_free(&communicator_); }
  Decomposition(const Decomposition&) = delete;
  Decomposition& operator=(const Decomposition&) = delete;

  [[nodiscard]] MPI_Comm communicator() const { return communicator_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return dims_[0] * dims_[1] * dims_[2]; }
  [[nodiscard]] const Vector& dims() const { return dims_; }
  /// The cells of a rank of the communicator.
  [[nodiscard]] Box cells_of(int rank) const;
  /// The rank whose cells begin where this rank's end, in the direction of `offset`; may be this rank.
  [[nodiscard]] int neighbour(const Vector& offset) const;

 private:
  Vector dims_;
  Vector size_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
};

}  // namespace lbm

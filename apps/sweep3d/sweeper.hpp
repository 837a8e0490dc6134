// Sweeper: the parallel sweep. Ranks form a grid in x and y; each has columns of all z. A wavefront starts in one
// of the grid's corners: for every octant, block of planes and block of directions a rank receives the flux through
// its two faces upstream, solves its cells and sends the flux through its two faces downstream (Koch, Baker and
// Alcouffe 1992; the sweep of paper 003). With a group size, faces that leave a group go by its root (courier.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "../common/computing.hpp"
#include "../common/traffic.hpp"
#include "courier.hpp"
#include "problem.hpp"

namespace sweep3d {

struct Blocking {
  int planes = 10;     ///< of z, per message
  int directions = 3;  ///< per message, a divisor of 6
  int group = 0;       ///< ranks that one of them sends for; 0: everybody for itself
};

class Sweeper {
 public:
  Sweeper(MPI_Comm grid, const Extents& whole, const Material& material, const Blocking& blocking,
          Traffic& traffic);

  /// One sweep of all octants with the emission of the present flux. The largest relative change of a cell, of all
  /// ranks.
  double iterate();
  /// Scalar flux of all cells, on rank 0 of the grid.
  [[nodiscard]] std::vector<double> gather() const;
  /// What leaves the box, of all ranks.
  [[nodiscard]] double leakage() const;
  /// Cells solved so far, all directions counted, of all ranks.
  [[nodiscard]] long long solved() const;

 private:
  struct Neighbours {
    int up_x, down_x, up_y, down_y;
  };

  [[nodiscard]] Neighbours neighbours(const Octant& octant) const;
  void sweep(const Octant& octant, int first_direction);
  void block(const Octant& octant, int first_direction, Range planes);
  void solve(const Octant& octant, int first_direction, Range planes);
  double solve_column(const Octant& octant, const Direction& direction, int i, int j, Range planes, double into_z,
                      double* face_x, double* face_y);
  void receive(Axis axis, int from, std::span<double> face);
  void send(Axis axis, int to, std::span<const double> face);
  void leak(int first_direction, int planes, const Neighbours& around);

  MPI_Comm grid_;
  Extents whole_, own_;
  Range x_{}, y_{};
  int dims_[2]{}, coords_[2]{};
  Material material_;
  Blocking blocking_;
  Traffic& traffic_;
  std::optional<Courier> courier_;
  int block_ = 0;  ///< number of the present one within its sweep
  std::vector<double> flux_, emission_;
  /// All columns of a rank are more than an SPE's local store holds; what a block needs of the faces is not.
  std::optional<computing::MainMemory> flux_memory_, emission_memory_;
  std::vector<double> face_x_, face_y_, face_z_;  ///< of the present block; face_z_ goes from block to block
  double leakage_ = 0;
  long long solved_ = 0;
};

}  // namespace sweep3d

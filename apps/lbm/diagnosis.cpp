// SPDX-License-Identifier: BSD-3-Clause
#include "diagnosis.hpp"

#include <algorithm>
#include <cmath>

namespace lbm {

namespace {

void add_cell(Totals& sum, const Cell& cell, const RealVector& exact) {
  const Moments now = moments(cell);
  sum.mass += now.density;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const double u = now.momentum[axis] / now.density;
    sum.momentum[axis] += now.momentum[axis];
    sum.speed_squared += u * u;
    sum.exact_speed_squared += exact[axis] * exact[axis];
    sum.difference_squared += (u - exact[axis]) * (u - exact[axis]);
  }
}

std::vector<Cell> own_cells(const Flow& flow) {
  std::vector<Cell> cells;
  cells.reserve(static_cast<std::size_t>(volume(flow.cells().extent)));
  for_each_cell({{0, 0, 0}, flow.cells().extent}, [&](const Vector& at) { cells.push_back(flow.populations(at)); });
  return cells;
}

/// On rank 0 the cells of all ranks, one rank's after the other's.
std::vector<Cell> gather(const Decomposition& decomposition, const std::vector<Cell>& own, const Vector& size) {
  const bool root = decomposition.rank() == 0;
  std::vector<int> counts;
  std::vector<int> begins;
  int begin = 0;
  for (int rank = 0; root && rank < decomposition.ranks(); ++rank) {
    begins.push_back(begin);
    counts.push_back(static_cast<int>(volume(decomposition.cells_of(rank).extent)));
    begin += counts.back();
  }
  std::vector<Cell> all(root ? static_cast<std::size_t>(volume(size)) : 0);
  MPI_Datatype cell_type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(static_cast<int>(kDirections), MPI_DOUBLE, &cell_type);
  MPI_Type_commit(&cell_type);
  MPI_Gatherv(own.data(), static_cast<int>(own.size()), cell_type, all.data(), counts.data(), begins.data(),
              cell_type, 0, decomposition.communicator());
  MPI_Type_free(&cell_type);
  return all;
}

/// The larger of the two, and NaN as soon as one is: a flow that has blown up must not pass.
double worse(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

}  // namespace

Totals totals(const Decomposition& decomposition, const Flow& flow, const TaylorGreen& vortex, double time) {
  const Box& cells = flow.cells();
  Totals own;
  for_each_cell({{0, 0, 0}, cells.extent}, [&](const Vector& local) {
    const Vector at = {cells.begin[0] + local[0], cells.begin[1] + local[1], cells.begin[2] + local[2]};
    add_cell(own, flow.populations(local), vortex.velocity(at, time));
  });
  constexpr int kFields = sizeof(Totals) / sizeof(double);
  static_assert(sizeof(Totals) == 7 * sizeof(double));
  Totals sum;
  MPI_Allreduce(&own, &sum, kFields, MPI_DOUBLE, MPI_SUM, decomposition.communicator());
  return sum;
}

double difference_to_reference(const Decomposition& decomposition, const Flow& flow, const Vector& size,
                               const std::vector<Cell>& expected) {
  const std::vector<Cell> all = gather(decomposition, own_cells(flow), size);
  double largest = 0;
  auto cell = all.begin();
  for (int rank = 0; cell != all.end(); ++rank) {
    for_each_cell(decomposition.cells_of(rank), [&](const Vector& at) {
      const std::size_t place = (static_cast<std::size_t>(at[0]) * size[1] + at[1]) * size[2] + at[2];
      for (std::size_t i = 0; i < kDirections; ++i) {
        largest = worse(std::abs((*cell)[i] - expected[place][i]), largest);
      }
      ++cell;
    });
  }
  return largest;
}

}  // namespace lbm

// Transposes. `transpose`: all-to-all inside the rows and/or the columns of a 2D process grid, as a pencil FFT
// does. `matrix_transpose`: every rank sends its block to the rank that holds the mirrored one, a permutation.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/generators/families.hpp"

namespace corewise::pattern::generators {
namespace {

constexpr ParameterInfo dims_parameter{"dims", ParameterKind::dims, "auto",
                                       "process grid, last axis fastest; auto = balanced as MPI_Dims_create"};
constexpr ParameterInfo bytes_parameter{"bytes", ParameterKind::bytes, "4096", "bytes per message"};

constexpr ParameterInfo group_parameters[] = {
    ranks_parameter,
    dims_parameter,
    {"groups", ParameterKind::choice, "both",
     "which groups exchange: rows of the grid, columns, or rows then columns", "rows|columns|both"},
    bytes_parameter,
};
constexpr ParameterInfo matrix_parameters[] = {ranks_parameter, dims_parameter, bytes_parameter};

/// All-to-all among the ranks that share every coordinate but the one on `axis`.
Phase along(const Grid& grid, std::size_t axis, std::uint64_t bytes) {
  Phase phase{axis == 1 ? "rows" : "columns", {}};
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    auto at = grid.coordinates(rank);
    for (at[axis] = 0; at[axis] < grid.dims[axis]; ++at[axis]) add(phase, rank, grid.rank(at), bytes);
  }
  return phase;
}

Result<Pattern> build_groups(const Values& values) {
  const auto grid = grid_of(values, 2, "transpose");
  if (!grid.ok()) return grid.status();
  const std::string& groups = values.text("groups");
  const std::int64_t row = grid.value().dims[1] - 1, column = grid.value().dims[0] - 1;
  const Status few = within_messages("transpose", grid.value().ranks(),
                                     (groups != "columns" ? row : 0) + (groups != "rows" ? column : 0));
  if (!few.ok()) return few;
  Pattern pattern{"transpose", grid.value().ranks(), {}};
  if (groups != "columns") pattern.phases.push_back(along(grid.value(), 1, values.bytes("bytes")));
  if (groups != "rows") pattern.phases.push_back(along(grid.value(), 0, values.bytes("bytes")));
  return pattern;
}

Result<Pattern> build_matrix(const Values& values) {
  const auto grid = grid_of(values, 2, "matrix_transpose");
  if (!grid.ok()) return grid.status();
  const Grid mirrored{{grid.value().dims[1], grid.value().dims[0]}};
  Phase phase{"transpose", {}};
  for (int rank = 0; rank < mirrored.ranks(); ++rank) {
    const auto at = grid.value().coordinates(rank);
    add(phase, rank, mirrored.rank({at[1], at[0]}), values.bytes("bytes"));
  }
  return Pattern{"matrix_transpose", mirrored.ranks(), {std::move(phase)}};
}

}  // namespace

Family transpose() {
  return {"transpose", "all-to-all inside the rows and columns of a 2D grid (pencil FFT)", group_parameters,
          build_groups};
}

Family matrix_transpose() {
  return {"matrix_transpose", "each rank to the holder of the mirrored block", matrix_parameters, build_matrix};
}

}  // namespace corewise::pattern::generators

// Halo exchange on a 1D, 2D or 3D grid: every rank sends its rim to the neighbours across faces, edges (offsets on
// two axes) and corners (offsets on three). On a periodic axis of two ranks both neighbours are the same rank,
// which then gets two messages; on one of one rank the neighbour is the rank itself and nothing is sent.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <optional>

#include "pattern/generators/families.hpp"

namespace corewise::pattern::generators {
namespace {

constexpr ParameterInfo dims_parameter{"dims", ParameterKind::dims, "auto",
                                       "process grid, last axis fastest; auto = balanced as MPI_Dims_create"};
constexpr ParameterInfo periodic_parameter{"periodic", ParameterKind::axis_flags, "yes",
                                           "whether an axis wraps around, for all axes or per axis"};
constexpr ParameterInfo face_parameter{"face_bytes", ParameterKind::axis_bytes, "4096",
                                       "bytes across a face, for all axes or per axis"};
constexpr ParameterInfo edge_parameter{"edge_bytes", ParameterKind::bytes, "512", "bytes across an edge"};

constexpr ParameterInfo parameters_1d[] = {ranks_parameter, dims_parameter, periodic_parameter, face_parameter};
constexpr ParameterInfo parameters_2d[] = {
    ranks_parameter,
    dims_parameter,
    periodic_parameter,
    {"stencil", ParameterKind::choice, "faces", "neighbours across faces (5-point), or edges too (9-point)",
     "faces|faces+edges"},
    face_parameter,
    edge_parameter,
};
constexpr ParameterInfo parameters_3d[] = {
    ranks_parameter,
    dims_parameter,
    periodic_parameter,
    {"stencil", ParameterKind::choice, "faces",
     "neighbours across faces (7-point), edges too (19-point), corners too (27-point)",
     "faces|faces+edges|faces+edges+corners"},
    face_parameter,
    edge_parameter,
    {"corner_bytes", ParameterKind::bytes, "64", "bytes across a corner"},
};

struct Halo {
  Grid grid;
  std::vector<bool> periodic;
  std::vector<std::uint64_t> face_bytes;
  std::uint64_t edge_bytes = 0;
  std::uint64_t corner_bytes = 0;
  int reach = 1;  ///< most axes on which a neighbour's offset may differ from zero
};

int reach_of(const std::string& stencil) {
  return stencil == "faces" ? 1 : stencil == "faces+edges" ? 2 : 3;
}

/// All offsets in {-1, 0, 1}^axes with 1 to `reach` axes moved.
std::vector<std::vector<int>> offsets(std::size_t axes, int reach) {
  std::vector<std::vector<int>> all{{}};
  for (std::size_t axis = 0; axis < axes; ++axis) {
    std::vector<std::vector<int>> longer;
    for (const auto& head : all) {
      for (int move = -1; move <= 1; ++move) {
        longer.push_back(head);
        longer.back().push_back(move);
      }
    }
    all = std::move(longer);
  }
  std::erase_if(all, [&](const std::vector<int>& offset) {
    int moved = 0;
    for (const int move : offset) moved += move != 0;
    return moved < 1 || moved > reach;
  });
  return all;
}

/// The neighbour at an offset; nobody beyond the rim of an open axis.
int neighbour(const Halo& halo, std::vector<int> at, const std::vector<int>& offset) {
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    const int size = halo.grid.dims[axis];
    at[axis] += offset[axis];
    const bool outside = at[axis] < 0 || at[axis] >= size;
    if (outside && !halo.periodic[axis]) return schedule::nobody;
    at[axis] = (at[axis] + size) % size;
  }
  return halo.grid.rank(at);
}

std::uint64_t bytes_of(const Halo& halo, const std::vector<int>& offset) {
  int moved = 0;
  std::size_t moved_axis = 0;
  for (std::size_t axis = 0; axis < offset.size(); ++axis) {
    if (offset[axis] == 0) continue;
    ++moved;
    moved_axis = axis;
  }
  if (moved == 1) return halo.face_bytes[moved_axis];
  return moved == 2 ? halo.edge_bytes : halo.corner_bytes;
}

Pattern halo_exchange(const Halo& halo, std::string_view name) {
  Phase phase{"exchange", {}};
  const auto moves = offsets(halo.grid.dims.size(), halo.reach);
  for (int rank = 0; rank < halo.grid.ranks(); ++rank) {
    const auto at = halo.grid.coordinates(rank);
    for (const auto& offset : moves) add(phase, rank, neighbour(halo, at, offset), bytes_of(halo, offset));
  }
  return {std::string(name), halo.grid.ranks(), {std::move(phase)}};
}

Result<Pattern> build(const Values& values, std::size_t axes, std::string_view name) {
  auto grid = grid_of(values, axes, name);
  if (!grid.ok()) return grid.status();
  Halo halo;
  halo.grid = std::move(grid).value();
  halo.periodic = values.axis_flags("periodic", axes);
  halo.face_bytes = values.axis_bytes("face_bytes", axes);
  const std::string source = "pattern " + std::string(name);
  const std::string wanted = "1 or " + std::to_string(axes) + " of them";
  if (halo.periodic.empty()) return bad_field(source, "periodic", "a wrong number of flags", wanted);
  if (halo.face_bytes.empty()) return bad_field(source, "face_bytes", "a wrong number of sizes", wanted);
  if (axes >= 2) {
    halo.reach = reach_of(values.text("stencil"));
    halo.edge_bytes = values.bytes("edge_bytes");
  }
  if (axes >= 3) halo.corner_bytes = values.bytes("corner_bytes");
  return halo_exchange(halo, name);
}

}  // namespace

Family halo_1d() {
  return {"halo_1d", "halo exchange of a 1D decomposition", parameters_1d,
          [](const Values& values) { return build(values, 1, "halo_1d"); }};
}

Family halo_2d() {
  return {"halo_2d", "halo exchange of a 2D decomposition, with or without edges", parameters_2d,
          [](const Values& values) { return build(values, 2, "halo_2d"); }};
}

Family halo_3d() {
  return {"halo_3d", "halo exchange of a 3D decomposition: faces, edges, corners", parameters_3d,
          [](const Values& values) { return build(values, 3, "halo_3d"); }};
}

}  // namespace corewise::pattern::generators

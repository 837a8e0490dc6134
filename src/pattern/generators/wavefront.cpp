// Wavefront sweep on a 2D grid, as in Sweep3D (Koch, Baker, Alcouffe 1992): a sweep starts in one corner and every
// rank passes its outflow to the two neighbours away from it. Four corners with the third axis swept up and down
// make eight octants; each is a phase, the two of a corner in succession, corners in the order (-,-) (-,+) (+,-)
// (+,+) of the side the sweep comes from on the first and second axis. SPDX-License-Identifier: BSD-3-Clause
#include "pattern/generators/families.hpp"

namespace corewise::pattern::generators {
namespace {

constexpr ParameterInfo parameters[] = {
    ranks_parameter,
    {"dims", ParameterKind::dims, "auto", "process grid, last axis fastest; auto = balanced as MPI_Dims_create"},
    {"octants", ParameterKind::choice, "8", "sweeps: 1 (from the first corner), 4 (each corner) or 8", "1|4|8"},
    {"first_corner",
     ParameterKind::integer,
     "0",
     "corner of the first sweep in that order, the others follow",
     {},
     0,
     3},
    {"bytes", ParameterKind::axis_bytes, "4096", "bytes per message, for both axes or per axis"},
    {"blocks", ParameterKind::integer, "1", "pipelined messages per octant and neighbour", {}, 1, 1 << 20},
};

/// One octant; `side` is +1 where the sweep runs towards higher coordinates of that axis.
Phase sweep(const Grid& grid, const std::vector<int>& side, const std::vector<std::uint64_t>& bytes, int blocks) {
  Phase phase;
  const auto count = static_cast<std::uint64_t>(blocks);
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      auto at = grid.coordinates(rank);
      at[axis] += side[axis];
      const bool outside = at[axis] < 0 || at[axis] >= grid.dims[axis];
      if (!outside) add(phase, rank, grid.rank(at), bytes[axis] * count, count);
    }
  }
  return phase;
}

Result<Pattern> build(const Values& values) {
  const auto grid = grid_of(values, 2, "wavefront");
  if (!grid.ok()) return grid.status();
  const auto bytes = values.axis_bytes("bytes", 2);
  if (bytes.empty()) return bad_field("pattern wavefront", "bytes", "a wrong number of sizes", "1 or 2 of them");
  const int octants = std::stoi(values.text("octants"));
  const auto most = UINT64_MAX / static_cast<std::uint64_t>(values.integer("blocks"));
  if (bytes[0] > most || bytes[1] > most) {
    return bad_field("pattern wavefront", "bytes", "sizes that overflow", "bytes times blocks within 64 bits");
  }
  Pattern pattern{"wavefront", grid.value().ranks(), {}};
  for (int octant = 0; octant < octants; ++octant) {
    const int corner = (values.integer("first_corner") + (octants == 8 ? octant / 2 : octant)) % 4;
    const std::vector<int> side{corner / 2 == 0 ? 1 : -1, corner % 2 == 0 ? 1 : -1};
    pattern.phases.push_back(sweep(grid.value(), side, bytes, values.integer("blocks")));
    pattern.phases.back().name = numbered("octant", octant);
  }
  return pattern;
}

}  // namespace

Family wavefront() {
  return {"wavefront", "2D wavefront sweep (Sweep3D): pipelines from one corner or all four", parameters, build};
}

}  // namespace corewise::pattern::generators

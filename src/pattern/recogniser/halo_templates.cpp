// Halo templates. There are thousands (every factorisation of the ranks, each axis open or periodic, three
// stencils), so they are not compared one by one: one walk over a grid's neighbours sorts the pairs by how many
// axes they move on and which axes they wrap around, and every template of that grid is a sum of those cells.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "pattern/grid.hpp"
#include "pattern/recogniser/templates.hpp"

namespace corewise::pattern {
namespace {

constexpr std::size_t most_axes = 3;
constexpr std::size_t most_neighbours = 27;
constexpr int halo_preference = 30;
// As for other neighbour exchanges of applications: uneven subdomains differ by less than this.
constexpr double tolerance = 2.0;

using Masks = unsigned;  ///< a bit per axis

struct Neighbour {
  int rank;
  Masks moved;    ///< axes on which it lies one further
  Masks wrapped;  ///< axes on which it lies beyond the rim
};

/// The neighbours of one position, itself included; returns how many. Extends every neighbour on the axes so far by
/// the two or three moves on the next.
std::size_t neighbours(const std::vector<int>& dims, const std::vector<int>& at,
                       std::array<Neighbour, most_neighbours>& found) {
  std::array<Neighbour, most_neighbours> heads{};
  std::size_t count = 1;
  found[0] = {0, 0, 0};
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    std::copy_n(found.begin(), count, heads.begin());
    const std::size_t head_count = std::exchange(count, 0);
    for (int move = -1; move <= 1; ++move) {
      const int to = at[axis] + move;
      const bool outside = to < 0 || to >= dims[axis];
      if (outside && dims[axis] == 2) continue;
      const int wrapped_to = !outside ? to : to < 0 ? dims[axis] - 1 : 0;
      const Masks bit = 1U << axis;
      for (std::size_t i = 0; i < head_count; ++i) {
        found[count++] = {heads[i].rank * dims[axis] + wrapped_to, heads[i].moved | (move != 0 ? bit : 0),
                          heads[i].wrapped | (outside ? bit : 0)};
      }
    }
  }
  return count;
}

/// Calls visit(rank, Neighbour) for every neighbour on the grid, as if all axes of three ranks or more were
/// periodic. An axis of two ranks gives one neighbour that counts as not wrapped.
template <class Visit>
void for_each_neighbour(const std::vector<int>& dims, Visit visit) {
  const Grid grid{dims};
  std::array<Neighbour, most_neighbours> found{};
  for (int rank = 0; rank < grid.ranks(); ++rank) {
    const std::size_t count = neighbours(dims, grid.coordinates(rank), found);
    for (std::size_t i = 0; i < count; ++i) {
      if (found[i].moved != 0) visit(rank, found[i]);
    }
  }
}

/// A halo on a grid: which axes wrap (of those with three ranks or more) and on how many axes a neighbour may move.
struct Shape {
  std::vector<int> dims;
  Masks wrapping = 0;
  int reach = 1;

  [[nodiscard]] bool has(const Neighbour& neighbour) const {
    return std::popcount(neighbour.moved) <= reach && (neighbour.wrapped & ~wrapping) == 0;
  }
};

struct Candidate {
  Shape shape;
  double degree = 0;
};

Masks axes_that_can_wrap(const std::vector<int>& dims) {
  Masks axes = 0;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) axes |= dims[axis] > 2 ? 1U << axis : 0U;
  return axes;
}

/// All shapes of one grid with their degrees.
void add_candidates(const std::vector<int>& dims, const Observed& observed, std::vector<Candidate>& candidates) {
  std::array<std::array<Tally, 1U << most_axes>, most_axes + 1> cells{};  // [axes moved on][axes wrapped around]
  for_each_neighbour(dims, [&](int rank, const Neighbour& neighbour) {
    const std::uint64_t bytes = observed.bytes(rank, neighbour.rank);
    Tally& cell = cells[static_cast<std::size_t>(std::popcount(neighbour.moved))][neighbour.wrapped];
    cell.add({bytes, bytes > 0 ? 1U : 0U, 1U});
  });
  const Masks can_wrap = axes_that_can_wrap(dims);
  for (Masks wrapping = 0; wrapping < 1U << dims.size(); ++wrapping) {
    if ((wrapping & ~can_wrap) != 0) continue;
    Tally tally;
    for (std::size_t reach = 1; reach <= dims.size(); ++reach) {
      for (Masks wrapped = 0; wrapped < 1U << dims.size(); ++wrapped) {
        if ((wrapped & ~wrapping) == 0) tally.add(cells[reach][wrapped]);
      }
      candidates.push_back({{dims, wrapping, static_cast<int>(reach)}, degree_of(tally, observed)});
    }
  }
}

std::vector<Wrap> wraps(const Shape& shape) {
  std::vector<Wrap> result;
  for (std::size_t axis = 0; axis < shape.dims.size(); ++axis) {
    const bool wrapping = ((shape.wrapping >> axis) & 1U) != 0;
    result.push_back(shape.dims[axis] == 2 ? Wrap::either : wrapping ? Wrap::periodic : Wrap::open);
  }
  return result;
}

/// "periodic", "open", or per axis; an axis that may be either goes with the others.
std::string wraps_text(const std::vector<Wrap>& wraps) {
  const bool some_open = std::count(wraps.begin(), wraps.end(), Wrap::open) > 0;
  const bool some_periodic = std::count(wraps.begin(), wraps.end(), Wrap::periodic) > 0;
  if (!some_open && !some_periodic) return "periodic or open";
  if (!some_open) return "periodic";
  if (!some_periodic) return "open";
  std::string axes;
  for (std::size_t axis = 0; axis < wraps.size(); ++axis) {
    if (wraps[axis] == Wrap::periodic) axes.append(axes.empty() ? "" : ",").append(std::to_string(axis));
  }
  return "periodic on axis " + axes + " only";
}

std::string stencil_of(const Shape& shape) {
  if (shape.dims.size() == 1) return {};
  return shape.reach == 1 ? "faces" : shape.reach == 2 ? "faces+edges" : "faces+edges+corners";
}

Match described(const Shape& shape) {
  Match match;
  const std::string axes = std::to_string(shape.dims.size());
  match.family = "halo_" + axes + "d";
  match.dims = shape.dims;
  match.periodic = wraps(shape);
  match.stencil = stencil_of(shape);
  match.label = axes + "D halo " + dims_text(shape.dims) + ", " + wraps_text(match.periodic);
  if (!match.stencil.empty()) match.label += ", " + match.stencil;
  std::string flags;
  for (const Wrap wrap : match.periodic) {
    flags.append(flags.empty() ? "" : ",").append(wrap == Wrap::open ? "no" : "yes");
  }
  match.parameters = {
      {"ranks", std::to_string(Grid{shape.dims}.ranks())}, {"dims", dims_text(shape.dims)}, {"periodic", flags}};
  if (!match.stencil.empty()) match.parameters.push_back({"stencil", match.stencil});
  return match;
}

/// Pairs that move on the same axes are expected to carry like bytes.
Template as_template(const Shape& shape) {
  Template pattern;
  pattern.about = described(shape);
  pattern.preference = halo_preference + static_cast<int>(shape.dims.size()) - 1;
  pattern.tolerance = tolerance;
  for_each_neighbour(shape.dims, [&](int rank, const Neighbour& neighbour) {
    if (shape.has(neighbour)) {
      pattern.pairs.push_back({rank, neighbour.rank, static_cast<int>(neighbour.moved), 1});
    }
  });
  return pattern;
}

/// Bytes of every difference between the numbers of receiver and sender.
class Differences {
 public:
  explicit Differences(const Observed& observed)
      : ranks_(observed.ranks()), bytes_(2 * static_cast<std::size_t>(observed.ranks())) {
    for (const Message& pair : observed.pairs()) bytes_[index(pair.to - pair.from)] += pair.bytes;
  }

  /// What the neighbours on a grid carry at most: the bytes on every difference that a neighbour's number can have.
  [[nodiscard]] std::uint64_t most_bytes(const std::vector<int>& dims) const {
    std::vector<int> reachable{0};
    int stride = ranks_;
    for (const int length : dims) {
      stride /= length;
      const std::size_t before = reachable.size();
      for (std::size_t i = 0; i < before; ++i) {
        for (const int move : {stride, -stride, stride * (length - 1), stride * (1 - length)}) {
          reachable.push_back(reachable[i] + move);
        }
      }
    }
    std::sort(reachable.begin(), reachable.end());
    reachable.erase(std::unique(reachable.begin(), reachable.end()), reachable.end());
    std::uint64_t bytes = 0;
    for (const int difference : reachable) {
      if (std::abs(difference) < ranks_) bytes += bytes_[index(difference)];
    }
    return bytes;
  }

 private:
  [[nodiscard]] std::size_t index(int difference) const { return static_cast<std::size_t>(difference + ranks_); }

  int ranks_;
  std::vector<std::uint64_t> bytes_;
};

struct Bounded {
  std::size_t order;
  double most_degree;
  std::vector<int> dims;
};

/// Grids of so many axes, the most promising first, each with a bound on the degree of its halos.
std::vector<Bounded> bounded_grids(const Observed& observed, const Differences& differences, int axes) {
  std::vector<Bounded> grids;
  for (auto& dims : ordered_factorisations(observed.ranks(), axes)) {
    const double share =
        static_cast<double>(differences.most_bytes(dims)) / static_cast<double>(observed.total_bytes());
    grids.push_back({grids.size(), share, std::move(dims)});
  }
  std::stable_sort(grids.begin(), grids.end(),
                   [](const Bounded& a, const Bounded& b) { return a.most_degree > b.most_degree; });
  return grids;
}

struct GridCandidates {
  std::size_t order;
  std::vector<Candidate> candidates;
};

/// The shapes of all grids that can be the best of their number of axes, or exact; in the order of the grids.
std::vector<Candidate> promising(const Observed& observed, const std::vector<Bounded>& grids, double least_degree) {
  std::vector<GridCandidates> looked_at;
  double best = least_degree;
  for (const Bounded& grid : grids) {
    if (grid.most_degree < best - 1e-9) break;
    GridCandidates here{grid.order, {}};
    add_candidates(grid.dims, observed, here.candidates);
    for (const Candidate& candidate : here.candidates) best = std::max(best, candidate.degree);
    looked_at.push_back(std::move(here));
  }
  std::sort(looked_at.begin(), looked_at.end(),
            [](const GridCandidates& a, const GridCandidates& b) { return a.order < b.order; });
  std::vector<Candidate> all;
  for (GridCandidates& one : looked_at)
    std::move(one.candidates.begin(), one.candidates.end(), std::back_inserter(all));
  return all;
}

}  // namespace

Template halo_template(const std::vector<int>& dims, const std::vector<bool>& wrapping, int reach) {
  Shape shape{dims, 0, reach};
  for (std::size_t axis = 0; axis < dims.size(); ++axis) shape.wrapping |= wrapping[axis] ? 1U << axis : 0U;
  shape.wrapping &= axes_that_can_wrap(dims);
  return as_template(shape);
}

std::vector<Template> halo_templates(const Observed& observed, double least_degree) {
  std::vector<Template> templates;
  const Differences differences(observed);
  std::uint64_t most_peers = 0;  // 3^axes - 1
  for (std::size_t axes = 1; axes <= most_axes; ++axes) {
    most_peers = 3 * most_peers + 2;
    if (observed.most_degree(most_peers * static_cast<std::uint64_t>(observed.ranks())) < least_degree) continue;
    std::vector<Candidate> candidates =
        promising(observed, bounded_grids(observed, differences, static_cast<int>(axes)), least_degree);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.degree > b.degree; });
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (i > 0 && candidates[i].degree < 1) break;
      templates.push_back(as_template(candidates[i].shape));
    }
  }
  return templates;
}

}  // namespace corewise::pattern

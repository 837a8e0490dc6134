// Swaps on the sum of distances; see grid.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/reordering/grid.hpp"

#include <numeric>
#include <utility>

namespace corewise::preload::reorder {
namespace {

constexpr std::size_t kMostSwaps = 2'000'000;  ///< tried; about a tenth of a second

class Search {
 public:
  Search(const Neighbours& graph, const std::vector<std::int64_t>& distances, std::size_t members)
      : graph_(graph), distances_(distances), members_(members), member_(graph.size()) {
    std::iota(member_.begin(), member_.end(), 0);
  }

  std::vector<int> run() {
    while (sweep()) {
    }
    return member_;
  }

 private:
  /// True when something got better and there is still leave to try.
  bool sweep() {
    bool better = false;
    for (std::size_t a = 0; a < member_.size(); ++a)
      for (std::size_t b = a + 1; b < member_.size(); ++b) {
        if (tried_++ == kMostSwaps) return false;
        better = swap_if_better(a, b) || better;
      }
    return better;
  }

  bool swap_if_better(std::size_t a, std::size_t b) {
    const std::int64_t before = cost(a) + cost(b);
    std::swap(member_[a], member_[b]);
    if (cost(a) + cost(b) < before) return true;
    std::swap(member_[a], member_[b]);
    return false;
  }

  /// Of the edges at one place. An edge between two swapped places counts twice, before and after.
  [[nodiscard]] std::int64_t cost(std::size_t place) const {
    std::int64_t sum = 0;
    const std::size_t row = static_cast<std::size_t>(member_[place]) * members_;
    for (const int other : graph_[place])
      sum += distances_[row + static_cast<std::size_t>(member_[static_cast<std::size_t>(other)])];
    return sum;
  }

  const Neighbours& graph_;
  const std::vector<std::int64_t>& distances_;
  std::size_t members_;
  std::vector<int> member_;
  std::size_t tried_ = 0;
};

}  // namespace

Neighbours grid_neighbours(const std::vector<int>& dims, const std::vector<bool>& periodic) {
  std::size_t places = 1;
  for (const int dim : dims) places *= static_cast<std::size_t>(dim);
  Neighbours graph(places);
  std::size_t stride = places;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const auto length = static_cast<std::size_t>(dims[d]);
    stride /= length;
    if (length < 2) continue;
    for (std::size_t place = 0; place < places; ++place) {
      const bool is_last = place / stride % length == length - 1;
      if (is_last && !(periodic[d] && length > 2)) continue;
      const std::size_t next = is_last ? place - (length - 1) * stride : place + stride;
      graph[place].push_back(static_cast<int>(next));
      graph[next].push_back(static_cast<int>(place));
    }
  }
  return graph;
}

std::vector<int> arrange(const Neighbours& graph, const std::vector<std::int64_t>& distances, std::size_t members) {
  return Search(graph, distances, members).run();
}

}  // namespace corewise::preload::reorder

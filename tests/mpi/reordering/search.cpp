// Reads dims, periods and distances, says which member src/preload/reordering/grid.cpp puts on each place of the
// grid. Words on standard input: NDIMS, then NDIMS lengths, NDIMS periods (0 or 1), MEMBERS, MEMBERS x MEMBERS
// distances. SPDX-License-Identifier: BSD-3-Clause
#include <iostream>

#include "preload/reordering/grid.hpp"

using namespace corewise::preload::reorder;

int main() {
  std::size_t ndims = 0, members = 0;
  std::cin >> ndims;
  std::vector<int> dims(ndims);
  std::vector<bool> periodic(ndims);
  for (int& dim : dims) std::cin >> dim;
  for (std::size_t d = 0; d < ndims; ++d) {
    int period = 0;
    std::cin >> period;
    periodic[d] = period != 0;
  }
  std::cin >> members;
  std::vector<std::int64_t> distances(members * members);
  for (std::int64_t& distance : distances) std::cin >> distance;
  const Neighbours graph = grid_neighbours(dims, periodic);
  for (const int member : arrange(graph, distances, members)) std::cout << member << ' ';
  std::cout << '\n';
  for (std::size_t place = 0; place < graph.size(); ++place)
    for (const int other : graph[place]) std::cout << place << ' ' << other << '\n';
}

// Contestant: the room `place`. Symmetry and representatives are computed once per machine, outside the timing;
// everything that depends on the pattern is inside.
// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <utility>

#include "contestants.hpp"
#include "place/exhaustive.hpp"

namespace corewise::bench {

struct CorewiseSearch::Prepared {
  place::RoutedShares shares;
  place::Symmetry symmetry;
  place::LinkLoadEnumeration enumeration;

  explicit Prepared(place::RoutedShares ring)
      : shares(std::move(ring)),
        symmetry(shares),
        enumeration(shares, symmetry, *place::representatives(symmetry, 8, 40320)) {}
};

CorewiseSearch::CorewiseSearch()
    : prepared_(std::make_unique<Prepared>(place::RoutedShares::of(ring_of_eight()).value())) {}

CorewiseSearch::~CorewiseSearch() = default;

int CorewiseSearch::least_load(const pattern::Matrix& matrix, bool find_worst) const {
  place::ExhaustiveOptions options;
  options.find_worst = find_worst;
  const place::Workload work = place::workload(matrix).value();
  const place::ExhaustiveResult found = prepared_->enumeration.run(work, options);
  return static_cast<int>(std::lround(2 * found.best_score.primary));  // bandwidth 1: ns are bytes
}

std::uint64_t CorewiseSearch::group_order() const {
  return prepared_->symmetry.order();
}

machine::Machine ring_of_eight() {
  machine::Machine ring;
  ring.name = "ring:8";
  ring.kind = "ring";
  for (int s = 0; s < 8; ++s) {
    ring.stops.push_back("stop" + std::to_string(s));
    ring.units.push_back({"unit" + std::to_string(s), s, -1, -1, {}});
  }
  for (int s = 0; s < 8; ++s) ring.links.push_back({"cw" + std::to_string(s), s, (s + 1) % 8, 1, 1});
  for (int s = 0; s < 8; ++s) ring.links.push_back({"ccw" + std::to_string(s), (s + 1) % 8, s, 1, 1});
  for (int from = 0; from < 8; ++from) {
    for (int to = 0; to < 8; ++to) {
      const int ahead = (to - from + 8) % 8;
      machine::Route clockwise;
      machine::Route counter;
      for (int k = 0; k < ahead; ++k) clockwise.links.push_back((from + k) % 8);
      for (int k = 0; k < (8 - ahead) % 8; ++k) counter.links.push_back(8 + (from - 1 - k + 8) % 8);
      std::vector<machine::Route> routes;
      if (ahead <= 4) routes.push_back(clockwise);
      if (ahead >= 4) routes.push_back(counter);
      ring.route_table.push_back(routes);
    }
  }
  return ring;
}

}  // namespace corewise::bench

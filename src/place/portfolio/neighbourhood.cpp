// Neighbourhood: nearest units, blocks of equal size. See neighbourhood.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/portfolio/neighbourhood.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "base/index.hpp"

namespace corewise::place {

namespace {

constexpr std::size_t most_near = 12;

using Block = std::vector<machine::UnitId>;

/// Units that routes of at most `hops` connect, in order of their first unit.
std::vector<Block> connected(const RoutedShares& shares, int hops) {
  std::vector<Block> blocks;
  std::vector<char> taken(index(shares.units()), 0);
  for (int first = 0; first < shares.units(); ++first) {
    if (taken[index(first)]) continue;
    Block block{first};
    taken[index(first)] = 1;
    for (std::size_t at = 0; at < block.size(); ++at) {
      for (int other = first + 1; other < shares.units(); ++other) {
        if (taken[index(other)] || shares.hops(block[at], other) > hops) continue;
        taken[index(other)] = 1;
        block.push_back(other);
      }
    }
    std::sort(block.begin(), block.end());
    blocks.push_back(std::move(block));
  }
  return blocks;
}

/// Classes of equal size with two blocks or more, none of single units.
void add_classes(std::vector<Block> blocks, std::vector<std::vector<Block>>& classes) {
  std::map<std::size_t, std::vector<Block>> by_size;
  for (Block& block : blocks) by_size[block.size()].push_back(std::move(block));
  for (auto& [size, alike] : by_size) {
    if (size < 2 || alike.size() < 2) continue;
    if (std::find(classes.begin(), classes.end(), alike) == classes.end()) classes.push_back(std::move(alike));
  }
}

}  // namespace

Neighbourhood Neighbourhood::of(const RoutedShares& shares, const Limits& limits) {
  Neighbourhood made;
  made.limits = limits;
  std::vector<machine::UnitId> others(index(shares.units()));
  for (int unit = 0; unit < shares.units(); ++unit) {
    std::iota(others.begin(), others.end(), 0);
    const auto hops = [&](int other) { return other == unit ? -1 : shares.hops(unit, other); };
    const std::size_t kept = std::min(others.size(), most_near + 1);
    std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(kept), others.end(),
                      [&](int a, int b) { return std::pair(hops(a), a) < std::pair(hops(b), b); });
    made.near.emplace_back(others.begin() + 1, others.begin() + static_cast<std::ptrdiff_t>(kept));
  }
  for (int most = 0; most < shares.longest_route_hops(); ++most) add_classes(connected(shares, most), made.blocks);
  return made;
}

}  // namespace corewise::place

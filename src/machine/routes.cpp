// Routes as they are stored. See routes.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "machine/routes.hpp"

#include <algorithm>

namespace corewise::machine {
namespace {

std::uint32_t number(std::size_t size) {
  return static_cast<std::uint32_t>(size);
}

}  // namespace

bool operator==(const Links& a, const Links& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

void RouteTable::add(const std::vector<Path>& alternatives) {
  for (const Path& path : alternatives) {
    heads_.push_back({number(links_.size()), number(path.size())});
    links_.insert(links_.end(), path.begin(), path.end());
  }
  first_.push_back(number(heads_.size()));
}

void RouteTable::add_way(const Path& up, const Path& down) {
  const std::uint32_t first = number(links_.size());
  ways_.push_back({number(heads_.size()), first + number(up.size()), number(down.size())});
  links_.insert(links_.end(), up.begin(), up.end());
  links_.insert(links_.end(), down.begin(), down.end());
  for (std::uint32_t left = number(up.size()) + 1; left-- > 0;) heads_.push_back({first, left});
}

std::span<const LinkId> RouteTable::up(UnitId unit) const {
  const Way& way = ways_[static_cast<std::size_t>(unit)];
  return {links_.data() + heads_[way.first].first, heads_[way.first].size};
}

std::span<const LinkId> RouteTable::down(UnitId unit) const {
  const Way& way = ways_[static_cast<std::size_t>(unit)];
  return {links_.data() + way.down, way.hops};
}

}  // namespace corewise::machine

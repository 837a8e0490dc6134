// Neighbourhood: nearest units, blocks of equal size. See neighbourhood.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/portfolio/neighbourhood.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/index.hpp"

namespace corewise::place {

namespace {

/// Classes of alike units.
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

/// Which links only what one unit sends, or what one receives, crosses; and which units differ in nothing but
/// these. (Symmetry would tell the latter, too, but looks at all pairs of units for each pair.)
class OwnLinks {
 public:
  explicit OwnLinks(const RoutedShares& shares)
      : shares_(shares),
        owner_(index(shares.links()), nobody),
        place_(index(shares.links()), 0),
        own_(index(shares.units())) {
    std::vector<Ends> ends(index(shares.links()));
    for (int from = 0; from < shares.units(); ++from) {
      for (int to = 0; to < shares.units(); ++to) {
        for (const Share& share : shares.shares(from, to)) ends[index(share.link)].note(from, to);
      }
    }
    // First the links that a unit sends by: so those of alike units stand in one order.
    for (const bool sends : {true, false}) {
      for (int link = 0; link < shares.links(); ++link) {
        const Ends& of = ends[index(link)];
        if (of.are_own() && sends == (of.sender != nobody)) add(sends ? of.sender : of.receiver, link);
      }
    }
    shared_links_ = std::ranges::count_if(ends, [](const Ends& each) { return each.used && !each.are_own(); });
  }

  [[nodiscard]] std::ptrdiff_t shared_links() const { return shared_links_; }

  /// Whether routes stay routes when the two trade places, and their own links with them, in order.
  [[nodiscard]] bool are_alike(int one, int other) const {
    const auto bandwidth = [this](int link) { return shares_.bandwidth_gb_per_s(link); };
    if (!std::ranges::equal(own_[index(one)], own_[index(other)], {}, bandwidth, bandwidth)) return false;
    const auto image = [&](int unit) { return unit == one ? other : unit == other ? one : unit; };
    for (int third = 0; third < shares_.units(); ++third) {
      // Traded twice all is as before, so what holds for one holds for the other.
      if (!is_image(one, third, image) || !is_image(third, one, image)) return false;
    }
    return true;
  }

  /// Per unit the lowest-numbered one that is alike.
  [[nodiscard]] std::vector<machine::UnitId> classes() const {
    std::vector<machine::UnitId> class_of;
    std::vector<machine::UnitId> firsts;
    for (int unit = 0; unit < shares_.units(); ++unit) {
      const auto known = std::ranges::find_if(firsts, [&](int first) { return are_alike(first, unit); });
      class_of.push_back(known != firsts.end() ? *known : unit);
      if (known == firsts.end()) firsts.push_back(unit);
    }
    return class_of;
  }

 private:
  static constexpr int nobody = -1;

  /// The one sender and the one receiver of all messages that cross a link, as far as there is one.
  struct Ends {
    bool used = false;
    int sender = nobody, receiver = nobody;

    void note(int from, int to) {
      sender = !used || sender == from ? from : nobody;
      receiver = !used || receiver == to ? to : nobody;
      used = true;
    }
    /// A link between only two units is neither's.
    [[nodiscard]] bool are_own() const { return (sender == nobody) != (receiver == nobody); }
  };

  void add(int owner, int link) {
    owner_[index(link)] = owner;
    place_[index(link)] = own_[index(owner)].size();
    own_[index(owner)].push_back(link);
  }

  template <class Image>
  [[nodiscard]] bool is_image(int from, int to, Image image) const {
    if (shares_.hops(from, to) != shares_.hops(image(from), image(to))) return false;
    const auto route = shares_.shares(from, to);
    const auto wanted = shares_.shares(image(from), image(to));
    return route.size() == wanted.size() && std::ranges::all_of(route, [&](const Share& share) {
             const int owner = owner_[index(share.link)];
             const int link = owner == nobody ? share.link : own_[index(image(owner))][place_[index(share.link)]];
             return std::ranges::find(wanted, Share{link, share.parts}) != wanted.end();
           });
  }

  const RoutedShares& shares_;
  std::vector<int> owner_;          ///< per link
  std::vector<std::size_t> place_;  ///< per link, among its owner's
  std::vector<std::vector<int>> own_;
  std::ptrdiff_t shared_links_ = 0;
};

}  // namespace

Neighbourhood Neighbourhood::of(const RoutedShares& shares, const Limits& limits) {
  Neighbourhood made;
  made.limits = limits;
  const OwnLinks links(shares);
  if (links.shared_links() > 0) {
    made.units_per_shared_link = shares.units() / static_cast<double>(links.shared_links());
  }
  made.class_of.resize(index(shares.units()));
  std::iota(made.class_of.begin(), made.class_of.end(), 0);
  if (!limits.any()) made.class_of = links.classes();
  for (int unit = 0; unit < shares.units(); ++unit) made.add_neighbours(shares, unit);
  for (const auto& others : made.alike) made.most_alike = std::max(made.most_alike, 1 + others.size());
  for (int most = 0; most < shares.longest_route_hops(); ++most) add_classes(connected(shares, most), made.blocks);
  return made;
}

void Neighbourhood::add_neighbours(const RoutedShares& shares, machine::UnitId unit) {
  std::vector<std::array<int, 3>> order;
  for (int other = 0; other < shares.units(); ++other) {
    if (other != unit) order.push_back({shares.hops(unit, other), class_of[index(other)], other});
  }
  std::ranges::sort(order);
  auto& same = alike.emplace_back();
  auto& others = near.emplace_back();
  std::set<int> classes;
  for (const auto& [hops, first, other] : order) {
    if (are_alike(unit, other)) {
      same.push_back(other);
    } else if (classes.contains(first) || classes.size() < most_near) {
      classes.insert(first);
      others.push_back(other);
    }
  }
}

}  // namespace corewise::place

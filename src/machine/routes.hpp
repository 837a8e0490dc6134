// Routes: which links a transfer takes, for every pair of units. Tables keep the routes of each pair; of a tree
// only each unit's way to the top and back is kept, since a route climbs to where two ways part and descends. So a
// tree's memory grows with its units, that of everything else with their square.
//
// Links, Route and Routes are views: they stand while the RouteTable does and nothing is added to it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

namespace corewise::machine {

using LinkId = int;
using UnitId = int;

/// Links that follow each other.
using Path = std::vector<LinkId>;

/// Goes through what has an operator[], by number.
template <class Sequence>
class NumberIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using iterator_concept = std::forward_iterator_tag;
  using value_type = typename Sequence::value_type;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  NumberIterator() = default;
  NumberIterator(const Sequence& of, std::size_t at) : of_(&of), at_(at) {}

  value_type operator*() const { return (*of_)[at_]; }
  NumberIterator& operator++() {
    ++at_;
    return *this;
  }
  NumberIterator operator++(int) {
    NumberIterator before = *this;
    ++at_;
    return before;
  }
  friend bool operator==(const NumberIterator& a, const NumberIterator& b) { return a.at_ == b.at_; }

 private:
  const Sequence* of_ = nullptr;
  std::size_t at_ = 0;
};

/// The links of one route in their order; in memory they are in two pieces.
class Links {
 public:
  using value_type = LinkId;

  Links() = default;
  explicit Links(std::span<const LinkId> head, std::span<const LinkId> tail = {})
      : head_(head.data()), tail_(tail.data()), head_size_(narrow(head)), size_(narrow(head) + narrow(tail)) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  LinkId operator[](std::size_t at) const { return at < head_size_ ? head_[at] : tail_[at - head_size_]; }
  [[nodiscard]] LinkId front() const { return (*this)[0]; }
  [[nodiscard]] NumberIterator<Links> begin() const { return {*this, 0}; }
  [[nodiscard]] NumberIterator<Links> end() const { return {*this, size_}; }
  friend bool operator==(const Links& a, const Links& b);

 private:
  static std::uint32_t narrow(std::span<const LinkId> links) { return static_cast<std::uint32_t>(links.size()); }

  const LinkId* head_ = nullptr;
  const LinkId* tail_ = nullptr;
  std::uint32_t head_size_ = 0;
  std::uint32_t size_ = 0;
};

/// One way from a unit to another. No links where both share a stop.
struct Route {
  Links links;
};

/// The alternatives of a pair of units.
class Routes {
 public:
  using value_type = Route;
  /// Where the links of a route's head are.
  struct Piece {
    std::uint32_t first = 0;
    std::uint32_t size = 0;
  };

  Routes(std::span<const Piece> heads, const LinkId* links, std::span<const LinkId> tail = {})
      : heads_(heads), links_(links), tail_(tail) {}

  [[nodiscard]] std::size_t size() const { return heads_.size(); }
  [[nodiscard]] bool empty() const { return heads_.empty(); }
  Route operator[](std::size_t at) const { return {Links({links_ + heads_[at].first, heads_[at].size}, tail_)}; }
  [[nodiscard]] Route front() const { return (*this)[0]; }
  [[nodiscard]] NumberIterator<Routes> begin() const { return {*this, 0}; }
  [[nodiscard]] NumberIterator<Routes> end() const { return {*this, size()}; }

 private:
  std::span<const Piece> heads_;
  const LinkId* links_;
  std::span<const LinkId> tail_;  ///< of every alternative
};

/// The routes of all pairs of units, either added pair by pair or by the ways of a tree. By number: pair [u][v] of
/// n units is u * n + v.
class RouteTable {
 public:
  using value_type = Routes;

  /// Adds the alternatives of the next pair.
  void add(const std::vector<Path>& alternatives);
  /// Adds the next unit's way: its links to the top, and those from the top to it. Ways that pass one stop are the
  /// same above it.
  void add_way(const Path& up, const Path& down);

  /// Pairs.
  [[nodiscard]] std::size_t size() const { return is_tree() ? ways_.size() * ways_.size() : first_.size() - 1; }
  [[nodiscard]] bool is_tree() const { return !ways_.empty(); }
  Routes operator[](std::size_t pair) const {
    return is_tree() ? between(ways_[pair / ways_.size()], ways_[pair % ways_.size()]) : listed(pair);
  }
  /// Of a machine of so many units.
  [[nodiscard]] Routes of(UnitId from, UnitId to, std::size_t units) const {
    const auto source = static_cast<std::size_t>(from);
    const auto target = static_cast<std::size_t>(to);
    return is_tree() ? between(ways_[source], ways_[target]) : listed(source * units + target);
  }
  /// Of a tree: a unit's links to the top, and those from the top to it.
  [[nodiscard]] std::span<const LinkId> up(UnitId unit) const;
  [[nodiscard]] std::span<const LinkId> down(UnitId unit) const;

  [[nodiscard]] NumberIterator<RouteTable> begin() const { return {*this, 0}; }
  [[nodiscard]] NumberIterator<RouteTable> end() const { return {*this, size()}; }

 private:
  struct Way {
    std::uint32_t first = 0;  ///< in heads_: what is left of the way up below each stop, the top first
    std::uint32_t down = 0;   ///< in links_
    std::uint32_t hops = 0;
  };

  [[nodiscard]] Routes listed(std::size_t pair) const {
    return {{heads_.data() + first_[pair], heads_.data() + first_[pair + 1]}, links_.data()};
  }
  [[nodiscard]] Routes between(const Way& from, const Way& to) const {
    const LinkId* links = links_.data();
    std::uint32_t common = 0;
    while (common < from.hops && common < to.hops && links[from.down + common] == links[to.down + common]) ++common;
    return {{heads_.data() + from.first + common, 1}, links, {links + to.down + common, to.hops - common}};
  }

  std::vector<LinkId> links_;
  std::vector<Routes::Piece> heads_;
  std::vector<std::uint32_t> first_{0};  ///< per pair, in heads_: of tables
  std::vector<Way> ways_;                ///< per unit: of trees
};

}  // namespace corewise::machine

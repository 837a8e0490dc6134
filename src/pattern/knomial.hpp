// The tree of degree k (paper 001, sections 5 and 6): in each phase every rank that has been reached reaches k - 1
// others, so ceil(log_k P) phases reach all. k = 2 is the binomial tree; k = 1 stands for a chain, as in the paper.
//
// Doubling: in phase i the first k^i ranks reach those k^i, 2 k^i .. further on. Halving: the distances shrink by k
// from phase to phase, and the ranks below a rank are the consecutive ones after it (needed where the order of the
// operands counts; and of two chips only one edge crosses). Contract as in schedule.hpp: pure, 1 <= ranks, and
// every child's parent is who has it as a child. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "pattern/schedule.hpp"

namespace corewise::pattern::schedule {

class Knomial {
 public:
  constexpr Knomial(int ranks, int root, int rank, int degree, TreeOrder order = TreeOrder::halving)
      : ranks_(ranks),
        root_(root),
        degree_(ranks == 2 && degree > 2 ? 2 : degree),  // the same tree, without divisions
        order_(order),
        place_(rank < root ? rank - root + ranks : rank - root) {}

  /// `nobody` for the root.
  [[nodiscard]] constexpr int parent() const {
    if (place_ == 0) return nobody;
    if (degree_ == 1) return rank_at(place_ - 1);
    if (order_ == TreeOrder::halving && degree_ == 2) return rank_at(place_ & (place_ - 1));
    if (order_ == TreeOrder::halving) return rank_at(place_ - place_ % (own_unit() * degree_));
    return rank_at(place_ % greatest_power(place_));
  }

  /// Calls visit(child) for each child, phase by phase.
  template <class Visit>
  constexpr void for_children(Visit visit) const {
    if (degree_ == 1) {
      if (place_ + 1 < ranks_) visit(rank_at(place_ + 1));
      return;
    }
    if (order_ == TreeOrder::halving) {
      for (int unit = below(own_unit()); unit >= 1; unit = below(unit)) visit_phase(unit, visit);
    } else {
      int unit = 1;
      while (unit <= place_) unit *= degree_;
      for (; place_ + unit < ranks_; unit *= degree_) visit_phase(unit, visit);
    }
  }
  /// The same children in the order of their distance: the way in which results come up the tree. Halving only.
  template <class Visit>
  constexpr void for_children_nearest_first(Visit visit) const {
    if (degree_ == 1) return for_children(visit);
    for (int unit = 1; unit < own_unit(); unit *= degree_) visit_phase(unit, visit);
  }
  [[nodiscard]] constexpr int children() const {
    int count = 0;
    for_children([&count](int) { ++count; });
    return count;
  }
  /// Halving: the ranks of the subtree under this one, itself included, are this many consecutive ones (from the
  /// root's point of view).
  [[nodiscard]] constexpr int subtree() const {
    const int left = ranks_ - place_;
    if (degree_ == 1) return left;
    return own_unit() < left ? own_unit() : left;
  }

 private:
  [[nodiscard]] constexpr int rank_at(int place) const {
    return place + root_ < ranks_ ? place + root_ : place + root_ - ranks_;
  }
  /// Greatest power of the degree that is at most `place` (>= 1).
  [[nodiscard]] constexpr int greatest_power(int place) const {
    int unit = 1;
    while (unit * degree_ <= place) unit *= degree_;
    return unit;
  }
  /// Halving: the span that this rank heads: for the root a power of the degree that covers all.
  [[nodiscard]] constexpr int own_unit() const {
    if (degree_ == 2 && place_ != 0) return place_ & -place_;
    int unit = 1;
    while (place_ == 0 ? unit < ranks_ : place_ % (unit * degree_) == 0) unit *= degree_;
    return unit;
  }
  /// The unit of the next phase.
  [[nodiscard]] constexpr int below(int unit) const { return degree_ == 2 ? unit >> 1 : unit / degree_; }
  template <class Visit>
  constexpr void visit_phase(int unit, Visit& visit) const {
    for (int child = 1; child < degree_ && place_ + child * unit < ranks_; ++child) {
      visit(rank_at(place_ + child * unit));
    }
  }

  int ranks_, root_, degree_;
  TreeOrder order_;
  int place_;  ///< from the root on
};

}  // namespace corewise::pattern::schedule

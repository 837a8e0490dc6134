// The tree of degree k, exhaustively for 1 to 40 ranks, every root, degrees 1 to 9 and both orders: it is one tree,
// reaches all in the phases that paper 001 counts, and subtrees are consecutive where that is promised.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "pattern/knomial.hpp"

namespace {

using corewise::pattern::schedule::Knomial;
using corewise::pattern::schedule::nobody;
using corewise::pattern::schedule::TreeOrder;

constexpr int kMostRanks = 40;
constexpr int kMostDegree = 9;

std::vector<int> children_of(const Knomial& node) {
  std::vector<int> children;
  node.for_children([&children](int child) { children.push_back(child); });
  return children;
}

/// Smallest n with degree^n >= ranks; of a chain the length.
int phases(int ranks, int degree) {
  if (degree == 1) return ranks - 1;
  int count = 0;
  for (int reached = 1; reached < ranks; reached *= degree) ++count;
  return count;
}

/// Calls visit(ranks, root, degree, order) for all of them.
template <class Visit>
void for_trees(Visit visit) {
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    for (int root = 0; root < ranks; root += ranks < 6 ? 1 : 5) {
      for (int degree = 1; degree <= kMostDegree; ++degree) {
        for (const TreeOrder order : {TreeOrder::halving, TreeOrder::doubling}) {
          SCOPED_TRACE(testing::Message() << "ranks " << ranks << " root " << root << " degree " << degree
                                          << (order == TreeOrder::halving ? " halving" : " doubling"));
          visit(ranks, root, degree, order);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

/// In which phase everybody is reached, when in each phase a rank that has been reached reaches the next degree - 1
/// of its children; -1 for who is not. Fails when somebody is reached twice.
std::vector<int> phase_of_everybody(int ranks, int root, int degree, TreeOrder order) {
  std::vector<int> reached(static_cast<std::size_t>(ranks), -1);
  reached[static_cast<std::size_t>(root)] = 0;
  std::vector<int> waiting{root};
  while (!waiting.empty()) {
    const int rank = waiting.back();
    waiting.pop_back();
    int index = 0;
    for (const int child : children_of(Knomial(ranks, root, rank, degree, order))) {
      int& phase = reached[static_cast<std::size_t>(child)];
      EXPECT_EQ(phase, -1) << child << " is reached twice";
      phase = reached[static_cast<std::size_t>(rank)] + 1 + index++ / std::max(1, degree - 1);
      waiting.push_back(child);
    }
  }
  return reached;
}

/// `rank` and all under it, as distances from the root.
void collect(int ranks, int root, int rank, int degree, std::vector<int>& places) {
  places.push_back((rank - root + ranks) % ranks);
  for (const int child : children_of(Knomial(ranks, root, rank, degree))) {
    collect(ranks, root, child, degree, places);
  }
}

TEST(Knomial, WhoHasAChildIsItsParent) {
  for_trees([](int ranks, int root, int degree, TreeOrder order) {
    EXPECT_EQ(Knomial(ranks, root, root, degree, order).parent(), nobody);
    for (int rank = 0; rank < ranks; ++rank) {
      const Knomial node(ranks, root, rank, degree, order);
      const std::vector<int> children = children_of(node);
      EXPECT_EQ(node.children(), static_cast<int>(children.size()));
      for (const int child : children) {
        EXPECT_EQ(Knomial(ranks, root, child, degree, order).parent(), rank) << "child " << child;
      }
    }
  });
}

TEST(Knomial, AllAreReachedOnceInTheLeastPhases) {
  for_trees([](int ranks, int root, int degree, TreeOrder order) {
    const std::vector<int> reached = phase_of_everybody(ranks, root, degree, order);
    EXPECT_EQ(std::count(reached.begin(), reached.end(), -1), 0);
    EXPECT_LE(*std::max_element(reached.begin(), reached.end()), phases(ranks, degree));
  });
}

TEST(Knomial, SubtreesAreConsecutiveWhenHalving) {
  for_trees([](int ranks, int root, int degree, TreeOrder order) {
    if (order != TreeOrder::halving) return;
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<int> places;
      collect(ranks, root, rank, degree, places);
      EXPECT_EQ(Knomial(ranks, root, rank, degree).subtree(), static_cast<int>(places.size())) << "rank " << rank;
      std::sort(places.begin(), places.end());
      EXPECT_EQ(places.front(), (rank - root + ranks) % ranks);
      EXPECT_EQ(places.back() - places.front() + 1, static_cast<int>(places.size())) << "rank " << rank;
    }
  });
}

TEST(Knomial, NearestFirstIsTheSameChildrenAscending) {
  for_trees([](int ranks, int root, int degree, TreeOrder order) {
    if (order != TreeOrder::halving) return;
    for (int rank = 0; rank < ranks; ++rank) {
      const Knomial node(ranks, root, rank, degree);
      const auto distance = [&](int child) { return (child - rank + ranks) % ranks; };
      std::vector<int> nearest_first;
      node.for_children_nearest_first([&](int child) { nearest_first.push_back(distance(child)); });
      std::vector<int> children;
      for (const int child : children_of(node)) children.push_back(distance(child));
      std::sort(children.begin(), children.end());
      EXPECT_EQ(nearest_first, children) << "rank " << rank;
    }
  });
}

TEST(Knomial, DegreeTwoIsTheBinomialTree) {
  namespace schedule = corewise::pattern::schedule;
  for_trees([](int ranks, int root, int degree, TreeOrder order) {
    if (degree != 2) return;
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<int> children;
      for (int step = 0; step < schedule::binomial_tree_steps(ranks); ++step) {
        const int to = schedule::binomial_tree_peers(ranks, root, rank, step, order).to;
        if (to != nobody) children.push_back(to);
      }
      EXPECT_EQ(children_of(Knomial(ranks, root, rank, degree, order)), children) << "rank " << rank;
    }
  });
}

}  // namespace

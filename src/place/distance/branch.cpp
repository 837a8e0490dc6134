// Distance branch and bound: the walk. See branch.hpp.
//
// Inside, costs are doubled: every pair counts from both ends, as in the quadratic assignment literature, so that
// the bound needs no halves. J is a whole number, so a bound is rounded up to an even one. Branching on the line
// with the largest reduced costs: Mautor and Roucairol (1994); Brixius and Anstreicher (2001).
// SPDX-License-Identifier: BSD-3-Clause
#include "place/distance/branch.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/rng.hpp"
#include "place/distance/symmetry.hpp"

namespace corewise::place {

namespace {

class SwapDescent {
 public:
  SwapDescent(const AssignmentProblem& problem, std::uint64_t seed) : problem_(problem), rng_(seed) {
    unit_.resize(static_cast<std::size_t>(problem.size));
    std::iota(unit_.begin(), unit_.end(), 0);
  }

  std::vector<int> run(int descents) {
    std::vector<int> best = unit_;
    std::int64_t best_cost = problem_.cost(unit_);
    for (int k = 0; k < descents; ++k) {
      // Every other descent starts from a kicked copy of the best.
      if (k % 2 == 0) {
        rng_.shuffle(std::span(unit_));
      } else {
        unit_ = best;
        kick();
      }
      descend();
      const std::int64_t cost = problem_.cost(unit_);
      if (cost >= best_cost) continue;
      best_cost = cost;
      best = unit_;
    }
    return best;
  }

 private:
  void kick() {
    const auto size = static_cast<std::uint64_t>(problem_.size);
    for (int k = 0; k < 3; ++k) {
      std::swap(unit_[static_cast<std::size_t>(rng_.below(size))],
                unit_[static_cast<std::size_t>(rng_.below(size))]);
    }
  }

  std::int64_t gain(int a, int b) const {
    const int here = unit_[static_cast<std::size_t>(a)];
    const int there = unit_[static_cast<std::size_t>(b)];
    std::int64_t gain = 0;
    for (int other = 0; other < problem_.ranks; ++other) {
      if (other == a || other == b) continue;
      const int at = unit_[static_cast<std::size_t>(other)];
      gain += (problem_.flow_of(a, other) - problem_.flow_of(b, other)) *
              (problem_.distance_of(here, at) - problem_.distance_of(there, at));
    }
    return gain;
  }

  void descend() {
    bool any = true;
    while (any) {
      any = false;
      for (int a = 0; a < problem_.ranks; ++a) {
        for (int b = a + 1; b < problem_.size; ++b) {
          if (gain(a, b) <= 0) continue;
          std::swap(unit_[static_cast<std::size_t>(a)], unit_[static_cast<std::size_t>(b)]);
          any = true;
        }
      }
    }
  }

  const AssignmentProblem& problem_;
  Rng rng_;
  std::vector<int> unit_;
};

/// One open node: what is left to place, and its bound's by-products. Lines are positions in `ranks` and `units`.
struct Node {
  std::vector<int> ranks;
  std::vector<int> units;
  std::int64_t base = 0;                 ///< doubled cost among the placed
  std::vector<std::int64_t> linear;      ///< doubled cost of a free rank on a free unit towards the placed
  std::vector<std::uint64_t> barred;     ///< of rank (whole range): units on which nothing better can follow
  std::vector<std::int64_t> cost;        ///< of the assignment problem
  std::vector<std::int64_t> unit_price;  ///< of unit (whole range): dual prices
  std::vector<std::int64_t> price;       ///< of the free units
  std::vector<std::int64_t> rank_price;  ///< of the free ranks
  std::int64_t bound = 0;                ///< doubled
  std::vector<std::int64_t> rise;        ///< what a pair adds to the bound at least
};

class Walk {
 public:
  Walk(const AssignmentProblem& problem, std::vector<int> start, const BranchOptions& options)
      : problem_(problem),
        options_(options),
        size_(static_cast<std::size_t>(problem.size)),
        of_units_(problem.size, problem.distance),
        of_ranks_(problem.size, problem.flow),
        nodes_(size_ + 1),
        unit_of_rank_(size_, -1) {
    result_.cost = problem.cost(start);
    result_.unit_of_rank = std::move(start);
    sort_lines();
  }

  BranchResult run() {
    Node& root = nodes_[0];
    root.ranks.resize(size_);
    root.units.resize(size_);
    std::iota(root.ranks.begin(), root.ranks.end(), 0);
    std::iota(root.units.begin(), root.units.end(), 0);
    root.linear.assign(size_ * size_, 0);
    root.barred.assign(size_, 0);
    root.unit_price.assign(size_, 0);
    open_bound_ = std::numeric_limits<std::int64_t>::max();
    if (size_ <= 3) {
      finish_by_hand(root);
    } else if (evaluate(root)) {
      expand(0);
    }
    result_.proven = !stopped_;
    result_.bound = stopped_ ? std::min(result_.cost, (open_bound_ + 1) / 2) : result_.cost;
    return std::move(result_);
  }

 private:
  std::int64_t flow(int a, int b) const { return problem_.flow_of(a, b); }
  std::int64_t distance(int a, int b) const { return problem_.distance_of(a, b); }
  /// Doubled bounds from here on cannot lead to anything better.
  std::int64_t limit() const { return 2 * result_.cost - 1; }

  /// Other indices of every row, flows falling, distances rising.
  void sort_lines() {
    by_flow_.resize(size_);
    by_distance_.resize(size_);
    for (std::size_t row = 0; row < size_; ++row) {
      const int me = static_cast<int>(row);
      for (int other = 0; other < problem_.size; ++other) {
        if (other == me) continue;
        by_flow_[row].push_back(other);
        by_distance_[row].push_back(other);
      }
      std::stable_sort(by_flow_[row].begin(), by_flow_[row].end(),
                       [&](int a, int b) { return flow(me, a) > flow(me, b); });
      std::stable_sort(by_distance_[row].begin(), by_distance_[row].end(),
                       [&](int a, int b) { return distance(me, a) < distance(me, b); });
    }
  }

  bool stop() {
    if (stopped_) return true;
    stopped_ = result_.nodes >= options_.nodes ||
               (result_.nodes % 256 == 0 && options_.should_stop && options_.should_stop());
    return stopped_;
  }

  /// The bound of a node whose free lines, base, linear costs, bars and unit prices are set; false where it closes.
  bool evaluate(Node& node) {
    ++result_.nodes;
    const std::size_t m = node.ranks.size();
    pack(node.ranks, by_flow_, problem_.flow, flows_);
    pack(node.units, by_distance_, problem_.distance, distances_);
    node.cost.resize(m * m);
    node.price.resize(m);
    node.rank_price.resize(m);
    for (std::size_t i = 0; i < m; ++i) {
      const std::int64_t* line = flows_.data() + i * size_;
      const std::uint64_t barred = node.barred[static_cast<std::size_t>(node.ranks[i])];
      std::size_t flows = m - 1;
      while (flows > 0 && line[flows - 1] == 0) --flows;
      for (std::size_t k = 0; k < m; ++k) {
        if (barred & bit(node.units[k])) {
          node.cost[i * m + k] = forbidden_cost;
          continue;
        }
        const std::int64_t* across = distances_.data() + k * size_;
        std::int64_t sum = node.linear[i * m + k];
        for (std::size_t x = 0; x < flows; ++x) sum += line[x] * across[x];
        node.cost[i * m + k] = sum;
      }
    }
    for (std::size_t k = 0; k < m; ++k) node.price[k] = node.unit_price[static_cast<std::size_t>(node.units[k])];
    const std::int64_t least = assignment_.solve(static_cast<int>(m), node.cost.data(), node.price.data(),
                                                 node.rank_price.data(), limit() - node.base);
    if (least >= forbidden_cost) return false;
    node.bound = node.base + least;
    for (std::size_t k = 0; k < m; ++k) node.unit_price[static_cast<std::size_t>(node.units[k])] = node.price[k];
    return node.bound < limit();
  }

  /// Row by row, the values towards the free lines only, in sorted order.
  void pack(const std::vector<int>& free, const std::vector<std::vector<int>>& order,
            const std::vector<std::int64_t>& values, std::vector<std::int64_t>& packed) {
    packed.resize(size_ * size_);
    std::uint64_t is_free = 0;
    for (const int index : free) is_free |= bit(index);
    for (std::size_t row = 0; row < free.size(); ++row) {
      const auto me = static_cast<std::size_t>(free[row]);
      std::int64_t* to = packed.data() + row * size_;
      for (const int other : order[me]) {
        if (is_free & bit(other)) *to++ = values[me * size_ + static_cast<std::size_t>(other)];
      }
    }
  }

  /// What every pair adds to the bound at least: its reduced cost.
  void weigh_pairs(Node& node) {
    const std::size_t m = node.ranks.size();
    node.rise.resize(m * m);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t k = 0; k < m; ++k) {
        node.rise[i * m + k] = node.cost[i * m + k] - node.rank_price[i] - node.price[k];
      }
    }
    add_detours(node);
    bar_by_rise(node);
  }

  /// A pair forced into the assignment displaces a row, which displaces another, until one takes the place left:
  /// the reduced costs along the cheapest such chain come on top of the pair's own.
  void add_detours(Node& node) {
    const std::size_t m = node.ranks.size();
    const std::vector<int>& row_of = assignment_.row_of_column();
    // Entry (a, b): the least cost of a chain that starts with row a without a place and ends on b's.
    detour_.assign(m * m, 0);
    for (std::size_t a = 0; a < m; ++a) {
      for (std::size_t k = 0; k < m; ++k)
        detour_[a * m + static_cast<std::size_t>(row_of[k])] = node.rise[a * m + k];
    }
    for (std::size_t via = 0; via < m; ++via) {
      for (std::size_t a = 0; a < m; ++a) {
        const std::int64_t first = detour_[a * m + via];
        for (std::size_t b = 0; b < m; ++b) {
          detour_[a * m + b] = std::min(detour_[a * m + b], first + detour_[via * m + b]);
        }
      }
    }
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t k = 0; k < m; ++k)
        node.rise[i * m + k] += detour_[static_cast<std::size_t>(row_of[k]) * m + i];
    }
  }

  void bar_by_rise(Node& node) const {
    const std::size_t m = node.ranks.size();
    const std::int64_t gap = limit() - node.bound;
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t k = 0; k < m; ++k) {
        if (node.rise[i * m + k] >= gap) node.barred[static_cast<std::size_t>(node.ranks[i])] |= bit(node.units[k]);
      }
    }
  }

  struct Line {
    bool is_rank = true;
    std::size_t index = 0;
  };

  /// The line whose pairs raise the bound most; lines of empty ranks only through their units.
  Line choose(const Node& node, std::uint64_t units_once, std::uint64_t ranks_once) const {
    const std::size_t m = node.ranks.size();
    const std::int64_t gap = limit() - node.bound;
    Line best;
    std::int64_t least_open = std::numeric_limits<std::int64_t>::max();
    for (std::size_t line = 0; line < 2 * m; ++line) {
      const bool is_rank = line < m;
      const std::size_t index = is_rank ? line : line - m;
      if (is_rank && node.ranks[index] >= problem_.ranks) continue;
      // What stays open below the limit, summed over the children: less is better.
      std::int64_t open = 0;
      for (std::size_t other = 0; other < m; ++other) {
        const std::size_t i = is_rank ? index : other;
        const std::size_t k = is_rank ? other : index;
        if (is_rank && !(units_once & bit(node.units[k]))) continue;
        if (!is_rank && !(ranks_once & bit(node.ranks[i]))) continue;
        open += std::max<std::int64_t>(0, gap - node.rise[i * m + k]);
      }
      if (open < least_open) {
        least_open = open;
        best = {is_rank, index};
      }
    }
    return best;
  }

  static std::uint64_t representatives(const MatrixSymmetry::Orbits& orbits) {
    std::uint64_t once = 0;
    for (std::size_t x = 0; x < orbits.least.size(); ++x) {
      if (orbits.least[x] == static_cast<int>(x)) once |= bit(static_cast<int>(x));
    }
    return once;
  }

  static std::uint64_t all_bits(const std::vector<int>& indices) {
    std::uint64_t all = 0;
    for (const int index : indices) all |= bit(index);
    return all;
  }

  std::uint64_t once(MatrixSymmetry& symmetry, const std::vector<int>& free, std::uint64_t& trivial_above) {
    const std::uint64_t all = all_bits(free);
    if (trivial_above) return all;
    const std::uint64_t everything = size_ == 64 ? ~std::uint64_t{0} : bit(problem_.size) - 1;
    const MatrixSymmetry::Orbits& orbits = symmetry.orbits_fixing(everything & ~all);
    if (orbits.trivial) trivial_above = 1;
    return representatives(orbits) & all;
  }

  struct Child {
    std::size_t i;
    std::size_t k;
    std::int64_t bound;
  };

  void expand(std::size_t depth) {
    Node& node = nodes_[depth];
    weigh_pairs(node);
    const std::uint64_t units_were_trivial = units_trivial_;
    const std::uint64_t ranks_were_trivial = ranks_trivial_;
    const std::uint64_t units_once = once(of_units_, node.units, units_trivial_);
    const std::uint64_t ranks_once = once(of_ranks_, node.ranks, ranks_trivial_);
    const Line line = choose(node, units_once, ranks_once);
    std::vector<Child> children;
    for (std::size_t other = 0; other < node.ranks.size(); ++other) {
      const std::size_t i = line.is_rank ? line.index : other;
      const std::size_t k = line.is_rank ? other : line.index;
      if (line.is_rank ? !(units_once & bit(node.units[k])) : !(ranks_once & bit(node.ranks[i]))) continue;
      if (node.barred[static_cast<std::size_t>(node.ranks[i])] & bit(node.units[k])) continue;
      children.push_back({i, k, node.bound + node.rise[i * node.ranks.size() + k]});
    }
    std::stable_sort(children.begin(), children.end(),
                     [](const Child& a, const Child& b) { return a.bound < b.bound; });
    for (const Child& child : children) visit(depth, child);
    units_trivial_ = units_were_trivial;
    ranks_trivial_ = ranks_were_trivial;
  }

  void visit(std::size_t depth, const Child& child) {
    if (child.bound >= limit()) return;
    if (stop()) {
      open_bound_ = std::min(open_bound_, child.bound);
      return;
    }
    const Node& node = nodes_[depth];
    const int rank = node.ranks[child.i];
    const int unit = node.units[child.k];
    Node& below = nodes_[depth + 1];
    descend_to(node, child, below);
    unit_of_rank_[static_cast<std::size_t>(rank)] = unit;
    if (below.ranks.size() <= 3 || below.ranks.front() >= problem_.ranks) {
      finish_by_hand(below);
    } else if (evaluate(below)) {
      expand(depth + 1);
    }
    unit_of_rank_[static_cast<std::size_t>(rank)] = -1;
  }

  void descend_to(const Node& node, const Child& child, Node& below) const {
    const std::size_t m = node.ranks.size();
    const int rank = node.ranks[child.i];
    const int unit = node.units[child.k];
    below.ranks = node.ranks;
    below.units = node.units;
    below.ranks.erase(below.ranks.begin() + static_cast<std::ptrdiff_t>(child.i));
    below.units.erase(below.units.begin() + static_cast<std::ptrdiff_t>(child.k));
    below.base = node.base + node.linear[child.i * m + child.k];
    below.barred = node.barred;
    below.unit_price = node.unit_price;
    below.linear.resize((m - 1) * (m - 1));
    std::int64_t* to = below.linear.data();
    for (std::size_t i = 0; i < m; ++i) {
      if (i == child.i) continue;
      const std::int64_t doubled = 2 * flow(node.ranks[i], rank);
      for (std::size_t k = 0; k < m; ++k) {
        if (k == child.k) continue;
        *to++ = node.linear[i * m + k] + doubled * distance(node.units[k], unit);
      }
    }
  }

  /// At most three ranks left, or only empty ones: every order.
  void finish_by_hand(const Node& node) {
    ++result_.nodes;
    std::vector<std::size_t> order(node.units.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      for (std::size_t i = 0; i < order.size(); ++i) {
        unit_of_rank_[static_cast<std::size_t>(node.ranks[i])] = node.units[order[i]];
      }
      const std::int64_t cost = problem_.cost(unit_of_rank_);
      if (cost < result_.cost) {
        result_.cost = cost;
        result_.unit_of_rank = unit_of_rank_;
      }
    } while (node.ranks.front() < problem_.ranks && std::next_permutation(order.begin(), order.end()));
    for (const int rank : node.ranks) unit_of_rank_[static_cast<std::size_t>(rank)] = -1;
  }

  const AssignmentProblem& problem_;
  const BranchOptions& options_;
  std::size_t size_;
  MatrixSymmetry of_units_;
  MatrixSymmetry of_ranks_;
  std::vector<Node> nodes_;  ///< one per depth
  std::vector<int> unit_of_rank_;
  std::vector<std::vector<int>> by_flow_;
  std::vector<std::vector<int>> by_distance_;
  std::vector<std::int64_t> flows_;
  std::vector<std::int64_t> distances_;
  std::vector<std::int64_t> detour_;
  LinearAssignment assignment_;
  std::uint64_t units_trivial_ = 0;
  std::uint64_t ranks_trivial_ = 0;
  bool stopped_ = false;
  std::int64_t open_bound_ = 0;
  BranchResult result_;
};

}  // namespace

std::vector<int> descend_by_swaps(const AssignmentProblem& problem, std::uint64_t seed, int descents) {
  return SwapDescent(problem, seed).run(descents);
}

BranchResult branch_and_bound(const AssignmentProblem& problem, std::vector<int> start,
                              const BranchOptions& options) {
  return Walk(problem, std::move(start), options).run();
}

}  // namespace corewise::place

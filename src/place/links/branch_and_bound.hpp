// Branch and bound for link loads: finds the placement with the least weighted sum of bottlenecks, or proves how
// low no placement can be. Owns the search tree, its four bounds and the record of a closed tree.
//
// The question it answers is one of yes or no: is there a placement that costs less than a threshold? Ranks are
// placed one after another in a fixed order, each on every free unit that the symmetries of machine and pattern
// leave (place/symmetry/pattern.hpp proves that the two may be used together). A branch is closed where
//   load: the links carry too much already (partial load so far),
//   cut: the traffic that any completion sends across some cut is too much for its links (cut_bounds.hpp),
//   phases: what the links carry already and what crosses some cut, phase by phase the larger of both, is too much,
//   assignment: the ranks left have no units left for them (assignment_bounds.hpp).
// No placement below the threshold is lost: every rule bounds all completions, and symmetry keeps one placement of
// every orbit. Costs are sums of doubles; all comparisons allow a relative rounding of `tolerance`, so a proof
// says: no placement costs less than bound * (1 - tolerance). Deterministic: the budget counts nodes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "machine/placement.hpp"
#include "place/limits.hpp"
#include "place/links/cut_bounds.hpp"
#include "place/links/objective.hpp"
#include "place/symmetry/pattern.hpp"
#include "place/symmetry/symmetry.hpp"

namespace corewise::place {

inline constexpr double tolerance = 1e-10;

struct BranchAndBoundOptions {
  std::uint64_t nodes = 5'000'000;         ///< placements of one rank that are tried
  std::function<bool()> should_stop = {};  ///< asked every 1024 nodes
  /// Of these at most so many on one tree for all placements; then a tree for every set of ranks inside a cut.
  std::uint64_t plain_nodes = 30'000;
};

/// A closed tree: no placement costs less than `bound_ns`. With a splitting cut one tree follows another: for every
/// set of ranks inside the cut that its own bound leaves open, ascending (bit k: the k-th rank of the order), with
/// every rank on its side and every phase costing at least what crosses the cut. In preorder, a letter for every
/// unit that the next rank of the order may take (free, not left out by symmetry, ascending): ( a subtree follows,
/// L load, C cut, P phases, A assignment. "R" alone: the bound at the root.
struct ClosedTree {
  double bound_ns = 0;
  int split = -1;  ///< a cut; -1: none
  std::string letters;
};

struct BranchAndBoundResult {
  machine::Placement best;
  double bound_ns = 0;  ///< no placement costs less
  bool closed = false;  ///< the best placement is proven to be optimal
  std::uint64_t nodes = 0;
};

class BranchAndBound {
 public:
  /// Requires check_fits(shares, work), at most most_cut_units units. Cuts are used for at most most_cut_ranks
  /// ranks.
  BranchAndBound(const machine::Machine& machine, const RoutedShares& shares, const Symmetry& symmetry,
                 const Workload& work);
  /// With the machine's cuts (find_cuts), found once for many patterns.
  /// Only placements within the limits are looked for and ruled out: fixed ranks come first in the order, and only
  /// symmetries that keep the limits are used.
  BranchAndBound(const std::vector<Cut>& cuts, const RoutedShares& shares, const Symmetry& symmetry,
                 const Workload& work, const Limits& limits = {});
  ~BranchAndBound();

  /// Improves a valid placement until it is proven optimal or the budget is spent.
  BranchAndBoundResult minimise(const machine::Placement& start, const BranchAndBoundOptions& options);

  /// The tree that proves `bound_ns`, split by a cut where a plain one takes more than `plain_letters`; nothing
  /// where it takes more than `most_letters` or where there is a placement below.
  std::optional<ClosedTree> close(double bound_ns, std::size_t most_letters, std::size_t plain_letters = 100'000);

  [[nodiscard]] const Limits& limits() const;
  [[nodiscard]] const std::vector<int>& order() const;
  [[nodiscard]] const std::vector<UnitPermutation>& unit_symmetries() const;
  [[nodiscard]] const PatternSymmetry& rank_symmetries() const;
  [[nodiscard]] const std::vector<Cut>& cuts() const;
  /// Nested cuts that prove root_ns(), as indices into cuts(), innermost first; empty where it needs none.
  [[nodiscard]] const std::vector<int>& chain() const;
  /// A bound without any search.
  [[nodiscard]] double root_ns() const;

 private:
  class Tree;
  std::unique_ptr<Tree> tree_;
};

/// Members of the group that a search can apply where some units are taken: all of them where they are listed, else
/// generators, exchanges of two units, and exchanges of two blocks of units that trade places freely.
/// Without those that the limits forbid.
std::vector<UnitPermutation> usable_symmetries(const Symmetry& symmetry, const Limits& limits = {});

}  // namespace corewise::place

// Pair annealing: a sum over pairs of ranks, each a number that belongs to the two times a number that belongs to
// their units, annealed by swaps of ranks. Owns the numbers of the units and the current placement.
//
// A proposal costs two looks per peer of the ranks that move, or where few are accepted two per rank, and touches
// no link: a tenth of what link loads cost. That is where placements that are good as a whole are found; link loads
// refine them afterwards. Two sums:
//
// - The *work*: the time that messages take on all links of their routes together. The work of a byte is the sum,
//   over the links of its routes, of the part that crosses the link over the link's bandwidth: hops in which slow
//   links count more.
// - The *stress*: how far the distances of units are from the distances of ranks in the pattern, (d / g - 1)^2 over
//   all pairs, as multidimensional scaling has it. Ranks far from each other in the pattern count too, so large
//   grids come out whole where the work, which knows neighbours only, stays in pieces.
//
// Contract: the placement left is the best met. The same random state gives the same placement.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "place/cost.hpp"
#include "place/links/objective.hpp"
#include "place/portfolio/neighbourhood.hpp"
#include "place/portfolio/pair_costs.hpp"

namespace corewise::place {

class PairAnnealing {
 public:
  /// ns, phases by their weights. `near` outlives this; requires check_fits. Starts with rank r on unit r.
  static PairAnnealing work_of(const RoutedShares& shares, const Workload& work, const Neighbourhood& near);
  /// Without unit. Ranks that no chain of messages joins have no distance and no part in the sum.
  static PairAnnealing stress_of(const RoutedShares& shares, const Workload& work, const Neighbourhood& near);

  [[nodiscard]] Assignment assignment() const { return unit_of_rank_; }
  [[nodiscard]] double sum() const { return sum_; }
  void assign(Assignment unit_of_rank);
  /// Ranks that stay where they are from now on; none: all move.
  void keep(std::span<const int> ranks);
  /// Places one rank after the other, each on the free unit that adds least to the sum with those before it; next
  /// comes the rank with the most weight towards them. By stress a grid grows whole where one fits. Of equal ranks
  /// and of equal units one is drawn: nothing tells the second rank of a grid which side is the long one, nor the
  /// third whether it goes on or round the corner.
  void grow(int rank, machine::UnitId unit, Rng& rng);
  /// By stress: a rank and a unit alike in their distances to all others, `place` 0 the innermost, 1 the outermost.
  [[nodiscard]] std::pair<int, machine::UnitId> alike(double place) const;
  /// Anneals from the current placement; `hot`: the first temperature over a rank's part of the sum. Ends early
  /// when hardly anything is accepted any more. Returns the number of proposals made; `should_stop` is asked now
  /// and then.
  std::uint64_t cool(std::uint64_t proposals, double hot, Rng& rng, const std::function<bool()>& should_stop);

 private:
  /// Two numbers that are looked at together: of a pair of units, and what a pair of ranks has for each. 16 bytes:
  /// the registers that every x86-64 and every 64-bit Arm has.
  typedef double Two __attribute__((vector_size(16)));
  [[nodiscard]] static double added(const Two& two) { return two[0] + two[1]; }
  static constexpr std::uint32_t none = PairCosts::none;
  /// What a move adds, and where in peers_ the excepted rank is; none: nowhere.
  struct Moved {
    double sum;
    std::uint32_t pair;
  };
  struct Proposal {
    int rank = -1;
    machine::UnitId unit = -1;
  };

  PairAnnealing(int ranks, int units, const Neighbourhood& near);
  [[nodiscard]] const Two* row(int unit) const { return table_.data() + static_cast<std::size_t>(unit) * units_; }
  [[nodiscard]] machine::UnitId least_added(int rank, Rng& rng) const;
  [[nodiscard]] bool is_kept(int rank) const {
    return !kept_.empty() && rank >= 0 && kept_[static_cast<std::size_t>(rank)] != 0;
  }
  /// One that changes nothing where the drawn one is not allowed.
  [[nodiscard]] Proposal draw(Rng& rng) const;
  [[nodiscard]] Proposal draw_any(Rng& rng) const;
  /// What moving `rank` to `unit` adds; of its pair with `except` nothing.
  [[nodiscard]] Moved moved(int rank, machine::UnitId unit, int except) const;
  /// What is added by a pair whose ranks, on these units, trade places.
  [[nodiscard]] double turned(std::uint32_t pair, machine::UnitId one, machine::UnitId other) const {
    return pair == none ? 0 : added(weights_[pair] * (row(other)[one] - row(one)[other]));
  }
  [[nodiscard]] double difference(const Proposal& proposal) const;
  void store_costs();
  [[nodiscard]] bool has_costs() const { return costs_ && costs_->stored(); }
  void carry_out(const Proposal& proposal);

  const Neighbourhood& near_;
  std::size_t units_;
  std::vector<Two> table_;  ///< [own unit][peer's unit]
  std::vector<std::size_t> begin_;
  std::vector<int> peers_;        ///< of rank r at [begin_[r], begin_[r + 1]), each once; both ranks have the pair
  std::vector<Two> weights_;      ///< of the same pairs
  std::vector<double> constant_;  ///< of a rank's pairs
  std::vector<std::vector<int>> near_ranks_;  ///< where moves aim: ranks that it exchanges messages with
  std::vector<char> kept_;                    ///< per rank; empty: none
  std::vector<int> unit_of_rank_;
  std::vector<int> rank_on_unit_;
  double sum_ = 0;
  std::optional<PairCosts> costs_;  ///< stored while few proposals are accepted
};

}  // namespace corewise::place

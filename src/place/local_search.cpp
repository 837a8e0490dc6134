// Local search: descent, kicks, bookkeeping. See local_search.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/local_search.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/rng.hpp"
#include "place/references.hpp"

namespace corewise::place {

namespace {

constexpr int most_kicks = 6;

class Descent {
 public:
  Descent(IncrementalCost& cost, const LocalSearchOptions& options)
      : cost_(cost), options_(options), rng_(options.seed) {
    for (int rank = 0; rank < cost.ranks(); ++rank) {
      if (options.limits.is_fixed(rank)) continue;
      for (int unit = 0; unit < cost.units(); ++unit) {
        if (options.limits.is_open(unit)) moves_.push_back({rank, unit});
      }
    }
  }

  void start_from(Assignment unit_of_rank) {
    cost_.assign(unit_of_rank);
    here_ = measure();
    descend();
  }

  /// A few random moves away from the best, then down again.
  void kick() {
    cost_.assign(result_.best.unit_of_rank);
    const std::uint64_t kicks = 2 + rng_.below(most_kicks - 1);
    for (std::uint64_t k = 0; k < kicks; ++k) {
      const Move& move = moves_[rng_.below(moves_.size())];
      if (is_allowed(move)) cost_.relocate(move.rank, move.unit);
    }
    here_ = measure();
    descend();
  }

  bool can_move() const { return !moves_.empty(); }
  bool budget_left() const { return !stopped_ && result_.evaluated < options_.budget_evaluations; }
  LocalSearchResult take_result() { return std::move(result_); }

 private:
  struct Move {
    int rank;
    int unit;
  };
  /// What the descent compares: primary score, then the guide.
  struct Height {
    double primary;
    double guide;
    bool operator<(const Height& other) const {
      return primary != other.primary ? primary < other.primary : guide < other.guide;
    }
  };

  /// Of moves to open units.
  bool is_allowed(const Move& move) const {
    if (!options_.limits.any()) return true;
    const Assignment now = cost_.assignment();
    const auto rank_on = [&now](int unit) {
      const auto found = std::find(now.begin(), now.end(), unit);
      return found == now.end() ? -1 : static_cast<int>(found - now.begin());
    };
    return options_.limits.allows(move.rank, now[static_cast<std::size_t>(move.rank)], move.unit, rank_on);
  }

  double sign() const { return options_.direction == Direction::minimise ? 1.0 : -1.0; }

  Height measure() {
    ++result_.evaluated;
    if (result_.evaluated % 1024 == 0 && options_.should_stop && options_.should_stop()) stopped_ = true;
    const Score score = cost_.score();
    const Score signed_score{sign() * score.primary, sign() * score.secondary};
    if (!has_best_ || signed_score < best_) {
      has_best_ = true;
      best_ = signed_score;
      result_.score = score;
      const Assignment now = cost_.assignment();
      result_.best.unit_of_rank.assign(now.begin(), now.end());
    }
    return {signed_score.primary, sign() * cost_.guide()};
  }

  /// First improvement in a random order of all moves, until a whole round brings none.
  void descend() {
    std::size_t since_progress = 0;
    rng_.shuffle(std::span(moves_));
    for (std::size_t at = 0; since_progress < moves_.size() && budget_left(); at = (at + 1) % moves_.size()) {
      since_progress = try_move(moves_[at]) ? 0 : since_progress + 1;
    }
  }

  bool try_move(const Move& move) {
    const int left = cost_.assignment()[static_cast<std::size_t>(move.rank)];
    if (left == move.unit || !is_allowed(move)) return false;
    cost_.relocate(move.rank, move.unit);
    const Height there = measure();
    if (there < here_) {
      here_ = there;
      return true;
    }
    cost_.relocate(move.rank, left);
    return false;
  }

  IncrementalCost& cost_;
  const LocalSearchOptions& options_;
  Rng rng_;
  std::vector<Move> moves_;
  Height here_{};
  bool has_best_ = false;
  bool stopped_ = false;
  Score best_;
  LocalSearchResult result_;
};

}  // namespace

LocalSearchResult local_search(IncrementalCost& cost, const std::vector<machine::Placement>& starts,
                               const LocalSearchOptions& options) {
  Descent descent(cost, options);
  // Every start is measured even on an exhausted budget: the result may not be worse than any of them.
  for (const machine::Placement& start : starts) descent.start_from(options.limits.repaired(start).unit_of_rank);
  Rng rng(options.seed ^ 0x5eedU);
  for (int k = 0; k < options.random_starts && (descent.budget_left() || (starts.empty() && k == 0)); ++k) {
    descent.start_from(options.limits.repaired(random_placement(cost.ranks(), cost.units(), rng)).unit_of_rank);
  }
  while (cost.units() > 1 && descent.can_move() && descent.budget_left()) descent.kick();
  return descent.take_result();
}

}  // namespace corewise::place

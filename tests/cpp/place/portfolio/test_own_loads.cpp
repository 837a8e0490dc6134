// Own loads: what is called too much is so by an evaluation from scratch, and some of what is too much is told, on
// machines with ties and with links of different speed, while ranks move alone, in pairs and in groups.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "../machines.hpp"
#include "base/rng.hpp"
#include "place/portfolio/own_loads.hpp"

namespace corewise::place {
namespace {

constexpr int ranks = 20, units = 24;

class Placed {
 public:
  Placed(const RoutedShares& shares, const Workload& work) : shares_(&shares), work_(&work), at_(ranks) {
    std::iota(at_.begin(), at_.end(), 0);
  }

  [[nodiscard]] const std::vector<int>& at() const { return at_; }
  void carry_out(const std::vector<Relocation>& moves) {
    for (const Relocation& move : moves) at_[static_cast<std::size_t>(move.rank)] = move.unit;
  }
  /// Units of ranks in the order that a draw gives, each to the next one's place; the last one's may be free.
  [[nodiscard]] std::vector<Relocation> drawn(std::size_t size, bool to_a_free_one, Rng& rng) const {
    std::vector<int> order(ranks);
    std::iota(order.begin(), order.end(), 0);
    rng.shuffle(std::span(order));
    std::vector<Relocation> moves;
    for (std::size_t k = 0; k < size; ++k) {
      moves.push_back({order[k], at_[static_cast<std::size_t>(order[(k + 1) % size])]});
    }
    if (to_a_free_one) {
      int unit = static_cast<int>(rng.below(units));
      while (std::count(at_.begin(), at_.end(), unit) > 0) unit = (unit + 1) % units;
      moves.back().unit = unit;
    }
    return moves;
  }
  template <int doublings>
  [[nodiscard]] std::vector<LinkTerm> links() const {
    const Evaluation found = evaluate(*shares_, *work_, at_);
    std::vector<LinkTerm> links;
    for (int link = 0; link < shares_->links(); ++link) {
      links.push_back({found.load_parts[static_cast<std::size_t>(link)], 0, shares_->time_ns(1, link), 0});
      links.back().term = raised<doublings>(links.back().time_ns());
    }
    return links;
  }

 private:
  const RoutedShares* shares_;
  const Workload* work_;
  std::vector<int> at_;
};

double sum_of_terms(const std::vector<LinkTerm>& links) {
  return std::accumulate(links.begin(), links.end(), 0.0,
                         [](double sum, const LinkTerm& link) { return sum + link.term; });
}

template <int doublings>
void expect_certainty(const machine::Machine& made) {
  Rng rng(31);
  const RoutedShares shares = RoutedShares::of(made).value().merged();
  const Workload work = workload(testing::random_matrix(ranks, 4, 1000, rng)).value();
  const PeerMessages messages(work);
  Placed now(shares, work);
  OwnLoads own(shares, messages, ranks);
  EXPECT_FALSE(own.stored());
  own.store(now.at(), now.links<doublings>());
  EXPECT_TRUE(own.stored());
  int too_much = 0, told = 0;
  for (int step = 0; step < 600; ++step) {
    const std::vector<LinkTerm> links = now.links<doublings>();
    const std::size_t size = 1 + rng.below(2);
    const std::vector<Relocation> moves = now.drawn(size, size == 1 || rng.below(3) == 0, rng);
    Placed then = now;
    then.carry_out(moves);
    const double sum = sum_of_terms(links);
    const double grown = sum_of_terms(then.links<doublings>()) - sum;
    const double room = 0.01 * sum * rng.uniform();
    const bool certain = own.grow_beyond<doublings>(room, moves, now.at(), links);
    if (certain) {
      ASSERT_GT(grown, room - 1e-9 * sum) << made.name << " " << step;
    }
    too_much += grown > room ? 1 : 0;
    told += certain ? 1 : 0;
    if (step % 20 != 0) continue;
    const std::vector<Relocation> group = step % 40 == 0 ? now.drawn(5, step % 80 == 0, rng) : moves;
    then = now;
    then.carry_out(group);
    own.move(group, now.at(), then.at(), links);
    own.terms_changed();
    now = then;
  }
  EXPECT_GT(too_much, 100);
  EXPECT_GT(told, too_much / 12) << made.name << " " << doublings;
}

TEST(OwnLoads, WhatIsCertainIsTooMuchAndSomeOfThatIsTold) {
  for (const machine::Machine& made : {machine::from_synthetic("pack:2 l3:3 core:4").value(),
                                       testing::full_ring(units), testing::one_way_ring(units)}) {
    expect_certainty<0>(made);
    expect_certainty<2>(made);
    expect_certainty<5>(made);
  }
}

TEST(OwnLoads, AreStoredWhereThereIsRoomAndFewMovesAreAccepted) {
  EXPECT_TRUE(OwnLoads::are_worth_storing(1 << 16, {0, 1024}));
  EXPECT_FALSE(OwnLoads::are_worth_storing(1 << 16, {100, 1024}));
  EXPECT_FALSE(OwnLoads::are_worth_storing(1 << 22, {0, 1024}));
}

}  // namespace
}  // namespace corewise::place

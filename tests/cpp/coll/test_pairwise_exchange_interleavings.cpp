// The pairwise-exchange barrier through every interleaving of its ranks and of the arrivals of its writes: nobody
// leaves before the last has entered, nobody waits for ever. And the rules of the contract that it rests on: with
// any one of them taken away the search finds a failure, which shows that the search can fail.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "coll/barrier/pairwise_exchange.hpp"
#include "model.hpp"

namespace corewise::coll::barrier {
namespace {

using testing::Found;
using testing::ModelPort;
using testing::Rules;
using testing::Search;

/// `rounds` barriers, one after the other; entering each may be late.
template <class Barrier>
std::string rounds_of(ModelPort& port, int rounds) {
  Barrier barrier(port);
  for (int round = 1; round <= rounds; ++round) {
    port.pause();
    std::vector<int>& entered = port.state().entered;
    int& own = entered[static_cast<std::size_t>(port.rank())];
    own = std::max(own, round);
    barrier();
    for (const int count : entered) {
      if (count < round) return "a rank left before another had entered";
    }
  }
  return {};
}

template <class Barrier>
Found search(int ranks, int rounds, Rules rules = {}) {
  return Search(ranks, PairwiseExchange<ModelPort>::lines_needed(ranks), rules,
                [rounds](ModelPort& port) { return rounds_of<Barrier>(port, rounds); })
      .run();
}

TEST(PairwiseExchangeInterleavings, AllAreRight) {
  for (const auto& [ranks, rounds] : {std::pair{1, 3}, {2, 6}, {3, 4}, {4, 3}, {5, 3}, {6, 2}}) {
    SCOPED_TRACE(ranks);
    const Found found = search<PairwiseExchange<ModelPort>>(ranks, rounds);
    EXPECT_EQ(found.wrong, "");
    RecordProperty("states_" + std::to_string(ranks) + "_ranks", static_cast<int>(found.states));
  }
}

/// Two ranks, one barrier, counted by hand: every combination of where the ranks and their writes can be.
TEST(PairwiseExchangeInterleavings, TheSearchVisitsEveryState) {
  // Nobody has begun: 1. One has, its write is under way or there: 2 for each rank. Both wait: 4. One has left, so
  // the other's write is there and its own is under way or there: 2 for each rank. Both have left: 1.
  EXPECT_EQ(search<PairwiseExchange<ModelPort>>(2, 1).states, 14U);
}

TEST(PairwiseExchangeInterleavings, NeedTheFence) {
  EXPECT_EQ(search<PairwiseExchange<ModelPort>>(2, 3, {.fence = false}).wrong, "ranks wait for ever");
}

TEST(PairwiseExchangeInterleavings, NeedTheNumberTakenAtTheCall) {
  EXPECT_EQ(search<PairwiseExchange<ModelPort>>(4, 2, {.taken_at_call = false}).wrong,
            "a rank left before another had entered");
}

/// The barrier with one line of its text changed.
template <bool kExact, int kStepsLeftOut>
class Changed {
 public:
  explicit Changed(ModelPort& port) : port_(port) {}
  void operator()() {
    ++number_;
    for (int step = 0; step < pairwise_exchange_schedule::steps(port_.size()) - kStepsLeftOut; ++step) {
      const auto peers = pairwise_exchange_schedule::peers(port_.size(), port_.rank(), step);
      const port::Line16 line{static_cast<std::uint32_t>(step)};
      if (peers.to >= 0) port_.put_line(peers.to, line, number_, {}, line.index);
      if (peers.from >= 0) port_.wait_lines(line, 1, [&] { return is_there(port_.line_sequence(line)); });
    }
  }

 private:
  [[nodiscard]] bool is_there(port::Sequence seen) const {
    return kExact ? seen == number_ : port::reached(seen, number_);
  }
  ModelPort& port_;
  port::Sequence number_ = 0;
};

TEST(PairwiseExchangeInterleavings, NeedOrALaterOne) {
  EXPECT_EQ((search<Changed<false, 0>>(4, 2).wrong), "");
  EXPECT_EQ((search<Changed<true, 0>>(4, 2).wrong), "ranks wait for ever");
}

TEST(PairwiseExchangeInterleavings, NeedEveryStep) {
  EXPECT_EQ((search<Changed<false, 1>>(2, 1).wrong), "a rank left before another had entered");
  EXPECT_EQ((search<Changed<false, 1>>(4, 1).wrong), "a rank left before another had entered");
}

}  // namespace
}  // namespace corewise::coll::barrier

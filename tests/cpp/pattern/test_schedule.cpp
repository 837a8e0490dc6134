// Peer arithmetic, exhaustively for 1 to 64 ranks: every send meets one receive, and blocks that follow the
// schedule arrive where the collective promises. The simulations move block numbers only by what each step says.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "pattern/schedule.hpp"

namespace cs = corewise::pattern::schedule;

namespace {

using PeersOf = std::function<cs::Peers(int rank, int step)>;
using Blocks = std::vector<std::set<int>>;

constexpr int largest = 64;

void expect_matched(int ranks, int steps, const PeersOf& peers) {
  for (int step = 0; step < steps; ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      SCOPED_TRACE(testing::Message() << "ranks " << ranks << " step " << step << " rank " << rank);
      const auto [to, from] = peers(rank, step);
      ASSERT_TRUE(to == cs::nobody || (to >= 0 && to < ranks && to != rank)) << to;
      ASSERT_TRUE(from == cs::nobody || (from >= 0 && from < ranks && from != rank)) << from;
      ASSERT_TRUE(to == cs::nobody || peers(to, step).from == rank);
      ASSERT_TRUE(from == cs::nobody || peers(from, step).to == rank);
    }
  }
}

Blocks own_blocks(int ranks) {
  Blocks held(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) held[static_cast<std::size_t>(rank)] = {rank};
  return held;
}

/// One step: every rank sends blocks that it must hold. `repeats` allows blocks that the receiver already has.
void deliver(Blocks& held, const PeersOf& peers, int step, const std::function<std::vector<int>(int)>& sent,
             bool repeats = false) {
  std::vector<std::pair<int, int>> arrivals;  // (rank, block): what comes in this step cannot be sent in it
  for (int rank = 0; rank < static_cast<int>(held.size()); ++rank) {
    const int to = peers(rank, step).to;
    if (to == cs::nobody) continue;
    for (const int block : sent(rank)) {
      ASSERT_TRUE(held[static_cast<std::size_t>(rank)].contains(block)) << "rank " << rank << " lacks " << block;
      arrivals.emplace_back(to, block);
    }
  }
  for (const auto& [rank, block] : arrivals) {
    const bool fresh = held[static_cast<std::size_t>(rank)].insert(block).second;
    ASSERT_TRUE(fresh || repeats) << "rank " << rank << " gets block " << block << " again";
  }
}

void expect_everything_everywhere(const Blocks& held) {
  for (const auto& blocks : held) EXPECT_EQ(blocks.size(), held.size());
}

}  // namespace

TEST(Schedule, Logarithms) {
  for (int ranks = 1; ranks <= 1025; ++ranks) {
    int steps = 0;
    while ((1 << steps) < ranks) ++steps;
    EXPECT_EQ(cs::ceil_log2(ranks), steps) << ranks;
    EXPECT_LE(cs::floor_power_of_two(ranks), ranks);
    EXPECT_GT(2 * cs::floor_power_of_two(ranks), ranks);
  }
}

TEST(Schedule, HandWorkedPeers) {
  EXPECT_EQ(cs::dissemination_peers(6, 5, 1), (cs::Peers{1, 3}));
  EXPECT_EQ(cs::bruck_all_gather_peers(6, 1, 2), (cs::Peers{3, 5}));
  EXPECT_EQ(cs::pairwise_exchange_peers(8, 5, 2), (cs::Peers{6, 6}));
  EXPECT_EQ(cs::pairwise_exchange_peers(6, 5, 2), (cs::Peers{2, 2}));
  // Six ranks fold 0 into 1 and 2 into 3; the cube is 1, 3, 4, 5.
  EXPECT_EQ(cs::recursive_doubling_steps(6), 4);
  EXPECT_EQ(cs::recursive_doubling_peers(6, 0, 0), (cs::Peers{1, cs::nobody}));
  EXPECT_EQ(cs::recursive_doubling_peers(6, 4, 0), cs::Peers{});
  EXPECT_EQ(cs::recursive_doubling_peers(6, 1, 1), (cs::Peers{3, 3}));
  EXPECT_EQ(cs::recursive_doubling_peers(6, 1, 2), (cs::Peers{4, 4}));
  EXPECT_EQ(cs::recursive_doubling_peers(6, 3, 3), (cs::Peers{2, cs::nobody}));
  // Eight ranks from root 0: halving sends 0>4, then 0>2 4>6, then to the odd ones; doubling 0>1, 0>2 1>3, ...
  EXPECT_EQ(cs::binomial_tree_peers(8, 0, 0, 0, cs::TreeOrder::halving), (cs::Peers{4, cs::nobody}));
  EXPECT_EQ(cs::binomial_tree_peers(8, 0, 6, 1, cs::TreeOrder::halving), (cs::Peers{cs::nobody, 4}));
  EXPECT_EQ(cs::binomial_tree_peers(8, 0, 0, 0, cs::TreeOrder::doubling), (cs::Peers{1, cs::nobody}));
  EXPECT_EQ(cs::binomial_tree_peers(8, 0, 7, 2, cs::TreeOrder::doubling), (cs::Peers{cs::nobody, 3}));
}

TEST(Schedule, RingAllGather) {
  for (int p = 1; p <= largest; ++p) {
    const PeersOf peers = [p](int rank, int step) { return cs::ring_peers(p, rank, step); };
    expect_matched(p, cs::ring_steps(p), peers);
    Blocks held = own_blocks(p);
    for (int step = 0; step < cs::ring_steps(p); ++step) {
      deliver(held, peers, step, [=](int rank) { return std::vector<int>{cs::ring_block(p, rank, step)}; });
    }
    expect_everything_everywhere(held);
  }
}

TEST(Schedule, BruckAllGather) {
  for (int p = 1; p <= largest; ++p) {
    const PeersOf peers = [p](int rank, int step) { return cs::bruck_all_gather_peers(p, rank, step); };
    expect_matched(p, cs::bruck_steps(p), peers);
    Blocks held = own_blocks(p);
    for (int step = 0; step < cs::bruck_steps(p); ++step) {
      deliver(held, peers, step, [=](int rank) {
        std::vector<int> blocks;
        for (int i = 0; i < cs::bruck_all_gather_blocks(p, step); ++i) blocks.push_back((rank + i) % p);
        return blocks;
      });
    }
    expect_everything_everywhere(held);
  }
}

TEST(Schedule, RecursiveDoublingAllGather) {
  for (int p = 1; p <= largest; ++p) {
    const PeersOf peers = [p](int rank, int step) { return cs::recursive_doubling_peers(p, rank, step); };
    expect_matched(p, cs::recursive_doubling_steps(p), peers);
    Blocks held = own_blocks(p);
    for (int step = 0; step < cs::recursive_doubling_steps(p); ++step) {
      // The closing step hands a folded rank everything, its own block included.
      const bool closing = step > 0 && cs::recursive_doubling_is_fold(p, step);
      const auto sent = [=](int rank) { return cs::recursive_doubling_blocks(p, rank, step); };
      deliver(held, peers, step, sent, closing);
      for (int rank = 0; rank < p; ++rank) {
        ASSERT_EQ(static_cast<int>(sent(rank).size()), cs::recursive_doubling_block_count(p, rank, step))
            << p << " " << rank << " " << step;
      }
    }
    expect_everything_everywhere(held);
  }
}

TEST(Schedule, DisseminationTellsEveryoneOfEveryone) {
  for (int p = 1; p <= largest; ++p) {
    const PeersOf peers = [p](int rank, int step) { return cs::dissemination_peers(p, rank, step); };
    expect_matched(p, cs::dissemination_steps(p), peers);
    Blocks held = own_blocks(p);
    for (int step = 0; step < cs::dissemination_steps(p); ++step) {
      const Blocks before = held;
      deliver(
          held, peers, step,
          [&](int rank) {
            const auto& all = before[static_cast<std::size_t>(rank)];
            return std::vector<int>(all.begin(), all.end());
          },
          true);
    }
    expect_everything_everywhere(held);
  }
}

TEST(Schedule, PairwiseExchangeMeetsEveryPairOnce) {
  for (int p = 1; p <= largest; ++p) {
    const PeersOf peers = [p](int rank, int step) { return cs::pairwise_exchange_peers(p, rank, step); };
    expect_matched(p, cs::pairwise_exchange_steps(p), peers);
    std::set<std::pair<int, int>> met;
    for (int step = 0; step < cs::pairwise_exchange_steps(p); ++step) {
      for (int rank = 0; rank < p; ++rank) EXPECT_TRUE(met.insert({rank, peers(rank, step).to}).second);
    }
    EXPECT_EQ(static_cast<int>(met.size()), p * (p - 1));
  }
}

TEST(Schedule, BruckAllToAllDeliversEveryBlock) {
  for (int p = 1; p <= largest; ++p) {
    const PeersOf peers = [p](int rank, int step) { return cs::bruck_all_to_all_peers(p, rank, step); };
    expect_matched(p, cs::bruck_steps(p), peers);
    // slots[rank][offset] = (source, destination) of the block that lies there.
    using Slots = std::vector<std::vector<std::pair<int, int>>>;
    Slots slots(static_cast<std::size_t>(p));
    for (int rank = 0; rank < p; ++rank) {
      for (int offset = 0; offset < p; ++offset) {
        slots[static_cast<std::size_t>(rank)].push_back({rank, (rank + offset) % p});
      }
    }
    for (int step = 0; step < cs::bruck_steps(p); ++step) {
      Slots after = slots;
      for (int rank = 0; rank < p; ++rank) {
        const auto to = static_cast<std::size_t>(peers(rank, step).to);
        for (const int offset : cs::bruck_all_to_all_offsets(p, step)) {
          const auto slot = static_cast<std::size_t>(offset);
          after[to][slot] = slots[static_cast<std::size_t>(rank)][slot];
        }
      }
      slots = after;
    }
    for (int rank = 0; rank < p; ++rank) {
      std::set<int> sources;
      for (const auto& [source, destination] : slots[static_cast<std::size_t>(rank)]) {
        EXPECT_EQ(destination, rank) << p;
        sources.insert(source);
      }
      EXPECT_EQ(static_cast<int>(sources.size()), p);
    }
  }
}

TEST(Schedule, BinomialTreeReachesEveryoneOnce) {
  for (int p = 1; p <= largest; ++p) {
    // The root only shifts the ranks: all of them for the smaller sizes, every eighth beyond.
    for (int root = 0; root < p; root += p <= 24 ? 1 : 8) {
      for (const auto order : {cs::TreeOrder::halving, cs::TreeOrder::doubling}) {
        const PeersOf peers = [=](int rank, int step) {
          return cs::binomial_tree_peers(p, root, rank, step, order);
        };
        expect_matched(p, cs::binomial_tree_steps(p), peers);
        std::vector<int> reached_at(static_cast<std::size_t>(p), cs::nobody);
        reached_at[static_cast<std::size_t>(root)] = 0;
        for (int step = 0; step < cs::binomial_tree_steps(p); ++step) {
          for (int rank = 0; rank < p; ++rank) {
            const int to = peers(rank, step).to;
            if (to == cs::nobody) continue;
            const int since = reached_at[static_cast<std::size_t>(rank)];
            EXPECT_TRUE(since != cs::nobody && since <= step) << p << " " << root << " " << rank;
            EXPECT_EQ(reached_at[static_cast<std::size_t>(to)], cs::nobody) << p << " " << root << " " << to;
            reached_at[static_cast<std::size_t>(to)] = step + 1;
          }
        }
        EXPECT_EQ(std::count(reached_at.begin(), reached_at.end(), cs::nobody), 0) << p << " " << root;
      }
    }
  }
}

TEST(Schedule, BinomialSubtreesAreCountedRight) {
  for (int p = 1; p <= largest; ++p) {
    for (const auto order : {cs::TreeOrder::halving, cs::TreeOrder::doubling}) {
      const int root = p / 3;
      std::vector<int> size(static_cast<std::size_t>(p), 1);
      // A rank sends to its children after it has received: add sizes up from the last step to the first.
      for (int step = cs::binomial_tree_steps(p) - 1; step >= 0; --step) {
        for (int rank = 0; rank < p; ++rank) {
          const int child = cs::binomial_tree_peers(p, root, rank, step, order).to;
          if (child != cs::nobody) size[static_cast<std::size_t>(rank)] += size[static_cast<std::size_t>(child)];
        }
      }
      for (int rank = 0; rank < p; ++rank) {
        EXPECT_EQ(cs::binomial_tree_subtree(p, root, rank, order), size[static_cast<std::size_t>(rank)])
            << p << " " << rank;
      }
    }
  }
}

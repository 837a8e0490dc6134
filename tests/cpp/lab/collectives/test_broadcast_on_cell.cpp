// The findings of paper 001, section 6, as simulated times of the broadcasts, all on one set of machine parameters
// and of costs; what its future work gains. Data are checked by the run. Times are us from a common start to the
// last rank's end, data in the first chip's memory. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <tuple>

#include "effort.hpp"
#include "lab/collectives/memory_stream.hpp"
#include "lab/collectives/run.hpp"

namespace corewise::lab {
namespace {

using test::effort;

constexpr std::uint64_t kKb = 1024;
constexpr std::uint64_t kMb = 1024 * kKb;

cell::Parameters machine_for(int ranks) {
  cell::Parameters parameters;
  parameters.chips = ranks > cell::kSpesPerChip ? 2 : 1;
  return parameters;
}

CollectiveRequest request_of(const std::string& algorithm, int ranks, std::uint64_t bytes,
                             const Settings& settings) {
  CollectiveRequest request;
  request.collective = coll::Collective::broadcast;
  request.ranks = ranks;
  request.bytes = bytes;
  request.algorithm = algorithm;
  request.settings = settings;
  request.calls = 1;
  return request;
}

double run_us(const CollectiveRequest& request) {
  const auto times = run_collective_on_cell(machine_for(request.ranks), request);
  EXPECT_TRUE(times.ok()) << times.status().message();
  return times.ok() ? times.value().mean_latency_ns() / 1000 : 0;
}

/// Every run is made once.
double us(const std::string& algorithm, int ranks, std::uint64_t bytes, const Settings& settings = {}) {
  static std::map<std::tuple<std::string, int, std::uint64_t, Settings>, double> known;
  const auto [place, is_new] = known.try_emplace({algorithm, ranks, bytes, settings}, 0);
  if (is_new) place->second = run_us(request_of(algorithm, ranks, bytes, settings));
  return place->second;
}

double tree(int ranks, std::uint64_t bytes, int degree) {
  return us("local_store_tree", ranks, bytes, {{"degree", degree}});
}
double pieces(int ranks, std::uint64_t bytes) {
  return us("pieces", ranks, bytes);
}

/// The paper's best in this machine.
double paper_best(int ranks, std::uint64_t bytes) {
  return std::min({tree(ranks, bytes, 3), pieces(ranks, bytes), us("root_copies", ranks, bytes),
                   us("one_to_all", ranks, bytes), us("tree_main_memory", ranks, bytes)});
}

/// The same for small data, with all degrees tried, and data and flag under one fence.
double paper_best_of_all(int ranks, std::uint64_t bytes) {
  double best = paper_best(ranks, bytes);
  for (const int degree : {1, 2, 3, 4, 8}) {
    best = std::min({best, tree(ranks, bytes, degree), us("root_copies", ranks, bytes, {{"degree", degree}}),
                     us("root_copies", ranks, bytes, {{"degree", degree}, {"fenced", 1}}),
                     us("local_store_tree", ranks, bytes, {{"degree", degree}, {"fenced", 1}}),
                     us("tree_main_memory", ranks, bytes, {{"degree", std::max(2, degree)}})});
  }
  return best;
}

/// P - 1 writes and one read, as the paper counts.
double gb_per_s(int ranks, std::uint64_t bytes, double time_us) {
  return static_cast<double>(ranks) * static_cast<double>(bytes) / time_us / 1000;
}

// ---- table 2 ----

struct Published {
  int ranks;
  std::uint64_t bytes;
  double us;
  double tolerance;  ///< what was tuned to 15 %, what was not 30 %
};

class BroadcastTable2 : public testing::TestWithParam<Published> {};

/// The paper's choice: AG from 8 KB, the tree of degree 3 below.
TEST_P(BroadcastTable2, ComesOut) {
  const Published row = GetParam();
  const double simulated = row.bytes >= 8 * kKb ? pieces(row.ranks, row.bytes) : tree(row.ranks, row.bytes, 3);
  RecordProperty("simulated_us", std::to_string(simulated));
  EXPECT_NEAR(simulated, row.us, row.tolerance * row.us);
}

INSTANTIATE_TEST_CASE_P(Paper001, BroadcastTable2,
                        testing::Values(Published{8, 128, 1.7, 0.15}, Published{8, kKb, 2.0, 0.30},
                                        Published{8, 32 * kKb, 12.8, 0.15}, Published{8, kMb, 414, 0.15},
                                        Published{16, 128, 3.1, 0.30}, Published{16, kKb, 3.7, 0.30},
                                        Published{16, 32 * kKb, 33.7, 0.30}, Published{16, kMb, 653, 0.30}));

// ---- the parameters ----

/// Figure 4, left. That it does not on more ranks does not come out: on 8 it helps as much.
TEST(CellBroadcast, AShiftHelpsOnFourRanksWhicheverItIs) {
  const double none = us("one_to_all", 4, 8 * kKb, {{"shift", 0}});
  for (const int shift : {1024, 2048}) {
    EXPECT_LT(us("one_to_all", 4, 8 * kKb, {{"shift", shift}}), 0.97 * none) << shift;
  }
  EXPECT_NEAR(us("one_to_all", 4, 8 * kKb, {{"shift", 1024}}), us("one_to_all", 4, 8 * kKb, {{"shift", 2048}}),
              0.03 * none);
  EXPECT_NEAR(us("one_to_all", 16, 128 * kKb, {{"shift", 2048}}), us("one_to_all", 16, 128 * kKb),
              0.03 * us("one_to_all", 16, 128 * kKb));
}

/// Figure 4, right.
TEST(CellBroadcast, AMinimumPieceOfTwoOrFourKilobytesIsBestOnSixteen) {
  const auto with = [](std::uint64_t bytes, int least) { return us("pieces", 16, bytes, {{"min_piece", least}}); };
  for (const std::uint64_t bytes : effort({8 * kKb, 16 * kKb}, {8 * kKb})) {
    const double best = std::min(with(bytes, 2048), with(bytes, 4096));
    for (const int other : {128, 1024, 8192, 16384}) EXPECT_GT(with(bytes, other), 1.03 * best) << bytes << other;
  }
  // Few data have one worker, of many data all parts are greater.
  EXPECT_EQ(with(128, 128), with(128, 16384));
  EXPECT_EQ(with(256 * kKb, 128), with(256 * kKb, 16384));
}

/// Figure 5, right, and section 6.2: degree 3 for small data on more than four ranks. It comes out within 10 % of
/// the best tree, and best on 8; that it is best everywhere does not: on 16 ranks degree 4 is ahead of it at 128 B,
/// and on 8 and 16 the root's copies up a tree are ahead of both. So the paper's choice of TREE(3) is not shown
/// here.
TEST(CellBroadcast, DegreeThreeIsCloseToTheBestTreeForSmallDataOnMoreThanFourRanks) {
  for (const std::uint64_t bytes : {std::uint64_t{128}, kKb}) {
    for (const int ranks : {8, 12, 16}) {
      EXPECT_LT(tree(ranks, bytes, 3), tree(ranks, bytes, 1)) << ranks << " ranks, " << bytes;
      EXPECT_LT(tree(ranks, bytes, 3), tree(ranks, bytes, 2)) << ranks << " ranks, " << bytes;
      EXPECT_LT(tree(ranks, bytes, 3), 1.1 * tree(ranks, bytes, 4)) << ranks << " ranks, " << bytes;
    }
  }
  EXPECT_LT(tree(8, 128, 3), tree(8, 128, 4));
  EXPECT_GT(tree(16, 128, 3), tree(16, 128, 4));
  for (const int ranks : {8, 16}) EXPECT_LT(us("root_copies", ranks, 128), tree(ranks, 128, 3)) << ranks;
}

/// Figure 5, left: of the trees in main memory degree 2 is worst for small data.
TEST(CellBroadcast, DegreeTwoIsTheWorstTreeInMainMemory) {
  for (const int ranks : {8, 12, 16}) {
    const double two = us("tree_main_memory", ranks, 128, {{"degree", 2}});
    EXPECT_LT(us("tree_main_memory", ranks, 128, {{"degree", 3}}), two) << ranks;
    EXPECT_LT(us("tree_main_memory", ranks, 128, {{"degree", 4}}), two) << ranks;
  }
}

TEST(CellBroadcast, ThePipelineIsTheBestTreeForVeryLargeData) {
  for (const int ranks : effort({8, 16}, {8})) {
    for (const int degree : effort({2, 3, 4}, {2})) {
      EXPECT_LT(tree(ranks, kMb, 1), tree(ranks, kMb, degree)) << ranks;
    }
  }
  EXPECT_GT(tree(16, 8 * kKb, 1), tree(16, 8 * kKb, 3));  // the pipeline must fill
}

TEST(CellBroadcast, TwoBuffersAreBetterThanOne) {
  EXPECT_LT(us("local_store_tree", 8, 256 * kKb), 0.8 * us("local_store_tree", 8, 256 * kKb, {{"buffering", 1}}));
  EXPECT_LT(us("one_to_all", 2, 256 * kKb), us("one_to_all", 2, 256 * kKb, {{"buffering", 1}}));
}

/// Variants that the paper tried and does not discuss: data pushed with the announcement under one fence, and one
/// DMA list for the announcements.
TEST(CellBroadcast, FencedPutsAreFasterForSmallDataAndListsAreNot) {
  for (const int ranks : {4, 8}) {
    EXPECT_LT(us("local_store_tree", ranks, 128, {{"fenced", 1}}), tree(ranks, 128, 3)) << ranks;
    EXPECT_GT(us("local_store_tree", ranks, 128, {{"list", 1}, {"waits", 0}}),
              us("local_store_tree", ranks, 128, {{"waits", 0}}))
        << ranks;
  }
}

// ---- the algorithms ----

TEST(CellBroadcast, OnFourRanksTheRootsCopiesAreBestOrNearItForSmallData) {
  for (const int ranks : {3, 4}) EXPECT_LT(us("root_copies", ranks, 128), 1.02 * paper_best(ranks, 128)) << ranks;
}

/// "AG has the best, or close to the best, performance for large messages."
TEST(CellBroadcast, PiecesAreBestFromEightKilobytesOn) {
  for (const int ranks : {4, 8, 16}) {
    for (const std::uint64_t bytes : effort({8 * kKb, 32 * kKb, 256 * kKb}, {8 * kKb, 32 * kKb})) {
      EXPECT_EQ(pieces(ranks, bytes), paper_best(ranks, bytes)) << ranks << " ranks, " << bytes;
      EXPECT_LT(pieces(ranks, bytes), 1.05 * tree(ranks, bytes, 1)) << ranks << " ranks, " << bytes;
    }
  }
}

/// Sections 6.3 and 6.4: the PPE's memcpy is much slower, and so is what is built on send and receive.
TEST(CellBroadcast, TheAlternativesAreNotCompetitive) {
  for (const std::uint64_t bytes : {std::uint64_t{128}, 32 * kKb}) {
    EXPECT_GT(us("ppe_memcpy", 8, bytes), 5 * paper_best(8, bytes)) << bytes;
    EXPECT_GT(us("scatter_allgather", 8, bytes), 1.5 * paper_best(8, bytes)) << bytes;
  }
}

/// Figure 6, bottom right: it rises and levels off. On 4 it is highest at 64 KB, 6 % above 256 KB.
TEST(CellBroadcast, TotalBandwidthRisesToTheControllersLimit) {
  for (const int ranks : effort({4, 8, 16}, {4, 8})) {
    double before = 0;
    for (const std::uint64_t bytes : {8 * kKb, 16 * kKb, 64 * kKb, 256 * kKb}) {
      const double rate = gb_per_s(ranks, bytes, pieces(ranks, bytes));
      EXPECT_GT(rate, (bytes < 256 * kKb ? 1.0 : 0.93) * before) << ranks << " ranks, " << bytes;
      before = rate;
      if (bytes < 16 * kKb) continue;
      EXPECT_GT(rate, 0.659 * 25.6) << ranks << " ranks, " << bytes;
    }
    EXPECT_GT(before, 0.8 * 25.6) << ranks;
    EXPECT_LT(before, 25.6) << ranks;
  }
}

// ---- the future work ----

/// Half again as fast as what the paper chooses for so few data, and as the quickest of all its algorithms, too,
/// but for 128 B on 8. A fifth of that time is the cost of a library's call.
TEST(CellBroadcast, DataInTheEntriesAreHalfAgainAsFastAsThePapersBest) {
  for (const int ranks : {8, 16}) {
    for (const std::uint64_t bytes : {4U, 64U, 128U}) {
      const double eager = us("eager_tree", ranks, bytes, {{"closing", 1}});
      EXPECT_GT(tree(ranks, bytes, 3), 1.5 * eager) << ranks << " ranks, " << bytes;
      EXPECT_GT(paper_best_of_all(ranks, bytes), (ranks == 8 && bytes == 128 ? 1.42 : 1.5) * eager)
          << ranks << " ranks, " << bytes;
    }
  }
}

/// Without a closing barrier each algorithm is faster where the barrier counts; one_to_all on 16, whose root would
/// count most, is as fast.
TEST(CellBroadcast, CountersAreFasterThanAClosingBarrier) {
  for (const std::string algorithm :
       {"tree_main_memory", "one_to_all", "root_copies", "pieces", "local_store_tree"}) {
    for (const int ranks : {4, 8, 16}) {
      const double most = algorithm == "one_to_all" && ranks == 16 ? 1.02 : 1.0;
      EXPECT_LT(us(algorithm, ranks, kKb, {{"closing", 1}, {"waits", 0}}), most * us(algorithm, ranks, kKb))
          << algorithm << ", " << ranks;
    }
  }
}

/// What the same SPEs stream, P - 1 writes to a read, without any protocol.
double stream_gb_per_s(int ranks) {
  MemoryStream stream;
  for (int spe = 0; spe < ranks; ++spe) stream.spes.push_back(spe);
  stream.reads = 64;
  stream.writes = stream.reads * static_cast<std::uint64_t>(ranks - 1);
  const auto rate = stream_memory_gb_per_s(machine_for(ranks), stream);
  EXPECT_TRUE(rate.ok());
  return rate.ok() ? rate.value() : 0;
}

TEST(CellBroadcast, LargeDataMoveAtTheControllersStreamingRate) {
  const Settings free = {{"closing", 1}, {"waits", 0}};
  EXPECT_GT(gb_per_s(8, kMb, us("pieces", 8, kMb, free)), 0.95 * stream_gb_per_s(8));
  if (test::kSanitized) return;
  const Settings chain = {{"degree", 1}, {"closing", 1}, {"waits", 0}};
  EXPECT_GT(gb_per_s(16, kMb, us("local_store_tree", 16, kMb, chain)), 0.95 * stream_gb_per_s(16));
}

/// On a blade ranks on the other chip write through the link: a smaller part each is faster.
TEST(CellBroadcast, RanksFarFromTheDataMayTakeSmallerPieces) {
  const Settings equal = {{"closing", 1}, {"waits", 0}};
  const Settings smaller = {{"closing", 1}, {"waits", 0}, {"far_percent", 60}};
  for (const std::uint64_t bytes : effort({128 * kKb, kMb}, {128 * kKb})) {
    EXPECT_LT(us("pieces", 16, bytes, smaller), 0.97 * us("pieces", 16, bytes, equal)) << bytes;
  }
  EXPECT_EQ(us("pieces", 8, 128 * kKb, smaller), us("pieces", 8, 128 * kKb, equal));
}

/// Data already in the local stores: nothing goes to memory.
TEST(CellBroadcast, DataInTheLocalStoresStayThere) {
  CollectiveRequest request = request_of("local_store_tree", 8, 64 * kKb, {{"degree", 1}, {"closing", 1}});
  request.memory = UserMemory::local_store;
  const auto times = run_collective_on_cell(machine_for(8), request);
  ASSERT_TRUE(times.ok()) << times.status().message();
  EXPECT_EQ(times.value().memories[0].read_bytes + times.value().memories[0].written_bytes, 0);
  EXPECT_LT(times.value().mean_latency_ns() / 1000, 0.5 * us("local_store_tree", 8, 64 * kKb, request.settings));
}

/// Blocks of 128 bytes: as DMA lists, with added latency. Odd ones cost far more: they are copied one by one.
TEST(CellBroadcast, StridedDataTakeLonger) {
  const auto strided = [](std::uint32_t block, std::uint32_t stride) {
    CollectiveRequest request = request_of("local_store_tree", 8, 8 * kKb, {});
    request.block_bytes = block;
    request.stride_bytes = stride;
    return run_us(request);
  };
  const double contiguous = tree(8, 8 * kKb, 3);
  EXPECT_GT(strided(128, 256), contiguous);
  EXPECT_LT(strided(128, 256), 2 * contiguous);
  EXPECT_GT(strided(40, 60), 2 * strided(128, 256));
}

}  // namespace
}  // namespace corewise::lab

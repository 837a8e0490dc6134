// Broadcasts by direct copies, and reductions, through every interleaving, by the algorithms' own text: two or
// three ranks, one or two pieces, calls that follow one another without a barrier while every rank changes at once
// what it sent. Each rule that a protocol rests on is taken away in turn, and the search finds the failure.
//
// Not run, but of patterns that are: reduce_scatter pairwise (send_receive with an operator,
// test_pipeline_interleavings.cpp), recursive_halving (rabenseifner's first half, here) and pieces of
// reduce_scatter (reduce by pieces, here: addresses told, shares fetched, combined and written), exscan (scan
// without the last operand), eager_tree of broadcast and reduce and the eager ways of scan, gather, scatter,
// allgather, alltoall and reduce_scatter (test_eager_interleavings.cpp), reduce_broadcast (two calls in a row), the
// release by a DMA list (lines put by rank 0 after it has heard all: test_barriers_interleavings.cpp).
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "coll/allreduce/eager.hpp"
#include "coll/allreduce/one_shot.hpp"
#include "coll/allreduce/peer_stages.hpp"
#include "coll/allreduce/pieces.hpp"
#include "coll/allreduce/rabenseifner.hpp"
#include "coll/allreduce/recursive_doubling.hpp"
#include "coll/allreduce/ring.hpp"
#include "coll/broadcast/one_copy.hpp"
#include "coll/broadcast/one_to_all.hpp"
#include "coll/broadcast/pieces.hpp"
#include "coll/broadcast/root_copies.hpp"
#include "coll/broadcast/root_stage.hpp"
#include "coll/broadcast/scatter_allgather.hpp"
#include "coll/broadcast/tree_main_memory.hpp"
#include "coll/reduce/peer_stages.hpp"
#include "coll/reduce/pieces.hpp"
#include "coll/reduce/rabenseifner.hpp"
#include "coll/reduce/tree.hpp"
#include "coll/reduce/tree_main_memory.hpp"
#include "coll/scan/chain.hpp"
#include "coll/scan/eager.hpp"
#include "coll/scan/pieces.hpp"
#include "coll/scan/recursive_doubling.hpp"
#include "direct_port.hpp"
#include "model.hpp"

namespace corewise::coll {
namespace {

using testing::DirectPort;
using testing::Found;
using testing::ModelPort;
using testing::Rules;
using testing::Search;

constexpr const char* kWrong = "other data than were sent";
constexpr std::uint32_t kPiece = 128;
constexpr std::uint32_t kMark = 64;  ///< every such byte is looked at

enum class Kind { broadcast, reduce, all_reduce, scan };

void add(const std::byte* in, std::byte* inout, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    inout[i] = static_cast<std::byte>(std::to_integer<int>(inout[i]) + std::to_integer<int>(in[i]));
  }
}

/// Calls of one algorithm; the root of call number i is rank first_root + i. User memory: what is sent, then what
/// is received.
struct Case {
  using Algorithm = void (*)(Rank<DirectPort>&, const Call<DirectPort>&, const Parameters&);

  Kind kind;
  Algorithm algorithm;
  std::uint32_t bytes = 1;
  int calls = 2;
  int degree = 2;
  bool fenced = false;
  bool commutative = true;
  bool eager = false;
  int first_root = 0;
  std::uint32_t refused = 0;  ///< bit r: rank r may not copy to or from another's user memory
  std::uint32_t kept = 0;     ///< bytes of the stage from which addresses are read

  /// Two buffers of 256 bytes, cut into four or three areas of 128; eager messages need no more than a piece.
  [[nodiscard]] Shape shape(int ranks) const {
    Shape made;
    made.ranks = ranks;
    made.buffer_bytes = 256;
    made.eager_slots = eager ? 2 : 0;
    return made;
  }
  [[nodiscard]] Found on(int ranks, const Rules& rules = {}) const {
    return Search(ranks, shape(ranks).layout(), 3 * bytes, rules, [this](ModelPort& model) { return text(model); })
        .run();
  }

 private:
  [[nodiscard]] static int value(int rank, int call, std::uint32_t byte) {
    return 1 + 40 * call + 13 * rank + static_cast<int>(byte / kPiece);
  }
  [[nodiscard]] int root(int ranks, int call) const { return (first_root + call) % ranks; }

  std::string text(ModelPort& model) const {
    DirectPort port(model, kept, refused);
    Rank<DirectPort> me(port, shape(port.size()));
    Operation operation;
    operation.combine = &add;
    operation.commutative = commutative;
    Parameters parameters;
    parameters.closing = Closing::counters;
    parameters.degree = degree;
    parameters.fenced = fenced;
    parameters.min_piece = kPiece;
    model.pause();
    for (int number = 0; number < calls; ++number) {
      Call<DirectPort> call;
      call.bytes = bytes;
      call.receive = bytes;
      call.workspace = 2 * std::uint64_t{bytes};
      call.root = root(port.size(), number);
      if (kind != Kind::broadcast) call.operation = &operation;
      fill(model, number);
      algorithm(me, call, parameters);
      if (model.moved() && !right(model, number, call.root)) return kWrong;
    }
    fill(model, calls);
    return {};
  }
  void fill(ModelPort& model, int call) const {
    for (std::uint32_t i = 0; i < bytes; i += kMark) {
      model.user()[i] = static_cast<std::byte>(value(model.rank(), call, i));
    }
  }
  [[nodiscard]] bool right(ModelPort& model, int call, int from) const {
    if (model.rank() == from ? kind == Kind::broadcast : kind == Kind::reduce) return true;
    const int last = kind == Kind::broadcast ? -1 : kind == Kind::scan ? model.rank() : model.size() - 1;
    for (std::uint32_t i = 0; i < bytes; i += kMark) {
      int expected = kind == Kind::broadcast ? value(from, call, i) : 0;
      for (int rank = 0; rank <= last; ++rank) expected += value(rank, call, i);
      if (model.user()[bytes + i] != static_cast<std::byte>(expected)) return false;
    }
    return true;
  }
};

constexpr Case kPieces{Kind::broadcast, &broadcast::pieces<DirectPort>};
constexpr Case kRootCopies{
    .kind = Kind::broadcast, .algorithm = &broadcast::root_copies<DirectPort>, .kept = 3 * 16};
constexpr Case kOneToAll{Kind::broadcast, &broadcast::one_to_all<DirectPort>};
constexpr Case kOneCopy{Kind::broadcast, &broadcast::one_copy<DirectPort>};
constexpr Case kRootStage{Kind::broadcast, &broadcast::root_stage<DirectPort>};
constexpr Case kPeerStages{Kind::all_reduce, &allreduce::peer_stages<DirectPort>};
constexpr Case kOneShot{Kind::all_reduce, &allreduce::one_shot<DirectPort>};
constexpr Case kReducePeerStages{Kind::reduce, &reduce::peer_stages<DirectPort>};
/// And at once a broadcast to where nobody looks.
template <auto kFirst>
void then_a_broadcast(Rank<DirectPort>& me, const Call<DirectPort>& call, const Parameters& parameters) {
  kFirst(me, call, parameters);
  Call<DirectPort> next = call;
  next.receive = call.workspace;
  broadcast::root_stage(me, next, parameters);
}
constexpr Case kPeerStagesThenAnother{Kind::all_reduce, &then_a_broadcast<&allreduce::peer_stages<DirectPort>>};
constexpr Case kOneShotThenAnother{Kind::all_reduce, &then_a_broadcast<&allreduce::one_shot<DirectPort>>};
constexpr Case kOneCopyThenAnother{Kind::broadcast, &then_a_broadcast<&broadcast::one_copy<DirectPort>>};
constexpr Case kTreeMainMemory{Kind::broadcast, &broadcast::tree_main_memory<DirectPort>};
constexpr Case kTree{Kind::reduce, &reduce::tree<DirectPort>};
constexpr Case kReducePieces{Kind::reduce, &reduce::pieces<DirectPort>};
constexpr Case kReduceRabenseifner{Kind::reduce, &reduce::rabenseifner<DirectPort>};
constexpr Case kReduceMainMemory{Kind::reduce, &reduce::tree_main_memory<DirectPort>};
constexpr Case kAllReducePieces{Kind::all_reduce, &allreduce::pieces<DirectPort>};
constexpr Case kAllReduceRabenseifner{Kind::all_reduce, &allreduce::rabenseifner<DirectPort>};
constexpr Case kChain{Kind::scan, &scan::chain<scan::Kind::inclusive, DirectPort>};
constexpr Case kScanPieces{Kind::scan, &scan::pieces<scan::Kind::inclusive, DirectPort>};
constexpr Case kScanDoubling{Kind::scan, &scan::recursive_doubling<scan::Kind::inclusive, DirectPort>};
constexpr Case kScatterAllGather{Kind::broadcast, &broadcast::scatter_allgather<DirectPort>};
constexpr Case kRing{Kind::all_reduce, &allreduce::ring<DirectPort>};
constexpr Case kEager{Kind::all_reduce, &allreduce::eager<DirectPort>};
constexpr Case kScanEager{Kind::scan, &scan::eager<scan::Kind::inclusive, DirectPort>};
constexpr Case kDoubling{Kind::all_reduce, &allreduce::recursive_doubling<DirectPort>};

Case with(Case made, std::uint32_t bytes, int calls, bool fenced = false) {
  made.bytes = bytes;
  made.calls = calls;
  made.fenced = fenced;
  return made;
}
Case of_degree(Case made, int degree) {
  made.degree = degree;
  return made;
}
/// An operator that does not commute: the tree stands on rank 0, the root is another rank.
Case to_a_foreign_root(Case made) {
  made.commutative = false;
  made.first_root = 1;
  return made;
}
Case by_eager_messages(Case made) {
  made.eager = true;
  return made;
}
void expect_right(const Case& made, int ranks) {
  const Found found = made.on(ranks);
  EXPECT_EQ(found.wrong, "");
  EXPECT_GT(found.states, 12U);
}
Rules unheard(std::uint32_t first_line, int ranks) {
  return {.ignored_begin = first_line, .ignored_end = first_line + static_cast<std::uint32_t>(ranks)};
}

TEST(CombiningInterleavings, BroadcastsOfTwoRanks) {
  for (const Case& made : {kPieces, kRootCopies, kOneToAll, kTreeMainMemory}) {
    for (const bool fenced : {false, true}) {
      expect_right(with(made, 1, 2, fenced), 2);
      expect_right(with(made, 2 * kPiece, 1, fenced), 2);      // two workers of the pieces
      expect_right(with(made, 5 * kPiece + 1, 1, fenced), 2);  // a buffer is used again
    }
  }
}

TEST(CombiningInterleavings, BroadcastsOfThreeRanks) {
  for (const int degree : {1, 2}) {
    for (const Case& made : {kRootCopies, kOneToAll, kTreeMainMemory}) {
      for (const bool fenced : {false, true}) expect_right(of_degree(with(made, 1, 2, fenced), degree), 3);
    }
  }
  for (const bool fenced : {false, true}) {
    expect_right(with(kPieces, 1, 2, fenced), 3);
    expect_right(with(kPieces, 2 * kPiece, 1, fenced), 3);
  }
}

TEST(CombiningInterleavings, BroadcastsNeedTheAcknowledgements) {
  const Rules rules = unheard(kPieces.shape(2).acknowledgements(), 2);
  for (const Case& made : {kPieces, kRootCopies, kOneToAll, kTreeMainMemory}) {
    EXPECT_EQ(with(made, 1, 2).on(2, rules).wrong, kWrong);
  }
}

TEST(CombiningInterleavings, BroadcastsNeedTheWaits) {
  for (const Case& made : {kPieces, kRootCopies, kOneToAll, kTreeMainMemory}) {
    EXPECT_EQ(with(made, 1, 1).on(2, {.waits = false}).wrong, kWrong);
  }
}

TEST(CombiningInterleavings, ALastPieceAndItsAcknowledgementNeedTheFence) {
  for (const Case& made : {kPieces, kRootCopies}) {
    EXPECT_EQ(with(made, 1, 1, true).on(2, {.fence = false}).wrong, kWrong);
  }
}

TEST(CombiningInterleavings, TreesOfTwoAndThreeRanks) {
  for (const Case& made : {kTree, to_a_foreign_root(kTree)}) {
    expect_right(with(made, 1, 2), 2);
    expect_right(with(made, 2 * kPiece + 1, 1), 2);  // an area is used again
    for (const int degree : {1, 2}) expect_right(of_degree(with(made, 1, 2), degree), 3);
  }
}

TEST(CombiningInterleavings, RingsOfTwoAndThreeRanks) {
  expect_right(with(kRing, 1, 2), 2);
  expect_right(with(kRing, 2 * kPiece + 1, 1), 2);
  expect_right(with(kRing, 1, 1), 3);
}

TEST(CombiningInterleavings, CopiesOutOfTheRootsStage) {
  for (const std::uint32_t refused : {0, 1, 2, 3}) {
    Case one_copy = with(kOneCopy, 2 * kPiece, 2);  // both ends copy
    one_copy.refused = refused;
    expect_right(one_copy, 2);
    one_copy = kOneCopyThenAnother;
    one_copy.refused = refused;
    expect_right(one_copy, 2);
  }
  expect_right(with(kOneCopy, 1, 3), 2);
  expect_right(with(kOneCopy, kPiece, 2), 3);
  expect_right(with(kRootStage, 1, 3), 2);
  expect_right(with(kRootStage, 5 * kPiece + 1, 1), 2);  // an area is used again
  expect_right(with(kRootStage, 1, 2), 3);
  expect_right(with(kRootStage, 2 * kPiece, 1), 3);
  EXPECT_EQ(with(kRootStage, 1, 1).on(2, unheard(kRootStage.shape(2).announcements(), 2)).wrong, kWrong);
  EXPECT_EQ(with(kRootStage, 5 * kPiece, 1).on(2, unheard(kRootStage.shape(2).acknowledgements(), 2)).wrong,
            kWrong);
  EXPECT_EQ(with(kRootStage, 1, 1).on(2, {.waits = false}).wrong, kWrong);
}

TEST(CombiningInterleavings, TheRootCombinesOutOfPeersStages) {
  expect_right(with(kReducePeerStages, 1, 3), 2);
  expect_right(with(kReducePeerStages, 5 * kPiece + 1, 1), 2);  // an area is used again
  expect_right(with(kReducePeerStages, 1, 2), 3);
  const Rules announced = unheard(kReducePeerStages.shape(2).announcements(), 2);
  const Rules acknowledged = unheard(kReducePeerStages.shape(2).acknowledgements(), 2);
  EXPECT_EQ(with(kReducePeerStages, 1, 1).on(2, announced).wrong, kWrong);
  EXPECT_EQ(with(kReducePeerStages, 5 * kPiece, 1).on(2, acknowledged).wrong, kWrong);
  EXPECT_EQ(with(kReducePeerStages, 1, 1).on(2, {.waits = false}).wrong, kWrong);
}

TEST(CombiningInterleavings, CombinesOutOfPeersStages) {
  expect_right(with(kPeerStages, 1, 2), 2);
  expect_right(with(kPeerStages, kPiece, 2), 2);          // a part for each
  expect_right(with(kPeerStages, 5 * kPiece + 1, 1), 2);  // an area is used again
  expect_right(with(kPeerStages, 1, 1), 3);
  EXPECT_EQ(with(kPeerStages, kPiece, 1).on(2, unheard(kPeerStages.shape(2).announcements(), 2)).wrong, kWrong);
  // Acknowledgements keep the stage until another call may use it otherwise.
  const Case then_another = with(kPeerStagesThenAnother, kPiece, 1);
  expect_right(then_another, 2);
  EXPECT_EQ(then_another.on(2, unheard(kPeerStages.shape(2).acknowledgements(), 2)).wrong, kWrong);
  EXPECT_EQ(with(kPeerStages, kPiece, 1).on(2, {.waits = false}).wrong, kWrong);
}

TEST(CombiningInterleavings, EveryRankCombinesOutOfAllStages) {
  expect_right(with(kOneShot, 1, 2), 2);
  expect_right(with(kOneShot, 5 * kPiece + 1, 1), 2);  // an area is used again
  expect_right(with(kOneShot, 1, 1), 3);
  EXPECT_EQ(with(kOneShot, 1, 1).on(2, unheard(kOneShot.shape(2).announcements(), 2)).wrong, kWrong);
  const Case then_another = with(kOneShotThenAnother, 1, 1);
  expect_right(then_another, 2);
  EXPECT_EQ(then_another.on(2, unheard(kOneShot.shape(2).acknowledgements(), 2)).wrong, kWrong);
  EXPECT_EQ(with(kOneShot, 1, 1).on(2, {.waits = false}).wrong, kWrong);
}

class OtherInterleavings : public ::testing::TestWithParam<Case> {};

TEST_P(OtherInterleavings, OfTwoAndThreeRanks) {
  expect_right(with(GetParam(), 1, 2), 2);
  expect_right(with(GetParam(), 2 * kPiece + 1, 1), 2);  // a part for each
  expect_right(with(GetParam(), 1, 1), 3);
}
TEST_P(OtherInterleavings, NeedTheWaits) {
  EXPECT_EQ(with(GetParam(), 1, 1).on(2, {.waits = false}).wrong, kWrong);
}
INSTANTIATE_TEST_CASE_P(All, OtherInterleavings,
                        ::testing::Values(kReducePieces, kReduceRabenseifner, kReduceMainMemory, kAllReducePieces,
                                          kAllReduceRabenseifner, kChain, kScanPieces, kScanDoubling,
                                          kScatterAllGather));

TEST(CombiningInterleavings, EagerMessagesOfTwoAndThreeRanks) {
  expect_right(by_eager_messages(with(kDoubling, 8, 3)), 2);
  expect_right(by_eager_messages(with(kDoubling, 8, 2)), 3);
  expect_right(by_eager_messages(with(kEager, 8, 3)), 2);
  expect_right(by_eager_messages(with(kEager, 8, 2)), 3);
  expect_right(by_eager_messages(with(kScanEager, 8, 4)), 2);
  expect_right(by_eager_messages(with(kScanEager, 8, 3)), 3);
}

TEST(CombiningInterleavings, ReductionsNeedTheAnnouncements) {
  const Rules rules = unheard(kTree.shape(2).announcements(), 2);
  for (const Case& made : {kTree, to_a_foreign_root(kTree), kRing}) {
    EXPECT_EQ(with(made, 1, 1).on(2, rules).wrong, kWrong);
  }
}

TEST(CombiningInterleavings, ReductionsNeedTheAcknowledgements) {
  const Rules rules = unheard(kTree.shape(2).acknowledgements(), 2);
  for (const Case& made : {kTree, kRing}) {
    EXPECT_EQ(with(made, 1, 2).on(2, rules).wrong, kWrong);
  }
  EXPECT_EQ(with(kTree, 3 * kPiece, 1).on(2, rules).wrong, kWrong);  // within a call
  // The root's call ends last, so of two ranks it covers the other's; of three it does not.
  const Case foreign = of_degree(to_a_foreign_root(with(kTree, 1, 2)), 1);
  EXPECT_EQ(foreign.on(3, unheard(kTree.shape(3).acknowledgements(), 3)).wrong, kWrong);
}

}  // namespace
}  // namespace corewise::coll

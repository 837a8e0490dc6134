// Calls in memory that ranks lend each other, through every interleaving of the model: whichever ranks lend theirs,
// in place or not, others in the next call. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "coll/allreduce/one_shot.hpp"
#include "coll/allreduce/peer_stages.hpp"
#include "coll/broadcast/root_stage.hpp"
#include "coll/reduce/peer_stages.hpp"
#include "coll/reduce_scatter/pairwise.hpp"
#include "coll/scan/chain.hpp"
#include "direct_port.hpp"
#include "model.hpp"

namespace corewise::coll {
namespace {

using testing::DirectPort;
using testing::Found;
using testing::ModelPort;
using testing::Rules;
using testing::Search;

/// DirectPort whose ranks may have mapped each other's memory. An address that reaches a peer's names the peer in
/// its upper half.
class LendingPort : public DirectPort {
 public:
  static constexpr std::uint64_t kLeastLent = 1;
  static constexpr std::uint64_t kLeastShared = 100;

  explicit LendingPort(ModelPort& model) : DirectPort(model), model_(model) {}
  /// From now on. Bit r of `lenders`: rank r's memory is such.
  void lend(std::uint32_t lenders) { lenders_ = lenders; }

  [[nodiscard]] std::uint64_t offer(std::uint64_t at, std::uint64_t /*bytes*/) const {
    return (lenders_ >> rank() & 1U) != 0 ? at + 1 : 0;
  }
  /// Of what nobody offered, which a rank that does not wait may find, the stage.
  [[nodiscard]] std::uint64_t reach(int peer, std::uint64_t offered, std::uint64_t bytes) const {
    if (offered + bytes > kOffered) return (static_cast<std::uint64_t>(peer) + 1) << 32 | kStage;
    return (static_cast<std::uint64_t>(peer) + 1) << 32 | (offered - 1);
  }
  void copy_user(std::uint64_t from, std::uint64_t to, std::uint64_t bytes, port::Tag tag) {
    model_.copy(place(from), place(to), static_cast<std::uint32_t>(bytes), tag);
  }
  void give(std::uint64_t own, std::uint64_t to, std::uint64_t bytes, port::Tag tag) {
    copy_user(own, to, bytes, tag);
  }
  void combine_reached(std::uint64_t theirs, std::uint64_t own, std::uint64_t to, std::optional<std::uint64_t> too,
                       const port::Combination& /*how*/, std::uint32_t bytes, port::Tag tag) {
    model_.combine(place(theirs), place(own), place(to), bytes, tag);
    if (!too) return;
    model_.wait(port::mask_of(tag));
    model_.copy(place(to), place(*too), bytes, tag);
  }

 private:
  [[nodiscard]] port::Remote place(std::uint64_t user) const {
    const auto peer = static_cast<int>(user >> 32);
    const auto at = static_cast<std::uint32_t>(user);
    return {peer == 0 ? rank() : peer - 1, at == kStage ? 0 : layout().stage_bytes + at};
  }

  static constexpr std::uint64_t kOffered = 1U << 16;
  static constexpr std::uint32_t kStage = ~0U;

  ModelPort& model_;
  std::uint32_t lenders_ = 0;
};
static_assert(port::MappedUserMemory<LendingPort>);

constexpr const char* kWrong = "other data than were sent";
constexpr std::uint32_t kPiece = 128;

void add(const std::byte* in, std::byte* inout, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    inout[i] = static_cast<std::byte>(std::to_integer<int>(inout[i]) + std::to_integer<int>(in[i]));
}

enum class Does : std::uint8_t { broadcast, allreduce, reduce, scan, exscan, reduce_scatter };

struct Case {
  using Algorithm = void (*)(Rank<LendingPort>&, const Call<LendingPort>&, const Parameters&);

  Does does;
  Algorithm algorithm;
  std::uint32_t bytes = 1;
  int calls = 2;
  bool in_place = false;
  std::uint32_t lenders = ~0U;                     ///< in the first call, the third, ...
  std::optional<std::uint32_t> next_lenders = {};  ///< in the others, where these are different ones

  [[nodiscard]] static Shape shape(int ranks) {
    Shape made;
    made.ranks = ranks;
    made.buffer_bytes = 256;
    return made;
  }
  [[nodiscard]] Found on(int ranks, Rules rules = {}) const {
    rules.payload_kept = true;
    return Search(ranks, shape(ranks).layout(), operand(ranks) + bytes, rules,
                  [this](ModelPort& model) { return text(model); })
        .run();
  }

 private:
  [[nodiscard]] static int value(int rank, int call, int block, std::uint32_t byte) {
    return 1 + 40 * call + 13 * rank + 5 * block + static_cast<int>(byte / 64);
  }
  /// Of each rank's operand.
  [[nodiscard]] int blocks(int ranks) const { return does == Does::reduce_scatter ? ranks : 1; }
  [[nodiscard]] std::uint32_t operand(int ranks) const { return static_cast<std::uint32_t>(blocks(ranks)) * bytes; }
  [[nodiscard]] std::uint32_t result(int ranks) const { return in_place ? 0 : operand(ranks); }

  std::string text(ModelPort& model) const {
    LendingPort lending(model);
    Rank<LendingPort> me(lending, shape(lending.size()));
    Operation operation;
    operation.combine = &add;
    Parameters parameters;
    parameters.closing = Closing::counters;
    model.pause();
    for (int number = 0; number < calls; ++number) {
      Call<LendingPort> call;
      call.bytes = bytes;
      call.receive = result(lending.size());
      call.receive_blocks.equal = bytes;
      call.root = number % lending.size();
      call.operation = &operation;
      lending.lend(number % 2 == 0 ? lenders : next_lenders.value_or(lenders));
      fill(model, number);
      algorithm(me, call, parameters);
      if (model.moved() && !right(model, number, call.root)) return kWrong;
    }
    fill(model, calls);
    return {};
  }
  void fill(ModelPort& model, int call) const {
    for (int block = 0; block < blocks(model.size()); ++block)
      for (std::uint32_t i = 0; i < bytes; i += 64)
        model.user()[static_cast<std::uint32_t>(block) * bytes + i] =
            static_cast<std::byte>(value(model.rank(), call, block, i));
  }
  /// The sum of which ranks' operands a rank has in the end: first .. last - 1.
  [[nodiscard]] std::pair<int, int> summed(int rank, int ranks, int root) const {
    switch (does) {
      case Does::broadcast:
        return rank == root ? std::pair{0, 0} : std::pair{root, root + 1};
      case Does::reduce:
        return {0, rank == root ? ranks : 0};
      case Does::scan:
        return {0, rank + 1};
      case Does::exscan:
        return {0, rank};
      default:
        return {0, ranks};
    }
  }
  [[nodiscard]] bool right(ModelPort& model, int call, int root) const {
    const auto [first, last] = summed(model.rank(), model.size(), root);
    const int block = does == Does::reduce_scatter ? model.rank() : 0;
    for (std::uint32_t i = 0; i < bytes && first < last; i += 64) {
      int expected = 0;
      for (int rank = first; rank < last; ++rank) expected += value(rank, call, block, i);
      if (model.user()[result(model.size()) + i] != static_cast<std::byte>(expected)) return false;
    }
    return true;
  }
};

constexpr Case kRootStage{Does::broadcast, &broadcast::root_stage<LendingPort>};
constexpr Case kPeerStages{Does::allreduce, &allreduce::peer_stages<LendingPort>};
constexpr Case kOneShot{Does::allreduce, &allreduce::one_shot<LendingPort>};
constexpr Case kReduce{Does::reduce, &reduce::peer_stages<LendingPort>};
constexpr Case kScan{Does::scan, &scan::chain<scan::Kind::inclusive, LendingPort>};
constexpr Case kExscan{Does::exscan, &scan::chain<scan::Kind::exclusive, LendingPort>};
constexpr Case kReduceScatter{Does::reduce_scatter, &reduce_scatter::pairwise<LendingPort>};

Case with(Case made, std::uint32_t lenders, std::uint32_t bytes, int calls, bool in_place = false) {
  made.lenders = lenders;
  made.bytes = bytes;
  made.calls = calls;
  made.in_place = in_place;
  return made;
}
Case then(Case made, std::uint32_t next_lenders) {
  made.next_lenders = next_lenders;
  return made;
}
void expect_right(const Case& made, int ranks) {
  const Found found = made.on(ranks);
  EXPECT_EQ(found.wrong, "") << made.lenders << " " << made.bytes;
  EXPECT_GT(found.states, 10U);
}
Rules unheard(std::uint32_t first_line, int ranks) {
  return {.ignored_begin = first_line, .ignored_end = first_line + static_cast<std::uint32_t>(ranks)};
}

TEST(LendingInterleavings, BroadcastsOutOfTheRootsMemory) {
  for (const std::uint32_t lenders : {0U, 1U, 2U, 3U}) {
    expect_right(with(kRootStage, lenders, 1, 3), 2);
    expect_right(with(kRootStage, lenders, 5 * kPiece + 1, 2), 2);  // an area is used again
  }
  for (const std::uint32_t lenders : {0U, 1U, 2U, 7U}) expect_right(with(kRootStage, lenders, 1, 2), 3);
  const Case lent = with(kRootStage, 3, 1, 1);
  EXPECT_EQ(lent.on(2, unheard(Case::shape(2).announcements(), 2)).wrong, kWrong);
  EXPECT_EQ(lent.on(2, {.waits = false}).wrong, kWrong);
  EXPECT_EQ(with(kRootStage, 3, 1, 2).on(2, unheard(Case::shape(2).acknowledgements(), 2)).wrong, kWrong);
}

TEST(LendingInterleavings, TheRootWritesTheLastPartOfABroadcastToWhoAsks) {
  for (const std::uint32_t lenders : {1U, 2U, 3U}) {
    expect_right(with(kRootStage, lenders, kPiece, 3), 2);
    expect_right(then(with(kRootStage, lenders, kPiece, 3), 3 - lenders), 2);
  }
  for (std::uint32_t lenders = 1; lenders < 8; lenders += 2) expect_right(with(kRootStage, lenders, kPiece, 1), 3);
  expect_right(with(kRootStage, 7, kPiece, 2), 3);
  const Case lent = with(kRootStage, 3, kPiece, 1);
  EXPECT_EQ(lent.on(2, unheard(Case::shape(2).announcements(), 2)).wrong, kWrong);
  EXPECT_EQ(lent.on(2, {.waits = false}).wrong, kWrong);
  EXPECT_EQ(lent.on(2, {.fence = false}).wrong, kWrong);  // of its two acknowledgements the offer comes first
}

TEST(LendingInterleavings, EachRankCombinesAPartInEverybodysMemory) {
  for (const Case& made : {kPeerStages, kOneShot}) {
    for (const bool in_place : {false, true}) {
      for (const std::uint32_t lenders : {0U, 1U, 2U, 3U}) {
        expect_right(with(made, lenders, 1, 2, in_place), 2);
        expect_right(with(made, lenders, kPiece, 2, in_place), 2);
      }
      expect_right(with(made, 3, 5 * kPiece + 1, 1, in_place), 2);
      expect_right(with(made, 1, 3 * kPiece, 1, in_place), 2);
      for (const std::uint32_t lenders : {1U, 3U, 7U}) expect_right(with(made, lenders, 1, 1, in_place), 3);
    }
    const Case lent = with(made, 3, kPiece, 1);
    EXPECT_EQ(lent.on(2, unheard(Case::shape(2).announcements(), 2)).wrong, kWrong);
    EXPECT_EQ(lent.on(2, unheard(Case::shape(2).acknowledgements(), 2)).wrong, kWrong);
    EXPECT_EQ(lent.on(2, {.waits = false}).wrong, kWrong);
  }
}

/// Each in all ways that ranks may lend, and with rules of the protocol left out.
void expect_protocol(const Case& made, bool in_place) {
  for (const std::uint32_t lenders : {0U, 1U, 2U, 3U}) {
    expect_right(with(made, lenders, 1, 2, in_place), 2);
    expect_right(with(made, lenders, kPiece, 2, in_place), 2);
    expect_right(then(with(made, lenders, 1, 2, in_place), 3 - lenders), 2);
  }
  expect_right(with(made, 3, 3 * kPiece + 1, 1, in_place), 2);
  expect_right(with(made, 1, 3 * kPiece, 1, in_place), 2);
  for (std::uint32_t lenders = 0; lenders < 8; ++lenders) expect_right(with(made, lenders, 1, 1, in_place), 3);
}
void expect_rules_needed(const Case& made) {
  const Case lent = with(made, 3, kPiece, 1);
  EXPECT_EQ(lent.on(2, unheard(Case::shape(2).announcements(), 2)).wrong, kWrong);
  EXPECT_EQ(lent.on(2, unheard(Case::shape(2).acknowledgements(), 2)).wrong, kWrong);
  EXPECT_EQ(lent.on(2, {.waits = false}).wrong, kWrong);
}

TEST(LendingInterleavings, EachRankCombinesAPartIntoTheRootsMemory) {
  for (const bool in_place : {false, true}) expect_protocol(kReduce, in_place);
  expect_rules_needed(kReduce);
}

TEST(LendingInterleavings, EachRankTakesAPartThroughAllPrefixes) {
  for (const bool in_place : {false, true}) expect_protocol(kScan, in_place);
  expect_rules_needed(kScan);
}

TEST(LendingInterleavings, EachRankTakesAPartThroughAllPrefixesButTheOwn) {
  for (const bool in_place : {false, true}) expect_protocol(kExscan, in_place);
  expect_right(with(kExscan, 15, 1, 1, true), 4);  // prefixes move on by one rank
  expect_rules_needed(kExscan);
}

TEST(LendingInterleavings, EachRankCombinesItsBlockOutOfEverybodysMemory) {
  expect_protocol(kReduceScatter, false);
  expect_rules_needed(kReduceScatter);
}

/// An offer that is read late is that of its own call.
TEST(LendingInterleavings, RanksThatLendInOneOfTwoCalls) {
  for (const Case& made : {kReduce, kScan, kExscan, kReduceScatter})
    for (const std::uint32_t lenders : {3U, 5U, 6U}) expect_right(then(with(made, lenders, 1, 2), 7), 3);
}

}  // namespace
}  // namespace corewise::coll

// The protocols of the collectives that move data, through every interleaving, by the algorithms' own text: the
// streams (one rank to another through areas of its stage), the direct copies (an address announced, user memory
// read or written by a peer, a word that it is done), and one copy between user memories, which a rank may be
// refused, by one_copy also of blocks of different sizes, of which the short ones ride in the metadata. Calls
// follow one another without a barrier, and a rank changes what it sent at once. Each rule is taken away in turn,
// and the search finds the failure.
//
// Not run, but of these patterns: blocks of different sizes by the other rows, allgather by steps
// and alltoall pairwise (send_receive, which test_pipeline_interleavings.cpp runs around a ring).
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coll/allgather/direct.hpp"
#include "coll/allgather/one_copy.hpp"
#include "coll/alltoall/bruck.hpp"
#include "coll/alltoall/direct.hpp"
#include "coll/alltoall/one_copy.hpp"
#include "coll/gather/direct.hpp"
#include "coll/gather/linear.hpp"
#include "coll/gather/one_copy.hpp"
#include "coll/gather/root_copies.hpp"
#include "coll/gather/tree.hpp"
#include "coll/scatter/direct.hpp"
#include "coll/scatter/linear.hpp"
#include "coll/scatter/one_copy.hpp"
#include "coll/scatter/root_copies.hpp"
#include "coll/scatter/tree.hpp"
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

/// The least buffers: pieces of 128 bytes.
Shape shape_of(int ranks, std::uint32_t eager_slots = 0) {
  Shape shape;
  shape.ranks = ranks;
  shape.buffer_bytes = 256;
  shape.eager_slots = eager_slots;
  return shape;
}

enum class Kind { gather, scatter, all_gather, all_to_all };

/// Two calls (or more) of one algorithm on blocks of `bytes`; rank 0 is the root. In user memory a block for (or
/// of) every rank to send, then one of every rank to receive.
struct Movement {
  using Algorithm = void (*)(Rank<DirectPort>&, const Call<DirectPort>&, const Parameters&);

  Kind kind;
  Algorithm algorithm;
  std::uint32_t bytes = 1;
  int calls = 2;
  int degree = 2;
  std::uint32_t least = 1;    ///< of one copy
  std::uint32_t refused = 0;  ///< bit r: rank r may not copy to or from another's user memory
  std::uint32_t eager_slots = 0;
  /// Of blocks, by the rank that is not the root, or that receives; without them all are `bytes`.
  std::optional<std::array<std::uint64_t, 3>> sizes = std::nullopt;

  [[nodiscard]] Found on(int ranks, const Rules& rules = {}) const {
    const auto user = 2 * static_cast<std::uint32_t>(ranks) * bytes;
    const port::Layout layout = shape_of(ranks, eager_slots).layout();
    return Search(ranks, layout, user, rules, [this](ModelPort& model) { return text(model); }).run();
  }

 private:
  [[nodiscard]] static std::byte value(int from, int to, int call, std::uint32_t byte) {
    return static_cast<std::byte>(1 + 64 * call + 16 * from + 4 * to + static_cast<int>(byte / kPiece));
  }
  [[nodiscard]] bool sends_to_each() const { return kind == Kind::scatter || kind == Kind::all_to_all; }
  [[nodiscard]] bool receives(int rank, int from) const {
    if (kind == Kind::scatter) return from == 0;
    return kind != Kind::gather || rank == 0;
  }
  [[nodiscard]] std::uint64_t sent_at(int to) const {
    return sends_to_each() ? static_cast<std::uint64_t>(to) * bytes : 0;
  }
  [[nodiscard]] std::uint64_t received_at(int ranks, int from) const {
    return static_cast<std::uint64_t>(ranks + (kind == Kind::scatter ? 0 : from)) * bytes;
  }

  [[nodiscard]] std::uint64_t length(int from, int to) const {
    return sizes ? (*sizes)[static_cast<std::size_t>(kind == Kind::gather ? from : to)] : bytes;
  }

  std::string text(ModelPort& model) const {
    DirectPort port(model, 0, refused);
    Rank<DirectPort> me(port, shape_of(port.size(), eager_slots));
    Call<DirectPort> call;
    const int own = port.rank();
    call.bytes = length(own, own);
    call.receive = received_at(port.size(), 0);
    call.send_blocks.equal = call.receive_blocks.equal = bytes;
    std::array<std::uint64_t, 3> sent{}, received{};
    for (int peer = 0; peer < port.size(); ++peer) {
      sent[static_cast<std::size_t>(peer)] = length(own, peer);
      received[static_cast<std::size_t>(peer)] = length(peer, own);
    }
    call.send_blocks.sizes = sent.data();
    call.receive_blocks.sizes = received.data();
    Parameters parameters;
    parameters.closing = Closing::counters;
    parameters.degree = degree;
    parameters.min_piece = least;
    model.pause();
    for (int number = 0; number < calls; ++number) {
      fill(model, number);
      algorithm(me, call, parameters);
      if (model.moved() && !right(model, number)) return kWrong;
    }
    fill(model, calls);
    return {};
  }
  void fill(ModelPort& model, int call) const {
    const std::span<std::byte> user = model.user();
    for (int to = 0; to < model.size(); ++to) {
      for (std::uint32_t i = 0; i < bytes; i += kMark) {
        user[sent_at(to) + i] = value(model.rank(), sends_to_each() ? to : 0, call, i);
      }
    }
  }
  [[nodiscard]] bool right(ModelPort& model, int call) const {
    for (int from = 0; from < model.size(); ++from) {
      if (!receives(model.rank(), from)) continue;
      for (std::uint32_t i = 0; i < length(from, model.rank()); i += kMark) {
        const std::byte expected = value(from, sends_to_each() ? model.rank() : 0, call, i);
        if (model.user()[received_at(model.size(), from) + i] != expected) return false;
      }
    }
    return true;
  }
};

constexpr Movement kGatherLinear{Kind::gather, &gather::linear<DirectPort>};
constexpr Movement kGatherTree{Kind::gather, &gather::tree<DirectPort>};
constexpr Movement kScatterLinear{Kind::scatter, &scatter::linear<DirectPort>};
constexpr Movement kScatterTree{Kind::scatter, &scatter::tree<DirectPort>};
constexpr Movement kBruck{Kind::all_to_all, &alltoall::bruck<DirectPort>};
constexpr Movement kGatherDirect{Kind::gather, &gather::direct<DirectPort>};
constexpr Movement kGatherRoot{Kind::gather, &gather::root_copies<DirectPort>};
constexpr Movement kScatterDirect{Kind::scatter, &scatter::direct<DirectPort>};
constexpr Movement kScatterRoot{Kind::scatter, &scatter::root_copies<DirectPort>};
constexpr Movement kAllGatherDirect{Kind::all_gather, &allgather::direct<DirectPort>};
constexpr Movement kAllToAllDirect{Kind::all_to_all, &alltoall::direct<DirectPort>};
constexpr Movement kGatherOnce{Kind::gather, &gather::one_copy<DirectPort>};
constexpr Movement kScatterOnce{Kind::scatter, &scatter::one_copy<DirectPort>};
constexpr Movement kAllGatherOnce{Kind::all_gather, &allgather::one_copy<DirectPort>};
constexpr Movement kAllToAllOnce{Kind::all_to_all, &alltoall::one_copy<DirectPort>};
/// A call of `first`, and at once one of `second`.
template <auto kFirst, auto kSecond>
void both(Rank<DirectPort>& me, const Call<DirectPort>& call, const Parameters& parameters) {
  kFirst(me, call, parameters);
  kSecond(me, call, parameters);
}
constexpr Movement kGatherOnceThenStream{Kind::gather,
                                         &both<&gather::one_copy<DirectPort>, &gather::linear<DirectPort>>};
constexpr Movement kStreamThenScatterOnce{Kind::scatter,
                                          &both<&scatter::linear<DirectPort>, &scatter::one_copy<DirectPort>>};

Movement with(Movement movement, std::uint32_t bytes, int calls, int degree = 2) {
  movement.bytes = bytes;
  movement.calls = calls;
  movement.degree = degree;
  return movement;
}
Movement refusing(Movement movement, std::uint32_t refused) {
  movement.refused = refused;
  return movement;
}
void expect_right(const Movement& movement, int ranks) {
  const Found found = movement.on(ranks);
  EXPECT_EQ(found.wrong, "");
  EXPECT_GT(found.states, 20U);
  ::testing::Test::RecordProperty("states", static_cast<int>(found.states));
}
Rules unheard(std::uint32_t first_line, int ranks) {
  return {.ignored_begin = first_line, .ignored_end = first_line + static_cast<std::uint32_t>(ranks)};
}

TEST(MovementInterleavings, StreamsOfTwoRanks) {
  for (const Movement& movement : {kGatherLinear, kScatterLinear, kGatherTree, kScatterTree}) {
    expect_right(movement, 2);
  }
  expect_right(with(kGatherLinear, 5 * kPiece + 1, 1), 2);  // an area is used again
  expect_right(with(kScatterTree, kPiece + 1, 1), 2);
  expect_right(kBruck, 2);
  expect_right(with(kBruck, kPiece + 1, 1), 2);
}

TEST(MovementInterleavings, StreamsOfThreeRanks) {
  for (const Movement& movement : {kGatherLinear, kScatterLinear}) expect_right(movement, 3);
  for (const int degree : {1, 2}) {
    for (const Movement& movement : {kGatherTree, kScatterTree}) expect_right(with(movement, 1, 1, degree), 3);
  }
}

TEST(MovementInterleavings, DirectCopiesOfTwoRanks) {
  for (const Movement& movement :
       {kGatherDirect, kGatherRoot, kScatterDirect, kScatterRoot, kAllGatherDirect, kAllToAllDirect}) {
    expect_right(movement, 2);
    expect_right(with(movement, 256 + 1, 1), 2);
  }
}

TEST(MovementInterleavings, DirectCopiesOfThreeRanks) {
  for (const Movement& movement : {kGatherDirect, kGatherRoot, kScatterDirect, kScatterRoot}) {
    expect_right(with(movement, 1, 1), 3);
  }
}

TEST(MovementInterleavings, OneCopyOfTwoRanks) {
  for (const Movement& movement : {kGatherOnce, kScatterOnce, kAllGatherOnce, kAllToAllOnce}) {
    for (const std::uint32_t refused : {0, 1, 2, 3}) {
      expect_right(refusing(movement, refused), 2);
      expect_right(refusing(with(movement, kPiece + 1, 1), refused), 2);  // of rooted ones, both ends copy
    }
    expect_right(with(movement, 1, 3), 2);
    Movement through_stages = movement;
    through_stages.least = 2;
    expect_right(through_stages, 2);
  }
  expect_right(kGatherOnceThenStream, 2);
  expect_right(kStreamThenScatterOnce, 2);
  expect_right(refusing(kGatherOnceThenStream, 2), 2);
}

/// Blocks of one byte ride, those of two are copied; of both kinds in one call, or of one.
Movement riding(Movement movement, std::array<std::uint64_t, 3> sizes, int calls) {
  movement.bytes = 2;
  movement.least = 2;
  movement.eager_slots = 2;
  movement.sizes = sizes;
  movement.calls = calls;
  return movement;
}

TEST(MovementInterleavings, ShortBlocksRideWhereLongOnesAreCopied) {
  for (const Movement& movement : {kGatherOnce, kScatterOnce, kAllToAllOnce}) {
    for (const std::array<std::uint64_t, 3> sizes : {std::array<std::uint64_t, 3>{1, 1}, {1, 2}, {2, 1}}) {
      expect_right(riding(movement, sizes, 3), 2);
      expect_right(refusing(riding(movement, sizes, 2), 2), 2);
    }
  }
  for (const Movement& movement : {kGatherOnce, kScatterOnce}) {
    expect_right(riding(movement, {2, 1, 2}, 1), 3);
    expect_right(riding(movement, {1, 2, 1}, 1), 3);
  }
  expect_right(riding(kAllToAllOnce, {1, 1, 2}, 1), 3);
  expect_right(riding(kAllToAllOnce, {1, 2, 2}, 1), 3);  // between ranks 1 and 2 nothing rides
}

TEST(MovementInterleavings, BlocksOfNoBytesAreNotSent) {
  for (const Movement& movement : {kGatherOnce, kScatterOnce, kAllToAllOnce}) {
    for (const std::array<std::uint64_t, 3> sizes : {std::array<std::uint64_t, 3>{0, 1}, {1, 0}, {0, 2}, {2, 0}}) {
      expect_right(riding(movement, sizes, 3), 2);
    }
  }
}

TEST(MovementInterleavings, ExchangedBlocksThatRideNeedNoAcknowledgements) {
  const std::uint32_t begin = shape_of(2, 2).eager_acknowledgements();
  const Rules rules{.ignored_begin = begin, .ignored_end = begin + 2};
  EXPECT_EQ(riding(kAllToAllOnce, {1, 1}, 4).on(2, rules).wrong, "");
  // Nor does any go through the stages, which would be announced.
  EXPECT_EQ(riding(kAllToAllOnce, {1, 1}, 4).on(2, unheard(shape_of(2, 2).announcements(), 2)).wrong, "");
}

TEST(MovementInterleavings, BlocksThatRideNeedTheirAcknowledgements) {
  const std::uint32_t begin = shape_of(2, 2).eager_acknowledgements();
  for (const Movement& movement : {kGatherOnce, kScatterOnce}) {
    const Found found = riding(movement, {1, 1}, 4).on(2, {.ignored_begin = begin, .ignored_end = begin + 2});
    EXPECT_EQ(found.wrong, kWrong);
  }
}

TEST(MovementInterleavings, OneCopyOfThreeRanks) {
  for (const Movement& movement : {kGatherOnce, kScatterOnce}) {
    expect_right(with(movement, 1, 1), 3);
    expect_right(refusing(with(movement, 1, 1), 2), 3);
  }
  expect_right(with(kAllToAllOnce, 1, 1), 3);
}

TEST(MovementInterleavings, NeedTheAnnouncements) {
  const Rules rules = unheard(shape_of(2).announcements(), 2);
  for (const Movement& movement : {kGatherLinear, kScatterLinear, kGatherTree, kScatterTree, kBruck}) {
    EXPECT_EQ(movement.on(2, rules).wrong, kWrong);
  }
}

TEST(MovementInterleavings, NeedTheAcknowledgements) {
  const Rules rules = unheard(shape_of(2).acknowledgements(), 2);
  for (const Movement& movement : {kGatherLinear, kScatterLinear, kGatherTree, kScatterTree, kBruck, kGatherDirect,
                                   kScatterDirect, kScatterRoot, kAllGatherDirect, kAllToAllDirect}) {
    EXPECT_EQ(movement.on(2, rules).wrong, kWrong);
  }
  // Who does not know whether all was copied may wait for ever for what nobody sends.
  for (const Movement& movement : {kGatherOnce, kScatterOnce, kAllGatherOnce, kAllToAllOnce}) {
    EXPECT_NE(movement.on(2, rules).wrong, "");
  }
  // Within a call too: an area is used again.
  EXPECT_EQ(with(kScatterLinear, 5 * kPiece, 1).on(2, rules).wrong, kWrong);
}

TEST(MovementInterleavings, NeedTheWaits) {
  for (const Movement& movement :
       {kGatherLinear, kScatterTree, kBruck, kGatherDirect, kAllToAllDirect, kGatherOnce, kAllToAllOnce}) {
    EXPECT_EQ(movement.on(2, {.waits = false}).wrong, kWrong);
  }
}

}  // namespace
}  // namespace corewise::coll

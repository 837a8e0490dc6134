// The double-buffered pipeline of send_receive through every interleaving, with real stages and user memory: pieces
// arrive whole and in order, both ways at once and around a ring, call after call without a barrier. Each rule that
// it rests on is taken away in turn, and the search finds the failure. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "coll/broadcast/local_store_tree.hpp"
#include "coll/building/point_to_point.hpp"
#include "model.hpp"

namespace corewise::coll {
namespace {

using testing::Found;
using testing::ModelPort;
using testing::Rules;
using testing::Search;

constexpr const char* kWrong = "other data than were sent";

/// The least buffers: pieces of 128 bytes.
Shape shape_of(int ranks) {
  Shape shape;
  shape.ranks = ranks;
  shape.buffer_bytes = 256;
  return shape;
}
constexpr std::uint32_t kPiece = 128;

/// Fills what a rank sends in a call: every piece has bytes of its own.
void fill(std::span<std::byte> bytes, int rank, int call) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(64 * rank + 16 * call + static_cast<int>(i / kPiece) + 1);
  }
}
bool holds(std::span<const std::byte> bytes, int rank, int call) {
  std::vector<std::byte> expected(bytes.size());
  fill(expected, rank, call);
  return std::equal(bytes.begin(), bytes.end(), expected.begin());
}

/// Every rank: `calls` times, `bytes` from the first half of its user memory to `to`, into the second half from
/// `from`.
struct Transfer {
  std::uint32_t bytes;
  int calls;

  std::string operator()(ModelPort& port, int to, int from) const {
    Rank<ModelPort> me(port, shape_of(port.size()));
    port.pause();
    for (int call = 0; call < calls; ++call) {
      const std::span<std::byte> mine = port.user().first(bytes);
      const std::span<std::byte> theirs = port.user().subspan(bytes, bytes);
      fill(mine, port.rank(), call);
      using pattern::schedule::nobody;
      send_receive<ModelPort>(me, {to, mine.data(), to == nobody ? 0 : bytes},
                              {from, theirs.data(), from == nobody ? 0 : bytes});
      if (port.moved() && from != nobody && !holds(theirs, from, call)) return kWrong;
    }
    return {};
  }

  /// Rank 0 to rank 1.
  [[nodiscard]] Found one_way(const Rules& rules = {}) const {
    return search(2, rules, [this](ModelPort& port) {
      return port.rank() == 0 ? (*this)(port, 1, -1) : (*this)(port, -1, 0);
    });
  }
  [[nodiscard]] Found around(int ranks, const Rules& rules = {}) const {
    return search(ranks, rules, [this](ModelPort& port) {
      const int ranks_ = port.size();
      return (*this)(port, (port.rank() + 1) % ranks_, (port.rank() + ranks_ - 1) % ranks_);
    });
  }
  [[nodiscard]] Found search(int ranks, const Rules& rules, const Search::Text& text) const {
    return Search(ranks, shape_of(ranks).layout(), 2 * bytes, rules, text).run();
  }
};

TEST(PipelineInterleavings, OneWayIsRight) {
  for (const auto& [bytes, calls] : {std::pair{1U, 3}, {kPiece + 1, 2}, {3 * kPiece, 2}, {5 * kPiece - 1, 1}}) {
    SCOPED_TRACE(bytes);
    const Found found = Transfer{bytes, calls}.one_way();
    EXPECT_EQ(found.wrong, "");
    EXPECT_GT(found.states, 30U);
    RecordProperty("states", static_cast<int>(found.states));
  }
}

TEST(PipelineInterleavings, BothWaysAtOnceIsRight) {
  EXPECT_EQ((Transfer{1, 2}.around(2).wrong), "");
  EXPECT_EQ((Transfer{2 * kPiece + 1, 1}.around(2).wrong), "");
}

TEST(PipelineInterleavings, NeedsTheAcknowledgements) {
  const Shape shape = shape_of(2);
  const Rules unheard{.ignored_begin = shape.acknowledgements(), .ignored_end = shape.acknowledgements() + 2};
  EXPECT_EQ((Transfer{3 * kPiece, 1}.one_way(unheard).wrong), kWrong);  // within a call
  EXPECT_EQ((Transfer{1, 2}.one_way(unheard).wrong), kWrong);           // from call to call
}

TEST(PipelineInterleavings, NeedsTheAnnouncements) {
  const Shape shape = shape_of(2);
  const Rules unheard{.ignored_begin = shape.announcements(), .ignored_end = shape.announcements() + 2};
  EXPECT_EQ((Transfer{1, 1}.one_way(unheard).wrong), kWrong);
}

TEST(PipelineInterleavings, NeedsTheWaits) {
  EXPECT_EQ((Transfer{1, 1}.one_way({.waits = false}).wrong), kWrong);
}

/// `calls` broadcasts of `bytes` down a tree of local stores, call number i from rank i.
struct Broadcast {
  int ranks;
  std::uint32_t bytes;
  int calls;
  int degree = 1;
  bool fenced = false;

  [[nodiscard]] Shape shape() const {
    Shape made;
    made.ranks = ranks;
    made.buffer_bytes = kPiece;
    return made;
  }
  std::string operator()(ModelPort& port) const {
    Rank<ModelPort> me(port, shape());
    Parameters parameters;
    parameters.degree = degree;
    parameters.fenced = fenced;
    parameters.closing = Closing::counters;
    port.pause();
    for (int number = 0; number < calls; ++number) {
      const std::span<std::byte> data = port.user().first(bytes);
      Call<ModelPort> call;
      call.bytes = bytes;
      call.root = number % ranks;
      if (port.rank() == call.root) {
        fill(data, call.root, number);
        call.send = data.data();
      } else {
        call.receive = data.data();
      }
      broadcast::local_store_tree(me, call, parameters);
      if (port.moved() && !holds(data, call.root, number)) return kWrong;
    }
    return {};
  }
  [[nodiscard]] Found search(const Rules& rules = {}) const {
    return Search(ranks, shape().layout(), bytes, rules, *this).run();
  }
};

TEST(PipelineInterleavings, ABroadcastDownAChainOrTreeIsRight) {
  for (const bool fenced : {false, true}) {
    SCOPED_TRACE(fenced);
    EXPECT_EQ((Broadcast{2, 4 * kPiece, 1, 1, fenced}.search().wrong), "");
    EXPECT_EQ((Broadcast{2, 1, 3, 1, fenced}.search().wrong), "");
    EXPECT_EQ((Broadcast{3, 3 * kPiece, 2, 1, fenced}.search().wrong), "");
    EXPECT_EQ((Broadcast{3, kPiece + 1, 1, 3, fenced}.search().wrong), "");
  }
}

TEST(PipelineInterleavings, ABroadcastNeedsItsAnnouncementsAndAcknowledgements) {
  for (const bool fenced : {false, true}) {
    const Broadcast three{2, 3 * kPiece, 1, 1, fenced};
    const Shape shape = three.shape();
    EXPECT_NE(three.search({.ignored_begin = shape.announcements(), .ignored_end = shape.acknowledgements()}).wrong,
              "");
    const Rules unheard{.ignored_begin = shape.acknowledgements(), .ignored_end = shape.eager_acknowledgements()};
    EXPECT_EQ(three.search(unheard).wrong, kWrong) << fenced;
  }
}

TEST(PipelineInterleavings, APushedPieceNeedsTheFence) {
  EXPECT_EQ((Broadcast{2, 1, 1, 1, true}.search({.fence = false}).wrong), kWrong);
}

}  // namespace
}  // namespace corewise::coll

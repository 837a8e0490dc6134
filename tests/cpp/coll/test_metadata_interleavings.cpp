// The channels (paper 001, section 4: the metadata array) through every interleaving: the n-th hear gets what the
// n-th tell said, data put under the channel's tag are there when it is heard, nobody waits for ever. Then one rule
// after the other is taken away, and every time the search finds the failure. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <string>

#include "coll/building/channels.hpp"
#include "model.hpp"

namespace corewise::coll {
namespace {

using testing::Found;
using testing::ModelPort;
using testing::Rules;
using testing::Search;

constexpr const char* kStale = "a rank read another payload than was meant for it";
constexpr const char* kData = "data were not there with their announcement";

Found search(int ranks, std::uint32_t arrays, const Rules& rules, const Search::Text& text) {
  const auto lines = arrays * static_cast<std::uint32_t>(ranks);
  return Search(ranks, port::Layout{16, lines, 0, 0}, 0, rules, text).run();
}

/// Rank 0 tells each of the others `rounds` values; each answers before the next one.
std::string values_with_answers(ModelPort& port, int rounds) {
  Channels<ModelPort> announcements(port, 0);
  Channels<ModelPort> acknowledgements(port, static_cast<std::uint32_t>(port.size()));
  port.pause();
  for (int round = 1; round <= rounds; ++round) {
    if (port.rank() == 0) {
      for (int peer = 1; peer < port.size(); ++peer) announcements.tell_value(peer, 100 * round + peer);
      for (int peer = 1; peer < port.size(); ++peer) acknowledgements.hear(peer);
    } else {
      if (announcements.hear_value<int>(0) != 100 * round + port.rank()) return kStale;
      acknowledgements.tell(0);
    }
  }
  return {};
}

TEST(MetadataInterleavings, PayloadsWithAnswersAreRight) {
  for (const auto& [ranks, rounds] : {std::pair{2, 4}, {3, 3}, {4, 2}}) {
    SCOPED_TRACE(ranks);
    const Found found =
        search(ranks, 2, {}, [r = rounds](ModelPort& port) { return values_with_answers(port, r); });
    EXPECT_EQ(found.wrong, "");
    EXPECT_GT(found.states, 20U);
  }
}

TEST(MetadataInterleavings, APayloadNeedsTheAnswerToTheOneBefore) {
  const Rules unanswered{.ignored_begin = 2, .ignored_end = 4};
  EXPECT_EQ(search(2, 2, unanswered, [](ModelPort& port) { return values_with_answers(port, 2); }).wrong, kStale);
}

TEST(MetadataInterleavings, NeedTheNumberTakenAtTheCall) {
  EXPECT_EQ(
      search(3, 2, {.taken_at_call = false}, [](ModelPort& port) { return values_with_answers(port, 2); }).wrong,
      "");  // equal counts for all: the numbers are the same
  const auto unequal = [](ModelPort& port) -> std::string {
    Channels<ModelPort> channels(port, 0);
    port.pause();
    if (port.rank() == 0) {
      channels.tell(1);
      channels.tell(1);
      channels.tell(2);  // number 1, while number 2 may be under way to rank 1
    } else {
      channels.hear(0, port.rank() == 1 ? 2 : 1);
    }
    return {};
  };
  EXPECT_EQ(search(3, 1, {}, unequal).wrong, "");
  EXPECT_EQ(search(3, 1, {.taken_at_call = false}, unequal).wrong, "ranks wait for ever");
}

/// Rank 0 puts a value into rank 1's stage and announces it, again and again, with answers between.
std::string data_and_announcement(ModelPort& port, port::Tag tag_of_data) {
  Channels<ModelPort> announcements(port, 0);
  Channels<ModelPort> acknowledgements(port, 2);
  port.pause();
  for (std::uint8_t round = 1; round <= 3; ++round) {
    if (port.rank() == 0) {
      port.stage()[0] = std::byte{round};
      port.put(0, {1, 8}, 1, tag_of_data);
      announcements.tell(1);
      acknowledgements.hear(1);
    } else {
      announcements.hear(0);
      if (port.moved() && port.stage()[8] != std::byte{round}) return kData;
      acknowledgements.tell(0);
    }
  }
  return {};
}

TEST(MetadataInterleavings, DataUnderTheSameTagNeedNoWait) {
  EXPECT_EQ(search(2, 2, {}, [](ModelPort& port) { return data_and_announcement(port, metadata_tag(1)); }).wrong,
            "");
}

TEST(MetadataInterleavings, DataNeedTheFenceAndTheSameTag) {
  const auto same = [](ModelPort& port) { return data_and_announcement(port, metadata_tag(1)); };
  EXPECT_EQ(search(2, 2, {.fence = false}, same).wrong, kData);
  const auto other = [](ModelPort& port) { return data_and_announcement(port, metadata_tag(0)); };
  EXPECT_EQ(search(2, 2, {}, other).wrong, kData);
}

TEST(MetadataInterleavings, DataNeedTheAnswerBeforeTheNext) {
  const Rules unanswered{.ignored_begin = 2, .ignored_end = 4};
  const auto text = [](ModelPort& port) { return data_and_announcement(port, metadata_tag(1)); };
  EXPECT_EQ(search(2, 2, unanswered, text).wrong, kData);
}

/// Two ranks that send to each other at once: announcement, fetch, acknowledgement. `arrays` 1: both in one array.
std::string both_ways(ModelPort& port, std::uint32_t arrays) {
  Channels<ModelPort> first(port, 0);
  Channels<ModelPort> second(port, 2);
  Channels<ModelPort>& acknowledgements = arrays == 2 ? second : first;
  const int peer = 1 - port.rank();
  port.pause();
  for (std::uint8_t round = 1; round <= 3; ++round) {
    port.stage()[0] = std::byte(16 * port.rank() + round);
    first.tell(peer);
    first.hear(peer);
    port.get({peer, 0}, 8, 1, 20);
    port.wait(port::mask_of(20));
    if (port.moved() && port.stage()[8] != std::byte(16 * peer + round)) return kData;
    acknowledgements.tell(peer);
    acknowledgements.hear(peer);
  }
  return {};
}

TEST(MetadataInterleavings, BothWaysAtOnceIsRight) {
  EXPECT_EQ(search(2, 2, {}, [](ModelPort& port) { return both_ways(port, 2); }).wrong, "");
}

TEST(MetadataInterleavings, AFetchNeedsItsWaitAndItsAcknowledgement) {
  const auto text = [](ModelPort& port) { return both_ways(port, 2); };
  EXPECT_EQ(search(2, 2, {.waits = false}, text).wrong, kData);
  EXPECT_EQ(search(2, 2, {.ignored_begin = 2, .ignored_end = 4}, text).wrong, kData);
}

/// Rank 1 fetches two pieces of rank 0, which fetches one of rank 1 between them and acknowledges it. In one array
/// the acknowledgement passes for the second announcement.
std::string unlike_counts(ModelPort& port, std::uint32_t arrays) {
  Channels<ModelPort> first(port, 0);
  Channels<ModelPort> second(port, 2);
  Channels<ModelPort>& acknowledgements = arrays == 2 ? second : first;
  port.pause();
  const int peer = 1 - port.rank();
  const auto fetch = [&](std::uint8_t piece) {
    port.get({peer, piece}, 8, 1, 20);
    port.wait(port::mask_of(20));
    acknowledgements.tell(peer);
    return !port.moved() || port.stage()[8] == std::byte(16 * peer + piece);
  };
  const auto make = [&](std::uint8_t piece) {
    port.stage()[piece] = std::byte(16 * port.rank() + piece);
    first.tell(peer);
  };
  make(0);
  first.hear(peer);
  if (!fetch(0)) return kData;
  if (port.rank() == 0) {
    port.pause();
    make(1);
    acknowledgements.hear(peer, 2);
  } else {
    first.hear(peer);
    if (!fetch(1)) return kData;
    acknowledgements.hear(peer);
  }
  return {};
}

TEST(MetadataInterleavings, AnnouncementsAndAcknowledgementsNeedAnArrayEach) {
  EXPECT_EQ(search(2, 2, {}, [](ModelPort& port) { return unlike_counts(port, 2); }).wrong, "");
  EXPECT_EQ(search(2, 2, {}, [](ModelPort& port) { return unlike_counts(port, 1); }).wrong, kData);
}

}  // namespace
}  // namespace corewise::coll

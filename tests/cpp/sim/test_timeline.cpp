// The timeline: what a watched run records, and that an unwatched one takes the same time.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/engine.hpp"
#include "sim/timeline.hpp"

namespace corewise::sim {
namespace {

/// "programs/a: runs 0..5", one line per event.
std::vector<std::string> lines(const Timeline& timeline) {
  std::vector<std::string> text;
  for (const Timeline::Event& event : timeline.events()) {
    const auto& track = timeline.tracks()[static_cast<std::size_t>(event.track)];
    const auto& kind = timeline.kinds()[static_cast<std::size_t>(event.kind)];
    const std::string end = event.end == Timeline::kInstant ? "" : ".." + std::to_string(event.end);
    text.push_back(track.group + "/" + track.name + ": " + kind.name + " " + std::to_string(event.begin) + end);
  }
  return text;
}

/// Program a runs 5 ticks and wakes b, which has waited since tick 2; b then runs 3 ticks.
Time handshake(Engine& engine) {
  Process* second = nullptr;
  engine.spawn("a", [&] {
    engine.sleep(5);
    engine.wake(*second);
  });
  second = &engine.spawn("b", [&] {
    engine.sleep(2);
    engine.block({"line {} of {}", 7, 9, std::source_location::current()});
    engine.sleep(3);
    engine.sleep(0);
  });
  EXPECT_TRUE(engine.run().ok());
  return engine.now();
}

TEST(Timeline, WatchedProgramsRecordRunningAndWaiting) {
  Timeline timeline;
  Engine engine(1.0);
  engine.set_timeline(&timeline);
  EXPECT_EQ(handshake(engine), 8);
  EXPECT_EQ(lines(timeline),
            (std::vector<std::string>{"programs/b: runs 0..2", "programs/a: runs 0..5",
                                      "programs/b: waits for line 7 of 9 2..5", "programs/b: runs 5..8"}));
  EXPECT_EQ(timeline.kinds().front().where.rfind("test_timeline.cpp:", 0), 0U);
}

TEST(Timeline, UnwatchedRunTakesTheSameTime) {
  Engine engine(1.0);
  EXPECT_EQ(engine.timeline(), nullptr);
  EXPECT_EQ(handshake(engine), 8);
}

TEST(Timeline, TextsAreKeptOnceAndDifferentLabelsAreDifferentKinds) {
  Timeline timeline;
  const auto ring = timeline.track("rings", "cw#0");
  EXPECT_EQ(timeline.track("rings", "cw#0"), ring);
  EXPECT_NE(timeline.track("links", "cw#0"), ring);
  const auto packet = timeline.kind("packet", "from", "to");
  EXPECT_EQ(timeline.kind("packet", "from", "to"), packet);
  EXPECT_NE(timeline.kind("packet", "from"), packet);
  EXPECT_EQ(timeline.kinds().size(), 2U);
  EXPECT_EQ(timeline.tracks().size(), 2U);
}

TEST(Timeline, EventsPastTheLimitAreCountedNotKept) {
  Timeline timeline(2);
  const auto track = timeline.track("rings", "cw#0");
  const auto kind = timeline.kind("packet");
  for (Time when = 0; when < 5; ++when) timeline.instant(track, kind, when);
  EXPECT_EQ(lines(timeline), (std::vector<std::string>{"rings/cw#0: packet 0", "rings/cw#0: packet 1"}));
  EXPECT_EQ(timeline.dropped(), 3U);
}

}  // namespace
}  // namespace corewise::sim

// The timeline of a flow, the share of communication that was hidden, and the slow link.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "overlap/flows.hpp"
#include "overlap/wire.hpp"

namespace corewise::overlap {
namespace {

Span span(Activity activity, std::int64_t begin_ns, std::int64_t end_ns) {
  return {activity, 0, 0, 0, begin_ns, end_ns};
}

TEST(Timeline, HiddenIsWhatWorkAndTransfersHaveInCommon) {
  // Transfers cover 10 to 30 and 50 to 60, work 0 to 15, 20 to 25 and 55 to 70: 5 + 5 + 5 of 30.
  const std::vector<Span> spans = {
      span(Activity::transfer, 10, 25), span(Activity::transfer, 20, 30), span(Activity::transfer, 50, 60),
      span(Activity::work, 0, 15),      span(Activity::work, 5, 12),      span(Activity::work, 20, 25),
      span(Activity::work, 55, 70),
  };
  EXPECT_EQ(hidden(spans).transfer_ns, 30);
  EXPECT_EQ(hidden(spans).hidden_ns, 15);
  EXPECT_DOUBLE_EQ(hidden(spans).share(), 0.5);
  EXPECT_EQ(hidden({span(Activity::work, 0, 9)}).share(), 0);
  EXPECT_EQ(hidden({}).share(), 0);
}

TEST(Timeline, HasEveryBlockWithItsThread) {
  for (Knobs knobs : every_setting()) {
    knobs.timeline = true;
    Flow flow(knobs);
    const Stage rows = flow.work("rows", 6, [](int, int) {});
    Transfer transfer;
    transfer.start = [](int) { return after_polls(3); };
    flow.each_after(flow.transfer("exchange", 6, std::move(transfer)), rows);
    flow.run();
    ASSERT_EQ(flow.timeline().size(), 12u) << text(knobs);
    for (const Span& each : flow.timeline()) {
      EXPECT_LE(each.begin_ns, each.end_ns);
      EXPECT_EQ(flow.stage_name(each), each.activity == Activity::work ? "rows" : "exchange");
      EXPECT_LE(each.thread, each.activity == Activity::work ? flow.threads() - 1 : knobs.workers);
    }
    for (int block = 0; block < 6; ++block) {
      const auto of = [&](Activity activity) {
        return *std::find_if(flow.timeline().begin(), flow.timeline().end(),
                             [&](const Span& each) { return each.activity == activity && each.block == block; });
      };
      EXPECT_LE(of(Activity::work).end_ns, of(Activity::transfer).begin_ns);
    }
  }
}

TEST(Timeline, IsEmptyUnlessWanted) {
  Flow flow{Knobs{}};
  flow.work("rows", 3, [](int, int) {});
  flow.run();
  EXPECT_TRUE(flow.timeline().empty());
}

TEST(Timeline, WorkBesideATransferHidesIt) {
  Knobs knobs;
  knobs.timeline = true;
  Flow flow(knobs);
  std::atomic<bool> worked{false};
  Transfer transfer;
  transfer.start = [&](int) { return [&] { return worked.load(); }; };
  flow.transfer("exchange", 1, std::move(transfer));
  flow.work("rows", 1, [&](int, int) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    worked = true;
  });
  flow.run();
  EXPECT_GT(hidden(flow.timeline()).share(), 0.5);
}

TEST(Wire, MessagesFollowEachOtherAndLatenciesOverlap) {
  Wire wire(1000, 2.0);  // 1 ms, and 2 ns for a byte
  const std::int64_t begin_ns = now_ns();
  const std::int64_t first = wire.send(1e6), second = wire.send(2e6);
  EXPECT_GE(first - begin_ns, 1'000'000 + 2'000'000);
  EXPECT_EQ(second - first, 4'000'000);
  EXPECT_TRUE(wire.is_slow());
  EXPECT_FALSE(Wire().is_slow());
}

}  // namespace
}  // namespace corewise::overlap

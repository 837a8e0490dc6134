// Flows that fail end with the stage, the block and the cause: they neither hang nor go on.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "overlap/flows.hpp"

namespace corewise::overlap {
namespace {

std::string failure_of(Flow& flow) {
  try {
    flow.run();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "none";
}

/// A flow whose exchange is the given one, with work before and after it.
std::string failure_with(const Knobs& knobs, Transfer transfer) {
  Flow flow(knobs);
  const Stage rows = flow.work("rows", 4, [](int, int) {});
  const Stage moved = flow.transfer("exchange", 4, std::move(transfer));
  flow.each_after(moved, rows);
  flow.all_after(flow.work("columns", 4, [](int, int) {}), moved);
  return failure_of(flow);
}

TEST(Failures, OfWorkAreToldWithEverySetting) {
  for (const Knobs& knobs : every_setting()) {
    Flow flow(knobs);
    const Stage rows = flow.work("rows", 9, [](int block, int) {
      if (block == 5) throw std::runtime_error("bad row");
    });
    flow.all_after(flow.work("columns", 2, [](int, int) { ADD_FAILURE() << "its needs are not met"; }), rows);
    EXPECT_EQ(failure_of(flow), "stage 'rows', block 5: bad row") << text(knobs);
  }
}

TEST(Failures, OfTheCommunicatorEndAllThreadsWithEverySetting) {
  for (const Knobs& knobs : every_setting()) {
    Transfer refused;
    refused.start = [](int block) -> Poll {
      if (block == 2) throw std::runtime_error("no route");
      return after_polls(1);
    };
    EXPECT_EQ(failure_with(knobs, std::move(refused)), "stage 'exchange', block 2: no route") << text(knobs);
    Transfer lost;
    lost.start = [](int block) -> Poll {
      if (block != 1) return after_polls(1);
      return []() -> bool { throw 7; };
    };
    EXPECT_EQ(failure_with(knobs, std::move(lost)), "stage 'exchange', block 1: an exception of unknown type")
        << text(knobs);
  }
}

TEST(Failures, OfPackingAreToldWhoeverPacks) {
  for (const Knobs& knobs : every_setting()) {
    Transfer transfer;
    transfer.start = [](int) { return after_polls(1); };
    transfer.unpack = [](int, int) { throw std::runtime_error("torn"); };
    EXPECT_NE(failure_with(knobs, std::move(transfer)).find(": torn"), std::string::npos) << text(knobs);
  }
}

TEST(Failures, ATransferThatNeverComesOutlastsThePatience) {
  for (Knobs knobs : every_setting()) {
    knobs.patience_s = 0.02;
    Transfer never;
    never.start = [](int) { return [] { return false; }; };
    EXPECT_NE(failure_with(knobs, std::move(never)).find("not transferred"), std::string::npos) << text(knobs);
  }
}

TEST(Failures, BlocksThatWaitForEachOtherAreAnError) {
  for (const Knobs& knobs : every_setting()) {
    Flow flow(knobs);
    const Stage a = flow.work("a", 2, [](int, int) {});
    const Stage b = flow.work("b", 2, [](int, int) {});
    flow.after(a, 1, b, 1);
    flow.after(b, 1, a, 1);
    EXPECT_EQ(failure_of(flow), "blocks wait for each other: stage 'a', block 1") << text(knobs);
  }
}

TEST(Failures, OfKnobsAndBlocksAreToldAtOnce) {
  Knobs none;
  none.workers = 0;
  EXPECT_THROW(Flow{none}, std::invalid_argument);
  none.workers = -1;
  none.role = Role::mixed;
  EXPECT_THROW(Flow{none}, std::invalid_argument);
  Knobs hasty;
  hasty.patience_s = -1;
  EXPECT_THROW(Flow{hasty}, std::invalid_argument);
  Flow flow{Knobs{}};
  EXPECT_THROW(flow.work("rows", -1, {}), std::invalid_argument);
  const Stage rows = flow.work("rows", 2, {});
  EXPECT_THROW(flow.after(rows, 2, rows, 0), std::out_of_range);
}

}  // namespace
}  // namespace corewise::overlap

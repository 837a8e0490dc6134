// Paper 003's overhead study in small: messages arrive whole, the profiler costs something and changes nothing,
// page faults show in a program of messages and hide behind computation. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <string>

#include "lab/profiling/overhead.hpp"

namespace corewise::lab {
namespace {

OverheadResult result_of(const OverheadRun& run) {
  auto result = run_profiled(run);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? std::move(result).value() : OverheadResult{};
}

OverheadRun sweep(std::int64_t rounds, bool recorded) {
  OverheadRun run;
  run.rounds = rounds;
  run.recorded = recorded;
  run.recorder.layout = EventLayout::paper;
  run.recorder.pages = 100;
  return run;
}

TEST(Overhead, EveryCallIsRecordedOnce) {
  for (const ProfiledProgram program : {ProfiledProgram::sweep, ProfiledProgram::dynamics}) {
    OverheadRun run = sweep(23, true);
    run.program = program;
    run.recorder.functions = false;
    const OverheadResult result = result_of(run);
    EXPECT_EQ(result.calls, 23 * calls_per_round(program, 3, 2));
    EXPECT_EQ(result.events, static_cast<std::uint64_t>(result.calls) + 2 * 6);
    EXPECT_EQ(result.lost_bytes, 0U);
    EXPECT_EQ(result.pages_bytes, 6 * 100 * 5120);
  }
}

TEST(Overhead, RecordingTakesTimeAndFaultsTakeMore) {
  const double plain = result_of(sweep(40, false)).time_us;
  const double recorded = result_of(sweep(40, true)).time_us;
  OverheadRun faults = sweep(40, true);
  faults.machine.mfc_page_fault_cycles = 400'000;
  faults.machine.mfc_hits_under_fault = 1;
  const OverheadResult slow = result_of(faults);
  EXPECT_GT(recorded, plain);
  EXPECT_GT(slow.time_us, 2 * recorded);
  EXPECT_GT(slow.page_faults, 0);
  EXPECT_GT(slow.waited_us, 0);
}

TEST(Overhead, ComputationHidesThePagesCost) {
  OverheadRun run = sweep(60, false);
  run.program = ProfiledProgram::dynamics;
  run.compute_cycles = 1'000'000;
  run.recorder.functions = false;
  run.machine.mfc_page_fault_cycles = 200'000;
  run.machine.mfc_hits_under_fault = 1;
  const double plain = result_of(run).time_us;
  run.recorded = true;
  const OverheadResult recorded = result_of(run);
  EXPECT_GT(recorded.page_faults, 6);
  EXPECT_LT(recorded.time_us, 1.005 * plain);
}

TEST(Overhead, WrongFieldsAreNamed) {
  const auto message = [](const OverheadRun& run) { return run.check().message(); };
  OverheadRun run;
  run.columns = 3;
  run.rows = 3;
  EXPECT_NE(message(run).find("field 'grid': found 3x3, allowed: 2 to 8 SPEs"), std::string::npos);
  run.rows = 2;
  run.message_bytes = 100;
  EXPECT_NE(message(run).find("field 'message_bytes': found 100"), std::string::npos);
}

}  // namespace
}  // namespace corewise::lab

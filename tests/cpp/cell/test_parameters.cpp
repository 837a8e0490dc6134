// Parameters: the table, and how a machine becomes parameters or an error that says what is wrong.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "cell/parameters.hpp"

namespace corewise::cell {
namespace {

constexpr const char* kStopsText =
    R"(["PPE", "SPE1", "SPE3", "SPE5", "SPE7", "IOIF1", "IOIF0", "SPE6", "SPE4", "SPE2", "SPE0", "MIC"])";

machine::Machine ring(const std::string& stops, const std::string& units, const std::string& simulation) {
  const std::string text = R"({"format": "corewise-machine", "version": 1, "name": "a cell", "interconnect":
      {"kind": "ring", "stops": )" +
                           stops + R"(, "units": )" + units + R"(, "rings_per_direction": 2,
      "ring_bandwidth": "25.6 GB/s", "hop_latency": "0.625 ns", "ties": "split"}, "simulation": {"model": "cell")" +
                           simulation + "}}";
  Result<machine::Machine> machine = machine::from_json(text, "test.toml");
  EXPECT_TRUE(machine.ok()) << machine.status().message();
  return machine.ok() ? machine.value() : machine::Machine{};
}

bool says(const Status& status, const std::string& part) {
  return status.code() == Code::invalid_input && status.message().find(part) != std::string::npos;
}

TEST(Parameters, TakesUnitsAndNumbersFromTheMachine) {
  const machine::Machine ps3 = ring(kStopsText, R"(["SPE0", "SPE1", "SPE2", "SPE3", "SPE4", "SPE5"])",
                                    R"(, "core_clock_ghz": 3.192, "mfc_outstanding_requests": 8)");
  const Result<Parameters> got = Parameters::from(ps3);
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(got.value().chips, 1);
  EXPECT_DOUBLE_EQ(got.value().core_clock_ghz, 3.192);
  EXPECT_EQ(got.value().mfc_outstanding_requests, 8);
  for (std::size_t spe = 0; spe < 16; ++spe) EXPECT_EQ(got.value().usable[spe], spe < 6) << spe;
}

TEST(Parameters, RefusesWhatItDoesNotKnow) {
  const Result<Parameters> unknown = Parameters::from(ring(kStopsText, R"(["SPE0"])", R"(, "packet_beets": 8)"));
  ASSERT_FALSE(unknown.ok());
  EXPECT_TRUE(says(unknown.status(), "test.toml: field 'simulation.packet_beets'")) << unknown.status().message();
  EXPECT_TRUE(says(unknown.status(), "packet_beats"));
  const Result<Parameters> range = Parameters::from(ring(kStopsText, R"(["SPE0"])", R"(, "packet_beats": 0)"));
  ASSERT_FALSE(range.ok());
  EXPECT_TRUE(says(range.status(), "found 0, allowed: a whole number from 8 to 64")) << range.status().message();
  Parameters parameters;
  EXPECT_FALSE(parameters.set("packet_beats", 7.5).ok());
  EXPECT_FALSE(parameters.set("core_clock_ghz", -1).ok());
  EXPECT_EQ(parameters.packet_beats, 8);
}

TEST(Parameters, RefusesAMachineThatIsNoCell) {
  const Result<Parameters> small = Parameters::from(ring(R"(["A", "B", "C", "D"])", R"(["A", "B"])", ""));
  ASSERT_FALSE(small.ok());
  EXPECT_TRUE(says(small.status(), "is no Cell")) << small.status().message();
  const Result<Parameters> ppe = Parameters::from(ring(kStopsText, R"(["PPE"])", ""));
  ASSERT_FALSE(ppe.ok());
  EXPECT_TRUE(says(ppe.status(), "SPE0 to SPE7")) << ppe.status().message();
}

TEST(Parameters, EveryRowHasItsOwnNameAMeaningAndADefaultInRange) {
  std::set<std::string> names;
  const Parameters defaults;
  for (const ParameterRow& row : parameter_rows()) {
    EXPECT_TRUE(names.insert(std::string(row.name)).second) << row.name;
    EXPECT_FALSE(row.meaning.empty()) << row.name;
    EXPECT_GE(row.value(defaults), row.min) << row.name;
    EXPECT_LE(row.value(defaults), row.max) << row.name;
    // Its name sets its own field and no other.
    Parameters changed;
    const double other = row.value(defaults) == row.max ? row.min : row.max;
    ASSERT_TRUE(changed.set(row.name, other).ok()) << row.name;
    for (const ParameterRow& every : parameter_rows()) {
      EXPECT_EQ(every.value(changed), every.name == row.name ? other : every.value(defaults)) << every.name;
    }
  }
}

TEST(Parameters, SpesSitWhereTheirStopsAre) {
  for (int spe = 0; spe < kSpesPerChip; ++spe) {
    const int stop = kSpeStop[static_cast<std::size_t>(spe)];
    EXPECT_EQ(kStopNames[static_cast<std::size_t>(stop)], "SPE" + std::to_string(spe));
  }
  EXPECT_EQ(kStopNames[kStopMic], "MIC");
  EXPECT_EQ(kStopNames[kStopIoif0], "IOIF0");
  EXPECT_EQ(kStopNames[kStopPpe], "PPE");
  EXPECT_EQ(kStopNames[kStopIoif1], "IOIF1");
}

TEST(Parameters, RowsThatAreInRangeMustAlsoFitEachOther) {
  EXPECT_TRUE(Parameters{}.check().ok());
  const Result<Parameters> marks = Parameters::from(
      ring(kStopsText, R"(["SPE0"])", R"(, "memory_write_low_mark": 8, "memory_write_high_mark": 8)"));
  ASSERT_FALSE(marks.ok());
  EXPECT_TRUE(says(marks.status(), "test.toml: field 'simulation.memory_write_low_mark'"))
      << marks.status().message();
  EXPECT_TRUE(says(marks.status(), "less than memory_write_high_mark, 8"));
  Parameters refresh;
  refresh.memory_refresh_interval_cycles = 224;
  EXPECT_TRUE(says(refresh.check("x"), "more than memory_refresh_cycles, 224")) << refresh.check("x").message();
  refresh.memory_refresh_interval_cycles = 225;
  EXPECT_TRUE(refresh.check().ok());
  EXPECT_FALSE(refresh.set("ppe_mmio_read_cycles", 0).ok()) << "a poll of no time would never end";
  EXPECT_FALSE(refresh.set("decrementer_hz", 1e9).ok()) << "1e9 * 1e10 does not fit 64 bits";
}

}  // namespace
}  // namespace corewise::cell

// Quantities: exact values worked out by hand, every refusal, and that what is written reads back the same.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace corewise {
namespace {

TEST(Units, TimesInNanoseconds) {
  const std::vector<std::pair<std::string, double>> cases{
      {"100 ns", 100}, {"100ns", 100},   {" 0.625 ns ", 0.625}, {"1.5 us", 1500}, {"2 ms", 2e6},
      {"3 s", 3e9},    {"250 ps", 0.25}, {"0 ns", 0},           {"0.1 us", 100},  {"12.75 ns", 12.75},
  };
  for (const auto& [text, expected] : cases) {
    SCOPED_TRACE(text);
    const auto parsed = parse_time_ns(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_DOUBLE_EQ(parsed.value(), expected);
  }
}

TEST(Units, SizesAreExactAndKnowBothThousands) {
  const std::vector<std::pair<std::string, std::uint64_t>> cases{
      {"16 KB", 16000},
      {"64 KiB", 65536},
      {"1.5 KiB", 1536},
      {"1.1 KB", 1100},
      {"7 B", 7},
      {"0 B", 0},
      {"2 MiB", 2097152},
      {"1 TiB", 1099511627776ULL},
      {"4.35 KB", 4350},
      {"3 GB", 3000000000ULL},
      {"1 MB", 1000000},
      {"9007199254740993 B", 9007199254740993ULL},
      {"16777215 TiB", 16777215ULL << 40},
  };
  for (const auto& [text, expected] : cases) {
    SCOPED_TRACE(text);
    const auto parsed = parse_size_bytes(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(parsed.value(), expected);
  }
}

TEST(Units, BandwidthsInGigabytesPerSecond) {
  const std::vector<std::pair<std::string, double>> cases{
      {"25.6 GB/s", 25.6}, {"25.6GB/s", 25.6}, {"512 MB/s", 0.512}, {"1 TB/s", 1000}, {"1 GiB/s", 1.073741824},
  };
  for (const auto& [text, expected] : cases) {
    SCOPED_TRACE(text);
    const auto parsed = parse_bandwidth_gb_per_s(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_DOUBLE_EQ(parsed.value(), expected);
  }
}

TEST(Units, RefusesEverythingElse) {
  const std::vector<std::string> times{"",         "100",    "ns",     "100 Ns", "100 sec",
                                       "-1 ns",    "+1 ns",  "1e3 ns", "1. ns",  ".5 ns",
                                       "1.2.3 ns", "1 ns 2", "100 B",  "1 GB/s", "1234567890123456789 ns"};
  for (const auto& text : times) EXPECT_FALSE(parse_time_ns(text).ok()) << text;
  const std::vector<std::string> sizes{"64",        "64 K",         "64 kb",  "0.5 B",
                                       "1.0001 KB", "16777216 TiB", "1 GB/s", "1 ns"};
  for (const auto& text : sizes) EXPECT_FALSE(parse_size_bytes(text).ok()) << text;
  const std::vector<std::string> bandwidths{"25.6", "25.6 GB", "25.6 Gb/s", "25.6 GB/ s", "25.6 /s"};
  for (const auto& text : bandwidths) EXPECT_FALSE(parse_bandwidth_gb_per_s(text).ok()) << text;
}

TEST(Units, RefusalNamesSourceFieldFoundAndAllowed) {
  const auto status = parse_time_ns("100", "ring.toml", "interconnect.hop_latency").status();
  EXPECT_EQ(status.code(), Code::invalid_input);
  EXPECT_EQ(status.message(),
            "ring.toml: field 'interconnect.hop_latency': found '100', allowed: a time with its unit (ps, ns, us, "
            "ms, s), such as '100 ns'");
}

TEST(Units, FormatsInTheFittingUnit) {
  EXPECT_EQ(format_time(1500), "1.5 us");
  EXPECT_EQ(format_time(0.625), "625 ps");
  EXPECT_EQ(format_time(100), "100 ns");
  EXPECT_EQ(format_time(0), "0 ns");
  EXPECT_EQ(format_time(2.5e9), "2.5 s");
  EXPECT_EQ(format_time(0.0005), "0.5 ps");
  EXPECT_EQ(format_size(65536), "64 KiB");
  EXPECT_EQ(format_size(1000), "1000 B");
  EXPECT_EQ(format_size(0), "0 B");
  EXPECT_EQ(format_size(std::uint64_t{1} << 50), "1024 TiB");
  EXPECT_EQ(format_bandwidth(25.6), "25.6 GB/s");
  EXPECT_EQ(format_bandwidth(0.25), "250 MB/s");
  EXPECT_EQ(format_bandwidth(2000), "2 TB/s");
}

TEST(Units, WhatIsWrittenReadsBack) {
  for (const double time_ns : {0.0, 0.625, 1.0, 999.0, 1234.5, 7.25e6, 3e9}) {
    EXPECT_DOUBLE_EQ(parse_time_ns(format_time(time_ns)).value(), time_ns);
  }
  for (const std::uint64_t bytes : {0ULL, 1ULL, 1000ULL, 1024ULL, 65537ULL, 3ULL << 20, 5ULL << 41}) {
    EXPECT_EQ(parse_size_bytes(format_size(bytes)).value(), bytes);
  }
  for (const double rate : {0.0, 0.001, 0.512, 25.6, 204.8, 1e4}) {
    EXPECT_DOUBLE_EQ(parse_bandwidth_gb_per_s(format_bandwidth(rate)).value(), rate);
  }
}

}  // namespace
}  // namespace corewise

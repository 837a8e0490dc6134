// Tunings as text, races, and what a calibration may return. Nothing here looks at how quick anything was.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/copy/calibrate.hpp"
#include "kernels/copy/race.hpp"

namespace corewise::kernels {
namespace {

TEST(CopyTuningText, MemcpyIsWhatIsLeftOut) {
  const std::optional<CopyTuning> empty = parse_copy_tuning("");
  ASSERT_TRUE(empty.has_value());
  EXPECT_EQ(*empty, CopyTuning());
  const std::string text = format_copy_tuning(*empty);
  EXPECT_NE(text.find("self.same=memcpy;"), std::string::npos) << text;
  EXPECT_NE(text.find("nobody.aliasing=memcpy"), std::string::npos) << text;
}

TEST(CopyTuningText, WhatIsWrittenIsReadAgain) {
  const std::string text =
      "self.same=memcpy,naive@256,memcpy@4096;other.shifted=four_stream;nobody.aliasing=naive,memcpy@1";
  const std::optional<CopyTuning> tuning = parse_copy_tuning(text);
  ASSERT_TRUE(tuning.has_value());
  const std::string written = format_copy_tuning(*tuning);
  EXPECT_NE(written.find("self.same=memcpy,naive@256,memcpy@4096;"), std::string::npos) << written;
  EXPECT_NE(written.find("other.shifted=four_stream;"), std::string::npos) << written;
  const std::optional<CopyTuning> again = parse_copy_tuning(written);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, *tuning);
}

TEST(CopyTuningText, WhatIsWrongIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"self=memcpy", "'self'"},
      {"us.same=memcpy", "'us.same'"},
      {"self.same", "''"},
      {"self.same=", "''"},
      {"self.same=memcopy", "'memcopy'"},
      {"self.same=memcpy@100", "'100'"},
      {"self.same=memcpy,naive@100", "'100'"},
      {"self.same=memcpy,naive@", "nothing behind '@'"},
      {"self.same=memcpy,naive@256k", "'256k'"},
      {"self.same=memcpy,naive@-8", "'-8'"},
      {"self.same=memcpy,naive@18446744073709551616", "'18446744073709551616'"},
      {"self.same=memcpy,naive@512,memcpy@256", "do not rise"},
      {"self.same=memcpy,naive", "do not rise"},
      {"self.same=memcpy@512", "do not rise"},
      {"self.same=memcpy;;", "''"},
  };
  for (const auto& [text, named] : cases) {
    std::string why;
    EXPECT_FALSE(parse_copy_tuning(text, &why).has_value()) << text;
    EXPECT_NE(why.find(named), std::string::npos) << text << ": " << why;
    EXPECT_FALSE(parse_copy_tuning(text).has_value());
  }
}

TEST(CopyTuningText, AKernelOfAnotherProcessorIsRefused) {
  for (const CopyKernel& kernel : copy_kernels()) {
    std::string why;
    const bool read = parse_copy_tuning("self.same=" + std::string(kernel.name), &why).has_value();
    EXPECT_EQ(read, kernel.available()) << kernel.name;
    EXPECT_TRUE(read || why.find(kernel.instructions) != std::string::npos) << why;
  }
}

// ---- races: the traps of timing copies ------------------------------------------------------------------

std::vector<int> called;
std::vector<unsigned char> first_bytes;

template <int number>
void* noted(void* to, const void* from, std::size_t bytes) {
  if (called.empty() || called.back() != number) called.push_back(number);
  first_bytes.push_back(*static_cast<const unsigned char*>(from));
  return std::memcpy(to, from, bytes);
}

const CopyContestant three[] = {CopyContestant::of(noted<0>), CopyContestant::of(noted<1>),
                                CopyContestant::of(noted<2>)};

TEST(CopyRace, EveryRoundHasEveryContestantInAnotherOrder) {
  const std::unique_ptr<CopyRace> race = CopyRace::make(4096);
  ASSERT_NE(race, nullptr);
  std::set<std::vector<int>> orders;
  std::set<std::pair<int, int>> neighbours;
  for (std::uint64_t number = 0; number < 40; ++number) {
    called.clear();
    double times[3] = {};
    race->round(three, {4096, CopyAlignment::same, false, 8192}, number, times);
    EXPECT_EQ(std::set<int>(called.begin(), called.end()).size(), 3U);
    ASSERT_EQ(called.size(), 3U);
    orders.insert(called);
    neighbours.insert({called[0], called[1]});
    neighbours.insert({called[1], called[2]});
    for (const double time : times) EXPECT_GT(time, 0);
  }
  EXPECT_EQ(orders.size(), 6U);
  EXPECT_EQ(neighbours.size(), 6U);
}

TEST(CopyRace, TheSourceIsRewrittenForEveryRound) {
  const std::unique_ptr<CopyRace> race = CopyRace::make(256);
  ASSERT_NE(race, nullptr);
  double time = 0;
  std::set<unsigned char> values;
  for (std::uint64_t number = 0; number < 5; ++number) {
    first_bytes.clear();
    race->round({three, 1}, {256, CopyAlignment::same, false, 1024}, number, {&time, 1});
    EXPECT_EQ(first_bytes.size(), 5U);  // one that is not timed, then 1024 / 256
    values.insert(first_bytes.front());
  }
  EXPECT_EQ(values.size(), 5U);
}

CopyAlignment seen_alignment = CopyAlignment::same;

void* look_at_alignment(void* to, const void* from, std::size_t bytes) {
  seen_alignment = copy_alignment(to, from);
  return std::memcpy(to, from, bytes);
}

TEST(CopyRace, BlocksLieAsTheTrialSays) {
  const std::unique_ptr<CopyRace> race = CopyRace::make(8192);
  ASSERT_NE(race, nullptr);
  const CopyContestant contestant = CopyContestant::of(look_at_alignment);
  for (const CopyAlignment alignment : {CopyAlignment::same, CopyAlignment::shifted, CopyAlignment::aliasing}) {
    double time = 0;
    race->round({&contestant, 1}, {8192, alignment, true, 1}, 1, {&time, 1});
    EXPECT_EQ(seen_alignment, alignment);
  }
}

TEST(CopyCalibration, ReturnsATuningThatThisProcessorCanRun) {
  const CopyTuning tuning = calibrate_copy({2048, 0});
  const std::optional<CopyTuning> again = parse_copy_tuning(format_copy_tuning(tuning));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, tuning);
  for (std::size_t alignment = 0; alignment < alignment_names.size(); ++alignment) {
    const auto& other = tuning.rows[static_cast<std::size_t>(Audience::other_core_soon)][alignment];
    for (const CopyKernel* kernel : other) EXPECT_FALSE(kernel->streams);
    for (const auto& audience : tuning.rows) {
      EXPECT_EQ(audience[alignment][7]->name, "memcpy");   // below 128: copied inline
      EXPECT_EQ(audience[alignment][13]->name, "memcpy");  // from 4096 on: not measured
    }
  }
}

}  // namespace
}  // namespace corewise::kernels

// Knobs: names derive from the table, defaults hold, and a wrong value is refused with the right ones named.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/knobs.hpp"

namespace corewise {
namespace {

constexpr Knob kColour{"test_colour", KnobType::choice, "green", "red|green|blue", "a colour"};
constexpr Knob kSpace{"test_space", KnobType::size_bytes, "16 KiB", "4096..65536", "a size"};
constexpr Knob kPlace{"test_place", KnobType::text, "here", "a word", "a place"};

/// A variable that is gone when the test ends.
class Set {
 public:
  Set(const Knob& knob, const char* value) : name_(environment_name(knob)) { setenv(name_.c_str(), value, 1); }
  ~Set() { unsetenv(name_.c_str()); }
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;

 private:
  std::string name_;
};

void expect_words(const Status& status, const std::vector<std::string>& words) {
  EXPECT_FALSE(status.ok());
  for (const std::string& word : words)
    EXPECT_NE(std::string(status.message()).find(word), std::string::npos) << word << " in: " << status.message();
}

TEST(Knobs, VariablesAreNamedAfterTheRow) {
  EXPECT_EQ(environment_name(kColour), "COREWISE_TEST_COLOUR");
}

TEST(Knobs, WithoutAVariableTheDefaultHolds) {
  int choice = -1;
  std::uint64_t bytes = 0;
  EXPECT_EQ(knob_text(kPlace), "here");
  EXPECT_TRUE(read_choice(kColour, choice).ok());
  EXPECT_EQ(choice, 1);
  EXPECT_TRUE(read_size(kSpace, bytes).ok());
  EXPECT_EQ(bytes, 16384u);
}

TEST(Knobs, VariablesAreRead) {
  const Set colour(kColour, "blue"), space(kSpace, "64 KiB"), place(kPlace, "there");
  int choice = -1;
  std::uint64_t bytes = 0;
  EXPECT_EQ(knob_text(kPlace), "there");
  EXPECT_TRUE(read_choice(kColour, choice).ok());
  EXPECT_EQ(choice, 2);
  EXPECT_TRUE(read_size(kSpace, bytes).ok());
  EXPECT_EQ(bytes, 65536u);
}

TEST(Knobs, AWrongChoiceListsTheRightOnes) {
  for (const char* wrong : {"purple", "", "gree", "green|blue", "Green"}) {
    SCOPED_TRACE(wrong);
    const Set colour(kColour, wrong);
    int choice = 7;
    expect_words(read_choice(kColour, choice),
                 {"COREWISE_TEST_COLOUR", "'" + std::string(wrong) + "'", "red|green|blue"});
    EXPECT_EQ(choice, 7);
  }
}

TEST(Knobs, ASizeNeedsItsUnitAndItsRange) {
  for (const char* wrong : {"8192", "much", "4095 B", "65 KiB"}) {
    SCOPED_TRACE(wrong);
    const Set space(kSpace, wrong);
    std::uint64_t bytes = 7;
    expect_words(read_size(kSpace, bytes), {"COREWISE_TEST_SPACE", "'" + std::string(wrong) + "'", "KiB"});
    EXPECT_EQ(bytes, 7u);
  }
}

}  // namespace
}  // namespace corewise

// UTF-8: what Unicode, table 3-7, calls well-formed, and what is made of everything else.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "base/utf8.hpp"

namespace corewise {
namespace {

TEST(Utf8, KeepsWhatIsWellFormed) {
  for (const std::string text :
       {"", "halo", "\xC3\xA9t\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(as_utf8(text), text);
  }
}

TEST(Utf8, ReplacesEachByteOfNoCharacter) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(as_utf8("caf\xE9"), "caf" + mark);                        // Latin-1
  EXPECT_EQ(as_utf8("\xC0\xAF"), mark + mark);                        // not the shortest form
  EXPECT_EQ(as_utf8("\xED\xA0\x80x"), mark + mark + mark + "x");      // a surrogate
  EXPECT_EQ(as_utf8("\xF4\x90\x80\x80"), mark + mark + mark + mark);  // past U+10FFFF
  EXPECT_EQ(as_utf8("\xE2\x82"), mark + mark);                        // cut short
  EXPECT_EQ(as_utf8("a\xFF\xC3\xA9"), "a" + mark + "\xC3\xA9");
  EXPECT_EQ(as_utf8(std::string("a\0\x80", 3)), std::string("a\0", 2) + mark);
}

}  // namespace
}  // namespace corewise

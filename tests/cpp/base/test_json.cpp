// The document field reader: what it takes, and the exact words of what it refuses.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "base/json.hpp"

namespace json = corewise::json;

namespace {

boost::json::value parsed(const std::string& text) {
  auto result = json::parse(text, "t.json");
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? std::move(result).value() : boost::json::value();
}

}  // namespace

TEST(Json, ParseErrorNamesSourceLineAndColumn) {
  const auto bad = json::parse("{\n  \"a\": x\n}", "t.json");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().message().rfind("t.json:2:", 0), 0U) << bad.status().message();
  EXPECT_FALSE(json::parse("", "t.json").ok());
  EXPECT_FALSE(json::parse("{\"a\": 1", "t.json").ok());
  const auto twice = json::parse("{} {}", "t.json");
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.status().message(), "t.json:1:4: not JSON: text after the end of the document");
}

TEST(Json, ANameStandsOnceInAnObject) {
  const auto refused = [](std::string_view text) {
    const auto result = json::parse(text, "t.json");
    return result.ok() ? std::string() : result.status().message();
  };
  EXPECT_EQ(refused("{\"a\": 1,\n \"a\": 2}").substr(0, 9), "t.json:2:");
  EXPECT_NE(refused(R"({"a": 1, "a": 2})").find("not JSON: the name 'a' stands twice in an object"),
            std::string::npos);
  EXPECT_NE(refused(R"([{"b": {"c": 1, "\u0063": 2}}])").find("the name 'c' stands twice"), std::string::npos);
  EXPECT_NE(refused(R"({"": 1, "": 2})").find("the name '' stands twice"), std::string::npos);
  EXPECT_LT(refused("{\"" + std::string(100000, 'n') + "\": 1, \"" + std::string(100000, 'n') + "\": 2}").size(),
            300U);
  // The same name in another object is another field, also in one that a field of that name holds.
  EXPECT_EQ(refused(R"({"a": {"a": 1, "b": {"a": 1}}, "b": [{"a": 1}, {"a": 2}]})"), "");
}

TEST(Json, FieldsTakeWhatTheyAskFor) {
  const auto v = parsed(R"({"format": "f", "version": 1, "n": 7, "x": 2.5, "s": "abc", "b": true, "l": [1, 2]})");
  json::Fields in(v, "t.json");
  EXPECT_EQ(in.header("f", 1), 1);
  EXPECT_EQ(in.integer("n", 0, 10), 7);
  EXPECT_DOUBLE_EQ(in.number("x"), 2.5);
  EXPECT_DOUBLE_EQ(in.number_or("absent", 1.5), 1.5);
  EXPECT_EQ(in.text("s"), "abc");
  EXPECT_EQ(in.text_or("none", "fallback"), "fallback");
  EXPECT_TRUE(in.boolean_or("b", false));
  EXPECT_EQ(in.array("l").size(), 2U);
  EXPECT_TRUE(in.array_or_empty("m").empty());
  EXPECT_TRUE(in.finish().ok()) << in.status().message();
}

TEST(Json, FirstFailureStays) {
  const auto v = parsed(R"({"n": 11, "s": 3})");
  json::Fields in(v, "t.json", "units[2]");
  in.integer("n", 0, 10);
  in.text("s");
  EXPECT_EQ(in.finish().message(), "t.json: field 'units[2].n': found number 11, allowed: an integer from 0 to 10");
}

TEST(Json, MissingUnknownAndWrongKind) {
  const auto v = parsed(R"({"known": 1, "other": 2})");
  json::Fields missing(v, "t.json");
  missing.text("name");
  EXPECT_EQ(missing.finish().message(), "t.json: field 'name': found nothing, allowed: a string");
  json::Fields unknown(v, "t.json");
  unknown.integer("known", 0, 10);
  EXPECT_EQ(unknown.finish().message(), "t.json: field 'other': found an unknown field, allowed: known");
  const auto list = parsed("[1, 2]");
  json::Fields wrong(list, "t.json");
  EXPECT_EQ(wrong.finish().message(), "t.json: field '(document)': found array of 2, allowed: an object");
}

TEST(Json, HeaderRefusesOtherFormatsAndNewerVersions) {
  const auto other = parsed(R"({"format": "g", "version": 1})");
  json::Fields a(other, "t.json");
  EXPECT_EQ(a.header("f", 1), 0);
  EXPECT_EQ(a.finish().message(), "t.json: field 'format': found \"g\", allowed: \"f\"");
  const auto newer = parsed(R"({"format": "f", "version": 2})");
  json::Fields b(newer, "t.json");
  EXPECT_EQ(b.header("f", 1), 0);
  EXPECT_EQ(b.finish().message(), "t.json: field 'version': found number 2, allowed: an integer from 1 to 1");
}

TEST(Json, UnsignedKeepsSixtyFourBits) {
  const auto v = parsed("[18446744073709551615, -1, 1.0, 18446744073709551616]");
  const auto& list = v.get_array();
  EXPECT_EQ(json::as_unsigned(list[0], "t", "a").value(), 18446744073709551615ULL);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_FALSE(json::as_unsigned(list[i], "t", "a").ok()) << i;
}

TEST(Json, PrettyTextReadsBack) {
  const auto v = parsed(R"({"a": {"b": [[1, 2], [3]], "c": "q\"uote"}, "e": {}, "n": null})");
  const std::string text = json::pretty(v);
  EXPECT_EQ(text,
            "{\n  \"a\": {\n    \"b\": [\n      [1, 2],\n      [3]\n    ],\n    \"c\": \"q\\\"uote\"\n  },\n"
            "  \"e\": {},\n  \"n\": null\n}\n");
  EXPECT_EQ(parsed(text), v);
}

TEST(Json, OnlyARegularFileIsRead) {
  for (const char* path : {"no/such/file.json", "/", "/dev/zero"}) {
    const auto none = json::read_file(path);
    ASSERT_FALSE(none.ok()) << path;
    EXPECT_EQ(none.status().code(), corewise::Code::invalid_input) << path;
    EXPECT_EQ(none.status().message().rfind(std::string(path) + ": ", 0), 0U) << none.status().message();
  }
}

TEST(Json, ADocumentNestsThirtyTwoDeep) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_TRUE(json::parse(nested(32), "t").ok());
  EXPECT_FALSE(json::parse(nested(33), "t").ok());
  EXPECT_FALSE(json::parse(std::string(50000, '['), "t").ok());
}

TEST(Status, AWrongFieldIsShownShortAndCutBetweenCharacters) {
  const std::string euro = "\xE2\x82\xAC";
  std::string many;
  for (int i = 0; i < 1000; ++i) many += euro;
  EXPECT_EQ(corewise::shortened(many, 10), euro + "..." + euro);
  EXPECT_EQ(corewise::shortened("abcdefghijk", 10), "abcde...ghijk");
  EXPECT_EQ(corewise::shortened("abcdefghij", 10), "abcdefghij");
  EXPECT_LT(corewise::bad_field("s", many, many, many).message().size(), 600U);
}

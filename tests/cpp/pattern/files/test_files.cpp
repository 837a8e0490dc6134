// File formats: exact round trips, and one clear error for everything a reader must refuse.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <string>

#include "pattern/files/files.hpp"

namespace cp = corewise::pattern;

namespace {

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

cp::Pattern sample() {
  return {"a \"quoted\", name",
          4,
          {{"first", {{3, 0, huge - 200, 1}, {0, 1, 0, 7}, {2, 2, 12, 1}}},
           {"", {}},
           {"with, comma \"q\"", {{0, 1, 99, 1}}}}};
}

template <class Read>
void expect_error(Read read, const std::string& text, const std::string& message) {
  SCOPED_TRACE(text);
  const auto result = read(text, "f");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), corewise::Code::invalid_input);
  EXPECT_EQ(result.status().message(), message);
}

std::string json_with(const std::string& messages) {
  return R"({"format": "corewise-pattern", "version": 1, "name": "n", "ranks": 2, "phases": [{"name": "p", )"
         R"("messages": [)" +
         messages + "]}]}";
}

const std::string banner = "%%MatrixMarket matrix coordinate integer general\n";
const std::string banner_error =
    "found \"%s\", allowed: %%MatrixMarket matrix coordinate integer|real|pattern general|symmetric";

}  // namespace

TEST(PatternJson, RoundTripIsExact) {
  const std::string text = cp::to_json(sample());
  const auto back = cp::from_json(text, "f");
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back.value(), sample());
  EXPECT_EQ(cp::to_json(back.value()), text);
}

TEST(PatternJson, WritesTheDocumentedText) {
  EXPECT_EQ(cp::to_json({"n", 2, {{"p", {{0, 1, 5, 1}, {1, 0, 6, 3}}}}}),
            "{\n  \"format\": \"corewise-pattern\",\n  \"version\": 1,\n  \"name\": \"n\",\n  \"ranks\": 2,\n"
            "  \"phases\": [\n    {\n      \"name\": \"p\",\n      \"messages\": [\n        [0, 1, 5],\n"
            "        [1, 0, 6, 3]\n      ]\n    }\n  ]\n}\n");
}

TEST(PatternJson, RefusesWithPath) {
  const std::string shape = "allowed: [from, to, bytes] or [from, to, bytes, count]";
  const std::string at = "f: field 'phases[0].messages[1]";
  const std::string any = "allowed: an integer from 0 to 18446744073709551615";
  expect_error(cp::from_json, json_with("[0, 1, 5], [0, 1]"), at + "': found array of 2, " + shape);
  expect_error(cp::from_json, json_with("[0, 1, 5], 3"), at + "': found number 3, " + shape);
  expect_error(cp::from_json, json_with("[0, 1, 5], [0, 2, 5]"),
               at + "[1]': found number 2, allowed: an integer from 0 to 1");
  expect_error(cp::from_json, json_with("[0, 1, 5], [-1, 1, 5]"),
               at + "[0]': found number -1, allowed: an integer from 0 to 1");
  expect_error(cp::from_json, json_with("[0, 1, 5], [0, 1, -5]"), at + "[2]': found number -5, " + any);
  expect_error(cp::from_json, json_with("[0, 1, 5], [0, 1, 1, \"x\"]"), at + "[3]': found string \"x\", " + any);
  expect_error(cp::from_json, json_with("[0, 1, 18446744073709551615], [0, 1, 1]"),
               at + "': found a total over 64 bits, allowed: bytes and counts whose sums fit in 64 bits");
  EXPECT_FALSE(cp::from_json(json_with("[0, 1, 1.5]"), "f").ok());
}

TEST(PatternJson, RefusesUnknownMissingAndForeign) {
  expect_error(cp::from_json, R"({"format": "corewise-machine", "version": 1})",
               "f: field 'format': found \"corewise-machine\", allowed: \"corewise-pattern\"");
  expect_error(cp::from_json, R"({"format": "corewise-pattern", "version": 1, "name": "n", "ranks": 1})",
               "f: field 'phases': found nothing, allowed: an array");
  expect_error(cp::from_json,
               R"({"format": "corewise-pattern", "version": 1, "name": "n", "ranks": 1, "phases": [], "more": 1})",
               "f: field 'more': found an unknown field, allowed: format, version, name, ranks, phases");
  expect_error(
      cp::from_json,
      R"({"format": "corewise-pattern", "version": 1, "name": "n", "ranks": 1, "phases": [{"name": "p", "message": []}]})",
      "f: field 'phases[0].messages': found nothing, allowed: an array");
  expect_error(cp::from_json,
               R"({"format": "corewise-pattern", "version": 1, "name": "n", "ranks": 0, "phases": []})",
               "f: field 'ranks': found number 0, allowed: an integer from 1 to 16777216");
  EXPECT_FALSE(cp::from_json(R"({"format": "corewise-pattern")", "f").ok());
}

TEST(PatternCsv, ReadsHandWrittenRows) {
  const auto plain = cp::from_csv("from,to,bytes\n0,1,10\n1,0,20\r\n\n# a remark\n3,3,0\n", "folder/ring.csv");
  ASSERT_TRUE(plain.ok()) << plain.status().message();
  EXPECT_EQ(plain.value(), (cp::Pattern{"ring", 4, {{"all", {{0, 1, 10, 1}, {1, 0, 20, 1}, {3, 3, 0, 1}}}}}));
  const auto full =
      cp::from_csv("# name=x\nphase,to,from,count,bytes\nb,1,0,2,5\na,0,1,1,6\nb,1,0,1,7\n# ranks=9", "f");
  ASSERT_TRUE(full.ok()) << full.status().message();
  EXPECT_EQ(full.value(), (cp::Pattern{"x", 9, {{"b", {{0, 1, 5, 2}, {0, 1, 7, 1}}}, {"a", {{1, 0, 6, 1}}}}}));
}

TEST(PatternCsv, RoundTripKeepsAllButEmptyPhases) {
  const auto back = cp::from_csv(cp::to_csv(sample()), "f");
  ASSERT_TRUE(back.ok()) << back.status().message();
  auto expected = sample();
  expected.phases.erase(expected.phases.begin() + 1);
  EXPECT_EQ(back.value(), expected);
}

TEST(PatternCsv, RefusesWithLine) {
  const std::string header = "allowed: a header line from,to,bytes[,count][,phase]";
  expect_error(cp::from_csv, "", "f: field 'header': found nothing, " + header);
  expect_error(cp::from_csv, "0,1,10\n", "f:1: field 'header': found \"0,1,10\", " + header);
  expect_error(cp::from_csv, "from,to\n", "f:1: field 'header': found \"from,to\", " + header);
  expect_error(cp::from_csv, "from,to,bytes,from\n",
               "f:1: field 'header': found \"from,to,bytes,from\", " + header);
  expect_error(cp::from_csv, "from,to,bytes\n0,1\n",
               "f:2: field 'row': found 2 fields, allowed: 3 fields, as in the header");
  expect_error(cp::from_csv, "from,to,bytes\n0,1,2,3\n",
               "f:2: field 'row': found 4 fields, allowed: 3 fields, as in the header");
  expect_error(cp::from_csv, "from,to,bytes\n0,1,1\n0,1,-2\n",
               "f:3: field 'bytes': found \"-2\", allowed: an integer from 0 to 18446744073709551615");
  expect_error(cp::from_csv, "from,to,bytes\n0,1,1.5\n",
               "f:2: field 'bytes': found \"1.5\", allowed: an integer from 0 to 18446744073709551615");
  expect_error(cp::from_csv, "from,to,bytes\nx,1,1\n",
               "f:2: field 'from': found \"x\", allowed: a rank from 0 to 16777215");
  expect_error(cp::from_csv, "# ranks=2\nfrom,to,bytes\n0,1,1\n0,2,1\n0,1,1\n",
               "f:4: field 'row': found rank 2, allowed: a rank from 0 to 1 (# ranks=2)");
  for (const std::string bytes :
       {"\xBC", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF0\x9F\x98"}) {
    expect_error(cp::from_csv, "# name=a" + bytes + "b\nfrom,to,bytes\n0,1,1\n",
                 "f:1: field 'line': found bytes that are not UTF-8, allowed: UTF-8");
  }
  for (const std::string name :
       {"\xC3\xA9", "\xE2\x82\xAC", "\xEF\xBF\xBD", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"}) {
    const auto read = cp::from_csv("# name=" + name + "\nfrom,to,bytes\n0,1,1\n", "f");
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read.value().name, name);
  }
  expect_error(cp::from_csv, "# ranks=none\nfrom,to,bytes\n",
               "f:1: field 'ranks': found \"none\", allowed: an integer from 1 to 16777216");
  expect_error(cp::from_csv, "from,to,bytes\n",
               "f: field 'ranks': found no rows, allowed: rows, or a comment # ranks=N");
  expect_error(cp::from_csv, "from,to,bytes,phase\n0,1,1,\"open\n",
               "f:2: field 'row': found \"0,1,1,\"open\", allowed: fields with closed quotes");
}

TEST(PatternMatrixMarket, ReadsEveryKind) {
  const cp::Pattern expected{"m", 3, {{"all", {{0, 1, 10, 1}, {2, 0, 1000, 1}, {2, 2, 0, 1}}}}};
  const auto integer = cp::from_matrix_market(banner + "% note\n\n3 3 3\n3 1 1000\n1 2 10\n3 3 0\n", "d/m.mtx");
  ASSERT_TRUE(integer.ok()) << integer.status().message();
  EXPECT_EQ(integer.value(), expected);
  const auto real = cp::from_matrix_market(
      "%%matrixmarket MATRIX coordinate Real general\r\n3 3 3\r\n1 2 10.0\r\n3 1 1e3\r\n3 3 0\r\n", "m.mtx");
  ASSERT_TRUE(real.ok()) << real.status().message();
  EXPECT_EQ(real.value(), expected);
  const auto pattern =
      cp::from_matrix_market("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n2 1\n2 2\n", "m");
  ASSERT_TRUE(pattern.ok()) << pattern.status().message();
  EXPECT_EQ(pattern.value().phases[0].messages,
            (std::vector<cp::Message>{{0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 1, 1}}));
}

TEST(PatternMatrixMarket, RoundTripKeepsBytes) {
  const auto matrix = cp::Matrix::from_entries(3, {{0, 2, huge - 1, 1}, {1, 1, 0, 1}, {2, 0, 1, 1}});
  ASSERT_TRUE(matrix.ok());
  const auto back = cp::from_matrix_market(cp::to_matrix_market(matrix.value()), "f");
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(cp::sum(back.value()), matrix.value());
}

TEST(PatternMatrixMarket, RefusesWrongBanners) {
  for (const std::string line :
       {"%%MatrixMarket matrix array integer general", "%%MatrixMarket matrix coordinate complex general",
        "%%MatrixMarket matrix coordinate integer skew-symmetric",
        "%%MatrixMarket vector coordinate integer general", "%%MatrixMarket matrix coordinate integer", "3 3 1",
        ""}) {
    std::string message = "f:1: field 'banner': " + banner_error;
    message.replace(message.find("%s"), 2, line);
    expect_error(cp::from_matrix_market, line + "\n3 3 1\n1 1 1\n", message);
  }
}

TEST(PatternMatrixMarket, RefusesWithLine) {
  const auto refuses = [](const std::string& rest, const std::string& message) {
    expect_error(cp::from_matrix_market, banner + rest, message);
  };
  const std::string bytes = "allowed: a whole number of bytes from 0 to 2^64-1";
  refuses("", "f:1: field 'size': found the end of the file, allowed: a line ROWS COLUMNS ENTRIES");
  refuses("3 3\n", "f:2: field 'size': found \"3 3\", allowed: a line ROWS COLUMNS ENTRIES");
  refuses("3 4 0\n", "f:2: field 'size': found 3 rows and 4 columns, allowed: a square matrix");
  refuses("0 0 0\n", "f:2: field 'size': found 0 rows, allowed: 1 to 16777216 rows");
  refuses("3 3 -1\n", "f:2: field 'size': found \"3 3 -1\", allowed: three integers that are not negative");
  refuses("3 3 1\n4 1 5\n", "f:3: field 'row': found \"4\", allowed: an index from 1 to 3");
  refuses("3 3 1\n1 0 5\n", "f:3: field 'column': found \"0\", allowed: an index from 1 to 3");
  refuses("3 3 1\n1 2 -5\n", "f:3: field 'value': found \"-5\", " + bytes);
  refuses("3 3 1\n1 2 2.5\n", "f:3: field 'value': found \"2.5\", " + bytes);
  refuses("3 3 1\n1 2 nan\n", "f:3: field 'value': found \"nan\", " + bytes);
  refuses("3 3 1\n1 2 1e30\n", "f:3: field 'value': found \"1e30\", " + bytes);
  refuses("3 3 1\n1 2\n", "f:3: field 'entry': found \"1 2\", allowed: ROW COLUMN VALUE");
  refuses("3 3 2\n1 2 5\n", "f:3: field 'entries': found the end of the file after 1 entries, allowed: 2 entries");
  refuses("3 3 1\n1 2 5\n1 3 5\n", "f:4: field 'entries': found entry 2, allowed: 1 entries");
  refuses("3 3 2\n1 2 5\n1 2 6\n", "f: field 'entries': found the pair (0, 1) twice, allowed: each pair once");
  expect_error(cp::from_matrix_market, "%%MatrixMarket matrix coordinate integer symmetric\n2 2 1\n1 2 5\n",
               "f:3: field 'entry': found an entry above the diagonal, allowed: the lower triangle of a symmetric "
               "matrix");
}

TEST(PatternFiles, FormatIsToldByItsBeginning) {
  const cp::Pattern wanted{"n", 2, {{"all", {{0, 1, 5, 1}}}}};
  for (const std::string& text : {cp::to_json(wanted), cp::to_csv(wanted)}) {
    const auto back = cp::from_text(text, "n");
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(back.value(), wanted);
  }
  const auto market = cp::from_text(cp::to_matrix_market(cp::sum(wanted)), "n");
  ASSERT_TRUE(market.ok()) << market.status().message();
  EXPECT_EQ(market.value(), wanted);
}

TEST(PatternFiles, ReadsFromDisk) {
  const std::string name = "corewise_pattern_test-" + std::to_string(getpid());
  const std::string path = testing::TempDir() + name + ".csv";
  std::ofstream(path) << "from,to,bytes\n0,1,5\n";
  const auto read = cp::from_file(path);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read.value().name, name);
  EXPECT_EQ(read.value().ranks, 2);
  std::remove(path.c_str());
  EXPECT_EQ(cp::from_file(path).status().code(), corewise::Code::invalid_input);
}

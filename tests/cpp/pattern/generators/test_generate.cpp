// Generators: exact messages of small cases worked out by hand, neighbours of grids against a brute-force distance
// rule, invariants of every family over many sizes, and the errors of wrong parameters.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "pattern/generators/generate.hpp"
#include "pattern/grid.hpp"

namespace cp = corewise::pattern;

namespace {

cp::Pattern make(const std::string& family, const cp::Parameters& parameters) {
  auto result = cp::generate(family, parameters);
  EXPECT_TRUE(result.ok()) << family << ": " << result.status().message();
  return result.ok() ? std::move(result).value() : cp::Pattern{};
}

cp::Matrix matrix(const std::string& family, const cp::Parameters& parameters) {
  return cp::sum(make(family, parameters));
}

void expect_error(const std::string& family, const cp::Parameters& parameters, const std::string& message) {
  const auto result = cp::generate(family, parameters);
  ASSERT_FALSE(result.ok()) << family;
  EXPECT_EQ(result.status().message(), message);
}

using Pairs = std::map<std::pair<int, int>, std::uint64_t>;

Pairs pairs_of(const cp::Matrix& m) {
  Pairs pairs;
  for (const auto& entry : m.entries) pairs[{entry.from, entry.to}] = entry.bytes;
  return pairs;
}

/// Halo bytes by the definition: all pairs of ranks, and on each axis every way to be at most one apart.
Pairs brute_force_halo(const std::vector<int>& dims, const std::vector<bool>& periodic, int reach,
                       const std::vector<std::uint64_t>& face, std::uint64_t edge, std::uint64_t corner) {
  const cp::Grid grid{dims};
  Pairs pairs;
  int moves = 1;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) moves *= 3;
  for (int a = 0; a < grid.ranks(); ++a) {
    for (int b = 0; b < grid.ranks(); ++b) {
      for (int code = 0; a != b && code < moves; ++code) {
        int rest = code;
        int moved = 0;
        std::size_t face_axis = 0;
        bool hits = true;
        for (std::size_t axis = 0; axis < dims.size(); ++axis, rest /= 3) {
          const int move = rest % 3 - 1;
          if (move != 0) face_axis = axis;
          moved += move != 0;
          const int difference = grid.coordinates(b)[axis] - grid.coordinates(a)[axis] - move;
          hits = hits && (difference == 0 || (periodic[axis] && std::abs(difference) == dims[axis]));
        }
        if (hits && moved >= 1 && moved <= reach) {
          pairs[{a, b}] += moved == 1 ? face[face_axis] : moved == 2 ? edge : corner;
        }
      }
    }
  }
  return pairs;
}

std::string flags_text(const std::vector<bool>& flags) {
  std::string text;
  for (const bool flag : flags) text.append(text.empty() ? "" : ",").append(flag ? "yes" : "no");
  return text;
}

}  // namespace

TEST(Generate, RingByHand) {
  EXPECT_EQ(pairs_of(matrix("ring", {{"ranks", "3"}, {"bytes", "5"}, {"direction", "forward"}})),
            (Pairs{{{0, 1}, 5}, {{1, 2}, 5}, {{2, 0}, 5}}));
  EXPECT_EQ(
      pairs_of(matrix("ring", {{"ranks", "3"}, {"bytes", "5"}, {"direction", "backward"}, {"periodic", "no"}})),
      (Pairs{{{1, 0}, 5}, {{2, 1}, 5}}));
  EXPECT_EQ(pairs_of(matrix("ring", {{"ranks", "2"}, {"bytes", "1 KiB"}})),
            (Pairs{{{0, 1}, 2048}, {{1, 0}, 2048}}));
}

TEST(Generate, HaloAgainstBruteForce) {
  const std::vector<std::vector<int>> grids{{1},    {2},    {5},       {1, 1},    {2, 2},    {3, 2},
                                            {4, 1}, {3, 4}, {2, 2, 2}, {3, 2, 1}, {3, 3, 2}, {4, 3, 3}};
  const std::vector<std::string> stencils{"faces", "faces+edges", "faces+edges+corners"};
  for (const auto& dims : grids) {
    const auto axes = dims.size();
    for (unsigned mask = 0; mask < 1U << axes; ++mask) {
      for (int reach = 1; reach <= static_cast<int>(axes); ++reach) {
        std::vector<bool> periodic;
        for (std::size_t axis = 0; axis < axes; ++axis) periodic.push_back(((mask >> axis) & 1U) != 0);
        std::vector<std::uint64_t> face{1000, 2000, 4000};
        face.resize(axes);
        std::string faces = "1000,2000,4000";
        faces.resize(5 * axes - 1);
        cp::Parameters parameters{{"ranks", std::to_string(cp::Grid{dims}.ranks())},
                                  {"dims", cp::dims_text(dims)},
                                  {"periodic", flags_text(periodic)},
                                  {"face_bytes", faces}};
        if (axes > 1) parameters.push_back({"stencil", stencils[static_cast<std::size_t>(reach - 1)]});
        if (axes > 1) parameters.push_back({"edge_bytes", "30"});
        if (axes > 2) parameters.push_back({"corner_bytes", "7"});
        SCOPED_TRACE(testing::Message() << cp::dims_text(dims) << " " << flags_text(periodic) << " " << reach);
        EXPECT_EQ(pairs_of(matrix("halo_" + std::to_string(axes) + "d", parameters)),
                  brute_force_halo(dims, periodic, reach, face, 30, 7));
      }
    }
  }
}

TEST(Generate, TwoRanksOnAPeriodicAxisGetTwoMessages) {
  const auto m = matrix("halo_1d", {{"ranks", "2"}, {"face_bytes", "10"}});
  EXPECT_EQ(m.entries, (std::vector<cp::Message>{{0, 1, 20, 2}, {1, 0, 20, 2}}));
}

TEST(Generate, WavefrontOctantsInOrder) {
  const auto p = make("wavefront", {{"ranks", "4"}, {"dims", "2x2"}, {"bytes", "10,3"}, {"blocks", "2"}});
  ASSERT_EQ(p.phases.size(), 8U);
  EXPECT_EQ(p.phases[0].messages,
            (std::vector<cp::Message>{{0, 2, 20, 2}, {0, 1, 6, 2}, {1, 3, 20, 2}, {2, 3, 6, 2}}));
  EXPECT_EQ(p.phases[1].messages, p.phases[0].messages);
  EXPECT_EQ(p.phases[2].messages,
            (std::vector<cp::Message>{{0, 2, 20, 2}, {1, 3, 20, 2}, {1, 0, 6, 2}, {3, 2, 6, 2}}));
  EXPECT_EQ(p.phases[6].messages,
            (std::vector<cp::Message>{{1, 0, 6, 2}, {2, 0, 20, 2}, {3, 1, 20, 2}, {3, 2, 6, 2}}));
  EXPECT_EQ(p.phases[7].name, "octant 7");
  // Every octant's sources and sinks: one rank that receives nothing, and a shift of the corner rotates them.
  const auto one = make("wavefront", {{"ranks", "6"}, {"dims", "2x3"}, {"octants", "1"}, {"first_corner", "2"}});
  EXPECT_EQ(cp::sum(one).column_bytes()[3], 0U);
  EXPECT_EQ(cp::sum(one).row_bytes()[2], 0U);
}

TEST(Generate, BinomialTreeByHand) {
  const auto down = make("binomial_tree", {{"ranks", "5"}, {"root", "1"}, {"bytes", "8"}});
  // Relative ranks 0>4, 0>2, 0>1 2>3, all one higher.
  ASSERT_EQ(down.phases.size(), 3U);
  EXPECT_EQ(down.phases[0].messages, (std::vector<cp::Message>{{1, 0, 8, 1}}));
  EXPECT_EQ(down.phases[1].messages, (std::vector<cp::Message>{{1, 3, 8, 1}}));
  EXPECT_EQ(down.phases[2].messages, (std::vector<cp::Message>{{1, 2, 8, 1}, {3, 4, 8, 1}}));
  const auto up =
      make("binomial_tree",
           {{"ranks", "5"}, {"root", "1"}, {"bytes", "8"}, {"direction", "to_root"}, {"payload", "blocks"}});
  EXPECT_EQ(up.phases[0].messages, (std::vector<cp::Message>{{2, 1, 8, 1}, {4, 3, 8, 1}}));
  EXPECT_EQ(up.phases[1].messages, (std::vector<cp::Message>{{3, 1, 16, 1}}));
  EXPECT_EQ(up.phases[2].messages, (std::vector<cp::Message>{{0, 1, 8, 1}}));
  EXPECT_EQ(make("binomial_tree", {{"ranks", "5"}, {"direction", "both"}}).phases.size(), 6U);
}

TEST(Generate, CollectivesMoveTheBytesTheyMust) {
  for (int p = 1; p <= 33; ++p) {
    SCOPED_TRACE(p);
    const std::string ranks = std::to_string(p);
    const auto n = static_cast<std::uint64_t>(p);
    // An all-gather brings every rank the p-1 blocks of the others, whatever the algorithm.
    const std::vector<std::uint64_t> others(n, 3 * (n - 1));
    EXPECT_EQ(matrix("bruck", {{"ranks", ranks}, {"bytes", "3"}}).column_bytes(), others);
    EXPECT_EQ(matrix("ring_all_gather", {{"ranks", ranks}, {"bytes", "3"}}).column_bytes(), others);
    EXPECT_EQ(matrix("all_to_all", {{"ranks", ranks}, {"bytes", "3"}}).column_bytes(), others);
    EXPECT_EQ(pairs_of(matrix("pairwise_exchange", {{"ranks", ranks}, {"bytes", "3"}})),
              pairs_of(matrix("all_to_all", {{"ranks", ranks}, {"bytes", "3"}})));
    if ((p & (p - 1)) == 0) {
      EXPECT_EQ(matrix("recursive_doubling", {{"ranks", ranks}, {"bytes", "3"}, {"operation", "all_gather"}})
                    .column_bytes(),
                others);
    }
    // Bruck's all-to-all forwards a block once per set bit of its distance.
    std::uint64_t hops = 0;
    for (unsigned distance = 1; distance < n; ++distance) {
      for (unsigned bits = distance; bits != 0; bits &= bits - 1) ++hops;
    }
    EXPECT_EQ(matrix("bruck", {{"ranks", ranks}, {"bytes", "3"}, {"operation", "all_to_all"}}).total_bytes(),
              3 * n * hops);
  }
}

TEST(Generate, TransposesByHand) {
  EXPECT_EQ(pairs_of(matrix("transpose", {{"ranks", "4"}, {"dims", "2x2"}, {"groups", "rows"}, {"bytes", "9"}})),
            (Pairs{{{0, 1}, 9}, {{1, 0}, 9}, {{2, 3}, 9}, {{3, 2}, 9}}));
  EXPECT_EQ(pairs_of(matrix("transpose", {{"ranks", "4"}, {"dims", "2x2"}, {"groups", "columns"}, {"bytes", "9"}})),
            (Pairs{{{0, 2}, 9}, {{2, 0}, 9}, {{1, 3}, 9}, {{3, 1}, 9}}));
  EXPECT_EQ(pairs_of(matrix("matrix_transpose", {{"ranks", "6"}, {"dims", "2x3"}, {"bytes", "9"}})),
            (Pairs{{{1, 2}, 9}, {{2, 4}, 9}, {{3, 1}, 9}, {{4, 3}, 9}}));
}

TEST(Generate, RandomIsSeededAndWithinItsRange) {
  const cp::Parameters parameters{
      {"ranks", "20"}, {"degree", "7"}, {"min_bytes", "100"}, {"max_bytes", "110"}, {"seed", "5"}};
  const auto p = make("random", parameters);
  EXPECT_EQ(p, make("random", parameters));
  auto other = parameters;
  other.back().value = "6";
  EXPECT_NE(p, make("random", other));
  const auto m = cp::sum(p);
  std::vector<int> receivers(20);
  std::set<std::uint64_t> sizes;
  for (const auto& entry : m.entries) {
    EXPECT_NE(entry.from, entry.to);
    EXPECT_EQ(entry.count, 1U);
    ++receivers[static_cast<std::size_t>(entry.from)];
    sizes.insert(entry.bytes);
  }
  EXPECT_EQ(receivers, std::vector<int>(20, 7));
  EXPECT_EQ(*sizes.begin(), 100U);
  EXPECT_EQ(*sizes.rbegin(), 110U);
  EXPECT_EQ(matrix("random", {{"ranks", "9"}, {"degree", "8"}}).entries.size(), 72U);
}

TEST(Generate, EveryFamilyKeepsTheInvariants) {
  for (const cp::Family& family : cp::families()) {
    if (family.name == "file") continue;
    for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 12, 16, 27, 64}) {
      SCOPED_TRACE(testing::Message() << family.name << " " << ranks);
      cp::Parameters parameters{{"ranks", std::to_string(ranks)}};
      if (family.name == "random") parameters.push_back({"degree", std::to_string(std::min(ranks - 1, 3))});
      const auto p = make(std::string(family.name), parameters);
      EXPECT_EQ(p.name, family.name);
      EXPECT_EQ(p.ranks, ranks);
      EXPECT_TRUE(cp::check(p).ok());
      const auto m = cp::sum(p);
      for (const auto& entry : m.entries) EXPECT_NE(entry.from, entry.to);
      const bool prime = ranks == 2 || ranks == 3 || ranks == 5 || ranks == 7;
      // A grid of one row transposes onto itself.
      EXPECT_EQ(m.entries.empty(), ranks == 1 || (family.name == "matrix_transpose" && prime));
    }
  }
}

TEST(Generate, TableIsComplete) {
  std::set<std::string_view> names;
  for (const cp::Family& family : cp::families()) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    EXPECT_FALSE(family.summary.empty());
    std::set<std::string_view> parameters;
    for (const auto& info : family.parameters) {
      EXPECT_TRUE(parameters.insert(info.name).second) << family.name << " " << info.name;
      EXPECT_FALSE(info.meaning.empty());
      EXPECT_FALSE(cp::allowed_values(info).empty());
    }
  }
  EXPECT_EQ(cp::find_family("halo_3d")->name, "halo_3d");
  EXPECT_EQ(cp::find_family("halo_4d"), nullptr);
}

TEST(Generate, ReadsAFile) {
  const std::string path = testing::TempDir() + "corewise_generate_test." + std::to_string(getpid()) + ".csv";
  std::ofstream(path) << "from,to,bytes\n0,1,5\n";
  EXPECT_EQ(pairs_of(matrix("file", {{"path", path}})), (Pairs{{{0, 1}, 5}}));
  std::remove(path.c_str());
  EXPECT_EQ(cp::generate("file", {{"path", path}}).status().code(), corewise::Code::invalid_input);
  expect_error("file", {}, "pattern file: field 'path': found \"\", allowed: a file name");
}

TEST(Generate, ErrorsListWhatIsAllowed) {
  const auto unknown = cp::generate("halo", {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().message().rfind("field 'pattern': found \"halo\", allowed: ring, halo_1d, halo_2d", 0),
            0U)
      << unknown.status().message();
  expect_error("dissemination", {{"rank", "4"}},
               "pattern dissemination: field 'rank': found an unknown parameter, allowed: ranks, bytes");
  expect_error("dissemination", {{"ranks", "4"}, {"ranks", "5"}},
               "pattern dissemination: field 'ranks': found the parameter twice, allowed: each parameter once");
  expect_error("dissemination", {{"ranks", "0"}},
               "pattern dissemination: field 'ranks': found \"0\", allowed: an integer from 1 to 131072");
  expect_error("dissemination", {{"ranks", "-1"}},
               "pattern dissemination: field 'ranks': found \"-1\", allowed: an integer from 1 to 131072");
  expect_error("all_to_all", {{"ranks", "10000"}},
               "pattern all_to_all: field 'ranks': found \"10000\", allowed: an integer from 1 to 2048");
  expect_error("transpose", {{"ranks", "8192"}, {"dims", "1x8192"}},
               "pattern transpose: field 'ranks': found 8192 of 8191 peers, allowed: at most 8388608 messages");
  expect_error("random", {{"ranks", "100000"}, {"degree", "100"}},
               "pattern random: field 'ranks': found 100000 of 100 peers, allowed: at most 8388608 messages");
  expect_error(
      "ring", {{"bytes", "4 potatoes"}},
      "pattern ring: field 'bytes': found \"4 potatoes\", allowed: a number of bytes, or a size with its unit "
      "such as 64 KiB");
  expect_error("ring", {{"direction", "up"}},
               "pattern ring: field 'direction': found \"up\", allowed: forward, backward, both");
  expect_error("ring", {{"periodic", "maybe"}},
               "pattern ring: field 'periodic': found \"maybe\", allowed: yes, no");
  expect_error("halo_2d", {{"periodic", "yes,no,yes"}},
               "pattern halo_2d: field 'periodic': found a wrong number of flags, allowed: 1 or 2 of them");
  expect_error(
      "halo_2d", {{"ranks", "8"}, {"dims", "3x2"}},
      "pattern halo_2d: field 'dims': found 3x2, allowed: dimensions whose product is 8 (ranks), 0 = derived");
  expect_error("halo_2d", {{"ranks", "8"}, {"dims", "2x2x2"}},
               "pattern halo_2d: field 'dims': found 2x2x2, allowed: 2 dimensions");
  expect_error(
      "halo_2d", {{"dims", "4by2"}},
      "pattern halo_2d: field 'dims': found \"4by2\", allowed: auto, or dimensions such as 4x2 (0 = derived)");
  expect_error("halo_3d", {{"face_bytes", "1,2"}},
               "pattern halo_3d: field 'face_bytes': found a wrong number of sizes, allowed: 1 or 3 of them");
  expect_error("binomial_tree", {{"ranks", "4"}, {"root", "4"}},
               "pattern binomial_tree: field 'root': found 4, allowed: a rank from 0 to 3");
  expect_error("random", {{"ranks", "4"}, {"degree", "4"}},
               "pattern random: field 'degree': found 4, allowed: an integer from 0 to 3");
  EXPECT_FALSE(cp::generate("random", {{"min_bytes", "5"}, {"max_bytes", "4"}}).ok());
  EXPECT_FALSE(cp::generate("bruck", {{"bytes", "18446744073709551615"}}).ok());
  EXPECT_FALSE(cp::generate("ring", {{"bytes", "18446744073709551615"}}).ok());
}

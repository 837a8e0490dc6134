// Relabelled ranks: every family under several numberings is found exactly, with its dimensions, and the positions
// that are handed back make it the template; under noise the degree stays convincing; chance is no pattern.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/grid.hpp"
#include "pattern/recogniser/structure.hpp"
#include "relabelled.hpp"

namespace cp = corewise::pattern;

namespace {

std::vector<int> sorted(std::vector<int> values) {
  std::sort(values.begin(), values.end());
  return values;
}

bool lists(const std::vector<cp::Relabelled>& found, const std::string& label) {
  return std::any_of(found.begin(), found.end(), [&](const cp::Relabelled& one) {
    return one.match.label == label + ", ranks relabelled" && one.match.degree == 1.0;
  });
}

/// The positions are a permutation, and under them the generator's pairs are the matrix's.
void expect_positions_make_the_template(const cp::Matrix& seen, const cp::Relabelled& found) {
  auto numbers = sorted(found.positions);
  for (int rank = 0; rank < seen.ranks; ++rank) ASSERT_EQ(numbers[static_cast<std::size_t>(rank)], rank);
  const auto remade = cp::made(found.match.family, found.match.parameters);
  const auto moved = cp::renumbered(seen, found.positions);
  ASSERT_EQ(moved.entries.size(), remade.entries.size());
  for (std::size_t i = 0; i < moved.entries.size(); ++i) {
    EXPECT_EQ(moved.entries[i].from, remade.entries[i].from);
    EXPECT_EQ(moved.entries[i].to, remade.entries[i].to);
  }
}

void expect_found(const cp::Matrix& pattern, const std::string& label) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(testing::Message() << label << " numbering " << seed);
    const auto seen = cp::renumbered(pattern, cp::shuffled(pattern.ranks, seed));
    const auto found = cp::recognise_relabelled(seen);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.front().match.degree, 1.0) << found.front().match.label;
    EXPECT_TRUE(lists(found, label)) << found.front().match.label;
    expect_positions_make_the_template(seen, found.front());
  }
}

double noisy_degree(const cp::Matrix& pattern, const std::string& family, std::uint64_t seed) {
  const auto noisy = cp::with_noise(pattern, 0.05, seed);
  const auto found = cp::recognise_relabelled(cp::renumbered(noisy, cp::shuffled(pattern.ranks, seed + 100)), 0.3);
  for (const cp::Relabelled& one : found) {
    if (one.match.family == family) return one.match.degree;
  }
  return 0;
}

std::string text(int number) {
  return std::to_string(number);
}

}  // namespace

TEST(Structure, RenumberedMovesEveryMessage) {
  const cp::Matrix m{3, {{0, 1, 10, 1}, {1, 2, 20, 2}, {2, 0, 30, 3}}};
  const auto moved = cp::renumbered(m, {2, 0, 1});
  EXPECT_EQ(moved.entries, (std::vector<cp::Message>{{0, 1, 20, 2}, {1, 2, 30, 3}, {2, 0, 10, 1}}));
}

TEST(Structure, RingsAndChains) {
  for (const int ranks : {5, 8, 11, 16, 27, 64, 257}) {
    const std::string p = text(ranks);
    expect_found(cp::made("ring", {{"ranks", p}}), "bidirectional ring of " + p);
    expect_found(cp::made("ring", {{"ranks", p}, {"direction", "forward"}}),
                 "unidirectional ring of " + p + ", forward");
    expect_found(cp::made("ring", {{"ranks", p}, {"direction", "backward"}, {"periodic", "no"}}),
                 "open chain of " + p + ", forward");
    expect_found(cp::made("halo_1d", {{"ranks", p}, {"periodic", "no"}}), "1D halo " + p + ", open");
  }
}

TEST(Structure, Halos) {
  struct Case {
    int axes;
    std::string dims;
    std::string periodic;
  };
  const std::vector<Case> cases{{2, "4x3", "no"},         {2, "6x6", "yes"},    {2, "9x3", "no"},
                                {2, "10x10", "yes,no"},   {2, "16x16", "yes"},  {3, "3x3x3", "no"},
                                {3, "3x3x3", "yes"},      {3, "4x3x3", "no"},   {3, "5x5x4", "yes"},
                                {3, "8x8x4", "no"},       {3, "16x8x8", "yes"}, {3, "16x8x8", "no"},
                                {3, "6x5x4", "yes,no,no"}};
  for (const Case& one : cases) {
    const std::vector<std::string> stencils{"faces", "faces+edges", "faces+edges+corners"};
    for (int reach = 0; reach < one.axes; ++reach) {
      const std::string& stencil = stencils[static_cast<std::size_t>(reach)];
      const std::string wraps = one.periodic == "yes"  ? "periodic"
                                : one.periodic == "no" ? "open"
                                                       : "periodic on axis 0 only";
      int ranks = 1;
      for (std::size_t at = 0; at < one.dims.size();) {
        ranks *= std::stoi(one.dims.substr(at));
        at = std::min(one.dims.find('x', at), one.dims.size() - 1) + 1;
      }
      expect_found(
          cp::made("halo_" + text(one.axes) + "d",
                   {{"ranks", text(ranks)}, {"dims", one.dims}, {"periodic", one.periodic}, {"stencil", stencil}}),
          text(one.axes) + "D halo " + one.dims + ", " + wraps + ", " + stencil);
    }
  }
}

TEST(Structure, SweepsCubesDisseminationTransposes) {
  expect_found(cp::made("wavefront", {{"ranks", "36"}, {"octants", "1"}, {"dims", "6x6"}}),
               "2D wavefront sweep 6x6 from corner (0,0)");
  expect_found(cp::made("wavefront", {{"ranks", "100"}, {"octants", "1"}, {"dims", "20x5"}, {"first_corner", "3"}}),
               "2D wavefront sweep 20x5 from corner (0,0)");
  for (const int ranks : {8, 16, 64, 256}) {
    expect_found(cp::made("hypercube", {{"ranks", text(ranks)}}), text(ranks == 8    ? 3
                                                                       : ranks == 16 ? 4
                                                                       : ranks == 64 ? 6
                                                                                     : 8) +
                                                                      "D hypercube of " + text(ranks));
  }
  for (const int ranks : {8, 11, 16, 27, 36, 100, 256}) {
    expect_found(cp::made("dissemination", {{"ranks", text(ranks)}}), "dissemination of " + text(ranks));
  }
  expect_found(cp::made("transpose", {{"ranks", "64"}, {"dims", "8x8"}, {"groups", "columns"}}),
               "transpose in the rows of a 8x8 grid");
  expect_found(cp::made("transpose", {{"ranks", "100"}, {"dims", "20x5"}, {"groups", "rows"}}),
               "transpose in the rows of a 20x5 grid");
  expect_found(cp::made("transpose", {{"ranks", "256"}, {"dims", "16x16"}, {"groups", "both"}}),
               "transpose in the rows and columns of a 16x16 grid");
}

TEST(Structure, TreesWithAnyRoot) {
  for (const int ranks : {8, 13, 16, 27, 64, 100, 256, 1024}) {
    for (const std::string direction : {"from_root", "to_root", "both"}) {
      const std::string words = direction == "from_root" ? "from root 0"
                                : direction == "to_root" ? "to root 0"
                                                         : "to root 0 and back";
      const std::string root = text(ranks / 3);
      expect_found(cp::made("binomial_tree", {{"ranks", text(ranks)}, {"root", root}, {"direction", direction}}),
                   "binomial tree " + words);
      expect_found(cp::made("k_ary_tree", {{"ranks", text(ranks)}, {"root", root}, {"direction", direction}}),
                   "binary tree " + words);
      expect_found(cp::made("k_ary_tree",
                            {{"ranks", text(ranks)}, {"root", root}, {"direction", direction}, {"arity", "4"}}),
                   "4-ary tree " + words);
    }
  }
}

TEST(Structure, EqualsAreAllListed) {
  // Two axes of two ranks are one periodic axis of four: the same pairs, and no numbering tells them apart.
  const auto found = cp::recognise_relabelled(cp::renumbered(
      cp::made("halo_3d", {{"ranks", "16"}, {"dims", "4x2x2"}, {"stencil", "faces"}}), cp::shuffled(16, 5)));
  EXPECT_TRUE(lists(found, "2D halo 4x4, periodic, faces"));
  EXPECT_TRUE(lists(found, "3D halo 4x2x2, periodic, faces"));
  EXPECT_TRUE(lists(found, "4D hypercube of 16"));
  const auto cube = cp::recognise_relabelled(
      cp::renumbered(cp::made("halo_3d", {{"ranks", "8"}, {"dims", "2x2x2"}}), cp::shuffled(8, 5)));
  EXPECT_TRUE(lists(cube, "3D halo 2x2x2, periodic or open, faces"));
  EXPECT_TRUE(lists(cube, "3D hypercube of 8"));
}

TEST(Structure, FivePerCentNoiseOnRelabelledRanks) {
  struct Case {
    std::string family;
    cp::Parameters parameters;
  };
  const std::vector<Case> cases{
      {"ring", {{"ranks", "64"}}},
      {"ring", {{"ranks", "100"}, {"direction", "forward"}}},
      {"halo_2d", {{"ranks", "100"}, {"periodic", "yes"}}},
      {"halo_2d", {{"ranks", "256"}, {"periodic", "no"}}},
      {"halo_2d", {{"ranks", "256"}, {"stencil", "faces+edges"}}},
      {"halo_3d", {{"ranks", "64"}, {"periodic", "no"}}},
      {"halo_3d", {{"ranks", "256"}}},
      {"halo_3d", {{"ranks", "1024"}, {"stencil", "faces+edges"}}},
      {"hypercube", {{"ranks", "256"}}},
      {"dissemination", {{"ranks", "256"}}},
      {"binomial_tree", {{"ranks", "100"}, {"direction", "both"}}},
      {"transpose", {{"ranks", "256"}, {"groups", "rows"}}},
      {"transpose", {{"ranks", "256"}, {"groups", "both"}}},
  };
  for (const Case& one : cases) {
    for (const std::uint64_t seed : {1U, 2U}) {
      EXPECT_GE(noisy_degree(cp::made(one.family, one.parameters), one.family, seed), cp::convincing_degree)
          << one.family << " of " << one.parameters.front().value << ", seed " << seed;
    }
  }
}

TEST(Structure, ChanceIsNoPattern) {
  for (const int ranks : {16, 36, 100, 256}) {
    for (const int degree : {1, 3, 6}) {
      for (int seed = 1; seed <= 3; ++seed) {
        const auto m = cp::made("random", {{"ranks", text(ranks)}, {"degree", text(degree)}, {"seed", text(seed)}});
        const auto found = cp::recognise_relabelled(m);
        EXPECT_TRUE(found.empty()) << ranks << " " << degree << " " << found.front().match.label << " "
                                   << found.front().match.degree;
      }
    }
  }
}

TEST(Structure, NothingOrTooLittleHasNoStructure) {
  EXPECT_TRUE(cp::recognise_relabelled(cp::Matrix{1, {}}).empty());
  EXPECT_TRUE(cp::recognise_relabelled(cp::Matrix{2, {{0, 1, 5, 1}}}).empty());
  EXPECT_TRUE(cp::recognise_relabelled(cp::Matrix{8, {{0, 0, 5, 1}, {1, 2, 0, 1}}}).empty());
  EXPECT_TRUE(cp::recognise_relabelled(cp::Matrix{16, {{0, 1, 5, 1}}}).empty());
}

TEST(Structure, TheSameEveryTime) {
  const auto seen = cp::renumbered(
      cp::with_noise(cp::made("halo_3d", {{"ranks", "64"}, {"periodic", "no"}}), 0.05, 7), cp::shuffled(64, 9));
  const auto first = cp::recognise_relabelled(seen);
  const auto again = cp::recognise_relabelled(seen);
  ASSERT_EQ(first.size(), again.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].positions, again[i].positions);
}

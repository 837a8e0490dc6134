// The recogniser: every generator's matrix is named as itself or as a documented equivalent, degrees are those of
// hand-computed cases, and what is no pattern gets no name.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>

#include "pattern/grid.hpp"
#include "pattern/recogniser/recognise.hpp"

namespace cp = corewise::pattern;

namespace {

cp::Matrix matrix(const std::string& family, const cp::Parameters& parameters) {
  const auto result = cp::generate(family, parameters);
  EXPECT_TRUE(result.ok()) << family << ": " << result.status().message();
  return result.ok() ? cp::sum(result.value()) : cp::Matrix{1, {}};
}

std::vector<std::pair<int, int>> pairs_of(const cp::Matrix& m) {
  std::vector<std::pair<int, int>> pairs;
  for (const auto& entry : m.entries) pairs.emplace_back(entry.from, entry.to);
  return pairs;
}

const cp::Match* find(const std::vector<cp::Match>& matches, const std::string& family) {
  const auto at =
      std::find_if(matches.begin(), matches.end(), [&](const cp::Match& m) { return m.family == family; });
  return at == matches.end() ? nullptr : &*at;
}

cp::Match best(const cp::Matrix& m) {
  const auto matches = cp::recognise(m);
  EXPECT_FALSE(matches.empty());
  return matches.empty() ? cp::Match{} : matches.front();
}

void expect_named(const cp::Matrix& m, const std::string& label) {
  const auto match = best(m);
  EXPECT_EQ(match.label, label);
  EXPECT_EQ(match.degree, 1.0) << label;
  EXPECT_TRUE(match.volumes_fit) << label;
}

/// Every match of degree 1 must regenerate the pairs of the matrix: family, parameters and pairs agree.
void expect_exact_matches_regenerate(const cp::Matrix& m, const std::vector<cp::Match>& matches) {
  for (const auto& match : matches) {
    if (match.degree < 1) continue;
    EXPECT_EQ(pairs_of(matrix(match.family, match.parameters)), pairs_of(m)) << match.label;
  }
}

}  // namespace

TEST(Recognise, LatticeBoltzmannOnEightRanks) {
  // D3Q19 on a 2x2x2 grid of a 64x32x16 box: 5 directions cross a face, 1 an edge, 8-byte populations.
  const auto m = matrix("halo_3d", {{"ranks", "8"},
                                    {"dims", "2x2x2"},
                                    {"stencil", "faces+edges"},
                                    {"face_bytes", "5120,10240,20480"},
                                    {"edge_bytes", "256"}});
  const auto matches = cp::recognise(m);
  ASSERT_FALSE(matches.empty());
  const auto& match = matches.front();
  EXPECT_EQ(match.label, "3D halo 2x2x2, periodic or open, faces+edges");
  EXPECT_EQ(match.family, "halo_3d");
  EXPECT_EQ(match.dims, (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(match.stencil, "faces+edges");
  EXPECT_EQ(match.periodic, (std::vector<cp::Wrap>(3, cp::Wrap::either)));
  EXPECT_EQ(match.degree, 1.0);
  EXPECT_TRUE(match.volumes_fit);
  EXPECT_LT(matches[1].degree, 1.0);
  EXPECT_EQ(cp::headline(matches), match.label);
}

TEST(Recognise, EdgesOfUnevenBoxesDoNotDisturb) {
  auto m = matrix("halo_3d", {{"ranks", "8"}, {"stencil", "faces+edges"}, {"face_bytes", "1,100000,7"}});
  for (std::size_t i = 0; i < m.entries.size(); ++i) m.entries[i].bytes = 1 + i * i * i * 977 % 100003;
  m.entries.push_back({7, 7, 123456789, 1});
  const auto match = best(m);
  EXPECT_EQ(match.label, "3D halo 2x2x2, periodic or open, faces+edges");
  EXPECT_EQ(match.degree, 1.0);
  EXPECT_FALSE(match.volumes_fit);
}

TEST(Recognise, HalosAreNamedWithDimsWrapsAndStencil) {
  const std::vector<std::string> stencils{"faces", "faces+edges", "faces+edges+corners"};
  for (const int ranks : {4, 6, 8, 12, 18, 27, 30}) {
    for (int axes = 2; axes <= 3; ++axes) {
      for (const auto& dims : cp::ordered_factorisations(ranks, axes)) {
        for (unsigned mask = 0; mask < 1U << axes; ++mask) {
          for (int reach = 1; reach <= axes; ++reach) {
            std::string flags;
            std::vector<cp::Wrap> wraps;
            for (int axis = 0; axis < axes; ++axis) {
              const bool periodic = ((mask >> axis) & 1U) != 0;
              flags += std::string(axis > 0 ? "," : "") + (periodic ? "yes" : "no");
              const bool two = dims[static_cast<std::size_t>(axis)] == 2;
              wraps.push_back(two ? cp::Wrap::either : periodic ? cp::Wrap::periodic : cp::Wrap::open);
            }
            const auto m = matrix("halo_" + std::to_string(axes) + "d",
                                  {{"ranks", std::to_string(ranks)},
                                   {"dims", cp::dims_text(dims)},
                                   {"periodic", flags},
                                   {"stencil", stencils[static_cast<std::size_t>(reach - 1)]},
                                   {"face_bytes", axes == 2 ? "50000,20000" : "50000,20000,9000"},
                                   {"edge_bytes", "700"}});
            SCOPED_TRACE(testing::Message() << cp::dims_text(dims) << " " << flags << " reach " << reach);
            const auto matches = cp::recognise(m);
            ASSERT_FALSE(matches.empty());
            EXPECT_EQ(matches.front().family, "halo_" + std::to_string(axes) + "d") << matches.front().label;
            EXPECT_EQ(matches.front().dims, dims);
            EXPECT_EQ(matches.front().periodic, wraps);
            EXPECT_EQ(matches.front().stencil, stencils[static_cast<std::size_t>(reach - 1)]);
            EXPECT_EQ(matches.front().degree, 1.0);
            EXPECT_TRUE(matches.front().volumes_fit);
            expect_exact_matches_regenerate(m, matches);
          }
        }
      }
    }
  }
}

TEST(Recognise, LabelsOfHalos) {
  expect_named(matrix("halo_1d", {{"ranks", "8"}, {"periodic", "no"}}), "1D halo 8, open");
  expect_named(matrix("halo_2d", {{"ranks", "12"}}), "2D halo 4x3, periodic, faces");
  expect_named(matrix("halo_2d", {{"ranks", "12"}, {"periodic", "no,yes"}}),
               "2D halo 4x3, periodic on axis 1 only, faces");
  expect_named(matrix("halo_3d", {{"ranks", "24"}, {"periodic", "no"}, {"stencil", "faces+edges+corners"}}),
               "3D halo 4x3x2, open, faces+edges+corners");
  // A dimension of one rank is no dimension.
  expect_named(matrix("halo_3d", {{"ranks", "12"}, {"dims", "4x1x3"}}), "2D halo 4x3, periodic, faces");
}

TEST(Recognise, RingsAndDense) {
  for (const int ranks : {3, 4, 5, 8, 17, 64}) {
    SCOPED_TRACE(ranks);
    const std::string p = std::to_string(ranks);
    expect_named(matrix("ring", {{"ranks", p}}), "bidirectional ring of " + p);
    expect_named(matrix("ring", {{"ranks", p}, {"direction", "forward"}}),
                 "unidirectional ring of " + p + ", forward");
    expect_named(matrix("ring", {{"ranks", p}, {"direction", "backward"}}),
                 "unidirectional ring of " + p + ", backward");
    expect_named(matrix("ring", {{"ranks", p}, {"direction", "forward"}, {"periodic", "no"}}),
                 "open chain of " + p + ", forward");
    if (ranks == 3) continue;  // three ranks: an all-to-all is a bidirectional ring
    expect_named(matrix("all_to_all", {{"ranks", p}}), "all-to-all of " + p);
    EXPECT_EQ(find(cp::recognise(matrix("pairwise_exchange", {{"ranks", p}})), "pairwise_exchange")->degree, 1.0);
  }
  EXPECT_EQ(find(cp::recognise(matrix("ring_all_gather", {{"ranks", "6"}})), "ring_all_gather")->degree, 1.0);
}

TEST(Recognise, TwoRanksAreARingWithEquivalents) {
  const auto m = matrix("all_to_all", {{"ranks", "2"}});
  const auto matches = cp::recognise(m);
  EXPECT_EQ(matches.front().label, "bidirectional ring of 2");
  for (const std::string family : {"all_to_all", "halo_1d", "recursive_doubling", "dissemination", "bruck"}) {
    ASSERT_NE(find(matches, family), nullptr) << family;
    EXPECT_EQ(find(matches, family)->degree, 1.0) << family;
  }
  expect_exact_matches_regenerate(m, matches);
}

TEST(Recognise, CollectivesAreNamed) {
  for (const int ranks : {5, 6, 7, 9, 10, 12, 16, 24, 32, 37, 64}) {
    SCOPED_TRACE(ranks);
    const std::string p = std::to_string(ranks);
    const bool alike = (ranks & (ranks - 1)) == 0 || (ranks & (ranks + 1)) == 0;
    expect_named(matrix("dissemination", {{"ranks", p}}), "dissemination of " + p);
    expect_named(matrix("bruck", {{"ranks", p}}), "Bruck all-gather of " + p);
    // For 2^k and 2^k-1 ranks all steps of Bruck's all-to-all move alike: a dissemination by its matrix.
    expect_named(matrix("bruck", {{"ranks", p}, {"operation", "all_to_all"}}),
                 alike ? "dissemination of " + p : "Bruck all-to-all of " + p);
    for (const std::string operation : {"all_reduce", "all_gather"}) {
      const auto match = best(matrix("recursive_doubling", {{"ranks", p}, {"operation", operation}}));
      EXPECT_EQ(match.family, "recursive_doubling") << match.label;
      EXPECT_EQ(match.degree, 1.0);
      EXPECT_TRUE(match.volumes_fit);
      EXPECT_EQ(match.parameters.back(), (cp::Parameter{"operation", operation}));
    }
  }
  EXPECT_EQ(best(matrix("recursive_doubling", {{"ranks", "16"}})).label, "recursive doubling of 16 (4D hypercube)");
  EXPECT_EQ(best(matrix("recursive_doubling", {{"ranks", "12"}})).label,
            "recursive doubling of 12 (folded hypercube)");
}

TEST(Recognise, BinomialTreesAreNamedWithRootDirectionAndOrder) {
  for (const int ranks : {4, 5, 8, 13, 16, 31, 64}) {
    for (const int root : {0, 1, ranks / 2, ranks - 1}) {
      for (const std::string direction : {"from_root", "to_root", "both"}) {
        for (const std::string payload : {"whole", "blocks"}) {
          for (const std::string order : {"halving", "doubling"}) {
            SCOPED_TRACE(testing::Message() << ranks << " " << root << " " << direction << " " << order << payload);
            const auto m = matrix("binomial_tree", {{"ranks", std::to_string(ranks)},
                                                    {"root", std::to_string(root)},
                                                    {"direction", direction},
                                                    {"order", order},
                                                    {"payload", payload}});
            const auto matches = cp::recognise(m);
            ASSERT_FALSE(matches.empty());
            const std::string ends = direction == "from_root" ? "from root " : "to root ";
            const std::string label = "binomial tree " + ends + std::to_string(root) +
                                      (direction == "both" ? " and back" : "") + ", spans " + order;
            const auto tree = std::find_if(matches.begin(), matches.end(),
                                           [&](const cp::Match& match) { return match.label == label; });
            // Orders and, there and back, roots can give the same tree: then both names are in the list.
            ASSERT_NE(tree, matches.end()) << matches.front().label;
            EXPECT_EQ(tree->degree, 1.0);
            EXPECT_TRUE(tree->volumes_fit);
            if (ranks > 5) {
              EXPECT_EQ(matches.front().family, "binomial_tree");
              EXPECT_TRUE(direction == "both" || matches.front().label == label) << matches.front().label;
            }
            expect_exact_matches_regenerate(m, matches);
          }
        }
      }
    }
  }
}

TEST(Recognise, SweepsAndTransposes) {
  for (const int ranks : {6, 8, 12, 15, 16, 36}) {
    const std::string p = std::to_string(ranks);
    for (const auto& dims : cp::ordered_factorisations(ranks, 2)) {
      const std::string text = cp::dims_text(dims);
      SCOPED_TRACE(text);
      for (int corner = 0; corner < 4; ++corner) {
        const auto m = matrix("wavefront", {{"ranks", p},
                                            {"dims", text},
                                            {"octants", "1"},
                                            {"first_corner", std::to_string(corner)},
                                            {"bytes", "9000,200"}});
        const std::string at = "(" + std::to_string(corner < 2 ? 0 : dims[0] - 1) + "," +
                               std::to_string(corner % 2 == 0 ? 0 : dims[1] - 1) + ")";
        expect_named(m, "2D wavefront sweep " + text + " from corner " + at);
      }
      // All four corners use the pairs of an open halo, the simpler name; the sweep stays as an equivalent.
      const auto all = cp::recognise(matrix("wavefront", {{"ranks", p}, {"dims", text}}));
      EXPECT_EQ(all.front().family, "halo_2d");
      EXPECT_EQ(all.front().dims, dims);
      ASSERT_NE(find(all, "wavefront"), nullptr);
      EXPECT_EQ(find(all, "wavefront")->label, "2D wavefront sweep " + text + " from all corners");
      EXPECT_EQ(find(all, "wavefront")->degree, 1.0);

      for (const std::string groups : {"rows", "columns", "both"}) {
        const auto m = matrix("transpose", {{"ranks", p}, {"dims", text}, {"groups", groups}});
        const auto matches = cp::recognise(m);
        const auto* match = find(matches, "transpose");
        ASSERT_NE(match, nullptr);
        EXPECT_EQ(match->degree, 1.0);
        EXPECT_EQ(match->dims, dims);
        // Rows and columns of at most three ranks each are the neighbours of a periodic halo.
        const bool small = groups == "both" && dims[0] <= 3 && dims[1] <= 3;
        EXPECT_EQ(matches.front().family, small ? "halo_2d" : "transpose");
        expect_exact_matches_regenerate(m, matches);
      }
      const auto mirrored = best(matrix("matrix_transpose", {{"ranks", p}, {"dims", text}}));
      EXPECT_EQ(mirrored.family, "matrix_transpose") << mirrored.label;
      EXPECT_EQ(mirrored.dims, dims);
      EXPECT_EQ(mirrored.degree, 1.0);
    }
  }
}

TEST(Recognise, TiesFollowTheDocumentedOrder) {
  // All 56 pairs of 2x2x2 with corners: alike in bytes it is an all-to-all, else a halo.
  const cp::Parameters corners{{"ranks", "8"}, {"stencil", "faces+edges+corners"}};
  auto even = corners;
  even.insert(even.end(), {{"periodic", "no"}, {"face_bytes", "64"}, {"edge_bytes", "64"}, {"corner_bytes", "64"}});
  auto matches = cp::recognise(matrix("halo_3d", even));
  EXPECT_EQ(matches.front().label, "all-to-all of 8");
  EXPECT_EQ(find(matches, "halo_3d")->degree, 1.0);
  matches = cp::recognise(matrix("halo_3d", corners));
  EXPECT_EQ(matches.front().label, "3D halo 2x2x2, periodic or open, faces+edges+corners");
  EXPECT_EQ(find(matches, "all_to_all")->degree, 1.0);
  EXPECT_FALSE(find(matches, "all_to_all")->volumes_fit);
  // Faces of 2x2x2 are the 3D hypercube: halo first, whether or not the axes differ in bytes.
  for (const std::string faces : {"64", "1000,64,300"}) {
    matches = cp::recognise(matrix("halo_3d", {{"ranks", "8"}, {"face_bytes", faces}}));
    EXPECT_EQ(matches.front().label, "3D halo 2x2x2, periodic or open, faces");
    EXPECT_EQ(find(matches, "recursive_doubling")->degree, 1.0);
  }
  EXPECT_FALSE(find(matches, "recursive_doubling")->volumes_fit);
}

TEST(Recognise, DegreeByHand) {
  // A forward ring of 4 with 10 bytes a pair, one pair missing and 20 bytes on a pair that no ring has:
  // 30 / (50 + 10 * 1) = 0.5.
  const cp::Matrix m{4, {{0, 1, 10, 1}, {0, 2, 20, 1}, {1, 2, 10, 1}, {2, 3, 10, 1}}};
  const auto matches = cp::recognise(m);
  ASSERT_NE(find(matches, "ring"), nullptr);
  const auto chain = std::find_if(matches.begin(), matches.end(),
                                  [](const cp::Match& match) { return match.label == "open chain of 4, forward"; });
  ASSERT_NE(chain, matches.end());  // the best of the rings: 30 / 50
  EXPECT_DOUBLE_EQ(chain->degree, 0.6);
  // A full ring whose one foreign byte hardly counts is close to 1, but not 1.
  auto ring = matrix("ring", {{"ranks", "64"}, {"bytes", "100000000000000"}});
  ring.entries.push_back({0, 13, 1, 1});
  std::sort(ring.entries.begin(), ring.entries.end(), [](const cp::Message& a, const cp::Message& b) {
    return std::tie(a.from, a.to) < std::tie(b.from, b.to);
  });
  EXPECT_EQ(best(ring).family, "ring");
  EXPECT_LT(best(ring).degree, 1.0);
  EXPECT_GT(best(ring).degree, 0.999999);
}

TEST(Recognise, NothingToNameGivesNoMatch) {
  EXPECT_TRUE(cp::recognise(cp::Matrix{8, {}}).empty());
  EXPECT_TRUE(cp::recognise(cp::Matrix{1, {}}).empty());
  EXPECT_TRUE(cp::recognise(cp::Matrix{8, {{0, 1, 0, 5}, {3, 3, 100, 1}}}).empty());
  EXPECT_EQ(cp::headline({}), "none");
}

TEST(Recognise, RandomSparseMatricesResembleNothing) {
  for (const std::string ranks : {"16", "30", "64", "100"}) {
    for (int seed = 1; seed <= 10; ++seed) {
      const auto matches =
          cp::recognise(matrix("random", {{"ranks", ranks}, {"degree", "3"}, {"seed", std::to_string(seed)}}), 0);
      ASSERT_FALSE(matches.empty());
      EXPECT_LT(matches.front().degree, 0.5) << ranks << " " << seed << " " << matches.front().label;
      EXPECT_EQ(cp::headline(matches), "none");
    }
  }
}

TEST(Recognise, HundredsOfRanks) {
  for (const int ranks : {512, 720}) {
    const std::string p = std::to_string(ranks);
    const auto named = [&](const std::string& family, cp::Parameters more) {
      more.push_back({"ranks", p});
      return cp::headline(cp::recognise(matrix(family, more)));
    };
    const std::string grid = ranks == 512 ? "8x8x8" : "10x9x8";
    EXPECT_EQ(named("halo_3d", {{"stencil", "faces+edges+corners"}}),
              "3D halo " + grid + ", periodic, faces+edges+corners");
    EXPECT_EQ(named("all_to_all", {}), "all-to-all of " + p);
    EXPECT_EQ(named("random", {{"degree", "20"}}), "none");
    EXPECT_EQ(named("recursive_doubling", {}).rfind("recursive doubling", 0), 0U);
  }
}

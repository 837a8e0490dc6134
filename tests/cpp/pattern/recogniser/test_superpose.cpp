// Superposed templates are told apart with their shares, also where taking the heaviest first fails; chance is
// called chance; phases are named in order with repeats folded. SPDX-License-Identifier: BSD-3-Clause
#include <map>

#include "pattern/recogniser/sequence.hpp"
#include "pattern/recogniser/superpose.hpp"
#include "relabelled.hpp"

namespace cp = corewise::pattern;

namespace {

cp::Matrix together(const std::vector<cp::Matrix>& parts) {
  cp::Pattern all{"all", parts.front().ranks, {}};
  for (const auto& part : parts) all.phases.push_back({"part", part.entries});
  return cp::sum(all);
}

std::map<std::string, cp::Component> by_family(const cp::Naming& naming) {
  std::map<std::string, cp::Component> families;
  for (const auto& component : naming.components) families.emplace(component.match.family, component);
  return families;
}

void expect_families(const cp::Matrix& m, const std::vector<std::string>& families, double most_rest = 0.01) {
  const auto naming = cp::name(m);
  const auto found = by_family(naming);
  EXPECT_EQ(naming.components.size(), families.size()) << cp::headline(naming);
  for (const auto& family : families) EXPECT_TRUE(found.contains(family)) << family << ": " << cp::headline(naming);
  double shares = static_cast<double>(naming.rest_bytes) / static_cast<double>(naming.total_bytes);
  EXPECT_LE(shares, most_rest) << cp::headline(naming);
  for (const auto& component : naming.components) shares += component.share;
  EXPECT_NEAR(shares, 1.0, 1e-9);
}

cp::Matrix shuffled_matrix(const cp::Matrix& m) {
  return cp::renumbered(m, cp::shuffled(m.ranks, 3));
}

}  // namespace

TEST(Superpose, OneTemplateStaysOne) {
  for (const std::string family : {"halo_2d", "halo_3d", "ring", "binomial_tree", "dissemination", "transpose",
                                   "manager_worker", "wavefront", "all_to_all"}) {
    const auto naming = cp::name(cp::made(family, {{"ranks", "36"}}));
    ASSERT_EQ(naming.components.size(), 1U) << family << ": " << cp::headline(naming);
    EXPECT_EQ(naming.components.front().match.degree, 1.0);
    EXPECT_EQ(naming.components.front().share, 1.0);
    EXPECT_EQ(naming.rest_bytes, 0U);
  }
}

TEST(Superpose, HaloTreeAndRing) {
  const auto m = together({cp::made("halo_3d", {{"ranks", "64"}, {"face_bytes", "65536"}}),
                           cp::made("binomial_tree", {{"ranks", "64"}, {"bytes", "20000"}}),
                           cp::made("ring", {{"ranks", "64"}, {"bytes", "9000"}})});
  expect_families(m, {"halo_3d", "binomial_tree", "ring"});
}

TEST(Superpose, HaloUnderSmallMessagesOfEverybody) {
  const auto m = together({cp::made("halo_2d", {{"ranks", "64"}, {"face_bytes", "65536"}}),
                           cp::made("all_to_all", {{"ranks", "64"}, {"bytes", "100"}})});
  expect_families(m, {"halo_2d", "all_to_all"});
  expect_families(shuffled_matrix(m), {"halo_2d", "all_to_all"});
}

TEST(Superpose, AlikeInVolume) {
  // Nothing but the doubled pairs tells that the tree's pairs inside the halo are there twice.
  const auto m = together({cp::made("halo_3d", {{"ranks", "64"}, {"face_bytes", "4096"}}),
                           cp::made("binomial_tree", {{"ranks", "64"}, {"bytes", "4096"}})});
  expect_families(m, {"halo_3d", "binomial_tree"});
}

TEST(Superpose, TreeInsideTheHypercube) {
  // All pairs of the tree are the hypercube's, whose name is exact: greedy removal sees one template.
  const auto m = together({cp::made("recursive_doubling", {{"ranks", "64"}, {"bytes", "4096"}}),
                           cp::made("binomial_tree", {{"ranks", "64"}, {"bytes", "8192"}})});
  expect_families(m, {"recursive_doubling", "binomial_tree"});
}

TEST(Superpose, HaloAndManager) {
  const auto m = together({cp::made("halo_3d", {{"ranks", "64"}, {"periodic", "no"}, {"face_bytes", "65536"}}),
                           cp::made("manager_worker", {{"ranks", "64"}, {"manager", "5"}, {"bytes", "30000"}})});
  expect_families(m, {"halo_3d", "manager_worker"});
}

TEST(Superpose, RowsAndColumnsOfDifferentVolume) {
  const auto m = together({cp::made("transpose", {{"ranks", "64"}, {"groups", "rows"}, {"bytes", "4096"}}),
                           cp::made("transpose", {{"ranks", "64"}, {"groups", "columns"}, {"bytes", "32768"}})});
  EXPECT_EQ(cp::headline(cp::name(m)), "transpose in the rows and columns of a 8x8 grid");
}

TEST(Superpose, UnevenSubdomainsAreNoSecondPattern) {
  auto m = cp::made("halo_3d", {{"ranks", "27"}, {"periodic", "no"}});
  for (std::size_t i = 0; i < m.entries.size(); ++i) m.entries[i].bytes = 1000 + i * i * 977 % 100003;
  const auto naming = cp::name(m);
  EXPECT_EQ(cp::headline(naming), "3D halo 3x3x3, open, faces");
  EXPECT_EQ(naming.rest_bytes, 0U);
}

TEST(Superpose, RelabelledRanksAreNamedWithTheirPositions) {
  const auto m = shuffled_matrix(cp::made("halo_3d", {{"ranks", "64"}, {"periodic", "no"}}));
  const auto naming = cp::name(m);
  EXPECT_EQ(cp::headline(naming), "3D halo 4x4x4, open, faces, ranks relabelled");
  ASSERT_EQ(naming.components.front().positions.size(), 64U);
  // On the ranks as they are no positions are needed.
  EXPECT_TRUE(cp::name(cp::made("halo_3d", {{"ranks", "64"}})).components.front().positions.empty());
}

TEST(Superpose, NoiseOnRanksAsTheyAre) {
  for (const std::string family : {"ring", "halo_1d", "halo_2d", "halo_3d", "binomial_tree", "hypercube",
                                   "dissemination", "all_to_all", "transpose", "manager_worker", "k_ary_tree"}) {
    for (const int ranks : {16, 36, 64, 256}) {
      if (family == "hypercube" && ranks == 36) continue;
      const auto noisy = cp::with_noise(cp::made(family, {{"ranks", std::to_string(ranks)}}), 0.05, 11);
      const auto naming = cp::name_one(noisy);
      ASSERT_EQ(naming.components.size(), 1U) << family << " " << ranks;
      EXPECT_GE(naming.components.front().match.degree, 0.85) << family << " " << ranks;
    }
  }
}

TEST(Superpose, ChanceIsCalledChance) {
  for (const int ranks : {64, 100, 256}) {
    for (int seed = 1; seed <= 3; ++seed) {
      const auto naming = cp::name(
          cp::made("random", {{"ranks", std::to_string(ranks)}, {"degree", "4"}, {"seed", std::to_string(seed)}}));
      EXPECT_EQ(cp::headline(naming), "random sparse, mean degree 4.0");
      EXPECT_EQ(naming.rest_bytes, naming.total_bytes);
    }
  }
  for (const std::string family : {"ring", "halo_2d", "halo_3d", "dissemination", "hypercube", "all_to_all"}) {
    EXPECT_FALSE(cp::looks_random(cp::made(family, {{"ranks", "64"}}))) << family;
    EXPECT_FALSE(cp::looks_random(shuffled_matrix(cp::made(family, {{"ranks", "256"}}))) && family != "ring" &&
                 family != "dissemination")
        << family;
  }
}

TEST(Superpose, NothingIsNone) {
  EXPECT_EQ(cp::headline(cp::name(cp::Matrix{8, {}})), "none");
  EXPECT_EQ(cp::headline(cp::name(cp::Matrix{1, {{0, 0, 5, 1}}})), "none");
  EXPECT_EQ(cp::headline(cp::name(cp::Matrix{5, {{0, 1, 0, 1}}})), "none");
}

TEST(Sequence, StepsOfACollectiveAreOneAndRepeatsAreFolded) {
  cp::Pattern run{"run", 16, {}};
  const auto add = [&](const std::string& family, cp::Parameters parameters) {
    parameters.push_back({"ranks", "16"});
    const auto part = cp::generate(family, parameters).value();
    run.phases.insert(run.phases.end(), part.phases.begin(), part.phases.end());
  };
  add("binomial_tree", {});
  for (int step = 0; step < 100; ++step) {
    add("halo_3d", {{"dims", "4x2x2"}});
    add("recursive_doubling", {});
  }
  add("dissemination", {});
  add("binomial_tree", {{"direction", "to_root"}, {"root", "3"}});
  const auto steps = cp::name_phases(run);
  EXPECT_EQ(cp::sequence_text(steps),
            "binomial tree from root 0, spans halving; "
            "100 x (3D halo 4x2x2, periodic, faces; recursive doubling of 16 (4D hypercube)); "
            "dissemination of 16; binomial tree to root 3, spans halving");
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_EQ(steps[1].times, 100);
  EXPECT_EQ(steps[1].first, 4U);
  std::size_t phases = 0;
  for (const auto& step : steps) phases += step.phases;
  EXPECT_EQ(phases, run.phases.size());
}

TEST(Sequence, RelabelledStepsAndNoSteps) {
  const auto order = cp::shuffled(16, 4);
  auto run = cp::generate("recursive_doubling", {{"ranks", "16"}}).value();
  for (auto& phase : run.phases) {
    for (auto& message : phase.messages) {
      message.from = order[static_cast<std::size_t>(message.from)];
      message.to = order[static_cast<std::size_t>(message.to)];
    }
  }
  EXPECT_EQ(cp::sequence_text(cp::name_phases(run)), "recursive doubling of 16 (4D hypercube), ranks relabelled");
  EXPECT_EQ(cp::sequence_text(cp::name_phases(cp::Pattern{"idle", 4, {{"idle", {{1, 1, 5, 1}}}}})), "none");
}

TEST(Superpose, FourThousandRanksAreNamed) {
  // How long it takes is measured by `corewise bench recogniser`.
  const auto halo = cp::made("halo_3d", {{"ranks", "4096"}, {"stencil", "faces+edges+corners"}});
  const auto naming = cp::name(shuffled_matrix(halo));
  EXPECT_EQ(cp::headline(naming), "3D halo 16x16x16, periodic, faces+edges+corners, ranks relabelled");
  EXPECT_EQ(naming.components.front().match.degree, 1.0);
}

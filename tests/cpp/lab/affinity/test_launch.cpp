// The post-launch way of setting an affinity: whatever the system's own order, every SPE gets the rank that the
// wanted affinity gives it. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <string>

#include "lab/affinity/launch.hpp"

namespace corewise::lab {
namespace {

TEST(AffinityLaunch, GivesTheWantedAffinityWhateverTheLaunchOrder) {
  DefaultAffinities defaults(3);
  for (int trial = 0; trial < 12; ++trial) {
    const Affinity order = trial == 0 ? Affinity{7, 6, 5, 4, 3, 2, 1, 0} : defaults.next();
    const NamedAffinity& wanted = affinities()[static_cast<std::size_t>(trial) % affinities().size()];
    SCOPED_TRACE(std::to_string(trial) + " " + std::string(wanted.name));
    const auto launch = launch_with_affinity({}, order, wanted.spe_of_rank);
    ASSERT_TRUE(launch.ok()) << launch.status().message();
    ASSERT_EQ(launch.value().spes.size(), 8U);
    for (std::size_t index = 0; index < 8; ++index) {
      const LaunchedSpe& told = launch.value().spes[index];
      EXPECT_EQ(told.spe, order[index]);
      EXPECT_EQ(wanted.spe_of_rank[static_cast<std::size_t>(told.rank)], told.spe);
      EXPECT_EQ(told.neighbour, wanted.spe_of_rank[static_cast<std::size_t>((told.rank + 7) % 8)]);
    }
    EXPECT_GT(launch.value().time_us, 0);
  }
}

TEST(AffinityLaunch, RefusesWhatIsNoPermutation) {
  const auto launch = launch_with_affinity({}, {0, 0, 2, 3, 4, 5, 6, 7}, affinities()[0].spe_of_rank);
  EXPECT_NE(launch.status().message().find("launch_order"), std::string::npos);
}

TEST(AffinityLaunch, RefusesAnSpeThatNobodyMayUse) {
  cell::Parameters ps3;
  ps3.usable[6] = false;
  const auto launch = launch_with_affinity(ps3, {0, 1, 2, 3, 4, 5, 6, 7}, affinities()[0].spe_of_rank);
  ASSERT_FALSE(launch.ok());
  EXPECT_NE(launch.status().message().find("SPE6"), std::string::npos) << launch.status().message();
}

}  // namespace
}  // namespace corewise::lab

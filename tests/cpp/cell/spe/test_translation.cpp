// Translation of addresses: pages in the order of their last use, walks and faults, and what they cost a command.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "cell/spe/mfc.hpp"
#include "cell/spe/spe.hpp"
#include "cell/system.hpp"

namespace corewise::cell {
namespace {

constexpr std::uint64_t kPage = 4096;

/// What a get of 128 bytes from each of these pages takes, one after the other, in core cycles.
std::vector<sim::Time> gets(const Parameters& parameters, const std::vector<int>& pages,
                            TranslationStatistics* statistics = nullptr) {
  System system(parameters);
  const EffectiveAddress memory = system.allocate(8 * kPage, kPage);
  std::vector<sim::Time> took;
  system.run_on_spe(0, "reader", [&](Spu& spu) {
    for (const int page : pages) {
      const sim::Time begin = spu.now();
      spu.mfc_get(0, memory + static_cast<std::uint64_t>(page) * kPage, 128, 0);
      spu.mfc_write_tag_mask(1);
      spu.mfc_read_tag_status_all();
      took.push_back(spu.now() - begin);
    }
  });
  EXPECT_TRUE(system.run().ok());
  if (statistics != nullptr) *statistics = system.spe(0).mfc().translation().statistics();
  return took;
}

/// Times agree but for where in the bus's turn a command comes.
void expect_about(const std::vector<sim::Time>& took, const std::vector<sim::Time>& expected) {
  constexpr double kTurn = 8;
  ASSERT_EQ(took.size(), expected.size());
  for (std::size_t i = 0; i < took.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(took[i]), static_cast<double>(expected[i]), kTurn) << "get " << i;
  }
}

TEST(Translation, TakesNoTimeUnlessItIsModelled) {
  const std::vector<sim::Time> took = gets(Parameters{}, {0, 1, 2, 0});
  expect_about(took, std::vector<sim::Time>(took.size(), took.front()));
}

TEST(Translation, APageThatIsNotAmongTheLastOnesCostsAWalk) {
  Parameters parameters;
  parameters.mfc_tlb_entries = 2;
  parameters.mfc_tlb_miss_cycles = 700;
  const sim::Time free = gets(Parameters{}, {0}).front(), walk = free + 700;
  TranslationStatistics seen;
  // 0 and 1 come in; 0 is used again, so that 2 puts 1 out.
  const std::vector<sim::Time> took = gets(parameters, {0, 1, 0, 2, 0, 1}, &seen);
  expect_about(took, {walk, walk, free, walk, free, walk});
  EXPECT_EQ(seen.misses, 4U);
  EXPECT_EQ(seen.faults, 0U);
}

TEST(Translation, TheFirstUseOfAPageIsAFault) {
  Parameters parameters;
  parameters.mfc_page_fault_cycles = 5000;
  const sim::Time free = gets(Parameters{}, {0}).front();
  TranslationStatistics seen;
  expect_about(gets(parameters, {3, 3, 5, 3}, &seen), {free + 5000, free, free + 5000, free});
  EXPECT_EQ(seen.faults, 2U);
}

/// A command over several pages waits for each.
TEST(Translation, ALongCommandWaitsAtEveryPage) {
  Parameters parameters;
  parameters.mfc_tlb_entries = 1;
  parameters.mfc_tlb_miss_cycles = 100;
  System system(parameters);
  const EffectiveAddress memory = system.allocate(4 * kPage, kPage);
  system.run_on_spe(0, "reader", [memory](Spu& spu) {
    spu.mfc_get(0, memory, 4 * kPage, 0);
    spu.mfc_write_tag_mask(1);
    spu.mfc_read_tag_status_all();
  });
  ASSERT_TRUE(system.run().ok());
  EXPECT_EQ(system.spe(0).mfc().translation().statistics().misses, 4U);
}

/// The two puts of a run in which the first one meets a page that was never used: when each is complete.
std::vector<sim::Time> put_beside_a_fault(std::int64_t hits_under_fault) {
  Parameters parameters;
  parameters.mfc_page_fault_cycles = 50'000;
  parameters.mfc_hits_under_fault = hits_under_fault;
  System system(parameters);
  const EffectiveAddress memory = system.allocate(2 * kPage, kPage);
  std::vector<sim::Time> ends;
  system.run_on_spe(0, "writer", [&](Spu& spu) {
    spu.store(0, std::uint64_t{0x1234});
    spu.mfc_put(0, memory, 128, 2);  // the first page is known from here on
    spu.mfc_write_tag_mask(1U << 2);
    spu.mfc_read_tag_status_all();
    const sim::Time begin = spu.now();
    spu.mfc_put(0, memory + kPage - 128, 256, 0);  // half of it in the second page
    spu.mfc_put(0, memory, 128, 1);
    for (const std::uint32_t tag : {1U, 0U}) {
      spu.mfc_write_tag_mask(1U << tag);
      spu.mfc_read_tag_status_all();
      ends.push_back(spu.now() - begin);
    }
  });
  EXPECT_TRUE(system.run().ok());
  EXPECT_EQ(system.spe(0).mfc().translation().statistics().faults, 2U);
  std::uint64_t written = 0;
  std::memcpy(&written, system.bytes(memory + kPage - 128, sizeof written).data(), sizeof written);
  EXPECT_EQ(written, 0x1234U);
  return ends;
}

TEST(Translation, OtherCommandsGoOnBesideAFaultWhereTheMfcLetsThem) {
  const std::vector<sim::Time> blocking = put_beside_a_fault(0), passing = put_beside_a_fault(1);
  ASSERT_EQ(blocking.size(), 2U);
  ASSERT_EQ(passing.size(), 2U);
  EXPECT_GT(blocking[0], 50'000);
  EXPECT_LT(passing[0], 2'000);
  EXPECT_GT(passing[1], 50'000);
}

}  // namespace
}  // namespace corewise::cell

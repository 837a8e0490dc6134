// The hypervisor on an SPE that programs do not see: what it reads, that runs still end and deadlocks are still
// seen, and what it adds to a page fault. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "cell/memory/target.hpp"
#include "cell/spe/spe.hpp"
#include "cell/system.hpp"

namespace corewise::cell {
namespace {

/// Six SPEs for programs, as on a PS3.
Parameters six_spes() {
  Parameters parameters;
  parameters.usable[6] = parameters.usable[7] = false;
  return parameters;
}
Parameters with_traffic(std::int64_t bytes) {
  Parameters parameters = six_spes();
  parameters.hypervisor_bytes = bytes;
  parameters.hypervisor_interval_cycles = 10'000;
  return parameters;
}

struct Seen {
  Status status;
  std::uint64_t read_bytes = 0;
  sim::Time get_cycles = 0;
};

/// A program that does nothing for 105000 cycles, then reads 16 KB of main memory.
Seen run(const Parameters& parameters) {
  constexpr std::uint32_t kBytes = 16384;
  Seen seen;
  System system(parameters);
  const EffectiveAddress memory = system.allocate(kBytes, 4096);
  system.run_on_spe(0, "reader", [&](Spu& spu) {
    spu.spu_cycles(105'000);
    const sim::Time begin = spu.now();
    spu.mfc_get(0, memory, kBytes, 0);
    spu.mfc_write_tag_mask(1);
    spu.mfc_read_tag_status_all();
    seen.get_cycles = spu.now() - begin;
  });
  seen.status = system.run();
  seen.read_bytes = system.memory(0).controller().statistics().read_bytes - kBytes;
  return seen;
}

TEST(Hypervisor, ReadsOnlyWhenItIsAsked) {
  const Seen quiet = run(six_spes());
  EXPECT_TRUE(quiet.status.ok());
  EXPECT_EQ(quiet.read_bytes, 0U);
}

/// Ten reads before the program's; the run ends with the interval in which the program ended.
TEST(Hypervisor, ReadsAtItsInterval) {
  const Seen busy = run(with_traffic(1024));
  EXPECT_TRUE(busy.status.ok()) << busy.status.message();
  EXPECT_GE(busy.read_bytes, 10U * 1024);
  EXPECT_LE(busy.read_bytes, 11U * 1024);
}

/// Reads that never pause take part of the controller and of the bus.
TEST(Hypervisor, SlowsOthersDownWhenItReadsAllTheTime) {
  Parameters always = with_traffic(16384);
  always.hypervisor_interval_cycles = 1;
  EXPECT_GT(run(always).get_cycles, run(six_spes()).get_cycles);
}

TEST(Hypervisor, ADeadlockIsStillSeen) {
  System system(with_traffic(128));
  system.run_on_spe(0, "waiter", [](Spu& spu) { static_cast<void>(spu.spu_read_in_mbox()); });
  const Status status = system.run();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("waiter"), std::string::npos) << status.message();
}

TEST(Hypervisor, IsOnlyWhereAnSpeIsHiddenAndReadsWholeLines) {
  Parameters all_visible = with_traffic(1024);
  all_visible.usable = Parameters::all_usable();
  EXPECT_EQ(run(all_visible).read_bytes, 0U);
  EXPECT_EQ(with_traffic(100).check().message(),
            "field 'simulation.hypervisor_bytes': found 100, allowed: multiples of 128");
}

/// Four pages of 4 KB, each used for the first time.
TEST(Hypervisor, AddsToPageFaultsAlone) {
  Parameters faults = six_spes();
  faults.mfc_page_fault_cycles = 5000;
  faults.mfc_page_bytes = 4096;
  Parameters beneath = faults;
  beneath.hypervisor_fault_cycles = 15'000;
  EXPECT_NEAR(static_cast<double>(run(beneath).get_cycles - run(faults).get_cycles), 4 * 15'000.0, 100.0);
  beneath.mfc_page_fault_cycles = 0;
  EXPECT_EQ(run(beneath).get_cycles, run(six_spes()).get_cycles);
}

}  // namespace
}  // namespace corewise::cell

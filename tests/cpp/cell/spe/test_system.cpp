// A whole system: the same programs give the same times and events, blocked programs are unwound, a blade's far
// local stores and memories are reached, polled and refused as the near ones. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "cell/spe/spe.hpp"
#include "cell/system.hpp"

namespace corewise::cell {
namespace {

Parameters blade() {
  Parameters parameters;
  parameters.chips = 2;
  return parameters;
}

struct Trace {
  std::vector<sim::Time> times;
  std::uint64_t events = 0;
  bool operator==(const Trace&) const = default;
};

/// All SPEs exchange random transfers with random partners, local stores and memory, and note the time of each.
Trace storm(const Parameters& parameters) {
  System system(parameters);
  Trace trace;
  const EffectiveAddress memory = system.allocate(1 << 20);
  for (int id = 0; id < system.spes(); ++id) {
    system.run_on_spe(id, "storm " + std::to_string(id), [&, id](Spu& spu) {
      Rng rng(static_cast<std::uint64_t>(id) + 7);
      spu.mfc_write_tag_mask(0xFF);
      for (int turn = 0; turn < 30; ++turn) {
        const auto size = static_cast<std::uint32_t>(16 * (1 + rng.below(200)));
        const auto peer = static_cast<int>(rng.below(static_cast<std::uint64_t>(system.spes())));
        const EffectiveAddress ea = rng.below(3) == 0 ? memory + 4096 * rng.below(200) : ls_address(peer) + 131072;
        const auto tag = static_cast<std::uint32_t>(rng.below(8));
        if (rng.below(2) == 0) {
          spu.mfc_get(65536, ea, size, tag);
        } else {
          spu.mfc_put(0, ea, size, tag);
        }
        if (rng.below(4) == 0) (void)spu.mfc_read_tag_status_all();
        trace.times.push_back(spu.now());
      }
      (void)spu.mfc_read_tag_status_all();
      trace.times.push_back(spu.now());
    });
  }
  const Status status = system.run();
  EXPECT_TRUE(status.ok()) << status.message();
  trace.events = system.engine().events();
  return trace;
}

TEST(SpuSystem, TheSameProgramsGiveTheSameTimesAndEvents) {
  Parameters jittered;
  jittered.jitter_seed = 3;
  jittered.mfc_shuffle_seed = 4;
  for (const Parameters& parameters : {Parameters{}, blade(), jittered}) {
    const Trace first = storm(parameters);
    const std::unique_ptr<char[]> moves_the_heap(new char[12345]);
    EXPECT_TRUE(first == storm(parameters));
  }
  EXPECT_FALSE(storm(jittered) == storm(Parameters{}));
}

struct Counted {
  explicit Counted(int& alive) : alive_(alive) { ++alive_; }
  ~Counted() { --alive_; }
  int& alive_;
};

TEST(SpuSystem, BlockedProgramsAreUnwound) {
  int alive = 0, most = 0;
  {
    System system{Parameters{}};
    const auto add = [&](int spe, const std::function<void(Spu&)>& blocks) {
      system.run_on_spe(spe, "blocked", [&, blocks](Spu& spu) {
        const Counted counted(alive);
        const std::vector<int> owned(1000, 1);
        most = std::max(most, alive);
        blocks(spu);
      });
    };
    add(0, [](Spu& spu) { spu.poll(0, 16, [](std::span<const std::byte>) { return false; }); });
    add(1, [](Spu& spu) { (void)spu.spu_read_signal1(); });
    add(2, [](Spu& spu) { (void)spu.spu_read_in_mbox(); });
    add(3, [](Spu& spu) {
      spu.store(64, MfcListElement{1, 16, static_cast<std::uint32_t>(ls_address(1))});
      spu.mfc_putl(0, ls_address(1), 64, 8, 0);
      spu.mfc_write_tag_mask(1);
      (void)spu.mfc_read_tag_status_any();
    });
    add(4, [](Spu& spu) {
      spu.spu_write_out_mbox(1);
      spu.spu_write_out_mbox(1);
    });
    const Status status = system.run();
    EXPECT_EQ(status.code(), Code::invalid_input);
    EXPECT_EQ(status.message().substr(0, 8), "deadlock");
    EXPECT_EQ(alive, 0);
  }
  EXPECT_EQ(most, 5);
}

TEST(SpuSystem, AFaultUnwindsThoseWhoTransfer) {
  int alive = 0;
  System system{Parameters{}};
  system.run_on_spe(0, "transfers", [&](Spu& spu) {
    const Counted counted(alive);
    spu.mfc_write_tag_mask(1);
    for (;;) {
      spu.mfc_get(0, ls_address(1), 16384, 0);
      (void)spu.mfc_read_tag_status_all();
    }
  });
  system.run_on_spe(1, "fails", [&](Spu& spu) {
    const Counted counted(alive);
    spu.spu_cycles(100000);
    spu.mfc_put(1, ls_address(0), 16, 0);
  });
  const std::string message = system.run().message();
  EXPECT_NE(message.find("DMA alignment error: mfc_put"), std::string::npos) << message;
  EXPECT_NE(message.find("program 'fails'"), std::string::npos) << message;
  EXPECT_EQ(alive, 0);
}

TEST(SpuSystem, AnExceptionOfAProgramEndsTheRun) {
  System system{Parameters{}};
  system.run_on_spe(0, "throws", [](Spu& spu) {
    spu.spu_cycles(32);
    throw std::runtime_error("no luck");
  });
  EXPECT_EQ(system.run().message(), "program 'throws' at 10.0 ns: no luck");
}

TEST(SpuSystem, MayBeDestroyedWithoutARun) {
  int alive = 0;
  {
    System system(blade());
    system.run_on_spe(15, "never", [&](Spu&) { const Counted counted(alive); });
  }
  EXPECT_EQ(alive, 0);
}

TEST(SpuSystem, ALimitStopsWhatWouldNotEnd) {
  System system{Parameters{}};
  system.run_on_spe(0, "endless", [](Spu& spu) {
    for (;;) spu.spu_cycles(1000);
  });
  const Status status = system.run(32000);
  EXPECT_EQ(status.message().substr(0, 33), "time limit of 10000.0 ns reached:") << status.message();
}

TEST(SpuSystem, AProgramMayFollowAnotherOnOneSpe) {
  System system{Parameters{}};
  int runs = 0;
  system.run_on_spe(0, "first", [&](Spu&) { ++runs; });
  system.run_on_spe(1, "starter", [&](Spu& spu) {
    spu.spu_cycles(100);
    system.run_on_spe(0, "second", [&](Spu& next) {
      ++runs;
      EXPECT_EQ(next.now(), 100);
    });
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(runs, 2);
}

TEST(SpuSystem, SetsUpAndShowsMemoryAndLocalStores) {
  System system(blade());
  const EffectiveAddress first = system.allocate(1000, 4096, 1);
  const EffectiveAddress second = system.allocate(16, 256, 1);
  EXPECT_EQ(first % 4096, 0u);
  EXPECT_EQ(second % 256, 0u);
  EXPECT_GE(second, first + 1000);
  EXPECT_EQ(system.bytes(first, 1000).size(), 1000u);
  EXPECT_TRUE(system.bytes(second, 1 << 20).empty());
  EXPECT_TRUE(system.bytes(ls_address(3), kLocalStoreBytes + 1).empty());
  EXPECT_TRUE(system.bytes(64, 1).empty());
  EXPECT_EQ(system.bytes(ls_address(15), kLocalStoreBytes).data(), system.spe(15).local_store().data());
}

TEST(SpuSystem, ABladeReachesTheOtherChip) {
  System system(blade());
  const EffectiveAddress near = system.allocate(4096, 128, 0), far = system.allocate(4096, 128, 1);
  std::span<std::byte> words = system.bytes(far, 4096);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::byte>(i * 7);
  system.run_on_spe(0, "chain", [&](Spu& spu) {
    EXPECT_EQ(spu.chip(), 0);
    spu.mfc_write_tag_mask(1);
    spu.mfc_get(0, far, 4096, 0);
    (void)spu.mfc_read_tag_status_all();
    spu.mfc_put(0, ls_address(12) + 8192, 4096, 0);
    (void)spu.mfc_read_tag_status_all();
    spu.store<std::uint32_t>(0x800C, 5);
    spu.mfc_sndsig(0x800C, register_address(12, kSignal1), 0);
    (void)spu.mfc_read_tag_status_all();
  });
  system.run_on_spe(12, "end", [&](Spu& spu) {
    EXPECT_EQ(spu.chip(), 1);
    EXPECT_EQ(spu.spu_read_signal1(), 5u);
    spu.mfc_write_tag_mask(1);
    spu.mfc_put(8192, near, 4096, 0);
    (void)spu.mfc_read_tag_status_all();
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(std::ranges::equal(system.bytes(near, 4096), words));
}

}  // namespace
}  // namespace corewise::cell

// Signals, mailboxes, the decrementer and the polling of the local store, as programs use them.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "cell/spe/spe.hpp"
#include "cell/system.hpp"

namespace corewise::cell {
namespace {

/// The local store address whose low four bits fit signal register 1 or 2 of any SPE.
constexpr LsAddress kWord = 0x10C;

void send(Spu& spu, int to, std::uint32_t offset, std::uint32_t value) {
  spu.store(kWord, value);
  spu.mfc_sndsig(kWord, register_address(to, offset), 0);
  spu.mfc_write_tag_mask(1);
  (void)spu.mfc_read_tag_status_all();
}

TEST(SpuSignals, GatherInOrModeFromSeveralSenders) {
  System system{Parameters{}};
  system.set_signal_mode(7, 1, true);
  for (int sender = 0; sender < 3; ++sender) {
    system.run_on_spe(sender, "sender", [sender](Spu& spu) { send(spu, 7, kSignal1, 1U << sender); });
  }
  system.run_on_spe(7, "receiver", [](Spu& spu) {
    spu.spu_cycles(5000);
    EXPECT_EQ(spu.spu_stat_signal1(), 1u);
    EXPECT_EQ(spu.spu_read_signal1(), 7u);
    EXPECT_EQ(spu.spu_stat_signal1(), 0u);
    EXPECT_EQ(spu.spu_stat_signal2(), 0u);
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
}

TEST(SpuSignals, TheLastOneCountsInOverwriteMode) {
  System system{Parameters{}};
  system.run_on_spe(0, "sender", [](Spu& spu) {
    send(spu, 7, kSignal2, 0xF0);
    send(spu, 7, kSignal2, 0x0F);
  });
  system.run_on_spe(7, "receiver", [](Spu& spu) {
    spu.spu_cycles(5000);
    EXPECT_EQ(spu.spu_read_signal2(), 0x0Fu);
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
}

/// When a signal sent at once is read.
sim::Time signal_read_after(std::int64_t write_cycles) {
  Parameters parameters;
  parameters.signal_write_cycles = write_cycles;
  System system{parameters};
  sim::Time seen = 0;
  system.run_on_spe(0, "sender", [](Spu& spu) { send(spu, 7, kSignal1, 5); });
  system.run_on_spe(7, "receiver", [&seen](Spu& spu) {
    EXPECT_EQ(spu.spu_read_signal1(), 5u);
    seen = spu.now();
  });
  EXPECT_TRUE(system.run().ok());
  return seen;
}

TEST(SpuSignals, TheRegisterTakesItsTimeToBeWritten) {
  EXPECT_EQ(signal_read_after(300), signal_read_after(0) + 300);
}

TEST(SpuSignals, AReadBlocksUntilOneComes) {
  System system{Parameters{}};
  sim::Time sent = 0, seen = 0;
  system.run_on_spe(0, "sender", [&](Spu& spu) {
    spu.spu_cycles(3000);
    sent = spu.now();
    send(spu, 1, kSignal1, 0);  // zero is a signal too
  });
  system.run_on_spe(1, "receiver", [&](Spu& spu) {
    EXPECT_EQ(spu.spu_read_signal1(), 0u);
    seen = spu.now();
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_GT(seen, sent);
  EXPECT_LT(system.engine().to_ns(seen - sent - Parameters{}.signal_write_cycles), 100);
}

TEST(SpuSignals, AFencedSignalComesAfterItsData) {
  System system{Parameters{}};
  system.run_on_spe(0, "sender", [](Spu& spu) {
    for (std::uint32_t i = 0; i < 16384; i += 4) spu.store(65536 + i, i + 1);
    spu.store<std::uint32_t>(kWord, 1);
    spu.mfc_put(65536, ls_address(5) + 65536, 16384, 0);
    spu.mfc_sndsigf(kWord, register_address(5, kSignal1), 0);
    spu.mfc_write_tag_mask(1);
    (void)spu.mfc_read_tag_status_all();
  });
  system.run_on_spe(5, "receiver", [](Spu& spu) {
    (void)spu.spu_read_signal1();
    for (std::uint32_t i = 0; i < 16384; i += 4) ASSERT_EQ(spu.load<std::uint32_t>(65536 + i), i + 1);
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
}

TEST(SpuMailboxes, TakeWordsByDmaAndInOrder) {
  System system{Parameters{}};
  system.run_on_spe(0, "sender", [](Spu& spu) {
    spu.mfc_write_tag_mask(1);
    for (std::uint32_t value = 1; value <= 4; ++value) {
      spu.store(kWord, value);
      spu.mfc_put(kWord, register_address(1, kInMbox), 4, 0);
      (void)spu.mfc_read_tag_status_all();
    }
    // What is left of the other's mailboxes: no word out, no room in, no interrupt word.
    spu.mfc_get(0x114, register_address(1, kMboxStat), 4, 0);
    (void)spu.mfc_read_tag_status_all();
    EXPECT_EQ(spu.load<std::uint32_t>(0x114), 0u);
  });
  system.run_on_spe(1, "receiver", [](Spu& spu) {
    EXPECT_EQ(spu.spu_stat_in_mbox(), 0u);
    spu.spu_cycles(5000);
    EXPECT_EQ(spu.spu_stat_in_mbox(), 4u);
    for (std::uint32_t value = 1; value <= 4; ++value) EXPECT_EQ(spu.spu_read_in_mbox(), value);
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
}

TEST(SpuMailboxes, WordsOutBlockUntilReadByDma) {
  System system{Parameters{}};
  sim::Time second_written = 0, first_read = 0;
  system.run_on_spe(0, "writer", [&](Spu& spu) {
    EXPECT_EQ(spu.spu_stat_out_mbox(), 1u);
    spu.spu_write_out_mbox(77);
    EXPECT_EQ(spu.spu_stat_out_mbox(), 0u);
    spu.spu_write_out_mbox(78);
    second_written = spu.now();
    EXPECT_EQ(spu.spu_stat_out_intr_mbox(), 1u);
    spu.spu_write_out_intr_mbox(5);
    EXPECT_EQ(spu.spu_stat_out_intr_mbox(), 0u);
  });
  system.run_on_spe(1, "reader", [&](Spu& spu) {
    spu.spu_cycles(2000);
    spu.mfc_write_tag_mask(1);
    spu.mfc_get(0x104, register_address(0, kOutMbox), 4, 0);
    (void)spu.mfc_read_tag_status_all();
    first_read = spu.now();
    EXPECT_EQ(spu.load<std::uint32_t>(0x104), 77u);
    spu.mfc_get(0x104, register_address(0, kOutMbox), 4, 0);
    (void)spu.mfc_read_tag_status_all();
    EXPECT_EQ(spu.load<std::uint32_t>(0x104), 78u);
    spu.mfc_get(0x114, register_address(0, kMboxStat), 4, 0);
    (void)spu.mfc_read_tag_status_all();
    EXPECT_EQ(spu.load<std::uint32_t>(0x114), (1U << 16) | (4U << 8));
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_GT(second_written, 2000);
  EXPECT_LT(second_written, first_read);
}

TEST(SpuDecrementer, MeasuresAsTheHardwareDoes) {
  System system{Parameters{}};
  system.run_on_spe(0, "clock", [](Spu& spu) {
    spu.spu_write_decrementer(0xFFFFFFFF);
    const std::uint32_t begin = spu.spu_read_decrementer();
    spu.spu_cycles(3200000);  // 1 ms
    const std::uint32_t end = spu.spu_read_decrementer();
    EXPECT_NEAR(begin - end, 14318, 1);
  });
  EXPECT_TRUE(system.run().ok());
}

/// When a poller that began at time 0 goes on, after a write from outside at `written`.
sim::Time poll_end(sim::Time written, std::uint64_t* events = nullptr) {
  System system{Parameters{}};
  sim::Time end = 0;
  system.run_on_spe(0, "poller", [&](Spu& spu) {
    spu.poll(64, 4, [&](std::span<const std::byte>) { return spu.load<std::uint32_t>(64) == 1; });
    end = spu.now();
  });
  struct Write {
    System* system;
    static void at(void* self, std::uint64_t) {
      const std::uint32_t one = 1;
      static_cast<Write*>(self)->system->spe(0).local_store().write(64, &one, 4);
    }
  } write{&system};
  system.engine().at(written, {&Write::at, &write, 0});
  const Status status = system.run();
  EXPECT_TRUE(status.ok()) << status.message();
  if (events != nullptr) *events = system.engine().events();
  return end;
}

TEST(SpuPoll, KeepsThePhaseOfItsLoop) {
  // The loop samples at 0, 9, 18 ..; the turn that sees the value takes 9 more.
  EXPECT_EQ(poll_end(1), 18);
  EXPECT_EQ(poll_end(9), 18);
  EXPECT_EQ(poll_end(10), 27);
  EXPECT_EQ(poll_end(900), 909);
  EXPECT_EQ(poll_end(901), 918);
}

TEST(SpuPoll, CostsNoEventsWhileNothingIsWritten) {
  std::uint64_t soon = 0, late = 0;
  (void)poll_end(100, &soon);
  (void)poll_end(100000000, &late);
  EXPECT_EQ(soon, late);
  EXPECT_LE(late, 5u);
}

TEST(SpuPoll, IgnoresWritesElsewhere) {
  System system{Parameters{}};
  std::uint64_t looks = 0;
  system.run_on_spe(0, "poller", [&](Spu& spu) {
    spu.poll(256, 4, [&](std::span<const std::byte> seen) {
      ++looks;
      return seen[0] != std::byte{0};
    });
  });
  system.run_on_spe(1, "writer", [&](Spu& spu) {
    spu.store<std::uint32_t>(256, 1);
    spu.mfc_write_tag_mask(1);
    for (int turn = 0; turn < 20; ++turn) {
      spu.mfc_put(4096, ls_address(0) + 4096, 4096, 0);
      (void)spu.mfc_read_tag_status_all();
    }
    spu.mfc_put(256, ls_address(0) + 256, 16, 0);
    (void)spu.mfc_read_tag_status_all();
  });
  const Status status = system.run();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(looks, 2u);
}

}  // namespace
}  // namespace corewise::cell

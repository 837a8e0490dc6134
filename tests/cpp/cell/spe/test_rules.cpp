// Every rule of the hardware, broken by a program: the run ends with an error that names the fault, what was found
// and what is allowed, the program, its line and the simulated time. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <functional>
#include <source_location>
#include <string>

#include "cell/spe/spe.hpp"
#include "cell/system.hpp"

namespace corewise::cell {
namespace {

constexpr EffectiveAddress kThere = ls_address(1);
using Breaks = std::function<void(Spu&)>;

/// The time at which a DMA command's rules are looked at: after six channel writes of two cycles.
constexpr const char* kAfterIssue = "3.8 ns";

std::string error_of(const Breaks& program) {
  System system{Parameters{}};
  system.run_on_spe(0, "culprit", program);
  const Status status = system.run();
  EXPECT_EQ(status.code(), Code::invalid_input);
  return status.message();
}

/// The line of the last call that a program made through at(spu).
unsigned last_line = 0;

Spu& at(Spu& spu, const std::source_location& where = std::source_location::current()) {
  last_line = where.line();
  return spu;
}

/// Checks the whole text; the rule is broken by the program's last call.
void expect_error(const std::string& rule, const char* time, const Breaks& program) {
  const std::string message = error_of(program);
  const std::string end = ", " + std::string(time);
  const std::string middle = "; program 'culprit' at test_rules.cpp:";
  const std::size_t at = message.find(middle);
  ASSERT_NE(at, std::string::npos) << message;
  EXPECT_EQ(message.substr(0, at), rule);
  EXPECT_EQ(message.substr(message.size() - end.size()), end) << message;
  const std::size_t number = at + middle.size();
  EXPECT_EQ(message.substr(number, message.size() - end.size() - number), std::to_string(last_line)) << message;
}

TEST(SpuRules, Sizes) {
  expect_error("DMA alignment error: mfc_put: size 24, allowed: 1, 2, 4, 8 or a multiple of 16 bytes", kAfterIssue,
               [](Spu& spu) { at(spu).mfc_put(0, kThere, 24, 0); });
  expect_error("DMA alignment error: mfc_getf: size 3, allowed: 1, 2, 4, 8 or a multiple of 16 bytes", kAfterIssue,
               [](Spu& spu) { at(spu).mfc_getf(0, kThere, 3, 0); });
  expect_error("invalid DMA command: mfc_getb: size 16400, allowed: at most 16384 bytes in one transfer",
               kAfterIssue, [](Spu& spu) { at(spu).mfc_getb(0, kThere, 16400, 0); });
}

TEST(SpuRules, Alignment) {
  expect_error(
      "DMA alignment error: mfc_put: local store address 0x00008, effective address 0x10000080000, size 16, "
      "allowed: both addresses multiples of 16",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_put(8, kThere, 16, 0); });
  expect_error(
      "DMA alignment error: mfc_putb: local store address 0x00010, effective address 0x10000080008, size 32, "
      "allowed: both addresses multiples of 16",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_putb(16, kThere + 8, 32, 0); });
  expect_error(
      "DMA alignment error: mfc_get: local store address 0x00002, effective address 0x10000080002, size 4, "
      "allowed: both addresses multiples of the size",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_get(2, kThere + 2, 4, 0); });
  expect_error(
      "DMA alignment error: mfc_putf: local store address 0x00008, effective address 0x10000080000, size 8, "
      "allowed: both addresses with equal low 4 bits",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_putf(8, kThere, 8, 0); });
}

TEST(SpuRules, Tags) {
  expect_error("invalid DMA command: mfc_put: tag 32, allowed: 0 .. 31", kAfterIssue,
               [](Spu& spu) { at(spu).mfc_put(0, kThere, 16, 32); });
  expect_error("invalid DMA command: mfc_barrier: tag 99, allowed: 0 .. 31", kAfterIssue,
               [](Spu& spu) { at(spu).mfc_barrier(99); });
}

TEST(SpuRules, LocalStoreEnd) {
  expect_error(
      "local store overrun: mfc_get: 32 bytes at local store address 0x3fff0, allowed: inside 0x00000 .. 0x3ffff",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_get(kLocalStoreBytes - 16, kThere, 32, 0); });
  expect_error(
      "local store overrun: ls: 8 bytes at local store address 0x3fffc, allowed: inside 0x00000 .. 0x3ffff",
      "0.0 ns", [](Spu& spu) { at(spu).store<std::uint64_t>(kLocalStoreBytes - 4, 1); });
  expect_error(
      "local store overrun: ls: 262145 bytes at local store address 0x00000, allowed: inside 0x00000 .. 0x3ffff",
      "3.1 ns", [](Spu& spu) {
        at(spu).spu_cycles(10);
        at(spu).ls(0, kLocalStoreBytes + 1);
      });
}

TEST(SpuRules, EffectiveAddresses) {
  expect_error(
      "MFC data segment error: mfc_get: nothing at effective address 0x00040, allowed: main memory, a local store "
      "or a problem-state register",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_get(0, 64, 16, 0); });
  expect_error(
      "MFC data segment error: mfc_put: 16 bytes at effective address 0x10000400000, allowed: an SPE of this "
      "machine",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_put(0, ls_address(8), 16, 0); });
  expect_error(
      "MFC data segment error: mfc_put: 16 bytes at effective address 0x100000000, allowed: memory that was "
      "allocated",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_put(0, kMemoryBase, 16, 0); });
  expect_error(
      "MFC data segment error: mfc_put: 32 bytes at effective address 0x100000bfff0, allowed: inside one memory or "
      "one local store",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_put(0, kThere + kLocalStoreBytes - 16, 32, 0); });
  expect_error(
      "MFC data storage error: mfc_put: 16 bytes at 0x100000d4000 among the registers of SPE 1, allowed: 4 bytes "
      "of the inbound mailbox or a signal notification register",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_put(0, register_address(1, 0x14000), 16, 0); });
  expect_error(
      "MFC data storage error: mfc_get: 4 bytes at 0x100000d400c among the registers of SPE 1, allowed: 4 bytes of "
      "a mailbox register that can be read",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_get(12, register_address(1, kSignal1), 4, 0); });
}

TEST(SpuRules, HiddenSpesOfAPs3) {
  Parameters parameters;
  parameters.usable[3] = false;
  System system(parameters);
  system.run_on_spe(0, "culprit", [](Spu& spu) { spu.mfc_get(0, ls_address(3), 16, 0); });
  EXPECT_NE(system.run().message().find("allowed: an SPE of this machine"), std::string::npos);
}

void put_element(Spu& spu, std::uint32_t index, EffectiveAddress ea, std::uint32_t size) {
  spu.store(1024 + index * 8, MfcListElement{0, static_cast<std::uint16_t>(size), static_cast<std::uint32_t>(ea)});
}

TEST(SpuRules, Lists) {
  expect_error(
      "invalid DMA command: mfc_putl: list size 12, allowed: a multiple of 8, at most 16384 (2048 elements)",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_putl(0, kThere, 1024, 12, 0); });
  expect_error(
      "invalid DMA command: mfc_getlb: list size 16392, allowed: a multiple of 8, at most 16384 (2048 elements)",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_getlb(0, kThere, 1024, 16392, 0); });
  expect_error("DMA alignment error: mfc_getl: list address 0x00404, allowed: a multiple of 8", kAfterIssue,
               [](Spu& spu) { at(spu).mfc_getl(0, kThere, 1028, 8, 0); });
  expect_error(
      "local store overrun: mfc_getlf: 16 bytes at local store address 0x3fff8, allowed: inside 0x00000 .. 0x3ffff",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_getlf(0, kThere, kLocalStoreBytes - 8, 16, 0); });
}

TEST(SpuRules, ListElements) {
  const auto run = [](Spu& spu, EffectiveAddress ea, std::uint32_t size, LsAddress ls,
                      const std::source_location& where = std::source_location::current()) {
    put_element(spu, 0, kThere, 16);
    put_element(spu, 1, ea, size);
    spu.mfc_putl(ls, kThere, 1024, 16, 5, 0, 0, where);
    spu.mfc_write_tag_mask(32);
    (void)spu.mfc_read_tag_status_all();
  };
  expect_error(
      "DMA alignment error: mfc_putl: list element 1: size 20, allowed: 1, 2, 4, 8 or a multiple of 16 bytes",
      kAfterIssue, [&](Spu& spu) { run(at(spu), kThere, 20, 0); });
  expect_error(
      "invalid DMA command: mfc_putl: list element 1: size 16400, allowed: at most 16384 bytes in one transfer",
      kAfterIssue, [&](Spu& spu) { run(at(spu), kThere, 16400, 0); });
  expect_error(
      "DMA alignment error: mfc_putl: list element 1: local store address 0x00018, effective address "
      "0x10000080008, size 16, allowed: both addresses multiples of 16",
      kAfterIssue, [&](Spu& spu) { run(at(spu), kThere + 8, 16, 0); });
  expect_error(
      "local store overrun: mfc_putl: list element 1: 16 bytes at local store address 0x40000, allowed: inside "
      "0x00000 .. 0x3ffff",
      kAfterIssue, [&](Spu& spu) { run(at(spu), kThere, 16, kLocalStoreBytes - 16); });
  expect_error(
      "MFC data segment error: mfc_putl: list element 1: 16 bytes at effective address 0x10000400000, allowed: an "
      "SPE of this machine",
      kAfterIssue, [&](Spu& spu) { run(at(spu), ls_address(8), 16, 0); });
}

TEST(SpuRules, ListElementsStayWithinFourGigabytes) {
  const Violation found = check_list_element(0, 0x1fffffff0, 32);
  EXPECT_EQ(found.fault, Fault::invalid_command);
  EXPECT_EQ(found.text,
            "32 bytes at effective address 0x1fffffff0, allowed: elements that do not cross a 4 GB boundary");
  EXPECT_FALSE(check_list_element(0, 0x1fffffff0, 16).any());
  EXPECT_FALSE(check_list_element(0, 0x7, 0).any());
}

TEST(SpuRules, Signals) {
  expect_error(
      "DMA alignment error: mfc_sndsig: local store address 0x00100, effective address 0x100000d400c, size 4, "
      "allowed: both addresses with equal low 4 bits",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_sndsig(256, register_address(1, kSignal1), 0); });
  expect_error(
      "DMA alignment error: mfc_sndsigf: local store address 0x0010e, effective address 0x100000d400e, size 4, "
      "allowed: both addresses multiples of the size",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_sndsigf(270, register_address(1, kSignal1) + 2, 0); });
  expect_error(
      "MFC data storage error: mfc_sndsigb: effective address 0x100000c400c, allowed: a signal notification "
      "register",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_sndsigb(268, register_address(1, kInMbox), 0); });
  expect_error(
      "MFC data segment error: mfc_sndsig: 4 bytes at effective address 0x1000045400c, allowed: an SPE of this "
      "machine",
      kAfterIssue, [](Spu& spu) { at(spu).mfc_sndsig(268, register_address(8, kSignal1), 0); });
}

TEST(SpuRules, AtomicLines) {
  const auto at_line = [](Spu& spu, LsAddress ls, EffectiveAddress ea, int kind) {
    switch (kind) {
      case 0:
        at(spu).mfc_getllar(ls, ea);
        break;
      case 1:
        at(spu).mfc_putllc(ls, ea);
        break;
      default:
        at(spu).mfc_putlluc(ls, ea);
        break;
    }
  };
  const char* names[] = {"mfc_getllar", "mfc_putllc", "mfc_putlluc"};
  for (int kind = 0; kind < 3; ++kind) {
    const std::string name = names[kind];
    expect_error("DMA alignment error: " + name +
                     ": local store address 0x00040, effective address 0x100000000, allowed: both multiples of 128",
                 kAfterIssue, [&](Spu& spu) { at_line(spu, 64, kMemoryBase, kind); });
    expect_error("DMA alignment error: " + name +
                     ": local store address 0x00000, effective address 0x100000010, allowed: both multiples of 128",
                 kAfterIssue, [&](Spu& spu) { at_line(spu, 0, kMemoryBase + 16, kind); });
    expect_error("local store overrun: " + name +
                     ": 128 bytes at local store address 0x40000, allowed: inside 0x00000 .. 0x3ffff",
                 kAfterIssue, [&](Spu& spu) { at_line(spu, kLocalStoreBytes, kMemoryBase, kind); });
    expect_error(
        "MFC data storage error: " + name + ": effective address 0x10000080000, allowed: a line of main memory",
        kAfterIssue, [&](Spu& spu) { at_line(spu, 0, kThere, kind); });
    expect_error("MFC data segment error: " + name +
                     ": 128 bytes at effective address 0x100000000, allowed: memory that was allocated",
                 kAfterIssue, [&](Spu& spu) { at_line(spu, 0, kMemoryBase, kind); });
  }
  expect_error(
      "SPU channel misuse: mfc_read_atomic_status: no atomic command was issued, allowed: one read for each "
      "command",
      "0.0 ns", [](Spu& spu) { (void)at(spu).mfc_read_atomic_status(); });
  EXPECT_NE(
      error_of([](Spu& spu) { spu.mfc_putqlluc(0, kMemoryBase + 8, 0); })
          .find("DMA alignment error: mfc_putqlluc: local store address 0x00000, effective address 0x100000008, "
                "allowed: both multiples of 128"),
      std::string::npos);
}

TEST(SpuRules, TagWaits) {
  expect_error(
      "SPU channel misuse: mfc_read_tag_status_all: the tag mask is empty, allowed: at least one tag group to wait "
      "for",
      "0.6 ns", [](Spu& spu) { (void)at(spu).mfc_read_tag_status_all(); });
  expect_error(
      "SPU channel misuse: mfc_read_tag_status_any: the tag mask is empty, allowed: at least one tag group to wait "
      "for",
      "1.2 ns", [](Spu& spu) {
        at(spu).mfc_write_tag_mask(0);
        (void)at(spu).mfc_read_tag_status_any();
      });
}

TEST(SpuRules, StallAcknowledgements) {
  expect_error(
      "SPU channel misuse: mfc_write_list_stall_ack: no list of tag 4 has stalled, allowed: a tag group that "
      "mfc_read_list_stall_status gave",
      "0.6 ns", [](Spu& spu) { at(spu).mfc_write_list_stall_ack(4); });
  expect_error("invalid DMA command: mfc_write_list_stall_ack: tag 40, allowed: 0 .. 31", "0.6 ns",
               [](Spu& spu) { at(spu).mfc_write_list_stall_ack(40); });
}

TEST(SpuRules, Deadlocks) {
  const auto deadlock = [](const std::string& what, const char* time, const Breaks& program) {
    const std::string message = error_of(program);
    EXPECT_EQ(message, std::string("deadlock at ") + time + ": program 'culprit' waits for " + what +
                           " (test_rules.cpp:" + std::to_string(last_line) + ")");
  };
  deadlock("a change of its local store", "0.0 ns",
           [](Spu& spu) { at(spu).poll(0, 16, [](std::span<const std::byte>) { return false; }); });
  deadlock("a signal in register 2", "0.0 ns", [](Spu& spu) { at(spu).spu_read_signal2(); });
  deadlock("a word in its inbound mailbox", "0.0 ns", [](Spu& spu) { at(spu).spu_read_in_mbox(); });
  deadlock("room in its outbound mailbox", "1.2 ns", [](Spu& spu) {
    at(spu).spu_write_out_mbox(1);
    at(spu).spu_write_out_mbox(2);
  });
  deadlock("room in its outbound interrupt mailbox", "1.2 ns", [](Spu& spu) {
    at(spu).spu_write_out_intr_mbox(1);
    at(spu).spu_write_out_intr_mbox(2);
  });
  deadlock("a list that stalls", "0.0 ns", [](Spu& spu) { at(spu).mfc_read_list_stall_status(); });
}

TEST(SpuRules, AStalledListThatNobodyAcknowledgesIsADeadlock) {
  const std::string message = error_of([](Spu& spu) {
    spu.store(1024, MfcListElement{1, 16, static_cast<std::uint32_t>(kThere)});
    spu.mfc_putl(0, kThere, 1024, 8, 2);
    spu.mfc_write_tag_mask(4);
    (void)spu.mfc_read_tag_status_all();
  });
  EXPECT_NE(message.find("program 'culprit' waits for its DMA (tag mask 4)"), std::string::npos) << message;
}

TEST(SpuRules, ProgramsBelongOnUsableSpes) {
  const auto message = [](int spe, int times) {
    Parameters parameters;
    parameters.usable[6] = false;
    System system(parameters);
    for (int i = 0; i < times; ++i) system.run_on_spe(spe, "one", [](Spu& spu) { spu.spu_cycles(1); });
    return system.run().message();
  };
  EXPECT_EQ(message(8, 1), "field 'spe': found 8, allowed: an SPE of this machine that programs may use");
  EXPECT_EQ(message(-1, 1), "field 'spe': found -1, allowed: an SPE of this machine that programs may use");
  EXPECT_EQ(message(6, 1), "field 'spe': found 6, allowed: an SPE of this machine that programs may use");
  EXPECT_EQ(message(5, 2), "field 'spe': found 5, allowed: an SPE on which no other program runs");
  EXPECT_EQ(message(5, 1), "");
}

TEST(SpuRules, ATransferOfNoBytesDoesNothingWhereverItGoes) {
  System system{Parameters{}};
  system.run_on_spe(0, "idle", [](Spu& spu) {
    spu.mfc_put(0, 0x40, 0, 0);
    spu.store(0x100, MfcListElement{.notify = 0, .size = 0, .eal = 0x40});
    spu.mfc_putl(0, 0x40, 0x100, 8, 0);
    spu.mfc_write_tag_mask(1);
    spu.mfc_read_tag_status_all();
  });
  const Status status = system.run();
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(SpuRules, ALongWayOutOfTheLocalStoreIsNotCutShort) {
  Parameters p;
  ASSERT_TRUE(p.set("local_store_read_cycles", 70000).ok());
  System system(p);
  system.run_on_spe(0, "slow", [](Spu& spu) {
    spu.mfc_put(0, kThere, 128, 0);
    spu.mfc_write_tag_mask(1);
    spu.mfc_read_tag_status_all();
    EXPECT_GT(spu.now(), 70000);
  });
  EXPECT_TRUE(system.run().ok());
}

}  // namespace
}  // namespace corewise::cell

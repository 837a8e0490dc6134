// Signals, mailboxes and the decrementer, against values worked out by hand.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <vector>

#include "cell/spe/channels.hpp"
#include "cell/spe/decrementer.hpp"

namespace corewise::cell {
namespace {

TEST(SignalRegister, OverwritesAfterReset) {
  sim::Engine engine(0.3125);
  SignalRegister signal(engine);
  EXPECT_EQ(signal.count(), 0u);
  signal.write(0x5);
  signal.write(0xA);
  EXPECT_EQ(signal.count(), 1u);
  EXPECT_EQ(signal.take(), 0xAu);
  EXPECT_EQ(signal.count(), 0u);
}

TEST(SignalRegister, GathersInOrModeUntilRead) {
  sim::Engine engine(0.3125);
  SignalRegister signal(engine);
  signal.set_or_mode(true);
  signal.write(0x5);
  signal.write(0xA);
  EXPECT_EQ(signal.take(), 0xFu);
  signal.write(0x100);  // the read has emptied it
  EXPECT_EQ(signal.take(), 0x100u);
}

TEST(SignalRegister, AZeroIsASignalToo) {
  sim::Engine engine(0.3125);
  SignalRegister signal(engine);
  signal.write(0);
  EXPECT_EQ(signal.count(), 1u);
}

TEST(Mailbox, KeepsOrderThroughManyTurns) {
  sim::Engine engine(0.3125);
  Mailbox box(engine, 4);
  std::uint32_t written = 0, read = 0;
  for (int turn = 0; turn < 10; ++turn) {
    while (box.space() > 0) box.write(written++);
    EXPECT_EQ(box.count(), 4u);
    for (int taken = 0; taken < 3; ++taken) EXPECT_EQ(box.read(), read++);
  }
}

TEST(Mailbox, AWriteIntoAFullOneReplacesTheLast) {
  sim::Engine engine(0.3125);
  Mailbox box(engine, 4);
  for (std::uint32_t value = 1; value <= 6; ++value) box.write(value);
  EXPECT_EQ(box.count(), 4u);
  EXPECT_EQ(box.read(), 1u);
  EXPECT_EQ(box.read(), 2u);
  EXPECT_EQ(box.read(), 3u);
  EXPECT_EQ(box.read(), 6u);
}

TEST(Mailbox, ReadersAndWritersWaitForEachOther) {
  sim::Engine engine(1.0);
  Mailbox box(engine, 1);
  std::vector<std::uint32_t> got;
  std::vector<sim::Time> when;
  engine.spawn("writer", [&] {
    for (std::uint32_t value = 7; value < 10; ++value) {
      box.wait_for_space(sim::Wait{"space", 0, 0, std::source_location::current()});
      box.write(value);
    }
  });
  engine.spawn("reader", [&] {
    for (int words = 0; words < 3; ++words) {
      engine.sleep(100);
      box.wait_for_word(sim::Wait{"a word", 0, 0, std::source_location::current()});
      got.push_back(box.read());
      when.push_back(engine.now());
    }
  });
  ASSERT_TRUE(engine.run().ok());
  EXPECT_EQ(got, (std::vector<std::uint32_t>{7, 8, 9}));
  EXPECT_EQ(when, (std::vector<sim::Time>{100, 200, 300}));
}

TEST(Decrementer, CountsWithTheTimeBase) {
  Decrementer clock(14318000, 3200000000);
  clock.write(0, 1000);
  EXPECT_EQ(clock.read(0), 1000u);
  // A tick every 3.2e9 / 14.318e6 = 223.49 cycles.
  EXPECT_EQ(clock.read(223), 1000u);
  EXPECT_EQ(clock.read(224), 999u);
  EXPECT_EQ(clock.read(446), 999u);
  EXPECT_EQ(clock.read(447), 998u);
  EXPECT_EQ(clock.read(3200000000), static_cast<std::uint32_t>(1000 - 14318000));
}

TEST(Decrementer, ABitOfATickBeforeTheWriteDoesNotCount) {
  Decrementer clock(14318000, 3200000000);
  clock.write(220, 50);  // the time base ticks at 224, whatever the write
  EXPECT_EQ(clock.read(223), 50u);
  EXPECT_EQ(clock.read(224), 49u);
}

TEST(Decrementer, WrapsAndLastsForDays) {
  Decrementer clock(79800000, 3192000000);  // PS3: 40 cycles a tick
  clock.write(0, 2);
  EXPECT_EQ(clock.read(80), 0u);
  EXPECT_EQ(clock.read(120), 0xFFFFFFFFu);
  const sim::Time day = sim::Time{86400} * 3192000000;
  EXPECT_EQ(clock.ticks(day * 30), std::int64_t{86400} * 30 * 79800000);
  EXPECT_EQ(clock.ticks(day + 39), std::int64_t{86400} * 79800000);
  EXPECT_EQ(clock.ticks(day + 40), std::int64_t{86400} * 79800000 + 1);
}

}  // namespace
}  // namespace corewise::cell

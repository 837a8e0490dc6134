// The engine: time, order, blocking, deadlock, failure; exact times in the manner of a simulator's own traces.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "sim/engine.hpp"

namespace corewise::sim {
namespace {

TEST(Engine, ProgramsSleepAndInterleaveByTimeThenBySpawning) {
  Engine engine(1.0);
  std::vector<std::string> log;
  auto note = [&](const std::string& text) { log.push_back(std::to_string(engine.now()) + " " + text); };
  for (const char* name : {"a", "b"}) {
    engine.spawn(name, [&, name] {
      for (const Time pause : {5, 10}) {
        engine.sleep(pause);
        note(name);
      }
    });
  }
  EXPECT_TRUE(engine.run().ok());
  EXPECT_EQ(log, (std::vector<std::string>{"5 a", "5 b", "15 a", "15 b"}));
}

TEST(Engine, BlockedProgramRunsAtTheTimeOfItsWake) {
  Engine engine(1.0);
  Time woken = -1;
  Process& sleeper = engine.spawn("sleeper", [&] {
    engine.block({"a wake", 0, 0, std::source_location::current()});
    woken = engine.now();
  });
  engine.spawn("waker", [&] {
    engine.sleep(42);
    engine.wake(sleeper);
  });
  EXPECT_TRUE(engine.run().ok());
  EXPECT_EQ(woken, 42);
}

TEST(Engine, DeadlockNamesEveryWaitingProgramWhatAndWhere) {
  Engine engine(0.5);
  engine.spawn("SPE0", [&] { engine.sleep(10); });
  engine.spawn("SPE1", [&] {
    engine.sleep(20);
    engine.block({"tag {} of group {}", 3, 7, std::source_location::current()});
  });
  engine.spawn("server", [&] { engine.block({"requests", 0, 0, std::source_location::current()}); },
               {.background = true});
  const Status status = engine.run();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("deadlock at 10.0 ns"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("program 'SPE1' waits for tag 3 of group 7 (test_engine.cpp:"), std::string::npos)
      << status.message();
  EXPECT_EQ(status.message().find("SPE0"), std::string::npos);
  EXPECT_EQ(status.message().find("server"), std::string::npos);
}

TEST(Engine, BackgroundProgramsMayWaitAtTheEnd) {
  Engine engine(1.0);
  engine.spawn("server", [&] { engine.block({}); }, {.background = true});
  engine.spawn("client", [&] { engine.sleep(1); });
  EXPECT_TRUE(engine.run().ok());
}

TEST(Engine, FailEndsTheRunAndUnwindsEveryProgram) {
  struct Counted {
    int* live;
    explicit Counted(int* count) : live(count) { ++*live; }
    ~Counted() { --*live; }
  };
  Engine engine(1.0);
  int live = 0;
  bool after = false;
  engine.spawn("bad", [&] {
    const Counted here(&live);
    engine.sleep(3);
    engine.fail(invalid_input("rule broken"));
    after = true;
  });
  engine.spawn("other", [&] {
    const Counted here(&live);
    engine.sleep(100);
    after = true;
  });
  EXPECT_EQ(engine.run().message(), "rule broken");
  EXPECT_EQ(engine.now(), 3);
  EXPECT_EQ(live, 0);
  EXPECT_FALSE(after);
}

TEST(Engine, AnExceptionOfAProgramBecomesTheRunsStatus) {
  Engine engine(1.0);
  engine.spawn("thrower", [&] { throw std::runtime_error("no such luck"); });
  EXPECT_EQ(engine.run().message(), "program 'thrower' at 0.0 ns: no such luck");
}

TEST(Engine, TheTimeLimitNamesWhoIsStillAtWork) {
  Engine engine(1.0);
  engine.spawn("poller", [&] {
    while (true) engine.sleep(10);
  });
  const Status status = engine.run(1000);
  EXPECT_NE(status.message().find("time limit of 1000.0 ns"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("'poller'"), std::string::npos) << status.message();
}

TEST(Engine, AProgramMaySpawnAnother) {
  Engine engine(1.0);
  Time begun = -1;
  engine.spawn("parent", [&] {
    engine.sleep(5);
    engine.spawn("child", [&] { begun = engine.now(); });
  });
  EXPECT_TRUE(engine.run().ok());
  EXPECT_EQ(begun, 5);
}

}  // namespace
}  // namespace corewise::sim

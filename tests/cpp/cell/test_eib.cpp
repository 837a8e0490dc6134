// The command phase and the way of a request over the bus: slots of the address concentrator, RETRY, targets that
// answer late, the two concentrators of a blade; times worked out from the parameters by hand.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "base/rng.hpp"
#include "cell/eib.hpp"

namespace corewise::cell {
namespace {

using sim::Time;

struct Store final : BusTarget {
  explicit Store(const Traits& traits) : BusTarget(traits) {}
  void fill(BusRequest& request) override {
    std::memcpy(request.data, bytes.data() + request.ea % 128, request.bytes);
  }
  void arrived(BusRequest& request) override {
    std::memcpy(bytes.data() + request.ea % 128, request.data, request.bytes);
  }
  std::array<std::byte, 128> bytes{};
};

/// Refuses a number of times, then has its data ready late.
struct Slow final : BusTarget {
  explicit Slow(const Traits& traits) : BusTarget(traits) {}
  Answer command(BusRequest& request) override {
    seen.push_back(request.eib->engine().now());
    if (refuse-- > 0) return Answer::retry;
    const Time now = request.eib->engine().now();
    if (request.kind == BusKind::read) request.eib->data_ready(request, now + 500);
    if (request.kind == BusKind::write) request.eib->write_granted(request, now);
    return Answer::accept;
  }
  void fill(BusRequest& request) override { std::memset(request.data, 0x5a, request.bytes); }
  void arrived(BusRequest& request) override { got = request.data[0]; }
  int refuse = 0;
  std::byte got{};
  std::vector<Time> seen;
};

struct Asker final : BusRequester {
  explicit Asker(sim::Engine& on) : engine(on) {}
  void delivered(BusRequest&) override { times.push_back(engine.now()); }
  sim::Engine& engine;
  std::vector<Time> times;
};

class EibTest : public ::testing::Test {
 protected:
  EibTest() { eib.attach(Location::Kind::local_store, 0, near); }

  BusRequest request(BusKind kind, EffectiveAddress ea, int stop = kSpeStop[2]) {
    BusRequest made;
    made.kind = kind;
    made.stop = static_cast<std::uint8_t>(stop);
    made.bytes = 128;
    made.ea = ea;
    made.data = mine.data();
    made.requester = &asker;
    return made;
  }

  /// From the issue to the response, with a free concentrator.
  [[nodiscard]] Time response() const { return parameters.command_send_cycles + parameters.command_snoop_cycles; }
  /// From ready data to the last beat over `hops`, at the first slot of a ring at or after `ready`.
  [[nodiscard]] Time arrival(Time ready, int hops, std::initializer_list<int> rings) const {
    Time cycle = (ready + kBusCycle - 1) / kBusCycle;
    for (;; ++cycle) {
      for (const int ring : rings) {
        if (cycle % parameters.ring_start_period == ring)
          return kBusCycle * (cycle + hops + parameters.packet_beats);
      }
    }
  }

  Parameters parameters;
  sim::Engine engine{0.3125};
  Eib eib{engine, parameters, 0};
  Store near{{kSpeStop[0], false, true, 30}};
  Asker asker{engine};
  std::array<std::byte, 128> mine{};
};

TEST_F(EibTest, AReadTakesItsPhasesOneAfterTheOther) {
  near.bytes.fill(std::byte{7});
  BusRequest read = request(BusKind::read, ls_address(0));
  eib.issue(read, 10);
  ASSERT_TRUE(engine.run().ok());
  // SPE0 (stop 10) to SPE2 (stop 9): downwards, one hop.
  EXPECT_EQ(asker.times, std::vector<Time>{arrival(10 + response() + 30, 1, {2, 3})});
  EXPECT_EQ(mine[127], std::byte{7});
  EXPECT_EQ(eib.rings().stop_load(kSpeStop[0]).sent_bytes, 128U);
}

TEST_F(EibTest, AWriteSendsItsDataAfterTheResponse) {
  mine.fill(std::byte{9});
  BusRequest write = request(BusKind::write, ls_address(0));
  write.bytes = 16;
  write.send_ticks = 40;
  eib.issue(write);
  ASSERT_TRUE(engine.run().ok());
  EXPECT_EQ(asker.times, std::vector<Time>{arrival(response() + 40, 1, {0, 1})}) << "a partial request is as long";
  EXPECT_EQ(near.bytes[15], std::byte{9});
  EXPECT_EQ(near.bytes[16], std::byte{0});
}

TEST_F(EibTest, ARequestToTheOwnStopNeedsNoRing) {
  BusRequest read = request(BusKind::read, ls_address(0), kSpeStop[0]);
  eib.issue(read);
  ASSERT_TRUE(engine.run().ok());
  EXPECT_EQ(asker.times, std::vector<Time>{response() + 30 + 8 * kBusCycle});
  EXPECT_EQ(eib.rings().stop_load(kSpeStop[0]).sent_packets, 0U);
}

TEST_F(EibTest, OneCommandPerBusCycle) {
  std::vector<BusRequest> many(20, request(BusKind::address_only, 0));
  for (BusRequest& one : many) eib.issue(one, 6);
  ASSERT_TRUE(engine.run().ok());
  ASSERT_EQ(asker.times.size(), many.size());
  for (std::size_t i = 0; i < many.size(); ++i) {
    EXPECT_EQ(asker.times[i], 6 + response() + static_cast<Time>(i) * kBusCycle);
  }
  EXPECT_EQ(eib.statistics().commands, 20U);
  EXPECT_EQ(eib.statistics().command_wait_ticks, kBusCycle * 19 * 20 / 2);
}

TEST_F(EibTest, ARefusedCommandIsSentAgainAndPaysTheWholeWayAgain) {
  Slow memory({kStopMic, false, false, 0});
  memory.refuse = 3;
  eib.attach(Location::Kind::memory, 0, memory);
  BusRequest read = request(BusKind::read, kMemoryBase);
  eib.issue(read);
  ASSERT_TRUE(engine.run().ok());
  const Time again = parameters.retry_cycles + response();
  EXPECT_EQ(memory.seen,
            (std::vector<Time>{response(), response() + again, response() + 2 * again, response() + 3 * again}));
  EXPECT_EQ(eib.statistics().retries, 3U);
  // MIC (stop 11) to SPE2 (stop 9): two hops downwards, 500 after the response.
  EXPECT_EQ(asker.times, std::vector<Time>{arrival(memory.seen.back() + 500, 2, {2, 3})});
  EXPECT_EQ(mine[0], std::byte{0x5a});
}

TEST_F(EibTest, ThePolicySaysHowLongARetryWaits) {
  struct Doubling final : RetryPolicy {
    Time delay(const BusRequest& request) override { return Time{3000} << request.retries; }
  } doubling;
  eib.set_retry_policy(&doubling);
  Slow memory({kStopMic, false, false, 0});
  memory.refuse = 2;
  eib.attach(Location::Kind::memory, 0, memory);
  BusRequest write = request(BusKind::write, kMemoryBase);
  mine.fill(std::byte{3});
  eib.issue(write);
  ASSERT_TRUE(engine.run().ok());
  EXPECT_EQ(memory.seen, (std::vector<Time>{response(), 2 * response() + 6000, 3 * response() + 18000}));
  EXPECT_EQ(memory.got, std::byte{3});
}

TEST_F(EibTest, GlobalCommandsGoThroughTheFirstChipsConcentratorAndBack) {
  CommandSlots ac0(parameters.command_interval_cycles);
  Eib first(engine, parameters, 0, &ac0), second(engine, parameters, 1, &ac0);
  BusRequest near_one = request(BusKind::address_only, 0), far_one = request(BusKind::address_only, 0);
  first.issue(near_one);
  second.issue(far_one);
  ASSERT_TRUE(engine.run().ok());
  EXPECT_EQ(asker.times, (std::vector<Time>{response() + 2 * parameters.global_command_cycles,
                                            response() + 2 * parameters.global_crossing_cycles}));
  EXPECT_EQ(first.statistics().global_commands, 1U);
}

TEST_F(EibTest, KnowsWhoAnswers) {
  EXPECT_EQ(eib.target_of(ls_address(0)), &near);
  EXPECT_EQ(eib.target_of(register_address(0, kSignal1)), &near);
  EXPECT_EQ(eib.target_of(ls_address(1)), nullptr);
  EXPECT_EQ(eib.target_of(kMemoryBase), nullptr);
  EXPECT_EQ(eib.target_of(64), nullptr);
}

// Against a set of slots: taken ahead of time in any order, the first free one at or after the asked time.
TEST(CommandSlots, AreTheFirstFreeOnes) {
  Rng rng(4);
  for (const Time interval : {1, 2, 5}) {
    CommandSlots slots(interval);
    std::set<Time> taken;
    Time now = 0;
    for (int i = 0; i < 8000; ++i) {
      // By turns more requests than slots, and fewer.
      now += interval * static_cast<Time>(rng.below(i % 2000 < 1000 ? 2 : 9));
      if (rng.below(1000) == 0) now += 100000;
      taken.erase(taken.begin(), taken.lower_bound(now / interval - 64));
      const Time when = now + static_cast<Time>(rng.below(200));
      Time expected = (when + interval - 1) / interval;
      while (taken.count(expected) != 0) ++expected;
      taken.insert(expected);
      ASSERT_EQ(slots.take(when, now), expected * interval) << i;
    }
  }
}

TEST(CommandSlots, AreTakenOnceHoweverFarAhead) {
  Rng rng(5);
  CommandSlots slots(1);
  std::set<Time> taken;
  Time now = 0;
  for (int i = 0; i < 20000; ++i) {
    now += static_cast<Time>(rng.below(12));
    taken.erase(taken.begin(), taken.lower_bound(now - 64));
    const Time when = now + (rng.below(3) == 0 ? 5000 : 3500) + static_cast<Time>(rng.below(1500));
    Time expected = when;
    while (taken.count(expected) != 0) ++expected;
    taken.insert(expected);
    ASSERT_EQ(slots.take(when, now), expected) << i;
  }
}

TEST_F(EibTest, RequestsToTheOwnStopShareItsPort) {
  std::vector<BusRequest> many(8, request(BusKind::read, ls_address(0), kSpeStop[0]));
  for (BusRequest& one : many) eib.issue(one);
  ASSERT_TRUE(engine.run().ok());
  ASSERT_EQ(asker.times.size(), many.size());
  // A packet of eight beats each: 128 bytes in 16 cycles are 25.6 GB/s.
  for (std::size_t i = 0; i < many.size(); ++i) {
    EXPECT_EQ(asker.times[i], response() + 30 + static_cast<Time>(i + 1) * 8 * kBusCycle);
  }
}

}  // namespace
}  // namespace corewise::cell

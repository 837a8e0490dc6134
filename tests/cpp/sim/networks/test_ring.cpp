// Ring machines on a RingBus: times computed by hand, and which rings it serves.
// SPDX-License-Identifier: BSD-3-Clause
#include "network_fixtures.hpp"
#include "sim/networks/ring.hpp"

namespace corewise::sim {
namespace {

constexpr Time kNs = kTicksPerNs;

// 16 bytes per ns and ring, one hop per ns: a packet of 128 bytes holds a stop for 8 ns. With one ring per
// direction the clockwise ring starts packets at even cycles, the other at odd ones.

TEST(RingNetwork, OnePacketClockwiseTakesItsHopsAndItsBytes) {
  const Load load(ring_of(8, 1), Granularity::packet, {{0, 3, 128, 0}});
  EXPECT_EQ(load.sent[0].end, (3 + 8) * kNs);
  EXPECT_EQ(load.network->unit_statistics()[0].waiting, 0);
}

TEST(RingNetwork, AMessageOfNoByteTakesTheLatencyAlone) {
  const Load load(ring_of(8, 1), Granularity::packet, {{0, 1, 12800, 0}, {0, 3, 0, 0}, {2, 2, 0, 0}});
  EXPECT_EQ(load.sent[1].end, 3 * kNs) << "not behind the packets of its port";
  EXPECT_EQ(load.network->alone(0, 3, 0), 3 * kNs);
  EXPECT_EQ(load.sent[2].end, 0);
  EXPECT_EQ(load.network->unit_statistics()[0].waiting, 0);
}

TEST(RingNetwork, TheOtherWayWaitsForItsSlot) {
  const Load load(ring_of(8, 1), Granularity::packet, {{0, 6, 128, 0}});
  EXPECT_EQ(load.sent[0].end, (1 + 2 + 8) * kNs);
  EXPECT_EQ(load.network->unit_statistics()[0].waiting, 1 * kNs);
}

TEST(RingNetwork, AMessageIsATrainOfPackets) {
  const auto ring = ring_of(8, 2);
  const Load load(ring, Granularity::packet, {{0, 3, 1000, 0}});
  EXPECT_EQ(load.sent[0].end, (3 + 8 * 8) * kNs);  // 7 packets of 128 and one of 104, which takes as long
  EXPECT_EQ(load.sent[0].end, load.network->alone(0, 3, 1000));
  const auto links = load.network->link_statistics();
  for (const char* name : {"cw:s0>s1", "cw:s1>s2", "cw:s2>s3"}) {
    EXPECT_EQ(links[link_index(ring, name)].packets, 8U) << name;
    EXPECT_EQ(links[link_index(ring, name)].bytes, 1000U) << name;
    EXPECT_EQ(links[link_index(ring, name)].busy, 64 * kNs / 2) << name;  // one of two rings
  }
  EXPECT_EQ(links[link_index(ring, "cw:s0>s1")].largest_queue, 8);
  EXPECT_EQ(links[link_index(ring, "cw:s3>s4")].packets, 0U);
  EXPECT_EQ(links[link_index(ring, "ccw:s1>s0")].packets, 0U);
}

TEST(RingNetwork, MessagesOfAStopTakeTurnsAtItsPort) {
  // Two messages of 16 packets in opposite directions and one port: 32 packets of 8 ns. Four of the first are in
  // the bus's queue before the second is sent, then they alternate; a change to the down ring's odd slots or back
  // costs a cycle or two.
  const Load load(ring_of(8, 1), Granularity::packet, {{0, 1, 2048, 0}, {0, 7, 2048, 0}});
  EXPECT_GE(load.sent[1].end, (32 * 8 + 1) * kNs);
  EXPECT_LE(load.sent[1].end, (32 * 8 + 1 + 32) * kNs);
  EXPECT_LT(load.sent[0].end, load.sent[1].end);
  EXPECT_LE(load.sent[1].end - load.sent[0].end, 2 * (8 + 1) * kNs);
}

TEST(RingNetwork, OverlappingWaysShareARing) {
  // 0 to 2 and 1 to 3 share the way from 1 to 2 on the one clockwise ring: 16 packets after each other. The second
  // sender is a hop closer, so its packets follow the other's tail.
  const Load load(ring_of(8, 1), Granularity::packet, {{0, 2, 1024, 0}, {1, 3, 1024, 0}});
  const Time last = std::max(load.sent[0].end, load.sent[1].end);
  EXPECT_GE(last, (16 * 8 + 2) * kNs);
  EXPECT_LE(last, (16 * 8 + 2 + 32) * kNs);
  const Load apart(ring_of(8, 1), Granularity::packet, {{0, 2, 1024, 0}, {4, 6, 1024, 0}});
  EXPECT_EQ(apart.sent[0].end, (8 * 8 + 2) * kNs);
  EXPECT_EQ(apart.sent[1].end, (2 + 8 * 8 + 2) * kNs);  // the ring starts one packet at a time: the next slot
}

TEST(RingNetwork, RandomLoadsArriveWholeAndNoFasterThanAlone) {
  for (const auto& ring : {ring_of(8, 1), ring_of(9, 2), ring_of(12, 2)}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const Load load(ring, Granularity::packet, random_load(ring, seed, 200, 3000, 100 * kNs));
      ASSERT_NE(dynamic_cast<const RingNetwork*>(load.network.get()), nullptr);
      expect_conservation(ring, load);
      for (const Sent& one : load.sent) {
        EXPECT_GE(one.end - one.start, load.network->alone(one.from, one.to, one.bytes));
      }
    }
  }
}

TEST(RingNetwork, TheSameLoadGivesTheSameTimes) {
  const auto ring = ring_of(8, 2);
  const auto sent = random_load(ring, 5, 300, 5000, 50 * kNs);
  const Load first(ring, Granularity::packet, sent);
  const Load second(ring, Granularity::packet, sent);
  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(first.sent[i].end, second.sent[i].end);
}

TEST(RingNetwork, ServesRingsWhoseTrainsAreLongerThanTheWay) {
  const NetworkParameters usual;
  EXPECT_TRUE(RingNetwork::fits(ring_of(12, 2), usual));   // 8 cycles, 6 + 2 needed
  EXPECT_FALSE(RingNetwork::fits(ring_of(14, 2), usual));  // 9 needed
  EXPECT_TRUE(RingNetwork::fits(ring_of(14, 2), {256, 4}));
  EXPECT_FALSE(RingNetwork::fits(ring_of(12, 5), usual));
  EXPECT_FALSE(RingNetwork::fits(ring_of(12, 1, "clockwise"), usual));
  EXPECT_TRUE(RingNetwork::fits(ring_of(11, 1, "clockwise"), usual));  // no half-way pair
  EXPECT_FALSE(RingNetwork::fits(small_tree(), usual));
}

}  // namespace
}  // namespace corewise::sim

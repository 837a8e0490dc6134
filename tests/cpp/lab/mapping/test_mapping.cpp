// Paper 002's ring on simulated SPEs: packets arrive whole, a repeat found is a repeat simulated, the ring and its
// reflection are one program. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "effort.hpp"
#include "lab/mapping/recurrence.hpp"
#include "lab/mapping/ring.hpp"

namespace corewise::lab {
namespace {

using test::effort;
using test::runs_long;

RingExperiment experiment_of(int tasks) {
  RingExperiment experiment;
  experiment.machine.memory_refresh_interval_cycles = 0;
  experiment.machine.rest_after_packets = 0;
  experiment.spe_of_thread.resize(static_cast<std::size_t>(tasks));
  std::iota(experiment.spe_of_thread.begin(), experiment.spe_of_thread.end(), 0);
  experiment.task_of_thread = experiment.spe_of_thread;
  return experiment;
}

RingTiming timed(const RingExperiment& experiment) {
  auto timing = time_ring(experiment);
  EXPECT_TRUE(timing.ok()) << timing.status().message();
  return timing.ok() ? std::move(timing).value() : RingTiming{};
}

/// Layouts and directions, one after the other.
std::vector<RingExperiment> variants(int tasks) {
  std::vector<RingExperiment> all(8, experiment_of(tasks));
  all[1].bidirectional = false;
  all[2].layout.entry_bytes = 32;
  all[2].layout.row_bytes = 256;
  all[3].layout.separate_acknowledgements = true;
  all[4].layout.notify_local_store = true;
  all[5].layout.notify_local_store = true;
  all[5].layout.separate_acknowledgements = true;
  all[6].layout.entry_bytes = 8;  // two rows to a line
  all[6].layout.row_bytes = 64;
  all[7].layout.entry_bytes = 4;  // four
  all[7].layout.row_bytes = 32;
  return all;
}

TEST(Mapping, PacketsArriveWholeInEveryLayoutAndSize) {
  std::int64_t checked = 0;
  for (const std::uint32_t bytes : {512U, 1024U, 2048U}) {
    for (RingExperiment experiment : variants(6)) {
      SCOPED_TRACE(bytes);
      experiment.packet_bytes = bytes;
      experiment.task_of_thread = mapping_at(6, 77);
      experiment.most_rounds = 23;
      experiment.check_packets = true;
      const RingTiming timing = timed(experiment);
      checked += timing.packets_checked;
      EXPECT_EQ(timing.packets_damaged, 0);
      EXPECT_GE(timing.rounds, 1);
    }
  }
  EXPECT_GT(checked, 18);
}

TEST(Mapping, EveryTaskGoesRoundWithItsNeighbours) {
  // A task cannot have sent more than its neighbours let it: at any time it is at most a ring's packets ahead.
  RingExperiment experiment = experiment_of(8);
  experiment.most_rounds = 40;
  experiment.find_repeat = false;
  const RingTiming timing = timed(experiment);
  for (const auto& sent : timing.sent) {
    EXPECT_GE(sent.size(), 2U * (40 - 8));
    EXPECT_LE(sent.size(), 2U * (40 + 8));
    EXPECT_TRUE(std::is_sorted(sent.begin(), sent.end()));
  }
}

/// The n-th packet that comes round from one side was created by the task n + 1 places further that way.
void expect_serial_order(const RingTiming& timing, const std::vector<int>& ring, int thread_at, int side,
                         bool bidirectional) {
  const int tasks = static_cast<int>(ring.size());
  const auto thread_of = [&](int place) { return ring[static_cast<std::size_t>((place % tasks + tasks) % tasks)]; };
  int n = 0;
  for (const ReceivedPacket& packet : timing.received[static_cast<std::size_t>(thread_of(thread_at))]) {
    if (packet.from != thread_of(thread_at + side)) continue;
    ++n;
    const int maker = thread_at + side * n;
    ASSERT_EQ(packet.maker, thread_of(maker)) << "packet " << n << " of place " << thread_at;
    // It went the other way from its maker: to the neighbour at -side.
    const bool lower = thread_of(maker - side) < thread_of(maker + side);
    ASSERT_EQ(packet.direction, bidirectional && lower ? 0 : 1);
  }
  EXPECT_GT(n, tasks) << "more than once round";
}

TEST(Mapping, PacketsGoRoundTheRingOfTasksBothWaysAndOneWay) {
  // T_i executes task pi(i). pi = [0 2 4 5 3 1] is not its own inverse: task 1 is on T5, task 2 on T1, 3 on T4, ..
  const std::vector<int> pi = {0, 2, 4, 5, 3, 1};
  const std::vector<int> ring = {0, 5, 1, 4, 2, 3};
  for (const bool bidirectional : {true, false}) {
    for (RingExperiment experiment : variants(6)) {
      SCOPED_TRACE(bidirectional ? "both ways" : "one way");
      SCOPED_TRACE(experiment.layout.entry_bytes);
      experiment.bidirectional = bidirectional;
      experiment.task_of_thread = pi;
      experiment.most_rounds = 20;
      // With four rows in a line polls without a pause refuse nearly every write to it.
      if (experiment.layout.entry_bytes == 4) experiment.costs.pause_cycles = 4000;
      experiment.find_repeat = false;
      experiment.trace_packets = true;
      const RingTiming timing = timed(experiment);
      ASSERT_EQ(timing.received.size(), 6U);
      EXPECT_EQ(timing.packets_per_round, bidirectional ? 2 : 1);
      for (int place = 0; place < 6; ++place) {
        expect_serial_order(timing, ring, place, -1, bidirectional);
        if (bidirectional) expect_serial_order(timing, ring, place, +1, true);
      }
      for (std::size_t place = 0; place < 6; ++place) {
        for (const ReceivedPacket& packet : timing.received[static_cast<std::size_t>(ring[place])]) {
          const bool left = packet.from == ring[(place + 5) % 6];
          EXPECT_TRUE(left || (bidirectional && packet.from == ring[(place + 1) % 6])) << packet.from;
        }
      }
    }
  }
}

TEST(Mapping, WhatIsDrawnIsNeverTakenForARepeat) {
  RingExperiment experiment = experiment_of(6);
  experiment.layout.notify_local_store = true;
  experiment.most_rounds = 400;
  ASSERT_TRUE(timed(experiment).repeats());
  for (int draw = 0; draw < 6; ++draw) {
    RingExperiment jittered = experiment;
    jittered.seed = static_cast<std::uint64_t>(draw) + 1;
    if (draw % 2 == 0) jittered.jitter_cycles = 1;
    if (draw % 2 == 1) jittered.machine.jitter_seed = draw;
    const RingTiming timing = timed(jittered);
    EXPECT_FALSE(timing.repeats()) << draw;
    EXPECT_EQ(timing.rounds, 400);
    EXPECT_EQ(timing.all_sent(1'000'000), -1);
  }
}

TEST(Mapping, ExtrapolationIsIdenticalToTheSimulation) {
  Rng rng(5);
  int found = 0;
  int turn = 0;  // the draw that a variant runs every time; the others are long
  for (int tasks = 6; tasks <= effort(8, 6); tasks += 2) {
    for (const RingExperiment& variant : variants(tasks)) {
      const int only = turn++ % effort(3, 1);
      for (int draw = 0; draw < effort(3, 1); ++draw) {
        if (draw != only && !runs_long()) continue;
        RingExperiment experiment = variant;
        const auto index = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(mapping_count(tasks))));
        SCOPED_TRACE(std::to_string(tasks) + " tasks, mapping " + std::to_string(index));
        experiment.task_of_thread = mapping_at(tasks, index);
        experiment.packet_bytes = 512U << draw;
        experiment.machine.retry_cycles = 60 + 40 * draw;
        experiment.costs.pause_cycles = 25 * draw;
        experiment.most_rounds = 400;
        const RingTiming predicted = timed(experiment);
        if (!predicted.repeats()) continue;
        ++found;
        experiment.find_repeat = false;
        experiment.most_rounds = predicted.rounds + 3 * predicted.period_rounds + 20;
        const RingTiming simulated = timed(experiment);
        for (std::size_t thread = 0; thread < simulated.sent.size(); ++thread) {
          const auto& times = simulated.sent[thread];
          ASSERT_GT(times.size(), predicted.sent[thread].size());
          for (std::size_t n = 1; n <= times.size(); ++n) {
            ASSERT_EQ(predicted.sent_by(static_cast<int>(thread), static_cast<std::int64_t>(n)), times[n - 1])
                << "transmission " << n << " of thread " << thread << ", repeat from " << predicted.first_round
                << " after " << predicted.period_rounds;
          }
        }
      }
    }
  }
  EXPECT_GE(found, effort(runs_long() ? 12 : 4, 2));  // of 36, 12 or 6: else the test says nothing
}

TEST(Mapping, ReflectedRingIsTheSameProgram) {
  Rng rng(9);
  for (int tasks : effort({6, 8}, {6})) {
    for (RingExperiment experiment : variants(tasks)) {
      if (!experiment.bidirectional) continue;
      const auto index = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(mapping_count(tasks))));
      SCOPED_TRACE(index);
      experiment.task_of_thread = mapping_at(tasks, index);
      experiment.most_rounds = 60;
      const RingTiming one = timed(experiment);
      experiment.task_of_thread = reflected(experiment.task_of_thread);
      const RingTiming other = timed(experiment);
      EXPECT_EQ(one.sent, other.sent);
      EXPECT_EQ(one.period_cycles, other.period_cycles);
      EXPECT_EQ(one.events, other.events);
    }
  }
}

TEST(Mapping, SameSeedSameTimesOtherSeedOtherTimes) {
  RingExperiment experiment = experiment_of(6);
  experiment.jitter_cycles = 100;
  experiment.start_skew_cycles = 2000;
  experiment.find_repeat = false;
  experiment.most_rounds = 50;
  const RingTiming first = timed(experiment), again = timed(experiment);
  EXPECT_EQ(first.sent, again.sent);
  experiment.seed = 2;
  EXPECT_NE(first.sent, timed(experiment).sent);
}

TEST(Mapping, IndicesAreInLexicographicOrder) {
  for (int tasks = 3; tasks <= 7; ++tasks) {
    std::vector<int> mapping(static_cast<std::size_t>(tasks));
    std::iota(mapping.begin(), mapping.end(), 0);
    std::int64_t index = 0;
    do {
      ASSERT_EQ(mapping_at(tasks, index), mapping);
      ASSERT_EQ(mapping_index(mapping), index);
      ++index;
    } while (std::next_permutation(mapping.begin() + 1, mapping.end()));
    EXPECT_EQ(index, mapping_count(tasks));
  }
  EXPECT_EQ(mapping_count(6), 120);
  EXPECT_EQ(mapping_count(8), 5040);
  EXPECT_EQ(reflected({0, 2, 4, 5, 3, 1}), (std::vector<int>{0, 4, 2, 1, 3, 5}));
}

TEST(Mapping, WrongInputIsNamed) {
  RingExperiment experiment = experiment_of(6);
  experiment.task_of_thread = {0, 1, 2, 3, 4, 4};
  EXPECT_NE(time_ring(experiment).status().message().find("task_of_thread"), std::string::npos);
  experiment = experiment_of(6);
  experiment.packet_bytes = 1000;
  EXPECT_NE(time_ring(experiment).status().message().find("packet_bytes"), std::string::npos);
  experiment = experiment_of(6);
  experiment.layout.row_bytes = 64;
  EXPECT_NE(time_ring(experiment).status().message().find("row_bytes"), std::string::npos);
  experiment = experiment_of(6);
  experiment.spe_of_thread[1] = 0;
  EXPECT_NE(time_ring(experiment).status().message().find("spe_of_thread"), std::string::npos);
  experiment = experiment_of(6);
  experiment.costs.scan_cycles = -1;
  EXPECT_NE(time_ring(experiment).status().message().find("scan_cycles"), std::string::npos);
  experiment = experiment_of(6);
  experiment.costs.pause_cycles = -100;
  EXPECT_NE(time_ring(experiment).status().message().find("pause_cycles"), std::string::npos);
}

TEST(Mapping, PollingThatTakesNoTimeIsRefused) {
  RingExperiment experiment = experiment_of(6);
  experiment.layout.notify_local_store = true;
  experiment.costs.scan_cycles = 0;
  experiment.most_rounds = 3;
  EXPECT_NE(time_ring(experiment).status().message().find("pause_cycles"), std::string::npos);
  experiment.costs.pause_cycles = 1;
  EXPECT_GE(timed(experiment).rounds, 1);
  experiment.costs.pause_cycles = 0;
  experiment.layout.notify_local_store = false;  // its DMA takes time
  EXPECT_GE(timed(experiment).rounds, 1);
}

TEST(StateRepeat, FindsTheFirstEqualState) {
  StateRepeat repeat;
  EXPECT_FALSE(repeat.add({1, 2, 3}).has_value());
  EXPECT_FALSE(repeat.add({1, 2}).has_value());
  EXPECT_FALSE(repeat.add({3, 2, 1}).has_value());
  EXPECT_EQ(repeat.add({1, 2}), 1U);
  EXPECT_EQ(repeat.add({1, 2, 3}), 0U);
  EXPECT_FALSE(repeat.add({}).has_value());
}

TEST(Mapping, ARingThatStandsStillIsGivenUpWithALowerBound) {
  RingExperiment experiment = experiment_of(6);
  experiment.machine.retry_cycles = 1'000'000;  // a refused command costs more than a round may take
  experiment.most_rounds = 10;
  const auto timing = time_ring(experiment);
  ASSERT_TRUE(timing.ok()) << timing.status().message();
  EXPECT_TRUE(timing.value().stalled);
  EXPECT_LT(timing.value().rounds, 10);
  EXPECT_EQ(timing.value().stopped_at, 10 * kMostCyclesPerRound);
  EXPECT_GT(timing.value().cycles_per_round(), 140'000);
}

}  // namespace
}  // namespace corewise::lab

// The pairwise-exchange barrier between real threads and processes: nobody leaves before the last has entered, for
// every size, with ranks that arrive late at random, over many rounds. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <vector>

#include "base/rng.hpp"
#include "coll/barrier/pairwise_exchange.hpp"
#include "effort.hpp"
#include "ranks.hpp"

namespace corewise::shm {
namespace {

using Barrier = coll::barrier::PairwiseExchange<ShmPort>;

constexpr std::array kSizes = {1, 2, 3, 4, 5, 7, 8, 11, 12, 16};

port::Layout layout_for(int ranks) {
  return {0, Barrier::lines_needed(ranks), 0, 0};
}

/// Late by nothing, a moment, a turn of the scheduler, or longer than a whole barrier takes.
void arrive_late(Rng& rng) {
  switch (rng.below(8)) {
    case 0:
      std::this_thread::yield();
      break;
    case 1:
      std::this_thread::sleep_for(std::chrono::microseconds(rng.below(40)));
      break;
    case 2:
      for (std::uint64_t spins = rng.below(400); spins > 0; --spins) relax();
      break;
    default:
      break;
  }
}

/// What all ranks see: how many barriers each has entered.
struct Entered {
  alignas(kPaddingBytes) std::uint32_t count;
};

/// Runs `rounds` barriers and counts how often this rank got out before another had come in, or another was more
/// than one barrier ahead.
int violations(ShmPort& port, Entered* entered, std::uint32_t rounds, port::Sequence last) {
  Barrier barrier(port, {0}, 0, last);
  Rng rng(static_cast<std::uint64_t>(port.rank() + 1000 * port.size()));
  int wrong = 0;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    arrive_late(rng);
    std::atomic_ref(entered[port.rank()].count).store(round, std::memory_order_relaxed);
    barrier();
    for (int other = 0; other < port.size(); ++other) {
      const std::uint32_t seen = std::atomic_ref(entered[other].count).load(std::memory_order_relaxed);
      if (seen < round || seen > round + 1) ++wrong;
    }
  }
  return wrong;
}

TEST(ShmBarrier, NobodyLeavesBeforeTheLastHasEntered) {
  const std::uint32_t shorter = test::runs_long() ? 1 : 4;
  for (const int ranks : kSizes) {
    SCOPED_TRACE(ranks);
    const testing::Job job(ranks, layout_for(ranks));
    std::vector<Entered> entered(static_cast<std::size_t>(ranks), Entered{0});
    std::vector<int> wrong(static_cast<std::size_t>(ranks), -1);
    testing::run_threads(ranks, [&](int rank) {
      ShmPort port(job.segment, rank);
      wrong[static_cast<std::size_t>(rank)] =
          violations(port, entered.data(), (ranks <= 4 ? 4000 : 600) / shorter, 0);
    });
    EXPECT_EQ(wrong, std::vector<int>(static_cast<std::size_t>(ranks), 0));
  }
}

TEST(ShmBarrier, HoldsBetweenProcesses) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    SCOPED_TRACE(ranks);
    const testing::Job job(ranks, layout_for(ranks));
    const Mapping shared = Mapping::anonymous(sizeof(Entered) * static_cast<std::size_t>(ranks)).value();
    testing::run_processes(ranks, [&](int rank) {
      ShmPort port(job.segment, rank);
      return violations(port, reinterpret_cast<Entered*>(shared.block().data()), 500, 0) == 0;
    });
  }
}

TEST(ShmBarrier, GoesOnAcrossTheWrapOfItsNumber) {
  constexpr port::Sequence kLast = 0xFFFFFFFF - 100;
  for (const int ranks : {2, 3, 8}) {
    SCOPED_TRACE(ranks);
    const testing::Job job(ranks, layout_for(ranks));
    std::vector<Entered> entered(static_cast<std::size_t>(ranks), Entered{0});
    std::vector<int> wrong(static_cast<std::size_t>(ranks), -1);
    for (int rank = 0; rank < ranks; ++rank) {
      ShmPort port(job.segment, rank);
      for (std::uint32_t i = 0; i < port.layout().lines16; ++i) port.put_line(rank, port::Line16{i}, kLast, {}, 0);
    }
    testing::run_threads(ranks, [&](int rank) {
      ShmPort port(job.segment, rank);
      wrong[static_cast<std::size_t>(rank)] = violations(port, entered.data(), 300, kLast);
    });
    EXPECT_EQ(wrong, std::vector<int>(static_cast<std::size_t>(ranks), 0));
  }
}

/// What was written before a barrier is read after it by plain loads; the thread sanitizer watches.
TEST(ShmBarrier, OrdersPlainMemory) {
  for (const int ranks : {2, 3, 5, 8}) {
    SCOPED_TRACE(ranks);
    const testing::Job job(ranks, layout_for(ranks));
    std::vector<int> plain(static_cast<std::size_t>(ranks), 0);
    std::vector<int> wrong(static_cast<std::size_t>(ranks), 0);
    testing::run_threads(ranks, [&](int rank) {
      ShmPort port(job.segment, rank);
      Barrier barrier(port);
      for (int round = 1; round <= 300; ++round) {
        plain[static_cast<std::size_t>(rank)] = round;
        barrier();
        for (const int seen : plain) wrong[static_cast<std::size_t>(rank)] += seen == round ? 0 : 1;
        barrier();
      }
    });
    EXPECT_EQ(wrong, std::vector<int>(static_cast<std::size_t>(ranks), 0));
  }
}

/// The check itself can fail: a barrier that leaves out its last exchange is caught.
TEST(ShmBarrier, TheCheckCatchesABarrierThatWaitsForTooFew) {
  const testing::Job job(4, layout_for(4));
  std::vector<Entered> entered(4, Entered{0});
  std::atomic<bool> late{false};
  std::atomic<int> early{0};
  testing::run_threads(4, [&](int rank) {
    ShmPort port(job.segment, rank);
    if (rank == 3) {
      while (!late.load()) std::this_thread::yield();
    }
    std::atomic_ref(entered[static_cast<std::size_t>(rank)].count).store(1, std::memory_order_relaxed);
    if (rank <= 1) {  // the first exchange alone: 0 and 1 meet, whatever 2 and 3 do
      port.put_line(1 - rank, port::Line16{0}, 1, {}, 0);
      port::wait_line(port, port::Line16{0}, 1);
      if (std::atomic_ref(entered[3].count).load(std::memory_order_relaxed) < 1) ++early;
      if (early.load() == 2) late.store(true);
    }
  });
  EXPECT_EQ(early.load(), 2);
}

}  // namespace
}  // namespace corewise::shm

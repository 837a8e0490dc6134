// One run: `rounds` rounds on `ranks` threads, in each round every contestant in turn does `calls` barriers back to
// back. Prints one line per round: nanoseconds per barrier of each contestant (port, hand-written, and with two
// ranks the bare pair of flags), each timed by rank 0 from one line-up to the next. The order changes from round to
// round.
//
// Usage: bench_port RANKS ROUNDS CALLS. SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

#include "coll/barrier/pairwise_exchange.hpp"
#include "hand_written.hpp"
#include "shm/mapping.hpp"
#include "shm/port.hpp"
#include "shm/segment.hpp"

namespace corewise::bench {
namespace {

using PortBarrier = coll::barrier::PairwiseExchange<shm::ShmPort>;

struct Run {
  int ranks;
  int rounds;
  int calls;
};

/// Everything that the ranks share.
struct Shared {
  explicit Shared(const Run& run)
      : layout{0, PortBarrier::lines_needed(run.ranks), 0, 0},
        mapping(shm::Mapping::anonymous(shm::Segment::bytes(run.ranks, layout)).value()),
        segment(shm::Segment::over(mapping.block(), run.ranks, layout).value()),
        exchange(std::make_unique<Flags[]>(static_cast<std::size_t>(run.ranks))),
        pair(std::make_unique<Flags[]>(static_cast<std::size_t>(run.ranks))) {}

  port::Layout layout;
  shm::Mapping mapping;
  shm::Segment segment;
  std::unique_ptr<Flags[]> exchange;
  std::unique_ptr<Flags[]> pair;
};

/// Each rank on a core of its own, where there are enough.
void pin(const Run& run, [[maybe_unused]] int rank) {
  if (static_cast<unsigned>(run.ranks) > std::thread::hardware_concurrency()) return;
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (int cpu = 0, nth = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || nth++ != rank) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    return;
  }
#endif
}

template <class Barrier>
double time_ns(Barrier& barrier, int calls) {
  barrier();
  const auto start = std::chrono::steady_clock::now();
  for (int call = 0; call < calls; ++call) barrier();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / calls;
}

void run_rank(const Run& run, Shared& shared, int rank) {
  pin(run, rank);
  shm::ShmPort port(shared.segment, rank);
  PortBarrier ours(port);
  HandWrittenExchange theirs(shared.exchange.get(), run.ranks, rank, shm::WaitPolicy::for_ranks(run.ranks));
  const int contestants = run.ranks == 2 ? 3 : 2;
  TwoFlags floor(shared.pair.get(), run.ranks == 2 ? rank : 0);
  for (int round = 0; round < run.rounds; ++round) {
    double ns[3] = {0, 0, 0};
    for (int turn = 0; turn < contestants; ++turn) {
      const int who = (round + turn) % contestants;
      if (who == 0) ns[0] = time_ns(ours, run.calls);
      if (who == 1) ns[1] = time_ns(theirs, run.calls);
      if (who == 2) ns[2] = time_ns(floor, run.calls);
    }
    if (rank == 0) std::printf("%.2f %.2f %.2f\n", ns[0], ns[1], ns[2]);
  }
}

}  // namespace
}  // namespace corewise::bench

int main(int argc, char** argv) {
  using namespace corewise::bench;
  if (argc != 4) return 2;
  const Run run{std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3])};
  if (run.ranks < 2 || (run.ranks & (run.ranks - 1)) != 0 || run.rounds < 1 || run.calls < 1) return 2;
  Shared shared(run);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < run.ranks; ++rank) {
    threads.emplace_back([&run, &shared, rank] { run_rank(run, shared, rank); });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

// The transpose of an n x n matrix of complex doubles by several threads, shared out in every way of ways.hpp, in
// blocks of `granule` rows. In each of `rounds` rounds every way runs once, another one first each time. The first
// line has the ways' names, then follows a line per round with nanoseconds of each.
//
// KIND: uniform; uneven (the last blocks take four times as long as the first); disturbed (other threads take two
// thirds of the first processor; all blocks eight times over, so that the work outlasts the system's time slices);
// loaded (another thread, bound to no processor, works 1 ms of every 10); repeated
// (the same matrix eight times over: what a thread touched may still be in its cache); empty (no work: the sharing
// alone).
//
// Usage: bench_shares KIND N THREADS GRANULE ROUNDS. SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "huge.hpp"
#include "kernels/transpose/transpose.hpp"
#include "team.hpp"
#include "ways.hpp"

namespace corewise::bench {
namespace {

using kernels::Complex;

constexpr int repeats = 8;
constexpr int disturbers = 2;

using Way = std::pair<const char*, std::function<void(Team&, int, const Blocks&)>>;

std::vector<Way> all_ways() {
  return {
      {"static", fixed},
      {"counter", counter},
      {"mutex", mutex_counter},
      {"deques", deques},
      {"flow-static",
       [](Team& team, int blocks, const Blocks& work) { flow(team, blocks, work, overlap::Shares::fixed); }},
      {"flow-dynamic",
       [](Team& team, int blocks, const Blocks& work) { flow(team, blocks, work, overlap::Shares::dynamic); }},
      {"openmp", openmp},
#if defined(COREWISE_TBB)
      {"onetbb", onetbb},
#endif
  };
}

/// Threads that take what they get of the first processor.
class Disturbance {
 public:
  explicit Disturbance(int threads) {
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this] {
        bind(processors()[0]);
        while (!ended_.load(std::memory_order_relaxed)) {
        }
      });
  }
  ~Disturbance() {
    ended_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Disturbance(const Disturbance&) = delete;
  Disturbance& operator=(const Disturbance&) = delete;

 private:
  std::atomic<bool> ended_{false};
  std::vector<std::thread> threads_;
};

/// A thread that the system puts where it likes: busy for 1 ms of every 10.
class Load {
 public:
  explicit Load(bool wanted) {
    if (wanted) thread_ = std::thread([this] { run(); });
  }
  ~Load() {
    ended_ = true;
    if (thread_.joinable()) thread_.join();
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

 private:
  void run() {
    cpu_set_t everywhere;
    CPU_ZERO(&everywhere);
    for (const int cpu : processors()) CPU_SET(cpu, &everywhere);
    pthread_setaffinity_np(pthread_self(), sizeof everywhere, &everywhere);
    while (!ended_.load(std::memory_order_relaxed)) {
      const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
      while (std::chrono::steady_clock::now() < until) {
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(9));
    }
  }

  std::atomic<bool> ended_{false};
  std::thread thread_;
};

struct Job {
  std::string kind;
  std::size_t n = 0;
  std::size_t granule = 0;
  Complex* to = nullptr;
  const Complex* from = nullptr;
  int distinct() const { return static_cast<int>((n + granule - 1) / granule); }
  int blocks() const { return kind == "disturbed" ? repeats * distinct() : distinct(); }

  void block(int number) const {
    if (kind == "empty") return;
    const int index = number % distinct();
    const std::size_t first = static_cast<std::size_t>(index) * granule;
    const int times = kind == "uneven" ? 1 + 4 * index / blocks() : 1;
    for (int i = 0; i < times; ++i)
      kernels::transpose({to + first, n, from + first * n, n, std::min(granule, n - first), n}, kind != "repeated");
  }
};

double time_ns(const Way& way, Team& team, const Job& job) {
  const Blocks work = [&job](int block) { job.block(block); };
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < (job.kind == "repeated" ? repeats : 1); ++i) way.second(team, job.blocks(), work);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

void run(Job job, int threads, int rounds) {
  const Huge from(job.n * job.n * sizeof(Complex)), to(job.n * job.n * sizeof(Complex));
  job.from = from.as<Complex>();
  job.to = to.as<Complex>();
  const std::vector<Way> ways = all_ways();
  Team team(threads);
  std::fill_n(from.as<Complex>(), job.n * job.n, Complex(1, 2));
  for (const Way& way : ways) time_ns(way, team, job);
  for (const Way& way : ways) std::printf("%s ", way.first);
  std::printf("\n");
  const Load load(job.kind == "loaded");
  const Disturbance disturbance(job.kind == "disturbed" ? disturbers : 0);
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> times_ns(ways.size());
    for (std::size_t place = 0; place < ways.size(); ++place) {
      const std::size_t which = (static_cast<std::size_t>(round) + place) % ways.size();
      times_ns[which] = time_ns(ways[which], team, job);
    }
    for (const double each : times_ns) std::printf("%.0f ", each);
    std::printf("\n");
  }
}

}  // namespace
}  // namespace corewise::bench

int main(int count, char** words) {
  if (count != 6) return 2;
  // OpenMP's runtime binds this thread before main where OMP_PROC_BIND is set: all threads would share one
  // processor.
  if (std::strtoul(words[3], nullptr, 10) > corewise::bench::processors().size()) {
    std::fprintf(stderr, "bench_shares: %s threads, but %zu processors for this thread\n", words[3],
                 corewise::bench::processors().size());
    return 1;
  }
  corewise::bench::run({words[1], std::strtoul(words[2], nullptr, 10), std::strtoul(words[4], nullptr, 10)},
                       std::atoi(words[3]), std::atoi(words[5]));
  return 0;
}

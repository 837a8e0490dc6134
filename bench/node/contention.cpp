// What threads that use memory at the same time leave each other. Every thread transposes an n x n matrix of
// complex doubles, or copies it, in memory that it touched first itself. The threads are bound to the first
// processors of an order, as many as a count says. In each of `rounds` rounds every case, an order with a count and
// a kernel, runs once, another one first each time.
//
// The first line has the kernels' names. Then follows a line per round: for every order, count and kernel the
// harmonic mean of the threads' nanoseconds, which gives the bandwidth in sum, and the median thread's. They are
// those of the processor in each thread, so that another program that has it meanwhile does not count.
//
// Usage: contention N ROUNDS COUNTS ORDER [ORDER]; COUNTS and ORDER are numbers with commas between, an order
// has the processors as the operating system counts them. SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "huge.hpp"
#include "kernels/copy/copy.hpp"
#include "kernels/transpose/transpose.hpp"
#include "team.hpp"
#include "words.hpp"

namespace corewise::bench {
namespace {

using kernels::Complex;
using kernels::Transposition;
using Numbers = std::vector<int>;

double processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// One thread's matrices, on pages of its own memory domain.
struct Desk {
  explicit Desk(std::size_t n) : from(n * n * sizeof(Complex)), to(n * n * sizeof(Complex)) {
    std::fill_n(from.as<Complex>(), n * n, Complex(1, 2));
    std::fill_n(to.as<Complex>(), n * n, Complex(0, 0));
  }
  Transposition job(std::size_t n) const { return {to.as<Complex>(), n, from.as<Complex>(), n, n, n}; }

  Huge from, to;
  double took_ns = 0;
};

using Kernel = std::pair<const char*, void (*)(const Transposition&)>;

void copy_by(const char* name, const Transposition& m) {
  kernels::find_copy_kernel(name)->run(m.to, m.from, m.rows * m.columns * sizeof(Complex));
}

void copy_past_the_caches(const Transposition& m) {
  for (const char* name : {"avx512_nt", "avx2_nt"})
    if (kernels::find_copy_kernel(name)->available()) return copy_by(name, m);
  copy_by("memcpy", m);
}

std::array<Kernel, 5> all_kernels() {
  return {{{"blocked", kernels::find_transpose_kernel("blocked")->run},
           {"read-allocate", kernels::find_transpose_kernel("blocked_read_allocate")->run},
           {"streamed", kernels::chosen_transpose(true).run},
           {"memcpy", [](const Transposition& m) { copy_by("memcpy", m); }},
           {"copy-streamed", copy_past_the_caches}}};
}

struct Case {
  Numbers threads;  ///< of the team
  Kernel kernel;
};

class Bench {
 public:
  explicit Bench(std::size_t n) : n_(n), all_(processors()), team_(static_cast<int>(all_.size())) {}

  Numbers threads_of(const Numbers& order, int count) const {
    Numbers threads;
    for (int i = 0; i < count; ++i) {
      const auto at = std::find(all_.begin(), all_.end(), order[static_cast<std::size_t>(i)]);
      threads.push_back(static_cast<int>(at - all_.begin()));
    }
    return threads;
  }

  /// Harmonic mean and median of the threads' times. All begin together.
  std::pair<double, double> time_ns(const Case& one) {
    std::atomic<int> waiting{static_cast<int>(one.threads.size())};
    team_.run([&](int thread) {
      if (std::find(one.threads.begin(), one.threads.end(), thread) == one.threads.end()) return;
      Desk& mine = desk(thread);
      waiting.fetch_sub(1);
      while (waiting.load(std::memory_order_acquire) > 0) std::this_thread::yield();
      const double start_ns = processor_ns();
      one.kernel.second(mine.job(n_));
      mine.took_ns = processor_ns() - start_ns;
    });
    std::vector<double> own;
    double rates = 0;
    for (const int thread : one.threads) {
      own.push_back(desk(thread).took_ns);
      rates += 1 / own.back();
    }
    std::sort(own.begin(), own.end());
    return {static_cast<double>(own.size()) / rates, own[own.size() / 2]};
  }

  /// Every thread that takes part touches its memory.
  void touch(const std::vector<Case>& cases) {
    desks_.resize(all_.size());
    std::vector<bool> takes_part(all_.size(), false);
    for (const Case& one : cases)
      for (const int thread : one.threads) takes_part[static_cast<std::size_t>(thread)] = true;
    team_.run([&](int thread) {
      const auto index = static_cast<std::size_t>(thread);
      if (takes_part[index]) desks_[index] = std::make_unique<Desk>(n_);
    });
  }

 private:
  Desk& desk(int thread) { return *desks_[static_cast<std::size_t>(thread)]; }

  std::size_t n_;
  Numbers all_;
  Team team_;
  std::vector<std::unique_ptr<Desk>> desks_;
};

void run(std::size_t n, int rounds, const Numbers& counts, const std::vector<Numbers>& orders) {
  Bench bench(n);
  std::vector<Case> cases;
  for (const Numbers& order : orders)
    for (const int count : counts)
      for (const Kernel& kernel : all_kernels()) cases.push_back({bench.threads_of(order, count), kernel});
  bench.touch(cases);
  for (const Case& one : cases) bench.time_ns(one);
  for (const Kernel& kernel : all_kernels()) std::printf("%s ", kernel.first);
  std::printf("\n");
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::pair<double, double>> times_ns(cases.size());
    for (std::size_t place = 0; place < cases.size(); ++place) {
      const std::size_t which = (static_cast<std::size_t>(round) + place) % cases.size();
      times_ns[which] = bench.time_ns(cases[which]);
    }
    for (const auto& each : times_ns) std::printf("%.0f %.0f ", each.first, each.second);
    std::printf("\n");
  }
}

}  // namespace
}  // namespace corewise::bench

int main(int count, char** words) {
  if (count < 5) return 2;
  std::vector<std::vector<int>> orders;
  for (int i = 4; i < count; ++i) orders.push_back(corewise::bench::numbers(words[i]));
  corewise::bench::run(std::strtoul(words[1], nullptr, 10), std::atoi(words[2]), corewise::bench::numbers(words[3]),
                       orders);
  return 0;
}

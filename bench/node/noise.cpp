// What the system takes from threads that only compute, one on each of some processors, all at the same time.
//
// fixed-work: every quantum is the same number of steps; printed are the nanoseconds of each.
// fixed-time: every quantum is the same time; printed are the steps that were done in each.
// A step is one pass of a generator of numbers in registers, so nothing waits for memory.
//
// Prints a line per processor. The first number is the nanoseconds of a step alone, the least of many tries.
//
// Usage: noise fixed-work|fixed-time QUANTUM_NS QUANTA PROCESSORS; PROCESSORS are numbers with commas
// between. SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "team.hpp"
#include "words.hpp"

namespace corewise::bench {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

/// So many steps; the result keeps the compiler from leaving them out.
std::uint64_t work(std::uint64_t state, std::int64_t steps) {
  for (std::int64_t i = 0; i < steps; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(state));
  }
  return state;
}

double step_ns() {
  constexpr std::int64_t steps = 20000;
  double best = 1e18;
  for (int i = 0; i < 200; ++i) {
    const std::int64_t start = now_ns();
    work(1, steps);
    best = std::min(best, static_cast<double>(now_ns() - start) / steps);
  }
  return best;
}

struct Plan {
  bool fixed_work = true;
  std::int64_t quantum_ns = 0;
  std::size_t quanta = 0;
};

struct Series {
  double step = 0;
  std::vector<std::int64_t> values;
};

void measure_work(const Plan& plan, Series& found) {
  const auto steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(plan.quantum_ns / found.step));
  std::int64_t begin = now_ns();
  for (std::int64_t& value : found.values) {
    work(1, steps);
    const std::int64_t end = now_ns();
    value = end - begin;
    begin = end;
  }
}

void measure_time(const Plan& plan, Series& found) {
  // A hundredth of a quantum at a time: what is lost between the last and the end is at most that.
  const auto steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(plan.quantum_ns / found.step / 100));
  std::int64_t end = now_ns();
  for (std::int64_t& value : found.values) {
    end += plan.quantum_ns;
    value = 0;
    for (; now_ns() < end; value += steps) work(1, steps);
  }
}

void run(const Plan& plan, const std::vector<int>& cpus) {
  std::vector<Series> all(cpus.size());
  std::atomic<std::size_t> ready{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < cpus.size(); ++i)
    threads.emplace_back([&, i] {
      bind(cpus[i]);
      all[i] = {step_ns(), std::vector<std::int64_t>(plan.quanta, 0)};
      ready.fetch_add(1);
      while (ready.load() < cpus.size()) std::this_thread::yield();
      plan.fixed_work ? measure_work(plan, all[i]) : measure_time(plan, all[i]);
    });
  for (std::thread& thread : threads) thread.join();
  for (const Series& each : all) {
    std::printf("%.4f", each.step);
    for (const std::int64_t value : each.values) std::printf(" %lld", static_cast<long long>(value));
    std::printf("\n");
  }
}

}  // namespace
}  // namespace corewise::bench

int main(int count, char** words) {
  if (count != 5) return 2;
  const bool fixed_work = std::string(words[1]) == "fixed-work";
  corewise::bench::run({fixed_work, std::atoll(words[2]), std::strtoul(words[3], nullptr, 10)},
                       corewise::bench::numbers(words[4]));
  return 0;
}

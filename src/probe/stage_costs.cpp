// Exchanges, and their costs; see stage_costs.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "probe/stage_costs.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "kernels/packing/layout/layout.hpp"
#include "probe/messages.hpp"

namespace corewise::probe {
namespace {

using Clock = std::chrono::steady_clock;
using kernels::PackedBuffer;
using kernels::PackPlan;

constexpr int kSpins = 4000;
constexpr std::size_t kChunk = 8192;  ///< a quarter of the smallest nearest cache that processors have
constexpr std::int64_t kLine = 64;

/// Blocks at a distance; `data` is a line's worth of them.
struct Pattern {
  std::int64_t block, count, stride;
  PackPlan plan() const {
    return PackPlan::compile(kernels::repeat_of(count, stride, kernels::run_of(block)), count * stride);
  }
  double lines() const { return static_cast<double>(block * count) / static_cast<double>(kLine); }
};
constexpr std::array<Pattern, 3> kPatterns{{{64, 256, 128}, {8, 1024, 128}, {8, 1024, 4160}}};

using Way = void (*)(const PackPlan&, const ExchangeSide&, const ExchangeSide&, std::byte*, std::uint64_t);

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Writes to every line that is to be read.
void rewrite(const Pattern& pattern, std::byte* items, std::uint64_t step) {
  for (std::int64_t i = 0; i < pattern.count; ++i) std::memcpy(items + i * pattern.stride, &step, sizeof step);
}

using Costs = kernels::StageCosts::Way;

Costs slower(const Costs& a, const Costs& b) {
  return {std::max(a.data, b.data), std::max(a.line, b.line), std::max(a.page, b.page)};
}

/// What a way costs, from its times per 64 bytes of data: dense, in lines of their own, in pages of their own.
Costs costs_of(double dense, double lines, double pages) {
  // Blocks of 8 bytes: as many lines, or pages, as there are words in a line.
  constexpr double kWords = 8;
  Costs found;
  found.line = std::max(0.0, (lines - dense) / (kWords - 1));
  found.data = std::max(0.0, dense - found.line);
  found.page = std::max(0.0, (pages - lines) / kWords);
  return found;
}

bool bind_this_thread(int processor) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(processor), &only);
  return pthread_setaffinity_np(pthread_self(), sizeof(only), &only) == 0;
}

}  // namespace

void ExchangeFlags::Flag::await(std::uint64_t least) const {
  for (int spin = 0; value.load(std::memory_order_acquire) < least; ++spin)
    if (spin > kSpins) sched_yield();
}

void meet(const ExchangeSide& mine, const ExchangeSide& peer) {
  const std::uint64_t meeting = mine.flags->meetings.fetch_add(1, std::memory_order_relaxed) + 1;
  mine.flags->met.set(meeting);
  peer.flags->met.await(meeting);
}

void exchange_direct(const PackPlan& plan, const ExchangeSide& mine, const ExchangeSide& peer, std::byte* target,
                     std::uint64_t step) {
  mine.flags->ready.set(step);
  peer.flags->ready.await(step);
  copy_items(plan, peer.items, 1, plan, target, 1);
  mine.flags->done.set(step);
  peer.flags->done.await(step);
}

void exchange_staged(const PackPlan& plan, const ExchangeSide& mine, const ExchangeSide& peer, std::byte* target,
                     std::uint64_t step) {
  const auto bytes = static_cast<std::size_t>(plan.size());
  const std::uint64_t base = step << 32U;
  for (std::size_t at = 0; at < bytes; at += kChunk) {
    plan.pack(mine.items, 1, static_cast<std::int64_t>(at), mine.stage + at, std::min(kChunk, bytes - at),
              PackedBuffer::shared);
    mine.flags->packed.set(base + at + 1);
  }
  for (std::size_t at = 0; at < bytes; at += kChunk) {
    peer.flags->packed.await(base + at + 1);
    plan.unpack(target, 1, static_cast<std::int64_t>(at), peer.stage + at, std::min(kChunk, bytes - at));
  }
  mine.flags->done.set(step);
  peer.flags->done.await(step);
}

kernels::StageCosts stage_costs(const ExchangeSide& mine, const ExchangeSide& peer, std::byte* target,
                                std::uint64_t& step, int rounds) {
  const std::array<PackPlan, 3> plans{kPatterns[0].plan(), kPatterns[1].plan(), kPatterns[2].plan()};
  const std::array<Way, 2> ways{exchange_direct, exchange_staged};
  std::array<std::vector<double>, 6> times;
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t turn = 0; turn < times.size(); ++turn) {
      const std::size_t at = (turn + static_cast<std::size_t>(round + 1)) % times.size();
      rewrite(kPatterns[at / 2], mine.items, ++step);
      meet(mine, peer);
      const Clock::time_point start = Clock::now();
      ways[at % 2](plans[at / 2], mine, peer, target, step);
      const double took = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
      if (round >= 0) times[at].push_back(took / kPatterns[at / 2].lines());
      meet(mine, peer);
    }
  }
  kernels::StageCosts found;
  found.direct = costs_of(median(times[0]), median(times[2]), median(times[4]));
  found.stage = costs_of(median(times[1]), median(times[3]), median(times[5]));
  mine.flags->costs = found;
  meet(mine, peer);
  const kernels::StageCosts& theirs = peer.flags->costs;
  const kernels::StageCosts both{slower(found.direct, theirs.direct), slower(found.stage, theirs.stage)};
  meet(mine, peer);  // nobody measures again before both have read
  return both;
}

Result<kernels::StageCosts> measure_stage_costs(int first, int second, int rounds) {
  if (rounds < 1) return bad_field("", "rounds", std::to_string(rounds), "1 and more");
  const std::vector<int> usable = usable_processors();
  for (const int processor : {first, second})
    if (std::ranges::find(usable, processor) == usable.end())
      return bad_field("", "processor", std::to_string(processor), "those that this process may use");
  std::array<ExchangeFlags, 2> flags;
  std::array<std::vector<std::byte>, 2> items, stages;
  std::array<ExchangeSide, 2> sides;
  std::array<kernels::StageCosts, 2> found;
  std::atomic<bool> bound{true};
  const auto measure = [&](std::size_t me, int processor) {
    if (!bind_this_thread(processor)) bound = false;
    std::vector<std::byte> target(kStageCostsItems);
    std::uint64_t step = 0;
    found[me] = stage_costs(sides[me], sides[1 - me], target.data(), step, rounds);
  };
  for (std::size_t side = 0; side < sides.size(); ++side) {
    items[side].resize(kStageCostsItems);
    stages[side].resize(kStageCostsStage);
    sides[side] = {&flags[side], items[side].data(), stages[side].data()};
  }
  // Threads of their own: the caller's binding stays as it is.
  std::thread one(measure, 0, first), other(measure, 1, second);
  one.join();
  other.join();
  if (!bound) return Status(Code::io, "a thread could not be bound to its processor");
  return found[0];
}

}  // namespace corewise::probe

// Lines handed from core to core, and cores that read from each other together.
// SPDX-License-Identifier: BSD-3-Clause
#include "probe/cores.hpp"

#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "probe/threads.hpp"

namespace corewise::probe {
namespace {

constexpr std::uint64_t kMine = 1;
constexpr std::uint64_t kYours = 2;

/// Takes the line as soon as it holds `from`, and hands it back as `to`.
void exchange(Flag& flag, std::uint64_t from, std::uint64_t to) {
  wait_until([&] {
    std::uint64_t expected = from;
    return flag.value.compare_exchange_strong(expected, to, std::memory_order_acq_rel, std::memory_order_relaxed);
  });
}

/// All threads meet; the last to come opens it for the rest.
class Barrier {
 public:
  explicit Barrier(std::size_t threads) : threads_(threads) {}
  void meet(std::uint64_t round) {
    if (come_.value.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_ * round) open_.set(round);
    open_.await(round);
  }

 private:
  std::size_t threads_;
  Flag come_;
  Flag open_;
};

std::vector<int> processors_of(std::span<const Reader> readers) {
  std::vector<int> processors;
  for (const Reader& reader : readers) processors.push_back(reader.processor);
  return processors;
}

Status check(std::span<const Reader> readers, const ReadPlan& plan) {
  if (plan.bytes == 0) return bad_field("", "bytes", "0", "1 and more");
  if (plan.rounds < 1) return bad_field("", "rounds", std::to_string(plan.rounds), "1 and more");
  std::set<int> seen;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    const int from = readers[i].from;
    if (from < -1 || from >= static_cast<int>(readers.size()) || from == static_cast<int>(i))
      return bad_field("", "from", std::to_string(from), "-1, or the index of another reader");
    if (!seen.insert(readers[i].processor).second)
      return bad_field("", "processor", std::to_string(readers[i].processor) + " a second time", "each once");
  }
  return check_processors(processors_of(readers));
}

/// What one of the threads has: bytes that others read, and room for what it reads.
struct Desk {
  explicit Desk(std::size_t bytes) : written(bytes), read(bytes) {}
  Block written;
  Block read;
  std::vector<double> times;
  bool right = true;
};

class Reading {
 public:
  Reading(std::span<const Reader> readers, const ReadPlan& plan)
      : readers_(readers), plan_(plan), barrier_(readers.size()) {
    for (std::size_t i = 0; i < readers.size(); ++i) desks_.push_back(std::make_unique<Desk>(plan.bytes));
  }

  bool has_memory() const {
    for (const auto& desk : desks_)
      if (desk->written.data() == nullptr || desk->read.data() == nullptr) return false;
    return true;
  }

  /// The first round warms up and is not kept.
  void run(std::size_t self) {
    Desk& desk = *desks_[self];
    const int from = readers_[self].from;
    for (int round = 0; round <= plan_.rounds; ++round) {
      const auto stamp = static_cast<int>(static_cast<Byte>(round + 1));
      std::memset(desk.written.data(), stamp, plan_.bytes);
      barrier_.meet(2 * static_cast<std::uint64_t>(round) + 1);
      const Clock::time_point start = Clock::now();
      if (from >= 0)
        std::memcpy(desk.read.data(), desks_[static_cast<std::size_t>(from)]->written.data(), plan_.bytes);
      const double took = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
      if (from >= 0 && desk.read.data()[plan_.bytes - 1] != stamp) desk.right = false;
      if (round > 0) desk.times.push_back(from >= 0 ? took : 0);
      barrier_.meet(2 * static_cast<std::uint64_t>(round) + 2);
    }
  }

  Result<std::vector<std::vector<double>>> times() {
    std::vector<std::vector<double>> all;
    for (const auto& desk : desks_) {
      if (!desk->right) return Status(Code::io, "bytes of another core arrived wrong");
      all.push_back(std::move(desk->times));
    }
    return all;
  }

 private:
  std::span<const Reader> readers_;
  const ReadPlan& plan_;
  Barrier barrier_;
  std::vector<std::unique_ptr<Desk>> desks_;
};

}  // namespace

Result<std::vector<double>> time_exchanges(const ExchangePlan& plan) {
  const int processors[] = {plan.one, plan.other};
  if (Status status = check_processors(processors); !status.ok()) return status;
  if (plan.one == plan.other) return bad_field("", "other", std::to_string(plan.other), "another processor");
  if (plan.samples < 1 || plan.round_trips < 1)
    return bad_field("", "samples", "none", "1 and more, of 1 round trip and more");
  Flag flag;
  flag.set(kMine);
  std::vector<double> values;
  const auto ask = [&] {
    for (int i = 0; i < plan.round_trips; ++i) exchange(flag, kMine, kYours);
    for (int sample = 0; sample < plan.samples; ++sample) {
      const Clock::time_point start = Clock::now();
      for (int i = 0; i < plan.round_trips; ++i) exchange(flag, kMine, kYours);
      const double took = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
      values.push_back(took / (2.0 * plan.round_trips));
    }
  };
  const auto answer = [&] {
    const long trips = static_cast<long>(plan.round_trips) * (plan.samples + 1);
    for (long i = 0; i < trips; ++i) exchange(flag, kYours, kMine);
  };
  const std::function<void()> work[] = {ask, answer};
  if (Status status = run_bound(processors, work); !status.ok()) return status;
  return values;
}

Result<std::vector<std::vector<double>>> time_reads(std::span<const Reader> readers, const ReadPlan& plan) {
  if (Status status = check(readers, plan); !status.ok()) return status;
  Reading reading(readers, plan);
  if (!reading.has_memory()) return Status(Code::io, "no memory for reads of that size");
  std::vector<std::function<void()>> work;
  for (std::size_t i = 0; i < readers.size(); ++i) work.emplace_back([&reading, i] { reading.run(i); });
  if (Status status = run_bound(processors_of(readers), work); !status.ok()) return status;
  return reading.times();
}

}  // namespace corewise::probe

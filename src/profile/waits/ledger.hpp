// Waits, what matching and collectives hand on: sums of waits by where they happened, or, in the pass that puts the
// clocks right, what must have come before what.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "profile/waits/causal.hpp"
#include "profile/waits/preparation.hpp"
#include "profile/waits/waits.hpp"

namespace corewise::profile {

/// Times that are added up, in 1024ths of a nanosecond: sums of whole numbers are the same in any order.
struct SummedTime {
  static constexpr double kUnits = 1024;
  static constexpr double kLongest_ns = 1.8e16;  ///< 208 days, what a sum can hold: no sum is more

  /// Not negative, and rounded down.
  void add(double ns) { add(SummedTime{static_cast<std::uint64_t>(std::min(ns, kLongest_ns) * kUnits)}); }
  void add(const SummedTime& other) {
    units += std::min(other.units, static_cast<std::uint64_t>(kLongest_ns * kUnits) - units);
  }
  [[nodiscard]] double ns() const { return static_cast<double>(units) / kUnits; }

  std::uint64_t units = 0;
};

struct WaitSum {
  std::uint64_t count = 0;
  SummedTime wait;
  double longest_ns = 0;

  void add(const WaitSum& other) {
    count += other.count;
    wait.add(other.wait);
    longest_ns = std::max(longest_ns, other.longest_ns);
  }
};

class WaitLedger {
 public:
  using Key = std::tuple<WaitKind, int, int, std::uint64_t>;  ///< kind, rank, cause, WaitRank::origin

  void add(WaitKind kind, int rank, int cause, std::uint64_t origin, double wait_ns) {
    if (!(wait_ns > 0)) return;
    WaitSum& sum = sums_[{kind, rank, cause, origin}];
    ++sum.count;
    sum.wait.add(wait_ns);
    sum.longest_ns = std::max(sum.longest_ns, wait_ns);
  }

  /// An effect that ended at `end_ns`, in a call from `start_ns` on, needs a cause at `cause_ns`. Durations are
  /// rounded to 27 bits.
  void check(double cause_ns, double start_ns, double end_ns) {
    if (cause_ns > end_ns + 2 + 3e-8 * (end_ns - start_ns)) ++contradictions_;
  }

  [[nodiscard]] const std::map<Key, WaitSum>& sums() const { return sums_; }
  [[nodiscard]] std::uint64_t contradictions() const { return contradictions_; }

 private:
  std::map<Key, WaitSum> sums_;
  std::uint64_t contradictions_ = 0;
};

/// Causes and effects on different nodes; the tightest ones are kept, where there are more than memory for them.
class CauseLedger {
 public:
  explicit CauseLedger(const PreparedWorld& world) : world_(world) {}

  void add(int from_rank, double from_ns, int to_rank, double to_ns) {
    const int from = world_.of(from_rank)->clock.node();
    const int to = world_.of(to_rank)->clock.node();
    if (from == to) return;
    causes_.push_back({from, from_ns, to, to_ns});
    if (causes_.size() < kMost) return;
    const auto middle = causes_.begin() + static_cast<std::ptrdiff_t>(kMost / 2);
    std::nth_element(causes_.begin(), middle, causes_.end(),
                     [](const Cause& a, const Cause& b) { return a.to_ns - a.from_ns < b.to_ns - b.from_ns; });
    causes_.erase(middle, causes_.end());
  }

  std::vector<Cause>& causes() { return causes_; }

 private:
  static constexpr std::size_t kMost = 1 << 21;

  const PreparedWorld& world_;
  std::vector<Cause> causes_;
};

}  // namespace corewise::profile

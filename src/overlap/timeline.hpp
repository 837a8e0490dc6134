// When which thread did what, and how much of the communication was hidden behind work.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace corewise::overlap {

/// Nanoseconds of a steady clock.
inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

enum class Activity : unsigned char {
  work,      ///< a block of work, packing and unpacking among it
  transfer,  ///< from its start until it is done: several may be under way at once
};

struct Span {
  Activity activity = Activity::work;
  int thread = 0;  ///< a worker's number; the communicator's is that of the workers
  int stage = 0;
  int block = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

namespace detail {

/// The time that a set of intervals covers, as intervals that neither touch nor overlap, in order.
using Intervals = std::vector<std::pair<std::int64_t, std::int64_t>>;

inline Intervals covered(const std::vector<Span>& spans, Activity activity) {
  Intervals each;
  for (const Span& span : spans)
    if (span.activity == activity && span.end_ns > span.begin_ns) each.emplace_back(span.begin_ns, span.end_ns);
  std::sort(each.begin(), each.end());
  Intervals joined;
  for (const auto& interval : each) {
    if (!joined.empty() && interval.first <= joined.back().second)
      joined.back().second = std::max(joined.back().second, interval.second);
    else
      joined.push_back(interval);
  }
  return joined;
}

inline std::int64_t length_ns(const Intervals& intervals) {
  std::int64_t sum = 0;
  for (const auto& [begin, end] : intervals) sum += end - begin;
  return sum;
}

inline std::int64_t common_ns(const Intervals& one, const Intervals& other) {
  std::int64_t sum = 0;
  for (std::size_t i = 0, j = 0; i < one.size() && j < other.size();) {
    sum += std::max<std::int64_t>(
        0, std::min(one[i].second, other[j].second) - std::max(one[i].first, other[j].first));
    one[i].second < other[j].second ? ++i : ++j;
  }
  return sum;
}

}  // namespace detail

/// How much of the time during which transfers were under way was spent with work as well, on any thread.
struct Hidden {
  std::int64_t transfer_ns = 0;  ///< during which at least one transfer was under way
  std::int64_t hidden_ns = 0;    ///< of it, with at least one thread at work
  /// 0 to 1; 0 where nothing was transferred.
  double share() const {
    return transfer_ns > 0 ? static_cast<double>(hidden_ns) / static_cast<double>(transfer_ns) : 0.0;
  }
};

inline Hidden hidden(const std::vector<Span>& spans) {
  const auto transfers = detail::covered(spans, Activity::transfer);
  return {detail::length_ns(transfers), detail::common_ns(transfers, detail::covered(spans, Activity::work))};
}

}  // namespace corewise::overlap

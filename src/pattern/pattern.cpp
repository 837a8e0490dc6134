// Checks of a pattern and the arithmetic of its matrix. Keeps the invariant that a matrix is sorted by (from, to)
// with one entry per pair.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/pattern.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace corewise::pattern {
namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

bool before(const Message& a, const Message& b) {
  return std::tie(a.from, a.to) < std::tie(b.from, b.to);
}

/// Totals of bytes and counts so far; refuses the message that would make one wrap.
class Totals {
 public:
  bool add(const Message& message) {
    if (message.bytes > most - bytes_ || message.count > most - count_) return false;
    bytes_ += message.bytes;
    count_ += message.count;
    return true;
  }

 private:
  std::uint64_t bytes_ = 0;
  std::uint64_t count_ = 0;
};

Status check_ranks(int ranks, const std::string& source) {
  if (ranks >= 1 && ranks <= max_ranks) return {};
  return bad_field(source, "ranks", std::to_string(ranks), "an integer from 1 to " + std::to_string(max_ranks));
}

Status check_rank(int rank, int ranks, const std::string& field, const std::string& source) {
  if (rank >= 0 && rank < ranks) return {};
  return bad_field(source, field, "rank " + std::to_string(rank), "a rank from 0 to " + std::to_string(ranks - 1));
}

Status check_messages(const std::vector<Message>& messages, int ranks, const std::string& path, Totals& totals,
                      const std::string& source) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    const std::string field = path + "[" + std::to_string(i) + "]";
    if (auto status = check_rank(message.from, ranks, field + ".from", source); !status.ok()) return status;
    if (auto status = check_rank(message.to, ranks, field + ".to", source); !status.ok()) return status;
    if (!totals.add(message)) {
      return bad_field(source, field, "a total over 64 bits", "bytes and counts whose sums fit in 64 bits");
    }
  }
  return {};
}

}  // namespace

Status check(const Pattern& pattern, const std::string& source) {
  if (auto status = check_ranks(pattern.ranks, source); !status.ok()) return status;
  Totals totals;
  for (std::size_t p = 0; p < pattern.phases.size(); ++p) {
    const std::string path = "phases[" + std::to_string(p) + "].messages";
    auto status = check_messages(pattern.phases[p].messages, pattern.ranks, path, totals, source);
    if (!status.ok()) return status;
  }
  return {};
}

const Message* Matrix::find(int from, int to) const {
  const Message wanted{from, to, 0, 0};
  const auto at = std::lower_bound(entries.begin(), entries.end(), wanted, before);
  return at != entries.end() && at->from == from && at->to == to ? &*at : nullptr;
}

std::uint64_t Matrix::bytes(int from, int to) const {
  const Message* entry = find(from, to);
  return entry != nullptr ? entry->bytes : 0;
}

std::vector<std::uint64_t> Matrix::row_bytes() const {
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(ranks));
  for (const Message& entry : entries) sums[static_cast<std::size_t>(entry.from)] += entry.bytes;
  return sums;
}

std::vector<std::uint64_t> Matrix::column_bytes() const {
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(ranks));
  for (const Message& entry : entries) sums[static_cast<std::size_t>(entry.to)] += entry.bytes;
  return sums;
}

std::uint64_t Matrix::total_bytes() const {
  return std::accumulate(entries.begin(), entries.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Message& entry) { return sum + entry.bytes; });
}

std::uint64_t Matrix::total_messages() const {
  return std::accumulate(entries.begin(), entries.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Message& entry) { return sum + entry.count; });
}

std::vector<std::uint64_t> Matrix::dense_bytes() const {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::uint64_t> cells(n * n);
  for (const Message& entry : entries) {
    cells[static_cast<std::size_t>(entry.from) * n + static_cast<std::size_t>(entry.to)] = entry.bytes;
  }
  return cells;
}

Result<Matrix> Matrix::from_entries(int ranks, std::vector<Message> entries, const std::string& source) {
  if (auto status = check_ranks(ranks, source); !status.ok()) return status;
  Totals totals;
  auto status = check_messages(entries, ranks, "entries", totals, source);
  if (!status.ok()) return status;
  std::sort(entries.begin(), entries.end(), before);
  const auto twice = std::adjacent_find(entries.begin(), entries.end(),
                                        [](const Message& a, const Message& b) { return !before(a, b); });
  if (twice != entries.end()) {
    const std::string pair = "(" + std::to_string(twice->from) + ", " + std::to_string(twice->to) + ")";
    return bad_field(source, "entries", "the pair " + pair + " twice", "each pair once");
  }
  return Matrix{ranks, std::move(entries)};
}

Matrix sum(const Pattern& pattern) {
  std::vector<Message> all;
  for (const Phase& phase : pattern.phases) all.insert(all.end(), phase.messages.begin(), phase.messages.end());
  std::sort(all.begin(), all.end(), before);
  Matrix matrix{pattern.ranks, {}};
  for (const Message& message : all) {
    if (!matrix.entries.empty() && !before(matrix.entries.back(), message)) {
      matrix.entries.back().bytes += message.bytes;
      matrix.entries.back().count += message.count;
    } else {
      matrix.entries.push_back(message);
    }
  }
  return matrix;
}

Pattern as_pattern(const Matrix& matrix, std::string name) {
  return {std::move(name), matrix.ranks, {Phase{"all", matrix.entries}}};
}

}  // namespace corewise::pattern

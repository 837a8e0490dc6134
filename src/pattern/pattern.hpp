// Pattern: who sends how many bytes to whom, in ordered phases. A matrix is a pattern with its phases summed.
// Plain data: no machine, no time, no MPI.
//
// Contract: the functions here are pure; those that can refuse return Status or Result with one message that names
// `source`. Sums never wrap, because `check` (and every reader and generator) refuses a pattern whose bytes or
// message counts do not fit in 64 bits together. Message order inside a phase carries no meaning.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace corewise::pattern {

/// More than any machine has cores; keeps a mistyped number from asking for the memory of 2^31 ranks.
inline constexpr int max_ranks = 1 << 24;

/// `count` messages of together `bytes` bytes from rank `from` to rank `to`.
struct Message {
  int from = 0;
  int to = 0;
  std::uint64_t bytes = 0;
  std::uint64_t count = 1;

  friend bool operator==(const Message&, const Message&) = default;
};

struct Phase {
  std::string name;
  std::vector<Message> messages;

  friend bool operator==(const Phase&, const Phase&) = default;
};

struct Pattern {
  std::string name;
  int ranks = 0;
  std::vector<Phase> phases;

  friend bool operator==(const Pattern&, const Pattern&) = default;
};

/// Ranks from 1 to max_ranks; every message between existing ranks, from != to is not required (a self message is
/// legal); the totals of bytes and of counts fit in 64 bits. `source` names the pattern's origin in the error.
Status check(const Pattern& pattern, const std::string& source = {});

/// Sum of all phases; entries sorted by (from, to), one per pair, zero-byte messages kept.
struct Matrix {
  int ranks = 0;
  std::vector<Message> entries;

  /// The entry of a pair, nullptr where nothing is sent. Logarithmic in the number of entries.
  [[nodiscard]] const Message* find(int from, int to) const;
  /// Bytes of a pair, 0 where nothing is sent.
  [[nodiscard]] std::uint64_t bytes(int from, int to) const;
  /// Bytes sent by each rank.
  [[nodiscard]] std::vector<std::uint64_t> row_bytes() const;
  /// Bytes received by each rank.
  [[nodiscard]] std::vector<std::uint64_t> column_bytes() const;
  [[nodiscard]] std::uint64_t total_bytes() const;
  [[nodiscard]] std::uint64_t total_messages() const;
  /// ranks * ranks values, row (sender) by row.
  [[nodiscard]] std::vector<std::uint64_t> dense_bytes() const;

  /// Sorts; refuses what `check` refuses, and a pair that is given twice.
  static Result<Matrix> from_entries(int ranks, std::vector<Message> entries, const std::string& source = {});

  friend bool operator==(const Matrix&, const Matrix&) = default;
};

/// Requires a pattern that passes `check`.
Matrix sum(const Pattern& pattern);

/// The matrix as a pattern of one phase called "all".
Pattern as_pattern(const Matrix& matrix, std::string name);

}  // namespace corewise::pattern

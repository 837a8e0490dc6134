// Pattern: who sends how many bytes to whom, in ordered phases. A matrix is a pattern with its phases summed.
// Plain data: no machine, no time, no MPI.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace corewise::pattern {

/// `count` messages of together `bytes` bytes from rank `from` to rank `to`.
struct Message {
  int from = 0;
  int to = 0;
  std::uint64_t bytes = 0;
  std::uint64_t count = 1;
};

struct Phase {
  std::string name;
  std::vector<Message> messages;
};

struct Pattern {
  std::string name;
  int ranks = 0;
  std::vector<Phase> phases;
};

/// Ranks at least 1; every message between existing ranks, from != to is not required (a self message is legal).
/// `source` names the pattern's origin in the error.
Status check(const Pattern& pattern, const std::string& source = {});

/// Sum of all phases; entries sorted by (from, to), one per pair, zero-byte messages kept.
struct Matrix {
  int ranks = 0;
  std::vector<Message> entries;
};

Matrix sum(const Pattern& pattern);

}  // namespace corewise::pattern

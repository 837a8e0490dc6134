// The transfers of paper 000: the eleven experiments of its Table 1 on physical SPEs, the six patterns of its
// Table 2 on thread ranks, and the four collective operations made of such phases.
//
// Contract: pure data. A flow is written as the paper writes it: `to` gets from `from`.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lab/affinity/affinity.hpp"

namespace corewise::lab {

/// `to` gets data from `from`.
struct Flow {
  int to = 0;
  int from = 0;

  friend bool operator==(const Flow&, const Flow&) = default;
};

/// One experiment of Table 1; its numbers are physical SPEs.
struct Experiment {
  std::string_view id;  ///< A1 .. A10, A11a, A11b; A7p is #7 as printed
  std::string_view idea;
  std::vector<Flow> flows;
  int trials = 3;  ///< 8 where the paper's variance was high, else 3
};

std::span<const Experiment> table1();

/// One pattern of Table 2; its numbers are ranks.
struct StepPattern {
  std::string_view id;  ///< B1 .. B6
  std::string_view name;
  std::string_view title;
  std::vector<Flow> flows;
};

std::span<const StepPattern> table2();

/// Bytes that one rank gets in one phase of a collective operation, and where they lie in both ranks' buffers.
struct Piece {
  Flow flow;
  std::uint32_t from_offset = 0;
  std::uint32_t to_offset = 0;
  std::uint32_t bytes = 0;
};

/// A collective operation: in every phase a rank gets at most one piece.
struct Collective {
  std::string_view id;  ///< B7 .. B10
  std::string_view name;
  std::string_view title;
  std::uint32_t buffer_bytes = 0;
  std::vector<std::vector<Piece>> phases;
};

/// broadcast (binomial, 128 KB), scatter (binomial, largest message 64 KB), all_gather_bruck and
/// all_gather_recursive_doubling (largest message 64 KB). Paper 000, section 5. A KB is 1024 bytes, as in its
/// bandwidths.
std::span<const Collective> collectives();

const Collective* find_collective(std::string_view name);

/// Bytes that all ranks get together in one operation.
std::uint64_t total_bytes(const Collective& operation);

/// The flows with every rank replaced by its SPE.
std::vector<Flow> placed(std::span<const Flow> flows, const Affinity& spe_of_rank);

}  // namespace corewise::lab

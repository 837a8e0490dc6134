// The tables of paper 000 as data, and its collective operations built from phases.
// SPDX-License-Identifier: BSD-3-Clause
#include "lab/affinity/transfers.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace corewise::lab {
namespace {

constexpr std::uint32_t kKb = 1024;
constexpr int kRanks = cell::kSpesPerChip;

/// Both ways between every rank and the one `distance` (a power of two) away.
std::vector<Flow> exchange(int distance) {
  std::vector<Flow> flows;
  for (int rank = 0; rank < kRanks; ++rank) flows.push_back({rank, rank ^ distance});
  return flows;
}

/// Every rank gets from the one `distance` further on.
std::vector<Flow> shift(int distance) {
  std::vector<Flow> flows;
  for (int rank = 0; rank < kRanks; ++rank) flows.push_back({rank, (rank + distance + kRanks) % kRanks});
  return flows;
}

/// One phase of the binomial tree from rank 0: whoever has data serves the rank `distance` above.
std::vector<Flow> tree_phase(int distance) {
  std::vector<Flow> flows;
  for (int rank = 0; rank < kRanks; rank += 2 * distance) flows.push_back({rank + distance, rank});
  return flows;
}

/// The receiver heads a subtree of `distance` ranks whose pieces travel together.
std::vector<Piece> tree_pieces(int distance, std::uint32_t rank_bytes, bool whole_buffer) {
  std::vector<Piece> pieces;
  for (const Flow& flow : tree_phase(distance)) {
    const std::uint32_t offset = whole_buffer ? 0 : static_cast<std::uint32_t>(flow.to) * rank_bytes;
    const std::uint32_t bytes = whole_buffer ? rank_bytes : static_cast<std::uint32_t>(distance) * rank_bytes;
    pieces.push_back({flow, offset, offset, bytes});
  }
  return pieces;
}

Collective tree(std::string_view id, std::string_view name, std::string_view title, std::uint32_t rank_bytes,
                bool whole_buffer) {
  Collective made{id, name, title, whole_buffer ? rank_bytes : kRanks * rank_bytes, {}};
  for (const int distance : {4, 2, 1}) made.phases.push_back(tree_pieces(distance, rank_bytes, whole_buffer));
  return made;
}

/// Every phase doubles what a rank holds: it gets all that its source holds and appends it.
Collective all_gather(std::string_view id, std::string_view name, std::string_view title,
                      const std::array<std::vector<Flow>, 3>& phases) {
  Collective made{id, name, title, 128 * kKb, {}};
  std::uint32_t held = 16 * kKb;
  for (const std::vector<Flow>& flows : phases) {
    std::vector<Piece> pieces;
    for (const Flow& flow : flows) pieces.push_back({flow, 0, held, held});
    made.phases.push_back(std::move(pieces));
    held *= 2;
  }
  return made;
}

}  // namespace

std::span<const Experiment> table1() {
  static const std::vector<Experiment> experiments = {
      {"A1", "a single message", {{6, 4}}, 3},
      {"A2", "two messages in one direction", {{2, 0}, {6, 4}}, 3},
      {"A3", "three messages in one direction, no overlap", {{2, 0}, {5, 7}, {6, 4}}, 3},
      {"A4", "four messages in one direction, no overlap", {{1, 3}, {2, 0}, {5, 7}, {6, 4}}, 8},
      {"A5", "five messages in one direction, no overlap", {{0, 1}, {1, 3}, {2, 0}, {5, 7}, {6, 4}}, 8},
      {"A6", "one SPE is source and destination", {{2, 0}, {4, 2}}, 3},
      {"A7", "four one way, one the other way", {{1, 3}, {2, 0}, {5, 7}, {6, 4}, {7, 1}}, 8},
      {"A7p", "#7 as printed: three one way, two the other way", {{1, 3}, {0, 2}, {5, 7}, {6, 4}, {7, 1}}, 8},
      {"A8", "two overlapping messages in one direction", {{4, 2}, {6, 0}}, 3},
      {"A9", "three overlapping messages in one direction", {{5, 4}, {6, 0}, {7, 2}}, 8},
      {"A10", "five messages half way across", {{0, 7}, {1, 6}, {3, 4}, {5, 2}, {7, 0}}, 8},
      {"A11a", "two of three half way across", {{3, 4}, {5, 2}, {6, 0}}, 3},
      {"A11b", "two of three half way across, the third turned round", {{3, 4}, {5, 2}, {0, 6}}, 3},
  };
  return experiments;
}

std::span<const StepPattern> table2() {
  static const std::vector<StepPattern> patterns = {
      {"B1", "ring", "ring", shift(-1)},
      {"B2", "recursive_doubling_1", "recursive doubling, phase 1", exchange(1)},
      {"B3", "recursive_doubling_2", "recursive doubling, phase 2", exchange(2)},
      {"B4", "recursive_doubling_3", "recursive doubling, phase 3", exchange(4)},
      {"B5", "bruck_2", "Bruck all-gather, phase 2", shift(2)},
      {"B6", "binomial_tree_3", "binomial tree, phase 3", tree_phase(1)},
  };
  return patterns;
}

std::span<const Collective> collectives() {
  static const std::vector<Collective> operations = {
      tree("B9", "broadcast", "broadcast, binomial tree, 128 KB", 128 * kKb, true),
      tree("B10", "scatter", "scatter, binomial tree, largest message 64 KB", 16 * kKb, false),
      all_gather("B7", "all_gather_bruck", "all-gather, Bruck", {shift(-1), shift(2), exchange(4)}),
      all_gather("B8", "all_gather_recursive_doubling", "all-gather, recursive doubling",
                 {exchange(1), exchange(2), exchange(4)}),
  };
  return operations;
}

const Collective* find_collective(std::string_view name) {
  const std::span<const Collective> all = collectives();
  const auto found = std::ranges::find(all, name, &Collective::name);
  return found == all.end() ? nullptr : &*found;
}

std::uint64_t total_bytes(const Collective& operation) {
  std::uint64_t bytes = 0;
  for (const std::vector<Piece>& phase : operation.phases) {
    for (const Piece& piece : phase) bytes += piece.bytes;
  }
  return bytes;
}

std::vector<Flow> placed(std::span<const Flow> flows, const Affinity& spe_of_rank) {
  std::vector<Flow> on_spes;
  for (const Flow& flow : flows) {
    on_spes.push_back(
        {spe_of_rank[static_cast<std::size_t>(flow.to)], spe_of_rank[static_cast<std::size_t>(flow.from)]});
  }
  return on_spes;
}

}  // namespace corewise::lab

// Waits, first step: what is known of a world before its records are read. Ranks with their clocks and procedures,
// communicators that all members agree on, and which ranks cannot be believed.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "profile/procedures.hpp"
#include "profile/waits/alignment.hpp"
#include "trace/reader.hpp"

namespace corewise::profile {

inline constexpr std::uint32_t kNoPhase = 0xffffffff;

/// Where a rank waited, in its own numbers.
struct Origin {
  std::uint16_t procedure;
  std::uint16_t site;
  std::uint32_t phase;
  friend auto operator<=>(const Origin&, const Origin&) = default;
};

/// A rank's time in one phase.
struct PhaseSpan {
  double total_ns = 0;
  double mpi_ns = 0;
  double startup_ns = 0;  ///< in starting and stopping MPI: in neither share
};

/// A rank, with what grows while its records are read.
struct WaitRank {
  WaitRank(const trace::Reader& opened, const RankClock& aligned);

  [[nodiscard]] int rank() const { return reader.header().rank; }
  [[nodiscard]] const ProcedureFacts& facts_of(const trace::Record& record) const {
    return facts[record.procedure];
  }
  /// The number of where a record's call waited.
  std::uint64_t origin(const trace::Record& record);
  void begin_phase(std::uint32_t next, double at_ns);

  const trace::Reader& reader;
  const RankClock& clock;
  std::vector<ProcedureFacts> facts;     ///< by procedure number
  std::map<std::uint16_t, int> comm_of;  ///< own communicator index to the world's
  std::map<Origin, std::uint64_t> origin_of;
  std::vector<Origin> origins;
  std::uint32_t phase = kNoPhase;
  std::map<std::uint32_t, PhaseSpan> phases;
  double phase_begin_ns = 0;
  double latest_ns = 0;
  bool damaged = false;   ///< records are missing
  bool excluded = false;  ///< its first records are gone: nobody knows which message is the first
};

struct WaitCommunicator {
  std::string name;
  int members = 0;                  ///< whose records are here and can be believed
  bool usable = false;              ///< its collectives can be matched
  std::vector<std::int32_t> order;  ///< world rank by rank in the communicator; empty: the same
};

/// What makes a world's waits incomplete, counted.
struct WaitGaps {
  std::uint64_t excluded_ranks = 0;
  std::uint64_t damaged_ranks = 0;
  std::uint64_t unfinished_ranks = 0;
  std::uint64_t ranks_without_calls = 0;
  std::uint64_t without_partner = 0;  ///< messages whose other end left no usable record
  std::uint64_t mixed_collectives = 0;
  bool recording_stopped = false;
};

struct PreparedWorld {
  [[nodiscard]] bool inside(std::int32_t peer) const { return peer >= 0 && peer < size; }
  /// nullptr where the rank left no file.
  [[nodiscard]] WaitRank* of(std::int32_t rank) const { return by_rank[static_cast<std::size_t>(rank)]; }

  int size = 0;
  std::vector<std::unique_ptr<WaitRank>> ranks;
  std::vector<WaitRank*> by_rank;
  std::vector<WaitCommunicator> communicators;
  WaitGaps gaps;
};

/// `clocks` are those of `readers`, which are of one world; both must outlive the result.
PreparedWorld prepare_world(std::span<const trace::Reader* const> readers, std::span<const RankClock> clocks);

}  // namespace corewise::profile

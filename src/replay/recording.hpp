// Recording: one world of a profile, opened to be replayed as often as one likes.
//
// Contract: refused are a world without one of its ranks' files, ranks in which several threads called MPI, flight
// recorders that gave up their first records, and records whose peer is nobody or whose time cannot be; the error
// names file, field and call. Records that are missing otherwise show when the run stops.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "profile/open_run.hpp"
#include "profile/waits/alignment.hpp"
#include "replay/procedures.hpp"
#include "trace/reader.hpp"

namespace corewise::replay {

/// A communicator of the world; its members' ranks in the world.
struct Members {
  std::string name;
  std::vector<int> world;  ///< empty: of one rank, or nothing that can be replayed
  bool single = false;
  std::vector<std::pair<int, int>> place;  ///< (rank in the world, rank in the communicator), sorted

  /// Rank in the communicator; -1 for who is no member.
  [[nodiscard]] int rank_of(int world_rank) const;
};

/// One rank.
struct Source {
  std::string file;
  const trace::Reader* reader = nullptr;
  const trace::Slot* slot = nullptr;  ///< null: it called nothing
  const Procedures* procedures = nullptr;
  profile::RankClock clock;
  std::vector<int> comm_of;       ///< by the rank's own index: a communicator of the recording, -1 for none
  std::uint64_t begin_ticks = 0;  ///< the end of MPI_Init, or its first call
  std::uint64_t end_ticks = 0;    ///< the start of MPI_Finalize, or the end of its last call

  /// Of one of the rank's own communicators; null where it cannot be replayed: then peers are ranks of the world.
  [[nodiscard]] const Members* members(const std::vector<Members>& communicators, std::uint16_t comm,
                                       int rank) const;
  [[nodiscard]] trace::RecordStream records() const { return reader->records(*slot); }
};

class Recording {
 public:
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() = default;

  /// World `world` of a folder, the main one is 0.
  static Result<std::unique_ptr<Recording>> open(const std::string& directory, int world);

  [[nodiscard]] int size() const { return static_cast<int>(sources_.size()); }
  [[nodiscard]] const Source& source(int rank) const { return sources_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const std::vector<Members>& communicators() const { return communicators_; }
  /// From the first rank's begin to the last rank's end, on the ranks' common clock.
  [[nodiscard]] double recorded_ns() const { return recorded_ns_; }
  /// The first rank's begin, on the time line.
  [[nodiscard]] double begin_ns() const { return begin_ns_; }
  /// Of one rank, from its begin to its end.
  [[nodiscard]] double recorded_ns(int rank) const;
  /// How much later than the first rank it began.
  [[nodiscard]] double late_ns(int rank) const;
  /// Ranks whose file ends before MPI_Finalize, or lacks records.
  [[nodiscard]] const std::vector<int>& unfinished() const { return unfinished_; }

 private:
  Recording() = default;
  Status add(const profile::OpenWorld& world, const std::string& directory);
  Status add_source(const profile::OpenRank& rank, const profile::RankClock& clock);
  void find_communicators();
  Status find_spans();
  Status find_span(int rank);

  profile::OpenRun run_;
  ProcedureLists procedures_;
  std::vector<Source> sources_;
  std::vector<Members> communicators_;
  std::vector<int> unfinished_;
  double begin_ns_ = 0;
  double recorded_ns_ = 0;
};

}  // namespace corewise::replay

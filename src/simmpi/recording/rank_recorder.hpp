// RankRecorder: the recorder of room trace in one simulated rank. Its clock is the rank's simulated time in steps
// of 20 ps, its file is one of room trace, so that a profile of simulated ranks is read like any other.
//
// Contract: no two calls of a rank begin with the same time stamp (equal ones would be one call, trace/format.hpp):
// one that begins when the last one did is recorded a step later. Nothing here lets simulated time pass.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.hpp"
#include "sim/event_queue.hpp"
#include "simmpi/objects/comm.hpp"
#include "simmpi/objects/type.hpp"
#include "trace/recorder.hpp"

namespace corewise::simmpi {

/// Where a rank's copy of its program lies; what is recorded of a function is its place in the program's file.
struct Mapping {
  struct Segment {
    std::uint64_t begin = 0;  ///< executable, from the start of the copy
    std::uint64_t bytes = 0;
    std::uint64_t file_offset = 0;
  };
  std::string program;     ///< the file that was copied
  std::uint64_t base = 0;  ///< 0: nothing is known, no function is recorded
  std::uint64_t bytes = 0;
  std::vector<Segment> segments;
};

/// What a rank's file says beside its records.
struct Ending {
  bool finalized = false;
  sim::Time end = 0;
  int world_size = 1;
  int abort_code = 0;
  bool aborted = false;  ///< it called MPI_Abort
  std::int64_t realtime_ns = 0;
  std::string host;
  std::string library;
};

class RankRecorder {
 public:
  /// Of rank `rank`; writes `path`, which must not exist.
  RankRecorder(std::string path, int rank, int function_depth);
  RankRecorder(const RankRecorder&) = delete;
  RankRecorder& operator=(const RankRecorder&) = delete;

  void map(Mapping mapping) { mapping_ = std::move(mapping); }

  /// The time stamp with which a call begins.
  std::uint64_t begin(sim::Time clock);
  /// From a time stamp to now.
  [[nodiscard]] std::uint64_t since(std::uint64_t start, sim::Time clock) const;

  /// Notes which outermost call it is in.
  void enter(int procedure) { procedure_ = procedure; }
  [[nodiscard]] int procedure() const { return procedure_; }

  void call(std::uint64_t start, std::uint64_t ticks, int procedure);
  void message(const trace::MessageFields& fields);
  void miss(std::uint64_t start, std::uint64_t ticks, int procedure);
  /// A function of the rank's copy of its program, to the depth that was asked for; false for any other.
  bool function(trace::Role role, const void* address, sim::Time clock);

  /// Index of a communicator in the records; describes it where it is new.
  std::uint16_t comm_index(const Comm& comm);
  /// The procedure `created_by` made it.
  void created(const Comm& comm, int created_by);
  void renamed(const Comm& comm);
  std::uint64_t type_index(const Type& type);

  /// Writes what is left, and the file's header.
  Status finish(const Ending& ending, const std::string& procedure_names);

 private:
  struct Described {
    std::uint16_t index = 0;
    int created_by = -1;  ///< -1: it is there from the start
    int rank = 0;
    std::string name;
    const Shared* shared = nullptr;
  };

  static bool drain(void* self, const trace::FullHalf& half);
  bool append_chunk(const trace::FullHalf& half);
  Status write(std::uint64_t offset, const std::vector<std::byte>& data);
  Described& describe(const Comm& comm, int created_by);
  [[nodiscard]] trace::FileHeader header(const Ending& ending) const;
  [[nodiscard]] std::string mappings() const;

  std::string path_;
  int rank_;
  int procedure_ = 0;
  int depth_ = 0;
  int most_depth_;
  long process_;
  std::uint64_t last_;
  std::uint64_t tail_;
  Status failed_;
  Mapping mapping_;
  std::vector<std::uint64_t> memory_;  ///< a thread block: its header and two halves
  trace::FileHeader losses_{};
  trace::ThreadRecorder recorder_;
  std::map<int, Described> comms_;  ///< by the number of what their members share
  std::map<std::tuple<std::string, std::int64_t, std::int64_t, bool>, std::uint64_t> types_;
};

}  // namespace corewise::simmpi

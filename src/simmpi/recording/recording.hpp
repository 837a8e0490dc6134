// Recording: the recorders of all ranks of a run, and what they have in common: the numbers of MPI's procedures.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"
#include "simmpi/recording/rank_recorder.hpp"

namespace corewise::simmpi {

class World;

struct RecordingOptions {
  std::string folder;            ///< of the rank files; it exists and is empty
  int function_depth = 1 << 30;  ///< functions are recorded so deep
  std::int64_t realtime_ns = 0;  ///< when the run began for people, since 1970
};

class Recording {
 public:
  Recording(RecordingOptions options, int ranks);

  [[nodiscard]] RankRecorder& rank(int number) { return *ranks_[static_cast<std::size_t>(number)]; }
  /// The number of a procedure by its name.
  int procedure(std::string_view name);
  /// The rank called MPI_Abort.
  void aborted(int rank) { aborted_ = rank; }
  /// Writes all files; `end` is the run's.
  Status finish(World& world);

 private:
  RecordingOptions options_;
  std::vector<std::unique_ptr<RankRecorder>> ranks_;
  std::unordered_map<std::string, int> numbers_;
  std::string names_;  ///< each with its NUL, in the order of their numbers
  int aborted_ = -1;
};

}  // namespace corewise::simmpi

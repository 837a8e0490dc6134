// Starts and ends the recorders. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/recording/recording.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "simmpi/world.hpp"

namespace corewise::simmpi {

Recording::Recording(RecordingOptions options, int ranks) : options_(std::move(options)) {
  for (int rank = 0; rank < ranks; ++rank) {
    char name[32];
    std::snprintf(name, sizeof name, "/rank-%05d.cwt", rank);
    ranks_.push_back(std::make_unique<RankRecorder>(options_.folder + name, rank, options_.function_depth));
  }
}

int Recording::procedure(std::string_view name) {
  const auto [at, fresh] = numbers_.try_emplace(std::string(name), static_cast<int>(numbers_.size()));
  if (fresh) names_.append(name).push_back('\0');
  return at->second;
}

Status Recording::finish(World& world) {
  for (int number = 0; number < world.size(); ++number) {
    const Rank& rank = world.rank(number);
    Ending ending;
    ending.finalized = rank.finalized && rank.ended;
    ending.end = rank.ended ? rank.end : std::max(rank.program.clock, world.engine().now());
    ending.world_size = world.size();
    ending.aborted = number == aborted_;
    ending.abort_code = world.abort_code();
    ending.realtime_ns = options_.realtime_ns;
    ending.host = world.machine().name;
    ending.library = "simulated MPI 3.1, time of a simulated machine";
    if (Status status = this->rank(number).finish(ending, names_); !status.ok()) return status;
  }
  return {};
}

}  // namespace corewise::simmpi

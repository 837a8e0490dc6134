// A run's analysis in parts: shards of its rank files are read by any number of workers, and what they found is
// brought together to the answer that read_run gives, bit for bit.
//
// What is merged: a shard's part has the tallies of its ranks (tally.hpp) and their calling contexts, in whole
// numbers and clock ticks. Merging is putting them into one list; sums in nanoseconds are made once, at the end, in
// the order of the ranks (assemble.hpp). So neither the cut, nor who read what, nor the order in which parts come
// shows in the result. Waits compare ranks with each other: every share of them (waits/share.hpp) is a part, for
// which all records are read.
//
// Contract: a part is for a process of the same build; anything else is refused. A file that cannot be read is told
// in the part. Memory of read_shard: one open rank file, its decoded chunk, and the shard's tallies. Memory of a
// ShardMerge: the tallies of all ranks (some 15 KB each, and 100 bytes per pair of ranks, communicator and phase),
// and, where the call graph is asked for, its ranks' calling contexts as bytes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "profile/reading.hpp"
#include "profile/tally.hpp"

namespace corewise::profile {

inline constexpr std::size_t kShardFiles = 256;

/// The rank files of a profile in consecutive groups, by their paths below the folder: of `shard_bytes`, where one
/// file has not more, and of kShardFiles at most. Depends on the files only.
Result<std::vector<std::vector<std::string>>> cut_into_shards(const std::string& directory,
                                                              std::uint64_t shard_bytes);

/// Where the files lie for who reads them, and what the folder is called in messages.
struct ShardFolder {
  std::string directory;
  std::string shown;
};

/// The part of these files; `question` as for read_run, without its waits.
std::string read_shard(const ShardFolder& folder, const std::vector<std::string>& files,
                       const RunQuestion& question);

/// The part that has this share of the waits of all worlds.
Result<std::string> read_waits(const ShardFolder& folder, const WaitShare& share);

/// What a part has of a rank.
struct RankOfPart {
  RankTally tally;
  std::string calls;  ///< a RankCalls as bytes; empty where it was not asked for
};

class ShardMerge {
 public:
  explicit ShardMerge(const RunQuestion& question) : question_(question) {}

  /// The part of shard number `shard`; one that came before counts once.
  Status add(std::size_t shard, std::string_view part);
  /// The part of share number `share` of the waits; one that came before counts once.
  Status add_waits(std::size_t share, std::string_view part);
  /// After the last part. Fails where no file of the run could be read, with the first one's error.
  Result<RunAnswer> finish();

 private:
  CallGraph sum_calls() const;

  RunQuestion question_;
  std::vector<RankOfPart> ranks_;
  std::map<std::size_t, std::vector<Status>> problems_;  ///< by shard
  std::set<std::size_t> shares_;                         ///< of the waits, those that came
  std::vector<WorldShare> waits_;
  std::vector<std::string> waits_problems_;
};

}  // namespace corewise::profile

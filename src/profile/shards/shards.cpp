// Cutting a run, reading a part of it, and merging parts; see shards.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/shards/shards.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/fnv.hpp"
#include "profile/assemble.hpp"
#include "profile/launches.hpp"
#include "profile/shards/fields.hpp"
#include "profile/stream.hpp"
#include "trace/bundle.hpp"

namespace corewise::profile {

template <class A>
void fields(A& to, RankOfPart& v) {
  to.members(v, v.tally, v.calls);
}

namespace {

namespace fs = std::filesystem;

/// A file that could not be read.
struct Problem {
  Code code = Code::ok;
  std::string message;
};

struct ShardPart {
  std::vector<RankOfPart> ranks;
  std::vector<Problem> problems;
};

struct WaitsPart {
  std::vector<WorldShare> worlds;
  std::vector<std::string> problems;
};

template <class A>
void fields(A& to, Problem& v) {
  to.members(v, v.code, v.message);
}
template <class A>
void fields(A& to, ShardPart& v) {
  to.members(v, v.ranks, v.problems);
}
template <class A>
void fields(A& to, WaitsPart& v) {
  to.members(v, v.worlds, v.problems);
}

// ---- parts as bytes ----------------------------------------------------------------------------------------

// Sealed by a number: bytes that were changed on their way are told from a part.

template <class Part>
std::string to_part(Part& value) {
  ToBytes body;
  body.put(value);
  std::string bytes = body.take();
  ToBytes seal;
  std::uint64_t digest = fnv(bytes);
  seal.put(digest);
  return seal.take() + bytes;
}

template <class Part>
Status from_part(std::string_view part, Part& value) {
  FromBytes seal(part);
  std::uint64_t digest = 0;
  seal.put(digest);
  const std::string_view bytes = part.substr(std::min(part.size(), sizeof digest));
  if (seal.ok() && digest == fnv(bytes)) {
    FromBytes body(bytes);
    body.put(value);
    if (body.at_end()) return {};
  }
  return bad_field("", "part", "bytes that no worker of this build made", "the part of a profile as it was made");
}

// ---- cutting -----------------------------------------------------------------------------------------------

/// Bytes of rank files, members of bundles among them.
class Sizes {
 public:
  std::uint64_t of(const fs::path& file) {
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(file, error);
    return error ? members(file.parent_path().string())[file.filename().string()] : bytes;
  }

 private:
  std::map<std::string, std::uint64_t>& members(const std::string& bundle) {
    const auto [at, fresh] = bundles_.try_emplace(bundle);
    if (!fresh) return at->second;
    const Result<std::vector<trace::Member>> found = trace::read_bundle(bundle);
    if (found.ok())
      for (const trace::Member& member : found.value()) at->second[member.name] = member.bytes;
    return at->second;
  }

  std::map<std::string, std::map<std::string, std::uint64_t>> bundles_;
};

// ---- reading -----------------------------------------------------------------------------------------------

/// A message that begins with the folder's path where it was read, as it would begin where it is shown.
std::string as_shown(const ShardFolder& folder, std::string message) {
  if (message.starts_with(folder.directory)) message.replace(0, folder.directory.size(), folder.shown);
  return message;
}

RankOfPart read_rank(const trace::Reader& reader, const std::string& file, const RunQuestion& question) {
  const std::unique_ptr<TallyListener> tally = tally_listener(reader, file, question.ended_realtime_ns);
  std::vector<RecordListener*> listeners{tally.get()};
  std::unique_ptr<RankCallsListener> calls;
  if (question.calls_of(reader.header().rank)) {
    calls = rank_calls_listener(reader, question.limits);
    listeners.push_back(calls.get());
  }
  const trace::Reader* const readers[] = {&reader};
  const std::vector<RankClock> clocks(1);  // nobody asks for times
  stream_records(readers, clocks, listeners);
  RankOfPart part{tally->finish(), {}};
  if (calls != nullptr) {
    RankCalls found = calls->finish();
    ToBytes bytes;
    bytes.put(found);
    part.calls = bytes.take();
  }
  return part;
}

}  // namespace

Result<std::vector<std::vector<std::string>>> cut_into_shards(const std::string& directory,
                                                              std::uint64_t shard_bytes) {
  const Result<std::vector<fs::path>> files = rank_files(directory);
  if (!files.ok()) return files.status();
  std::vector<std::vector<std::string>> shards;
  std::uint64_t bytes = shard_bytes;
  Sizes sizes;
  for (const fs::path& file : files.value()) {
    if (bytes >= shard_bytes || shards.back().size() >= kShardFiles) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().push_back(file.lexically_relative(directory).string());
    bytes += sizes.of(file);
  }
  return shards;
}

std::string read_shard(const ShardFolder& folder, const std::vector<std::string>& files,
                       const RunQuestion& question) {
  ShardPart part;
  for (const std::string& file : files) {
    const std::string path = folder.directory + "/" + file;
    const Result<trace::Reader> opened = trace::Reader::open(path);
    const Status status = opened.ok() ? check_rank(opened.value().header(), path) : opened.status();
    if (status.ok())
      part.ranks.push_back(read_rank(opened.value(), fs::path(file).filename().string(), question));
    else
      part.problems.push_back({status.code(), as_shown(folder, status.message())});
  }
  return to_part(part);
}

Result<std::string> read_waits(const ShardFolder& folder, const WaitShare& share) {
  Result<SharedWaits> read = read_wait_share(folder.directory, share);
  if (!read.ok()) return Status(read.status().code(), as_shown(folder, read.status().message()));
  WaitsPart part{std::move(read.value().worlds), {}};
  for (std::string& problem : read.value().problems) part.problems.push_back(as_shown(folder, std::move(problem)));
  return to_part(part);
}

Status ShardMerge::add(std::size_t shard, std::string_view part) {
  ShardPart read;
  if (Status status = from_part(part, read); !status.ok()) return status;
  const auto [at, fresh] = problems_.try_emplace(shard);
  if (!fresh) return {};
  for (Problem& each : read.problems) at->second.emplace_back(each.code, std::move(each.message));
  for (RankOfPart& each : read.ranks) ranks_.push_back(std::move(each));
  return {};
}

Status ShardMerge::add_waits(std::size_t share, std::string_view part) {
  WaitsPart read;
  if (Status status = from_part(part, read); !status.ok()) return status;
  if (!shares_.insert(share).second) return {};
  if (shares_.size() == 1) {
    waits_ = std::move(read.worlds);
    waits_problems_ = std::move(read.problems);
    return {};
  }
  if (read.worlds.size() != waits_.size())
    return bad_field("", "part", "waits of " + std::to_string(read.worlds.size()) + " worlds",
                     "of " + std::to_string(waits_.size()) + ", as in the part before");
  for (std::size_t world = 0; world < waits_.size(); ++world) waits_[world].add(read.worlds[world]);
  return {};
}

Result<RunAnswer> ShardMerge::finish() {
  RunAnswer answer;
  for (const auto& [shard, problems] : problems_)
    for (const Status& each : problems) {
      if (ranks_.empty()) return each;
      answer.problems.push_back(each.message());
    }
  if (problems_.empty()) answer.problems = std::move(waits_problems_);  // nothing but waits was asked for
  if (question_.calls && !ranks_.empty()) answer.calls = sum_calls();
  std::vector<RankTally> tallies;
  for (RankOfPart& each : ranks_) tallies.push_back(std::move(each.tally));
  ranks_.clear();
  answer.totals.worlds = assemble(std::move(tallies));
  answer.totals.problems = answer.problems;
  for (WorldShare& each : waits_) answer.waits.push_back(finish_waits(std::move(each)));
  waits_.clear();
  return answer;
}

/// Of the main world, in the order of its ranks.
CallGraph ShardMerge::sum_calls() const {
  std::vector<const RankOfPart*> all;
  for (const RankOfPart& each : ranks_) all.push_back(&each);
  const auto describe = [](const RankOfPart* each) {
    const RankTally& tally = each->tally;
    return RankFile{tally.rank.file, tally.rank.rank, tally.world_size, tally.spawned,
                    tally.rank.started_realtime_ns};
  };
  const auto launches = by_launch(std::move(all), describe);
  const std::vector<const RankOfPart*>& world = launches.begin()->second;
  std::vector<HostClock> clocks;
  for (const RankOfPart* each : world) clocks.push_back({each->tally.rank.host, each->tally.clock});
  const std::vector<double> lengths = tick_lengths(clocks);
  CallGraphSum sum(question_.limits);
  for (std::size_t rank = 0; rank < world.size(); ++rank) {
    if (!question_.calls_of(world[rank]->tally.rank.rank)) continue;
    RankCalls calls;
    FromBytes(world[rank]->calls).put(calls);
    sum.add(calls, lengths[rank]);
  }
  return sum.finish();
}

}  // namespace corewise::profile

// One pass for several questions; see reading.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/reading.hpp"

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "profile/assemble.hpp"
#include "profile/open_run.hpp"
#include "profile/stream.hpp"
#include "profile/tally.hpp"
#include "profile/waits/world.hpp"

namespace corewise::profile {
namespace {

/// Streams a world's records for its waits; `also` listens.
WorldShare share_of_world(const OpenWorld& world, std::span<const trace::Reader* const> readers,
                          const WaitShare& share, RecordListener* also) {
  CausalReport report;
  const std::vector<RankClock> clocks = align_causally(readers, &report);
  WorldWaits collector(readers, clocks, Purpose::waits, share);
  std::vector<RecordListener*> listeners{&collector};
  if (also != nullptr) listeners.push_back(also);
  stream_records(readers, clocks, listeners);
  WorldShare waits = collector.waits();
  waits.world.name = world.name;
  waits.world.corrections = report.violated;
  waits.world.largest_correction_ns = report.largest_ns;
  return waits;
}

/// The reading of one world.
class WorldReading {
 public:
  WorldReading(OpenWorld& world, const RunQuestion& question, bool main)
      : world_(world), question_(question), readers_(world.readers()) {
    tallies_.resize(readers_.size());
    calls_.resize(readers_.size());
    if (!main || !question.calls) return;
    sum_.emplace(question.limits);
    std::vector<HostClock> clocks;
    for (const trace::Reader* reader : readers_) clocks.push_back({reader->host(), reader->clock()});
    tick_lengths_ = tick_lengths(clocks);
  }

  void run(RunAnswer& answer, std::vector<RankTally>& tallies) {
    if (question_.waits)
      answer.waits.push_back(side_by_side(tallies));
    else
      one_by_one(tallies);
    if (sum_) answer.calls = sum_->finish();
  }

 private:
  std::vector<RecordListener*> listeners_of(std::size_t rank) {
    std::vector<RecordListener*> out;
    if (question_.totals) {
      tallies_[rank] = tally_listener(*readers_[rank], world_.ranks[rank].file, question_.ended_realtime_ns);
      out.push_back(tallies_[rank].get());
    }
    if (sum_ && question_.calls_of(readers_[rank]->header().rank)) {
      calls_[rank] = rank_calls_listener(*readers_[rank], question_.limits);
      out.push_back(calls_[rank].get());
    }
    return out;
  }

  void finish(std::size_t rank, std::vector<RankTally>& tallies) {
    if (tallies_[rank] != nullptr) tallies.push_back(tallies_[rank]->finish());
    if (calls_[rank] != nullptr) sum_->add(calls_[rank]->finish(), tick_lengths_[rank]);
    tallies_[rank].reset();
    calls_[rank].reset();
    world_.ranks[rank].reader.reset();
  }

  void one_by_one(std::vector<RankTally>& tallies) {
    const std::vector<RankClock> clocks(1);  // nobody asks for times
    for (std::size_t rank = 0; rank < readers_.size(); ++rank) {
      const std::vector<RecordListener*> listeners = listeners_of(rank);
      if (!listeners.empty()) stream_records(std::span(readers_).subspan(rank, 1), clocks, listeners);
      finish(rank, tallies);
    }
  }

  WaitWorld side_by_side(std::vector<RankTally>& tallies) {
    std::vector<std::vector<RecordListener*>> by_rank;
    for (std::size_t rank = 0; rank < readers_.size(); ++rank) by_rank.push_back(listeners_of(rank));
    PerRank others(std::move(by_rank));
    WaitWorld waits = finish_waits(share_of_world(world_, readers_, {}, &others));
    for (std::size_t rank = 0; rank < readers_.size(); ++rank) finish(rank, tallies);
    return waits;
  }

  OpenWorld& world_;
  const RunQuestion& question_;
  std::vector<const trace::Reader*> readers_;
  std::vector<std::unique_ptr<TallyListener>> tallies_;    ///< by rank, those under way
  std::vector<std::unique_ptr<RankCallsListener>> calls_;  ///< the same
  std::vector<double> tick_lengths_;                       ///< by rank, where there is a call graph
  std::optional<CallGraphSum> sum_;
};

}  // namespace

Result<RunAnswer> read_run(const std::string& directory, const RunQuestion& question) {
  Result<OpenRun> opened = open_run(directory);
  if (!opened.ok()) return opened.status();
  OpenRun run = std::move(opened).value();
  RunAnswer answer;
  std::vector<RankTally> tallies;
  for (OpenWorld& world : run.worlds)
    WorldReading(world, question, &world == &run.worlds.front()).run(answer, tallies);
  if (question.totals) answer.totals.worlds = assemble(std::move(tallies));
  answer.totals.problems = run.problems;
  answer.problems = std::move(run.problems);
  return answer;
}

Result<SharedWaits> read_wait_share(const std::string& directory, const WaitShare& share) {
  const Result<OpenRun> opened = open_run(directory);
  if (!opened.ok()) return opened.status();
  SharedWaits out{{}, opened.value().problems};
  for (const OpenWorld& world : opened.value().worlds)
    out.worlds.push_back(share_of_world(world, world.readers(), share, nullptr));
  return out;
}

Result<Profile> read_directory(const std::string& directory) {
  RunQuestion question;
  question.totals = true;
  Result<RunAnswer> read = read_run(directory, question);
  if (!read.ok()) return read.status();
  return std::move(read).value().totals;
}

}  // namespace corewise::profile

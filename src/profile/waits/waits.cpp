// From records to waits, in four steps: preparation.hpp, messages.hpp, collectives.hpp, results.hpp. Here every
// record goes to the step that it concerns. See waits.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "profile/waits/waits.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "profile/launches.hpp"
#include "profile/stream.hpp"
#include "profile/waits/alignment.hpp"
#include "profile/waits/causal.hpp"
#include "profile/waits/collectives.hpp"
#include "profile/waits/ledger.hpp"
#include "profile/waits/messages.hpp"
#include "profile/waits/preparation.hpp"
#include "profile/waits/results.hpp"
#include "trace/reader.hpp"

namespace corewise::profile {
namespace {

using trace::Reader;
using trace::Record;
using trace::Role;

enum class Purpose : std::uint8_t { waits, causes };

class WorldWaits : public RecordListener {
 public:
  WorldWaits(std::span<const Reader* const> ranks, std::span<const RankClock> clocks, Purpose purpose)
      : world_(prepare_world(ranks, clocks)),
        causes_(world_),
        messages_(world_, ledger_, purpose == Purpose::causes ? &causes_ : nullptr),
        collectives_(world_, ledger_, purpose == Purpose::causes ? &causes_ : nullptr) {
    for (const Reader* reader : ranks) calls_.emplace_back(reader->slots().size());
  }

  void take(const StreamedRecord& streamed) override {
    WaitRank& rank = *world_.ranks[streamed.rank];
    const Record& record = streamed.record;
    rank.latest_ns = std::max(rank.latest_ns, streamed.end_ns);
    switch (record.role) {
      case Role::arrival:
        return messages_.arrival(streamed, rank, calls_[streamed.rank][streamed.slot]);
      case Role::cancel:
        return messages_.cancel(record, rank);
      case Role::phase:
        if (streamed.slot == 0) rank.begin_phase(record.name, streamed.start_ns);
        return;
      case Role::recording:
        world_.gaps.recording_stopped = world_.gaps.recording_stopped || record.name == 0;
        return;
      case Role::collective_part:
      case Role::miss:
      case Role::function_enter:
      case Role::function_exit:
      case Role::region_enter:
      case Role::region_exit:
        return;
      default:
        return call(streamed, rank);
    }
  }

  void end_slot(std::size_t rank, std::size_t slot, std::uint64_t damaged_bytes) override {
    messages_.end(calls_[rank][slot]);
    if (damaged_bytes == 0 || world_.ranks[rank]->damaged) return;
    world_.ranks[rank]->damaged = true;
    ++world_.gaps.damaged_ranks;
  }

  /// What must have come before what on different nodes.
  std::vector<Cause> causes() {
    messages_.finish();
    return std::move(causes_.causes());
  }

  WaitWorld waits() {
    messages_.finish();
    return write_results(world_, ledger_, messages_, collectives_);
  }

 private:
  void call(const StreamedRecord& streamed, WaitRank& rank) {
    begin_call(streamed, rank);
    switch (streamed.record.role) {
      case Role::send:
        return messages_.send(streamed, rank);
      case Role::receive:
        return messages_.receive(streamed, rank);
      case Role::post_receive:
        return messages_.post(streamed.record, rank);
      case Role::probe:
        return messages_.probe(streamed, rank);
      case Role::collective:
        return collectives_.collective(streamed, rank);
      default:
        return;
    }
  }

  void begin_call(const StreamedRecord& streamed, WaitRank& rank) {
    CompletingCall& current = calls_[streamed.rank][streamed.slot];
    const Record& record = streamed.record;
    const bool same = current.record.start_ticks == record.start_ticks;
    if (!same) {
      messages_.end(current);
      // Shares of a phase are those of the thread that called MPI first.
      if (streamed.slot == 0) count_time(streamed, rank);
    }
    // The first record of a call carries its duration.
    if (same && record.duration_ticks <= current.record.duration_ticks) return;
    current.record = record;
    current.start_ns = streamed.start_ns;
    current.end_ns = streamed.end_ns;
  }

  static void count_time(const StreamedRecord& streamed, WaitRank& rank) {
    PhaseSpan& span = rank.phases[rank.phase];
    const bool startup = rank.facts_of(streamed.record).starts_or_stops();
    (startup ? span.startup_ns : span.mpi_ns) += streamed.end_ns - streamed.start_ns;
  }

  PreparedWorld world_;
  WaitLedger ledger_;
  CauseLedger causes_;
  MessageWaits messages_;
  CollectiveWaits collectives_;
  std::vector<std::vector<CompletingCall>> calls_;  ///< the newest call of every rank's slots
};

}  // namespace

const char* wait_kind_name(WaitKind kind) {
  static constexpr const char* kNames[] = {"late sender",  "late receiver",  "barrier",   "all to all",
                                           "early reduce", "late broadcast", "early scan"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<RankClock> align_causally(std::span<const Reader* const> ranks, CausalReport* report) {
  std::vector<RankClock> clocks = align(ranks);
  int nodes = 0;
  for (const RankClock& clock : clocks) nodes = std::max(nodes, clock.node() + 1);
  if (nodes < 2) return clocks;
  WorldWaits collector(ranks, clocks, Purpose::causes);
  RecordListener* const listeners[] = {&collector};
  stream_records(ranks, clocks, listeners);
  const Causality found = make_causal(nodes, collector.causes());
  if (report != nullptr) *report = {found.violated, found.largest_ns};
  std::vector<std::shared_ptr<const NodeCorrection>> corrections;
  for (const NodeCorrection& each : found.nodes)
    corrections.push_back(each.empty() ? nullptr : std::make_shared<const NodeCorrection>(each));
  for (RankClock& clock : clocks) clock.correct(corrections[static_cast<std::size_t>(clock.node())]);
  return clocks;
}

namespace {

struct Found {
  std::string file;  ///< without the folder
  std::unique_ptr<Reader> reader;
};

/// Every readable file; what is wrong with the others.
Status open_all(const std::vector<std::filesystem::path>& files, std::vector<Found>& found,
                std::vector<std::string>& problems) {
  Status first_failure;
  for (const std::filesystem::path& file : files) {
    Result<Reader> opened = Reader::open(file.string());
    const Status status = opened.ok() ? check_rank(opened.value().header(), file.string()) : opened.status();
    if (status.ok()) {
      found.push_back({file.filename().string(), std::make_unique<Reader>(std::move(opened).value())});
      continue;
    }
    if (first_failure.ok()) first_failure = status;
    problems.push_back(status.message());
  }
  return found.empty() ? first_failure : Status{};
}

}  // namespace

Result<WaitProfile> read_waits(const std::string& directory) {
  Result<std::vector<std::filesystem::path>> files = rank_files(directory);
  if (!files.ok()) return files.status();
  WaitProfile profile;
  std::vector<Found> found;
  const Status opened = open_all(files.value(), found, profile.problems);
  if (!opened.ok()) return opened;
  const auto describe = [](const Found& each) { return rank_file(each.reader->header(), each.file); };
  for (const auto& [launch, members] : by_launch(std::move(found), describe)) {
    std::vector<const Reader*> ranks;
    for (const Found& each : members) ranks.push_back(each.reader.get());
    CausalReport report;
    const std::vector<RankClock> clocks = align_causally(ranks, &report);
    WorldWaits collector(ranks, clocks, Purpose::waits);
    RecordListener* const listeners[] = {&collector};
    stream_records(ranks, clocks, listeners);
    WaitWorld world = collector.waits();
    world.name = launch_name(launch);
    world.corrections = report.violated;
    world.largest_correction_ns = report.largest_ns;
    profile.worlds.push_back(std::move(world));
  }
  return profile;
}

}  // namespace corewise::profile

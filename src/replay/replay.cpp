// Runs all ranks, once more with a weaker rule where the first one stops.
// SPDX-License-Identifier: BSD-3-Clause
#include "replay/replay.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "replay/player.hpp"

namespace corewise::replay {
namespace {

using Clock = std::chrono::steady_clock;
using Players = std::vector<std::unique_ptr<Player>>;

std::mutex g_one_at_a_time;

void open_communicators(Stage& stage) {
  for (const Members& members : stage.recording.communicators()) {
    const bool usable = !members.world.empty() && !members.single;
    stage.communicators.push_back(usable ? &stage.world.new_shared(members.world) : nullptr);
  }
}

/// Both from the first rank's begin on.
struct Moment {
  double recorded_ns = 0;
  double time_ns = 0;
};

/// When the last rank passes a cut; the end of the run where one never does.
Moment passed(const Stage& stage, const Players& players, std::size_t cut, const Moment& end) {
  Moment last;
  for (const auto& player : players) {
    if (cut >= player->marks().size()) return end;
    const Player::Mark& mark = player->marks()[cut];
    last.recorded_ns = std::max(last.recorded_ns, mark.recorded_ns);
    last.time_ns = std::max(last.time_ns, stage.world.engine().to_ns(mark.when));
  }
  return last;
}

std::vector<PartResult> parts_of(const Stage& stage, const Players& players, const Moment& end) {
  std::vector<PartResult> parts;
  Moment begin;
  for (std::size_t cut = 0; cut <= stage.options.cuts_ns.size(); ++cut) {
    const Moment next = cut < stage.options.cuts_ns.size() ? passed(stage, players, cut, end) : end;
    parts.push_back({next.recorded_ns - begin.recorded_ns, next.time_ns - begin.time_ns});
    begin = next;
  }
  return parts;
}

ReplayResult result_of(const Stage& stage, const Players& players) {
  ReplayResult result;
  simmpi::World& world = stage.world;
  const sim::Engine& engine = world.engine();
  result.recorded_ns = stage.recording.recorded_ns();
  result.time_ns = engine.to_ns(world.end());
  result.relaxed = stage.relaxed;
  result.events = engine.events();
  for (int rank = 0; rank < world.size(); ++rank) {
    const Player& player = *players[static_cast<std::size_t>(rank)];
    result.ranks.push_back(player.result());
    result.ranks.back().end_ns = engine.to_ns(world.rank(rank).end);
    result.collectives += player.collectives();
    result.unreplayed += player.unreplayed();
    result.unreplayed_ns += player.unreplayed_ns();
    if (world.rank(rank).end > world.rank(result.path.rank).end) result.path.rank = rank;
  }
  const simmpi::Path& path = world.rank(result.path.rank).program.path;
  result.path.transfer_ns = engine.to_ns(path.transfer);
  result.path.software_ns = engine.to_ns(path.software);
  result.path.computation_ns = result.time_ns - result.path.transfer_ns - result.path.software_ns;
  result.path.messages = path.messages;
  world.traffic().for_each([&](int from, int to, const simmpi::Traffic& traffic) {
    if (traffic.messages + traffic.collective_messages > 0) result.pairs.push_back({from, to, traffic});
  });
  result.links = world.network().link_statistics();
  result.parts = parts_of(stage, players, {result.recorded_ns, result.time_ns});
  return result;
}

struct Setting {
  const machine::Machine& machine;
  const machine::Placement& placement;
  bool ideal = false;
};

Result<ReplayResult> attempt(const Recording& recording, const Setting& setting, const Options& options,
                             bool relaxed) {
  simmpi::WorldOptions world_options;
  world_options.settings = options.settings;
  world_options.costs = options.costs;
  world_options.granularity = options.granularity;
  world_options.stack_bytes = sim::Fiber::kDefaultStackBytes;
  world_options.carries_data = false;
  world_options.together = setting.ideal;
  auto made = simmpi::World::make(setting.machine, setting.placement, world_options);
  if (!made.ok()) return made.status();
  simmpi::World& world = *made.value();
  Stage stage{recording, options, world, setting.ideal, relaxed, {}};
  open_communicators(stage);
  Players players;
  for (int rank = 0; rank < world.size(); ++rank) {
    players.push_back(std::make_unique<Player>(stage, world.rank(rank)));
  }
  const Status outcome = world.run([&](simmpi::Rank& rank) {
    players[static_cast<std::size_t>(rank.world)]->play();
    return 0;
  });
  if (!outcome.ok()) return outcome;
  return result_of(stage, players);
}

Result<ReplayResult> run_on(const Recording& recording, const Setting& setting, const Options& options) {
  const std::lock_guard lock(g_one_at_a_time);
  const auto begin = Clock::now();
  auto result = attempt(recording, setting, options, false);
  const bool stopped = !result.ok() && result.status().message().starts_with("deadlock");
  if (stopped) result = attempt(recording, setting, options, true);
  if (result.ok()) result.value().wall_s = std::chrono::duration<double>(Clock::now() - begin).count();
  return result;
}

}  // namespace

Result<ReplayResult> run(const Recording& recording, const machine::Machine& machine,
                         const machine::Placement& placement, const Options& options) {
  const auto ranks = static_cast<std::size_t>(recording.size());
  if (placement.unit_of_rank.size() != ranks) {
    return bad_field("", "placement", std::to_string(placement.unit_of_rank.size()) + " ranks",
                     std::to_string(ranks) + ", as many as were recorded");
  }
  return run_on(recording, {machine, placement}, options);
}

Result<ReplayResult> run_ideally(const Recording& recording, double computation) {
  machine::Machine machine;
  machine.name = "ideal";
  machine.kind = "flat";
  machine.stops = {"all"};
  machine.units.push_back({"all", 0, -1, -1, {}});
  machine.route_table.add({machine::Path{}});
  Options options;
  options.computation = computation;
  options.settings.send_ns = options.settings.receive_ns = 0;
  options.settings.copy_gb_per_s = std::numeric_limits<double>::infinity();
  options.settings.eager_bytes = std::numeric_limits<double>::infinity();
  options.settings.header_bytes = 0;
  machine::Placement placement;
  placement.unit_of_rank.assign(static_cast<std::size_t>(recording.size()), 0);
  return run_on(recording, {machine, placement, true}, options);
}

}  // namespace corewise::replay

// Fibers of ranks and helpers, their start and their end. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/world.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "simmpi/messages/transport.hpp"
#include "simmpi/recording/recording.hpp"

namespace corewise::simmpi {
namespace {

World* g_world = nullptr;
Actor* g_actor = nullptr;

constexpr std::size_t kHelperStackBytes = 256 * 1024;

std::string text_of(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

/// Ranks may share units where nothing else counts on one each.
Status check_tasks(const WorldOptions& options) {
  const Settings& settings = options.settings;
  const double tasks = settings.tasks_per_unit;
  if (tasks == 1) return {};
  if (tasks != std::floor(tasks)) return bad_field("", "tasks_per_unit", text_of(tasks), "a whole number");
  if (!options.carries_data) {
    return bad_field("", "tasks_per_unit", text_of(tasks), "1: ranks of a recording have a unit each");
  }
  if (settings.collective_level == 0) return {};
  return bad_field("", "collective_level", text_of(settings.collective_level),
                   "0, where tasks_per_unit is not 1: ranks that take turns reach no local store of each other's");
}

}  // namespace

World& World::here() {
  return *g_world;
}

Actor& World::actor() {
  return *g_actor;
}

bool World::running() {
  return g_world != nullptr && g_actor != nullptr;
}

Result<std::unique_ptr<World>> World::make(const machine::Machine& machine, const machine::Placement& placement,
                                           const WorldOptions& options) {
  if (Status status = check_tasks(options); !status.ok()) return status;
  const auto tasks = static_cast<int>(options.settings.tasks_per_unit);
  if (Status status = machine::check(placement, machine, tasks); !status.ok() && !options.together) return status;
  if (placement.unit_of_rank.empty()) return bad_field("", "ranks", "0", "1 or more");
  std::unique_ptr<World> world(new World(machine, placement, options));
  auto network = sim::make_network(world->engine_, machine, options.granularity);
  if (!network.ok()) return network.status();
  world->network_ = std::move(network).value();
  world->transport_ = std::make_unique<Transport>(*world);
  if (Status status = world->check_levels(); !status.ok()) return status;
  if (Status status = world->check_protocol(); !status.ok()) return status;
  if (Status status = world->make_forwarding(); !status.ok()) return status;
  world->make_microtasks();
  if (Status status = world->make_memories(); !status.ok()) return status;
  return world;
}

World::World(const machine::Machine& machine, const machine::Placement& placement, const WorldOptions& options)
    : machine_(machine), options_(options), engine_(sim::kPicosecondInNs), traffic_(placement.unit_of_rank.size()) {
  engine_.set_timeline(options.timeline);
  const auto size = static_cast<int>(placement.unit_of_rank.size());
  std::vector<int> all;
  for (int r = 0; r < size; ++r) all.push_back(r);
  Shared& everybody = new_shared(all);
  for (int r = 0; r < size; ++r) {
    auto rank = std::make_unique<Rank>();
    rank->world = r;
    rank->unit = placement.unit_of_rank[static_cast<std::size_t>(r)];
    rank->program.rank = rank.get();
    rank->world_comm.shared = &everybody;
    rank->world_comm.rank = r;
    rank->world_comm.handle = MPI_COMM_WORLD;
    rank->world_comm.name = "MPI_COMM_WORLD";
    rank->self_comm.shared = &new_shared({r});
    rank->self_comm.handle = MPI_COMM_SELF;
    rank->self_comm.name = "MPI_COMM_SELF";
    if (options.recording != nullptr) options.recording->rank(r).comm_index(rank->world_comm);
    ranks_.push_back(std::move(rank));
  }
}

World::~World() = default;

Status World::check_level(std::string_view name, double level, std::size_t most) const {
  if (level >= 0 && level <= static_cast<double>(most) && level == std::floor(level)) return {};
  return bad_field("", name, text_of(level),
                   most == 0 ? "0" : "0 to " + std::to_string(most) + ", the levels of '" + machine_.name + "'");
}

Status World::check_levels() const {
  std::size_t most = machine_.units.front().domains.size();
  for (const machine::Unit& unit : machine_.units) most = std::min(most, unit.domains.size());
  if (Status status = check_level("forward_level", settings().forward_level, most); !status.ok()) return status;
  // Messages without content lie in no local store.
  return check_level("collective_level", settings().collective_level, carries_data() ? most : 0);
}

Status World::check_protocol() const {
  const double chosen = settings().receiver_initiated;
  if (chosen == 0 || (chosen == 1 && costs().empty())) return {};
  return bad_field("", "receiver_initiated", text_of(chosen),
                   costs().empty() ? "0 or 1" : "0, beside measured messages");
}

Status World::make_forwarding() {
  if (settings().forward_level == 0) return {};
  if (Status status = Forwarding::check(settings(), machine_, *network_); !status.ok()) return status;
  forwarding_.emplace(engine_, *network_, machine_, settings());
  return {};
}

void World::make_microtasks() {
  if (settings().tasks_per_unit > 1) microtasks_.emplace(engine_, settings(), machine_.units.size(), ranks_.size());
}

Status World::make_memories() {
  if (settings().overlay_bytes > 0)
    for (const auto& rank : ranks_) rank->overlays.emplace(settings());
  const auto shape = cache_shape(settings());
  if (!shape.ok()) return shape.status();
  if (shape.value().line_bytes == 0) return {};
  if (!carries_data()) {
    return bad_field("", "cache_line_bytes", std::to_string(shape.value().line_bytes),
                     "0: messages without content lie in no memory");
  }
  const auto costs = cell::software_cache_costs(cell::Parameters(), shape.value());
  if (!costs.ok()) return costs.status();
  for (const auto& rank : ranks_) rank->memory.emplace(shape.value(), costs.value());
  return {};
}

sim::Time World::touch(Rank& rank, const void* start, std::uint64_t bytes, bool write) {
  if (!rank.memory) return 0;
  const auto cost = rank.memory->touch(start, bytes, write);
  if (cost.ok()) return cost.value();
  const std::string whose = "rank " + std::to_string(rank.world) + ": a message's buffer: ";
  engine_.stop({Code::io, whose + cost.status().message()});
  return 0;
}

Shared& World::new_shared(std::vector<int> members) {
  shared_.push_back(std::make_unique<Shared>(std::move(members)));
  shared_.back()->number = static_cast<int>(shared_.size()) - 1;
  return *shared_.back();
}

Shared& World::common(const Shared& parent, int call, const std::vector<int>& members) {
  const auto key = std::tuple(parent.number, call, members.front());
  Making& making = making_[key];
  if (making.made == nullptr) making = {&new_shared(members), members.size()};
  Shared& made = *making.made;
  if (--making.missing == 0) making_.erase(key);
  return made;
}

void World::start(Rank& rank, const std::function<int(Rank&)>& program) {
  sim::SpawnOptions options;
  options.stack_bytes = options_.stack_bytes;
  const auto body = [this, &rank, &program] {
    if (microtasks_) microtasks_->enter(rank.program);
    g_actor = &rank.program;
    end_program(rank, program(rank));
  };
  rank.program.process = &engine_.spawn("rank " + std::to_string(rank.world), body, options);
}

void World::end_program(Rank& rank, int status) {
  while (!rank.at_exit.empty()) {  // the last one first, as exit does; a handler may register another
    const auto handler = std::move(rank.at_exit.back());
    rank.at_exit.pop_back();
    handler();
  }
  synchronize(rank.program);
  rank.exit_status = status;
  rank.end = rank.program.clock;
  rank.ended = true;
  if (microtasks_) microtasks_->end(rank.program);
}

Status World::run(std::function<int(Rank&)> program, std::function<void(const Status&)> ending) {
  g_world = this;
  for (const auto& rank : ranks_) start(*rank, program);
  Status result;
  engine_.set_ending([&](const Status& status) {
    result = outcome(status);
    if (ending) ending(result);
  });
  const Status ignored = engine_.run(options_.limit);
  g_world = nullptr;
  g_actor = nullptr;
  return result;
}

Status World::outcome(const Status& engine_status) const {
  const bool all_ended = std::all_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank->ended; });
  if (all_ended) return {};
  if (engine_status.ok() || !engine_status.message().starts_with("deadlock")) return engine_status;
  return {Code::io, "deadlock at " + engine_.time_text(engine_.now()) + "\n" + waiting_report(here())};
}

sim::Time World::end() const {
  sim::Time last = 0;
  for (const auto& rank : ranks_) last = std::max(last, rank->end);
  return last;
}

void World::synchronize(Actor& actor) {
  const sim::Time now = engine_.now();
  if (actor.clock > now) {
    engine_.sleep(actor.clock - now);
    g_actor = &actor;
  } else {
    actor.clock = now;
  }
  actor.unseen = 0;
}

void World::block(Actor& actor, const std::function<bool()>& ready) {
  if (takes_turns(actor)) microtasks_->leave(actor);
  do {
    engine_.block({"MPI", 0, 0, std::source_location::current()});
  } while (ready && !ready());
  if (takes_turns(actor)) microtasks_->enter(actor);
  g_actor = &actor;
  actor.clock = std::max(actor.clock, engine_.now());
  actor.unseen = 0;
}

void World::yield(Actor& actor) {
  if (!takes_turns(actor)) return;
  microtasks_->yield(actor);
  g_actor = &actor;
}

void World::fail(std::string message) {
  engine_.fail({Code::io, std::move(message)});
}

void World::leave(int status) {
  end_program(*g_actor->rank, status);
  for (;;) engine_.block({"nothing: it has ended", 0, 0, std::source_location::current()});
}

void World::abort(int code) {
  abort_code_ = code;
  fail("rank " + std::to_string(g_actor->rank->world) + " called MPI_Abort with " + std::to_string(code));
}

void World::dispose(Request& request) {
  delete &request;
}

void World::in_background(Actor& parent, std::function<void(Actor&)> work) {
  if (idle_helpers_.empty()) {
    helpers_.push_back(std::make_unique<Helper>());
    Helper& made = *helpers_.back();
    made.work = std::move(work);
    made.actor.rank = parent.rank;
    made.actor.clock = parent.clock;
    made.actor.path = parent.path;
    sim::SpawnOptions options;
    options.stack_bytes = kHelperStackBytes;
    options.background = true;
    made.actor.process = &engine_.spawn("background", [this, &made] { help(made); }, options);
    return;
  }
  Helper& helper = *idle_helpers_.back();
  idle_helpers_.pop_back();
  helper.work = std::move(work);
  helper.actor.rank = parent.rank;
  helper.actor.clock = parent.clock;
  helper.actor.path = parent.path;
  engine_.wake(*helper.actor.process);
}

void World::help(Helper& helper) {
  for (;;) {
    g_actor = &helper.actor;
    synchronize(helper.actor);
    helper.work(helper.actor);
    helper.work = nullptr;
    idle_helpers_.push_back(&helper);
    engine_.block({"work", 0, 0, std::source_location::current()});
  }
}

}  // namespace corewise::simmpi

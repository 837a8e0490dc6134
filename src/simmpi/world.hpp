// World: all ranks of a run on a simulated machine: their fibers, the engine, the network, and what is counted.
//
// Contract: one world at a time in a process, one thread. `run` starts every rank's program and returns when all
// have ended, or something ended the run. The same programs, machine, placement and settings give the same run to
// the last bit. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/status.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "sim/engine.hpp"
#include "sim/networks/network.hpp"
#include "simmpi/messages/costs.hpp"
#include "simmpi/messages/forwarding.hpp"
#include "simmpi/messages/pairs.hpp"
#include "simmpi/microtasks.hpp"
#include "simmpi/rank.hpp"
#include "simmpi/settings.hpp"

namespace corewise::simmpi {

class Recording;

struct WorldOptions {
  Settings settings;
  sim::Granularity granularity = sim::Granularity::flow;
  std::size_t stack_bytes = std::size_t{8} << 20;  ///< of each rank; memory only where it is touched
  sim::Time limit = sim::kForever;
  sim::Timeline* timeline = nullptr;
  Recording* recording = nullptr;
  bool carries_data = true;  ///< false: messages have a size and no content
  MessageCosts costs;        ///< of a real MPI; empty: the settings say what messages cost
  bool together = false;     ///< all ranks may be on one unit: nothing lies between them
};

/// Messages of a pair of ranks: the program's own, and those inside collectives.
struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t collective_messages = 0;
  std::uint64_t collective_bytes = 0;
};

class Transport;

class World {
 public:
  /// Refuses a placement that does not fit the machine and what the network refuses.
  static Result<std::unique_ptr<World>> make(const machine::Machine& machine, const machine::Placement& placement,
                                             const WorldOptions& options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Runs `program(rank)` on every rank; it returns the exit status. `ending`, where there is one, is told the
  /// outcome before programs that have not ended are unwound.
  Status run(std::function<int(Rank&)> program, std::function<void(const Status&)> ending = {});

  /// The world of this process and the actor that runs now; only while it runs.
  static World& here();
  static Actor& actor();
  /// Whether there are both: a program of a rank, or a helper, is running.
  static bool running();

  [[nodiscard]] sim::Engine& engine() { return engine_; }
  [[nodiscard]] const sim::Network& network() const { return *network_; }
  /// Null where no PPE forwards.
  [[nodiscard]] const Forwarding* forwarding() const { return forwarding_ ? &*forwarding_ : nullptr; }
  /// Null where no two ranks may share a unit.
  [[nodiscard]] const Microtasks* microtasks() const { return microtasks_ ? &*microtasks_ : nullptr; }
  [[nodiscard]] Transport& transport() { return *transport_; }
  [[nodiscard]] const machine::Machine& machine() const { return machine_; }
  [[nodiscard]] const Settings& settings() const { return options_.settings; }
  [[nodiscard]] const MessageCosts& costs() const { return options_.costs; }
  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] Rank& rank(int number) { return *ranks_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] Traffic& traffic(int from, int to) { return traffic_.at(from, to); }
  [[nodiscard]] const PairTable<Traffic>& traffic() const { return traffic_; }
  [[nodiscard]] bool carries_data() const { return options_.carries_data; }
  /// The end of the last rank.
  [[nodiscard]] sim::Time end() const;
  [[nodiscard]] sim::Timeline* timeline() const { return options_.timeline; }
  [[nodiscard]] Recording* recording() const { return options_.recording; }
  [[nodiscard]] sim::Time ticks(double ns) const { return static_cast<sim::Time>(ns * sim::kTicksPerNs); }

  // For actors:

  /// What it costs the rank that a message lies at `start`: time where that is in its main memory
  /// (main_memory.hpp). Where it is there in part, the run ends.
  sim::Time touch(Rank& rank, const void* start, std::uint64_t bytes, bool write);

  /// Lets the engine come up to the actor's clock.
  void synchronize(Actor& actor);
  /// Until somebody wakes it, and `ready`, where there is one, says so; its clock is then not before the engine's.
  /// A rank that shares its unit lets others have it meanwhile.
  void block(Actor& actor, const std::function<bool()>& ready = {});
  /// The actor has looked in vain: other ranks of its unit go first.
  void yield(Actor& actor);
  /// Ends the run: it failed. Does not return.
  [[noreturn]] void fail(std::string message);
  /// Ends the calling rank's program: its handlers of atexit, then nothing more. Does not return.
  [[noreturn]] void leave(int status);
  /// Ends the whole run as MPI_Abort does: `code` is the run's exit status.
  [[noreturn]] void abort(int code);
  /// Does `work` beside the rank's program, on a fiber of its own, from the clock of now on.
  void in_background(Actor& parent, std::function<void(Actor&)> work);

  /// A message of the network between the units of two ranks; says when it enters the network.
  sim::Time send(int from, int to, std::uint64_t bytes, const sim::Handler& delivered) {
    if (share_unit(from, to)) return pass(bytes, delivered);
    if (forwarding_) return forwarding_->send(rank(from).unit, rank(to).unit, bytes, delivered);
    network_->send(rank(from).unit, rank(to).unit, bytes, delivered);
    return engine_.now();
  }
  /// A message of `header_bytes` that says something about another one. PPEs pass it on in the time that they take
  /// for that one.
  void send_control(int from, int to, const sim::Handler& delivered) {
    const auto bytes = static_cast<std::uint64_t>(settings().header_bytes);
    if (share_unit(from, to)) {
      pass(bytes, delivered);
    } else {
      network_->send(rank(from).unit, rank(to).unit, bytes, delivered);
    }
  }
  /// What a message takes while nobody else sends.
  [[nodiscard]] sim::Time alone(int from, int to, std::uint64_t bytes) {
    if (share_unit(from, to)) return microtasks_->pass(bytes);
    return network_->alone(rank(from).unit, rank(to).unit, bytes);
  }
  /// Deletes a request that no handle names any more.
  static void dispose(Request& request);

  Shared& new_shared(std::vector<int> members);
  /// The same object for all members of a new communicator: who asks first makes it. `parent` and `call` name the
  /// collective call in which it is made, `members` (ranks in the world) tell apart what one call makes.
  Shared& common(const Shared& parent, int call, const std::vector<int>& members);

  /// What MPI_Abort was given; -1 where nobody called it.
  [[nodiscard]] int abort_code() const { return abort_code_; }

  /// Every actor that a fiber of a rank or of a background collective runs.
  template <class Visit>
  void for_each_actor(Visit visit) {
    for (const auto& each : ranks_) {
      if (!each->ended) visit(each->program);
    }
    for (const auto& helper : helpers_) {
      if (helper->work) visit(helper->actor);
    }
  }

 private:
  /// A fiber that does collectives in the background, one after the other.
  struct Helper {
    Actor actor;
    std::function<void(Actor&)> work;  ///< empty while idle
  };

  World(const machine::Machine& machine, const machine::Placement& placement, const WorldOptions& options);
  /// Refuses a level that the machine lacks; `most`: levels that the setting may name.
  [[nodiscard]] Status check_level(std::string_view name, double level, std::size_t most) const;
  [[nodiscard]] Status check_levels() const;
  [[nodiscard]] Status check_protocol() const;
  /// PPEs that forward, where the settings want them.
  Status make_forwarding();
  /// Turns, where ranks may share units.
  void make_microtasks();
  /// Whether this one takes turns: helpers do what the message engine does beside the ranks.
  [[nodiscard]] bool takes_turns(const Actor& actor) const { return microtasks_ && &actor == &actor.rank->program; }
  [[nodiscard]] bool share_unit(int from, int to) {
    return microtasks_ && from != to && rank(from).unit == rank(to).unit;
  }
  /// A message between two ranks of one unit; says when it leaves.
  sim::Time pass(std::uint64_t bytes, const sim::Handler& delivered) {
    engine_.after(microtasks_->pass(bytes), delivered);
    return engine_.now();
  }
  /// A cache and its costs for every rank, where the settings want one.
  Status make_memories();
  void start(Rank& rank, const std::function<int(Rank&)>& program);
  void help(Helper& helper);
  void end_program(Rank& rank, int status);
  [[nodiscard]] Status outcome(const Status& engine_status) const;

  const machine::Machine& machine_;
  WorldOptions options_;
  sim::Engine engine_;
  std::unique_ptr<sim::Network> network_;
  std::optional<Forwarding> forwarding_;
  std::optional<Microtasks> microtasks_;
  std::unique_ptr<Transport> transport_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::unique_ptr<Helper>> helpers_;
  std::vector<Helper*> idle_helpers_;
  std::vector<std::unique_ptr<Shared>> shared_;
  struct Making {
    Shared* made = nullptr;
    std::size_t missing = 0;  ///< members that have not asked yet
  };
  std::map<std::tuple<int, int, int>, Making> making_;  ///< by parent's number, call, first member
  PairTable<Traffic> traffic_;
  int abort_code_ = -1;
};

/// Who waits for whom, one line per rank that has not ended, and a circle of waits where there is one.
std::string waiting_report(World& world);

}  // namespace corewise::simmpi

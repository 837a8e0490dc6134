// FlowNetwork: whole messages as fluid. A message waits for the latency of its route, then shares the links with
// the others max-min fairly until its bytes are through. Traffic between units with several routes is split evenly
// over them. What is simulated is thus contention and nothing finer: no packets, no buffers, no arbitration.
//
// How it is fast. Flows of one route always have one rate: they are one *class*, whose service (bytes per flow
// since the start) advances with its rate, and a flow ends when the service reaches what it was at its start plus
// the flow's bytes. All changes of one instant are solved for together. A small set of classes is solved as a whole
// and its rates are remembered, since programs repeat themselves. In a crowd only the classes whose rates a change
// can move are solved again: those that a changed link limits, then whoever they displace, until every class has a
// link again that is full and gives nobody more (which is what max-min fair means: Bertsekas and Gallager, Data
// Networks, 1992, section 6.5.2). Where those are a large part of the crowd, it is solved as a whole. Invariant: of
// a small set, remembered or not, in any order of arrival, the rates are the same to the last bit (the solver
// sorts); in a crowd they are the same but for rounding.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <ranges>
#include <span>
#include <vector>

#include "sim/networks/network.hpp"

namespace corewise::sim {

/// A set of flows that share a route.
struct FlowDemand {
  std::span<const machine::LinkId> links;  ///< not empty, none twice
  std::int32_t flows = 1;                  ///< at least 1
};

/// What a flow gets, and the link that gives it no more.
struct FlowRate {
  double rate = 0;
  machine::LinkId limit = -1;
};

/// Max-min fair rates by progressive filling. Keeps its scratch memory between calls.
class MaxMin {
 public:
  /// `capacity[link]` in bytes per tick, more than zero.
  explicit MaxMin(std::vector<double> capacity);
  /// The rate of each flow of demands[i], into rates[i]. `taken[link]`, where given, is what flows of given rates
  /// have of the link.
  void solve(std::span<const FlowDemand> demands, std::span<FlowRate> rates, std::span<const double> taken = {});

 private:
  struct LinkState {
    double left = 0;           ///< capacity that nobody has yet
    std::int32_t unfixed = 0;  ///< flows without a rate
    std::int32_t first = -1;   ///< first of the link's entries in users_
  };
  struct User {
    std::int32_t demand;
    std::int32_t next;
  };
  /// What a flow without a rate would get on a link; only grows while rates are fixed.
  struct Share {
    double rate;
    machine::LinkId link;
  };

  void enter(std::span<const FlowDemand> demands, std::span<const double> taken);
  std::size_t fix_users(std::span<const FlowDemand> demands, std::span<FlowRate> rates, const Share& share);
  [[nodiscard]] Share share_of(machine::LinkId link) const;

  std::vector<double> capacity_;
  std::vector<LinkState> links_;
  std::vector<machine::LinkId> entered_;  ///< that the demands use
  std::vector<Share> shares_;             ///< a heap, least first
  std::vector<User> users_;
};

class FlowNetwork final : public Network {
 public:
  FlowNetwork(Engine& engine, const machine::Machine& machine);

  void send(machine::UnitId from, machine::UnitId to, std::uint64_t bytes, const Handler& delivered) override;
  [[nodiscard]] Time alone(machine::UnitId from, machine::UnitId to, std::uint64_t bytes) const override;
  [[nodiscard]] std::vector<LinkStatistics> link_statistics() const override;
  /// Rates solved for so far, those that were remembered not counted: the work of the model.
  [[nodiscard]] std::uint64_t rates_solved() const { return rates_solved_; }

 private:
  using ClassId = std::int32_t;
  static constexpr std::int32_t kNone = -1;

  struct Message {
    Handler delivered;
    std::uint64_t bytes = 0;
    Time expected = 0;  ///< when it would be delivered on an idle network
    machine::UnitId from = 0;
    machine::UnitId to = 0;
    std::int32_t parts_left = 0;
  };
  /// A flow in its class.
  struct Part {
    double end;  ///< service at which it is through
    std::int32_t message;
  };
  struct Class {
    double service = 0;  ///< bytes that each flow has moved since the class became active, at `updated`
    Time updated = 0;
    std::uint64_t key = 0;          ///< the set of flows under way is named by the sum of their keys
    std::vector<Part> parts;        ///< a heap, least end first
    std::int32_t position = kNone;  ///< in active_
    std::int32_t first_link = 0;    ///< in route_links_
    std::int32_t hops = 0;          ///< links of its route
    bool changed = false;           ///< flows came or went since the last solution
    Time latency = 0;
    std::uint64_t bytes = 0;  ///< of all messages that took this route
    std::uint64_t flows = 0;
  };
  /// What links ask of a class, far more often than anything else is asked of it.
  struct Use {
    double rate = 0;                ///< bytes per tick and flow
    machine::LinkId limit = kNone;  ///< the link that gives it no more
    std::int32_t flows = 0;         ///< under way
    bool chosen = false;            ///< in set_
  };
  /// An active class and when its next flow ends.
  struct Active {
    ClassId id;
    Time next;
  };
  /// The classes of a pair of units, one per route, and what a message takes alone.
  struct Pair {
    ClassId first = 0;
    std::int32_t routes = 0;
    Time latency = 0;
    double ticks_per_byte = 0;
  };
  struct LinkState {
    std::int32_t flows = 0;
    std::int32_t most = 0;
    std::vector<ClassId> users;  ///< active classes, the latest last
    bool touched = false;        ///< by a class of set_
    Time busy_since = 0;
    Time busy = 0;
  };
  /// A flow that waits for its latency, with those that end theirs at the same time.
  struct Starting {
    ClassId id;
    std::int32_t message;
  };
  struct Batch {
    Time when = -1;
    std::vector<Starting> flows;
  };
  struct Remembered {
    ClassId id;
    std::int32_t flows;
    FlowRate given;
  };

  static void start_batch(void* self, std::uint64_t batch);
  static void solve_now(void* self, std::uint64_t unused);
  static void complete_due(void* self, std::uint64_t version);
  static void deliver_local(void* self, std::uint64_t message);

  [[nodiscard]] std::size_t index_of(machine::UnitId from, machine::UnitId to) const {
    return static_cast<std::size_t>(from) * machine_.units.size() + static_cast<std::size_t>(to);
  }
  const Pair& pair_of(machine::UnitId from, machine::UnitId to);
  [[nodiscard]] std::span<const machine::LinkId> links_of(const Class& one) const {
    return {route_links_.data() + one.first_link, static_cast<std::size_t>(one.hops)};
  }
  [[nodiscard]] double ticks_per_byte(const machine::Routes& routes) const;
  ClassId new_class(const machine::Route& route);
  std::int32_t new_message(const Message& message);
  void start_at(Time when, ClassId id, std::int32_t message);
  void start_part(ClassId id, std::int32_t message);
  void start(ClassId id, std::int32_t message, std::uint64_t bytes);
  void activate(ClassId id);
  void deactivate(std::size_t position);
  void occupy(const Class& entered);
  void release(const Class& left);
  [[nodiscard]] Use& use_of(ClassId id) { return uses_[static_cast<std::size_t>(id)]; }
  void advance(ClassId id) {
    Class& moving = classes_[static_cast<std::size_t>(id)];
    moving.service += use_of(id).rate * static_cast<double>(engine_.now() - moving.updated);
    moving.updated = engine_.now();
  }
  void end_due_parts(std::size_t position);
  void end_part(std::int32_t message);
  void deliver_finished();
  void ask_for_solution();
  void solve();
  bool recall();
  void remember();
  void solve_set(std::span<const double> taken = {});
  void solve_crowd();
  void solve_chosen(std::span<const double> taken);
  void choose(ClassId id);
  void choose_limited();
  void count_taken();
  void choose_displaced();
  void displaced_on(machine::LinkId link);
  /// Active classes of the link.
  [[nodiscard]] auto on(machine::LinkId link) const {
    return std::views::reverse(links_[static_cast<std::size_t>(link)].users);
  }
  void apply(ClassId id, const FlowRate& given);
  void expect_end(ClassId id);
  void schedule_next();

  std::vector<double> capacity_;  ///< per link, bytes per tick
  MaxMin solver_;
  std::vector<std::int32_t> pair_at_;  ///< per pair of units, in pairs_; kNone before its first message
  std::vector<Pair> pairs_;
  std::vector<Class> classes_;
  std::vector<Use> uses_;  ///< of the same classes
  std::vector<Active> active_;
  std::vector<LinkState> links_;
  std::vector<machine::LinkId> route_links_;
  std::vector<Message> messages_;
  std::vector<std::int32_t> free_messages_;
  std::vector<Batch> batches_;                      ///< one event each
  std::vector<std::uint32_t> open_, free_batches_;  ///< into batches_: those to come, in no order, and the others
  std::vector<Starting> starting_;
  std::vector<std::int32_t> finished_, delivering_;
  std::vector<ClassId> changed_;  ///< classes with changed == true
  std::vector<ClassId> set_;      ///< to be solved
  std::vector<machine::LinkId> touched_links_;
  std::vector<double> taken_;  ///< per touched link: what classes outside set_ have of it
  std::vector<FlowDemand> demands_;
  std::vector<FlowRate> rates_;                  ///< of set_
  std::vector<std::vector<Remembered>> memory_;  ///< by the low bits of the sum of keys
  std::uint64_t sum_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t rates_solved_ = 0;
  Time scheduled_ = kForever;
  bool asked_ = false;
};

}  // namespace corewise::sim

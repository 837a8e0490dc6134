// Groups, and the three steps of each collective. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/collectives/levels.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "coll/allreduce/reduce_broadcast.hpp"
#include "coll/barrier/exchange_steps.hpp"
#include "coll/broadcast/eager_tree.hpp"
#include "coll/reduce/eager_tree.hpp"
#include "simmpi/collectives/store_port.hpp"
#include "simmpi/world.hpp"

namespace corewise::simmpi {
namespace {

using Bytes = std::vector<std::byte>;
using Member = coll::Rank<StorePort>;
using Call = coll::Call<StorePort>;

coll::Parameters by_counters() {
  coll::Parameters parameters;
  parameters.closing = coll::Closing::counters;
  return parameters;
}

/// The ranks of one group, ready for room coll's collectives.
class Team {
 public:
  explicit Team(std::vector<int> world) : world_(std::move(world)) {
    const auto ranks = static_cast<int>(world_.size());
    const coll::Shape shape = coll::Shape::eager(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      owned_.push_back(std::make_unique<StorePort>(world_, ports_, rank, shape.layout()));
      ports_.push_back(owned_.back().get());
      members_.push_back(std::make_unique<Member>(*ports_.back(), shape));
    }
  }

  [[nodiscard]] int size() const { return static_cast<int>(world_.size()); }

  void barrier(int place) {
    if (size() > 1) coll::barrier::pairwise_exchange(member(place), Call(), by_counters());
  }
  /// `data`: `bytes` at the root, room for as many elsewhere.
  void broadcast(int place, std::byte* data, std::int64_t bytes, int root) {
    if (size() == 1) return;
    Call call = call_of(bytes, root);
    call.send = data;
    call.receive = data;
    if (call.bytes <= member(place).shape.eager_bytes()) {
      return coll::broadcast::eager_tree(member(place), call, by_counters());
    }
    coll::allreduce::best_broadcast(member(place), call, by_counters());
  }
  /// `result` at the root alone.
  void reduce(int place, const std::byte* operand, std::byte* result, const coll::Operation& operation,
              std::int64_t bytes, int root) {
    Call call = call_of(bytes, root);
    if (size() == 1) {
      std::copy_n(operand, bytes, result);
      return;
    }
    call.send = operand;
    call.receive = result;
    call.operation = &operation;
    if (call.bytes <= member(place).shape.eager_bytes()) {
      return coll::reduce::eager_tree(member(place), call, by_counters());
    }
    coll::allreduce::best_reduce(member(place), call, by_counters());
  }

  /// All members of a call have as many bytes, or the run ends.
  void agree(const Context& call, std::int64_t bytes) {
    Agreed& agreed = agreed_.try_emplace(call.tag, Agreed{bytes, size()}).first->second;
    if (agreed.bytes != bytes) {
      World::here().fail("rank " + std::to_string(call.actor.rank->world) + " in " + call.actor.call + ": " +
                         std::to_string(bytes) + " bytes, where another rank of the call has " +
                         std::to_string(agreed.bytes));
    }
    if (--agreed.missing == 0) agreed_.erase(call.tag);
  }

 private:
  struct Agreed {
    std::int64_t bytes = 0;
    int missing = 0;
  };

  [[nodiscard]] Member& member(int place) { return *members_[static_cast<std::size_t>(place)]; }
  static Call call_of(std::int64_t bytes, int root) {
    Call call;
    call.bytes = static_cast<std::uint64_t>(bytes);
    call.root = root;
    return call;
  }

  std::vector<int> world_;
  std::vector<std::unique_ptr<StorePort>> owned_;
  std::vector<StorePort*> ports_;
  std::vector<std::unique_ptr<Member>> members_;
  std::map<int, Agreed> agreed_;  ///< by the number of the call
};

/// The part of the machine that a rank of the world is on, named from the outermost level on.
std::string part_of(int world_rank, int level) {
  World& world = World::here();
  const machine::Unit& unit = world.machine().units[static_cast<std::size_t>(world.rank(world_rank).unit)];
  std::string name;
  for (int i = 0; i < level; ++i) name += unit.domains[static_cast<std::size_t>(i)] + "/";
  return name;
}

}  // namespace

class Levels {
 public:
  Levels(const Shared& shared, int level) {
    std::map<std::string, int> numbers;
    for (int rank = 0; rank < static_cast<int>(shared.world.size()); ++rank) {
      const std::string part = part_of(shared.world[static_cast<std::size_t>(rank)], level);
      const int group = numbers.try_emplace(part, static_cast<int>(groups_.size())).first->second;
      if (group == static_cast<int>(groups_.size())) groups_.emplace_back();
      std::vector<int>& members = groups_[static_cast<std::size_t>(group)];
      consecutive_ = consecutive_ && (members.empty() || members.back() == rank - 1);
      group_of_.push_back(group);
      place_of_.push_back(static_cast<int>(members.size()));
      members.push_back(rank);
      largest_ = std::max(largest_, members.size());
    }
    if (!usable()) return;
    for (const std::vector<int>& group : groups_) {
      std::vector<int> world;
      for (const int rank : group) world.push_back(shared.world[static_cast<std::size_t>(rank)]);
      teams_.push_back(std::make_unique<Team>(std::move(world)));
    }
  }

  [[nodiscard]] bool usable() const { return largest_ > 1 && largest_ <= std::size_t{coll::kMostRanks}; }
  [[nodiscard]] bool consecutive() const { return consecutive_; }
  [[nodiscard]] int group(int rank) const { return group_of_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int place(int rank) const { return place_of_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Team& team(int rank) { return *teams_[static_cast<std::size_t>(group(rank))]; }
  /// One of every group: its first rank, but `root` of its own.
  [[nodiscard]] std::vector<int> leaders(int root) const {
    std::vector<int> found;
    for (const std::vector<int>& each : groups_) found.push_back(each.front());
    found[static_cast<std::size_t>(group(root))] = root;
    return found;
  }

 private:
  std::vector<std::vector<int>> groups_;  ///< ranks of the communicator, in the order of their first ones
  std::vector<int> group_of_, place_of_;
  std::vector<std::unique_ptr<Team>> teams_;
  std::size_t largest_ = 0;
  bool consecutive_ = true;
};

namespace {

/// One rank's part in a call: where it is, and who leads.
struct Part {
  Part(Levels& of, const Context& call, int root)
      : levels(of),
        rank(call.rank()),
        leaders(of.leaders(root)),
        leader(leaders[static_cast<std::size_t>(of.group(rank))]),
        team(of.team(rank)) {}

  /// What leaders do among themselves; `work` is given their call, with a group's number as rank.
  template <class Work>
  void between(Context& call, Work work) const {
    if (rank != leader || leaders.size() == 1) return;
    Context among{call.actor, call.comm, call.tag, MPI_SUCCESS, &leaders, levels.group(rank)};
    work(among);
    if (among.error != MPI_SUCCESS) call.error = among.error;
  }
  [[nodiscard]] int place() const { return levels.place(rank); }
  [[nodiscard]] int top() const { return levels.place(leader); }

  Levels& levels;
  int rank;
  std::vector<int> leaders;
  int leader;
  Team& team;
};

/// The operator as room coll applies it.
coll::Operation operation_of(const Reduction& how) {
  coll::Operation operation;
  operation.user = [](void* context, const std::byte* in, std::byte* inout, std::size_t count) {
    const auto& reduction = *static_cast<const Reduction*>(context);
    combine(*reduction.operation, *reduction.type, static_cast<std::int64_t>(count), in, inout);
  };
  operation.context = const_cast<Reduction*>(&how);
  operation.element_bytes = static_cast<std::uint32_t>(how.type->shape.extent);
  operation.commutative = how.operation->commutes;
  return operation;
}

/// A broadcast's buffer in main memory is touched as a message's is.
void touch(Context& call, const Data& data, bool write) {
  Rank& rank = *call.actor.rank;
  if (!rank.memory || data.count <= 0) return;
  const kernels::Datatype& shape = data.type->shape;
  const std::int64_t bytes = std::max<std::int64_t>(0, (data.count - 1) * shape.extent) + shape.true_extent;
  call.actor.clock +=
      World::here().touch(rank, first_byte(data.at, *data.type), static_cast<std::uint64_t>(bytes), write);
}

void reduce_inside(const Part& part, const Context& call, const Reduction& how, const std::byte* operand,
                   std::byte* result) {
  const std::int64_t bytes = how.type->bytes(how.count);
  part.team.agree(call, bytes);
  part.team.reduce(part.place(), operand, result, operation_of(how), bytes, part.top());
}

/// A type whose items lie side by side as they are packed.
bool without_gaps(Type& type) {
  return type.contiguous() && type.shape.size == type.shape.extent && type.shape.true_lb == 0;
}

const std::byte* bytes_of(const void* at) {
  return static_cast<const std::byte*>(at);
}

}  // namespace

Levels* levels_for(const Context& call) {
  const auto level = static_cast<int>(World::here().settings().collective_level);
  const bool own_program = &call.actor == &call.actor.rank->program;
  if (level == 0 || call.members != nullptr || !own_program || call.size() == 1) return nullptr;
  Shared& shared = *call.comm.shared;
  if (!shared.levels) shared.levels = std::make_shared<Levels>(shared, level);
  return shared.levels->usable() ? shared.levels.get() : nullptr;
}

Levels* levels_for(const Context& call, const Reduction& how) {
  const std::int64_t room = coll::Shape::eager(1).most_element_bytes();
  if (how.count == 0 || how.type->shape.extent > room || !without_gaps(*how.type)) return nullptr;
  Levels* levels = levels_for(call);
  return levels != nullptr && (how.operation->commutes || levels->consecutive()) ? levels : nullptr;
}

void barrier_by(Levels& levels, Context& call) {
  const Part part(levels, call, 0);
  part.team.agree(call, 0);
  part.team.barrier(part.place());
  part.between(call, [](Context& among) { barrier(among); });
  if (part.leaders.size() > 1) part.team.barrier(part.place());
}

void broadcast_by(Levels& levels, Context& call, const Data& data, int root) {
  const Part part(levels, call, root);
  const std::int64_t bytes = data.bytes();
  part.team.agree(call, bytes);
  if (bytes == 0) return;
  Bytes packed(static_cast<std::size_t>(bytes));
  touch(call, data, part.rank != root);
  if (part.rank == root) pack(data.at, data.count, *data.type, packed.data(), bytes);
  part.between(call, [&](Context& among) { broadcast(among, bytes_at(packed.data(), bytes), levels.group(root)); });
  part.team.broadcast(part.place(), packed.data(), bytes, part.top());
  if (part.rank != root) unpack(data.to(), data.count, *data.type, packed.data(), bytes);
}

void reduce_by(Levels& levels, Context& call, const Reduction& how, const void* in, void* out, int root) {
  const Part part(levels, call, root);
  Bytes partial(part.rank == part.leader ? static_cast<std::size_t>(how.type->bytes(how.count)) : 0);
  reduce_inside(part, call, how, bytes_of(in != nullptr ? in : out), partial.data());
  if (part.leaders.size() == 1 && part.rank == root)
    std::copy(partial.begin(), partial.end(), static_cast<std::byte*>(out));
  part.between(call, [&](Context& among) { reduce(among, how, partial.data(), out, levels.group(root)); });
}

void all_reduce_by(Levels& levels, Context& call, const Reduction& how, const void* in, void* out) {
  const Part part(levels, call, 0);
  const std::int64_t bytes = how.type->bytes(how.count);
  Bytes result(static_cast<std::size_t>(bytes));
  reduce_inside(part, call, how, bytes_of(in != nullptr ? in : out), result.data());
  part.between(call, [&](Context& among) { all_reduce(among, how, nullptr, result.data()); });
  part.team.broadcast(part.place(), result.data(), bytes, part.top());
  std::copy(result.begin(), result.end(), static_cast<std::byte*>(out));
}

}  // namespace corewise::simmpi

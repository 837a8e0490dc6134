// The two communicators, and the four collectives over them; see levels.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/levels.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "preload/accelerating/domains.hpp"
#include "preload/accelerating/operands.hpp"
#include "preload/accelerating/quiet.hpp"
#include "preload/accelerating/set_up.hpp"
#include "preload/accelerating/types.hpp"

namespace corewise::preload::accelerating {
namespace {

constexpr int kLeader = 0;
constexpr int kTag = 0;
constexpr Outcome kWrong{Fate::arguments};
constexpr Outcome kLeft{Fate::table};

bool is_in_place(const void* buffer) {
  return buffer == MPI_IN_PLACE;
}
bool leads(const Levels& levels) {
  return levels.leaders.handle != MPI_COMM_NULL;
}
bool is_alone(const Levels& levels) {
  return levels.node.ranks == 1;
}

/// Whose ranks are on which node: nodes are numbered by their first ranks.
void find_places(const std::vector<std::uint64_t>& keys, int rank, Levels& levels) {
  std::vector<std::uint64_t> nodes;
  std::vector<int> ranks;
  for (const std::uint64_t key : keys) {
    const auto node = static_cast<std::size_t>(std::ranges::find(nodes, key) - nodes.begin());
    if (node == nodes.size()) {
      nodes.push_back(key);
      ranks.push_back(0);
    }
    levels.node_of.push_back(static_cast<int>(node));
    levels.place_of.push_back(ranks[node]++);
  }
  levels.own_node = levels.node_of[static_cast<std::size_t>(rank)];
}

/// Whether something was done on all ranks: on each it may have failed for a reason of its own.
bool on_all(MPI_Comm comm, bool done) {
  const int mine = done ? 1 : 0;
  int all = 0;
  return CW_NEXT(MPI_Allreduce)(&mine, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && all != 0;
}

/// The node's communicator and the leaders', which raise no error handler of their own. False, on all ranks, where
/// the MPI of one has no more communicators.
bool split(MPI_Comm comm, int rank, Levels& levels) {
  const ErrorsReturn quiet(comm);
  const bool leader = levels.place_of[static_cast<std::size_t>(rank)] == kLeader;
  const int node = CW_NEXT(MPI_Comm_split)(comm, levels.own_node, rank, &levels.node.handle);
  if (!on_all(comm, node == MPI_SUCCESS)) return false;
  const int leaders = CW_NEXT(MPI_Comm_split)(comm, leader ? 0 : MPI_UNDEFINED, rank, &levels.leaders.handle);
  if (!on_all(comm, leaders == MPI_SUCCESS)) return false;
  CW_NEXT(MPI_Comm_set_errhandler)(levels.node.handle, MPI_ERRORS_RETURN);
  if (leader) {
    CW_NEXT(MPI_Comm_set_errhandler)(levels.leaders.handle, MPI_ERRORS_RETURN);
    CW_NEXT(MPI_Comm_size)(levels.leaders.handle, &levels.leaders.ranks);
  }
  CW_NEXT(MPI_Comm_size)(levels.node.handle, &levels.node.ranks);
  return true;
}

/// This rank was told of an error: the communicator and its levels are the MPI's from then on, and nobody waits for
/// it in a call that it does not make any more.
void give_up(Communicator& on, int code) {
  on.fate = Fate::broken;
  if (on.team != nullptr) on.team->board.fail_next(code);
  if (on.levels == nullptr) return;
  for (Communicator* const level : {&on.levels->node, &on.levels->leaders}) give_up(*level, code);
}

/// An error of a level is one of the communicator.
Outcome finished(Communicator& on, int code) {
  if (code != MPI_SUCCESS) [[unlikely]] {
    give_up(on, error_class(code));
  }
  return {Fate::taken, code};
}

// ---- on a level: ours where it is taken over, by levels of its own where it has them, else the MPI's ----

template <class Take, class Spread, class Pass>
int on_level(Communicator& level, Take take, Spread spread, Pass pass) {
  const bool has_levels = level.fate == Fate::several_nodes;
  Outcome outcome{level.fate};
  if (has_levels) outcome = spread(level);
  const bool left = has_levels && outcome.fate != Fate::taken && level.team != nullptr;
  if (level.fate == Fate::taken || left) outcome = take(level);
  return outcome.fate == Fate::taken ? outcome.code : pass(level.handle);
}
int barrier_on(Communicator& level) {
  return on_level(level, do_barrier, spread_barrier, [](MPI_Comm comm) { return CW_NEXT(MPI_Barrier)(comm); });
}
int broadcast_on(Communicator& level, const Items& data, int root) {
  return on_level(
      level, [&](Communicator& on) { return do_broadcast(on, data, root); },
      [&](Communicator& on) { return spread_broadcast(on, data, root); },
      [&](MPI_Comm comm) {
        return CW_NEXT(MPI_Bcast)(address(data.at), static_cast<int>(data.count), data.datatype, root, comm);
      });
}
int reduce_on(Communicator& level, const void* send, void* receive, const Items& operand, MPI_Op op, int root) {
  return on_level(
      level, [&](Communicator& on) { return do_reduce(on, send, receive, operand, op, root); },
      [&](Communicator& on) { return spread_reduce(on, send, receive, operand, op, root); },
      [&](MPI_Comm comm) {
        return CW_NEXT(MPI_Reduce)(send, receive, static_cast<int>(operand.count), operand.datatype, op, root,
                                   comm);
      });
}
int allreduce_on(Communicator& level, void* at, const Items& operand, MPI_Op op) {
  return on_level(
      level, [&](Communicator& on) { return do_allreduce(on, MPI_IN_PLACE, at, operand, op); },
      [&](Communicator& on) { return spread_allreduce(on, MPI_IN_PLACE, at, operand, op); },
      [&](MPI_Comm comm) {
        return CW_NEXT(MPI_Allreduce)(MPI_IN_PLACE, at, static_cast<int>(operand.count), operand.datatype, op,
                                      comm);
      });
}

int node_barrier(Levels& levels) {
  return is_alone(levels) ? MPI_SUCCESS : barrier_on(levels.node);
}
int node_broadcast(Levels& levels, const Items& data, int root) {
  return is_alone(levels) ? MPI_SUCCESS : broadcast_on(levels.node, data, root);
}

// ---- what may be taken over: by facts that are equal on all ranks ----

/// Bytes that the MPI's procedures take as a count of single bytes; none are not worth the levels.
bool has_fitting_bytes(const Items& items, const Type& type) {
  const std::int64_t bytes = items.count * static_cast<std::int64_t>(type.size);
  return bytes > 0 && bytes <= std::numeric_limits<int>::max();
}
bool is_rank(const Communicator& on, int root) {
  return root >= 0 && root < on.ranks;
}

/// Fate::taken, or why a reduction is the MPI's.
Fate judge_reduction(const Items& operand, MPI_Op op, KeptType& type) {
  if (operand.count < 0 || !type.read(operand.datatype)) return Fate::arguments;
  if (!has_fitting_bytes(operand, type)) return Fate::table;
  int commutes = 0;
  if (CW_NEXT(MPI_Op_commutative)(op, &commutes) != MPI_SUCCESS) return Fate::arguments;
  return commutes != 0 && Reduction(op, operand.datatype, type).is_known() ? Fate::taken : Fate::operands;
}

/// Room for items of any type, and where MPI is told that they begin.
class Room {
 public:
  void* take(std::int64_t count, const Type& type) {
    const std::int64_t last = (count - 1) * static_cast<std::int64_t>(type.extent);
    const std::int64_t low = std::min<std::int64_t>(0, last) + static_cast<std::int64_t>(type.true_lb);
    const std::int64_t high = std::max<std::int64_t>(0, last) + static_cast<std::int64_t>(type.true_lb) +
                              static_cast<std::int64_t>(type.true_extent);
    return scratch_.take(static_cast<std::uint64_t>(high - low)) - low;
  }

 private:
  Scratch scratch_;
};

/// The leaders' part of a reduce: every leader has its node's operand in `operand.at`, that of `root` gets the
/// result there.
int reduce_among_leaders(Levels& levels, void* at, const Items& operand, MPI_Op op, int root) {
  const bool here = levels.own_node == root;
  const void* const send = here ? MPI_IN_PLACE : at;
  return reduce_on(levels.leaders, send, here ? at : nullptr, operand, op, root);
}

/// The leader of the root's node hands the result on, where it is another rank.
int hand_to_root(Levels& levels, void* at, const Items& operand, int place, bool at_root) {
  const int count = static_cast<int>(operand.count);
  if (at_root) {
    return CW_NEXT(MPI_Recv)(at, count, operand.datatype, kLeader, kTag, levels.node.handle, MPI_STATUS_IGNORE);
  }
  return CW_NEXT(MPI_Send)(at, count, operand.datatype, place, kTag, levels.node.handle);
}

/// The node's operand at its leader, in `at`; a rank that is alone copies its own there.
int gather_operand(Levels& levels, const void* own, void* at, const Items& operand, const Type& type, MPI_Op op) {
  const bool there = own == at;
  if (!is_alone(levels)) {
    const void* const send = there && leads(levels) ? MPI_IN_PLACE : own;
    return reduce_on(levels.node, send, leads(levels) ? at : nullptr, operand, op, kLeader);
  }
  if (there) return MPI_SUCCESS;
  Scratch scratch;
  std::byte* const packed = scratch.take(static_cast<std::uint64_t>(operand.count * type.size));
  const int code = pack(own, operand.count, operand.datatype, type, packed, levels.node.handle);
  if (code != MPI_SUCCESS) return code;
  return unpack(packed, at, operand.count, operand.datatype, type, levels.node.handle);
}

}  // namespace

Levels::~Levels() {
  // With MPI's own end the communicators end, too; freeing them is a call.
  if (!may_free_communicators()) return;
  for (Communicator* const level : {&node, &leaders}) {
    level->team.reset();
    if (level->handle != MPI_COMM_NULL) CW_NEXT(MPI_Comm_free)(&level->handle);
  }
}

Communicator::Communicator() = default;
Communicator::~Communicator() = default;

Fate set_up_levels(Communicator& on) {
  int rank = 0;
  CW_NEXT(MPI_Comm_rank)(on.handle, &rank);
  const std::uint64_t key = node_key();
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(on.ranks));
  if (CW_NEXT(MPI_Allgather)(&key, sizeof key, MPI_BYTE, keys.data(), sizeof key, MPI_BYTE, on.handle) !=
      MPI_SUCCESS) {
    return Fate::broken;
  }
  auto levels = std::make_unique<Levels>();
  find_places(keys, rank, *levels);
  const int nodes = *std::ranges::max_element(levels->node_of) + 1;
  if (nodes == 1 || nodes == on.ranks) return Fate::not_one_node;
  if (!split(on.handle, rank, *levels)) return Fate::not_one_node;
  if (!is_alone(*levels)) levels->node.fate = set_up(levels->node.handle, levels->node.team);
  if (!on_all(on.handle, is_alone(*levels) || levels->node.fate == Fate::taken)) return Fate::not_one_node;
  on.levels = std::move(levels);
  return Fate::several_nodes;
}

namespace {

/// Groups of ranks with equal keys.
void set_up_groups_by(Communicator& on, const std::vector<std::uint64_t>& keys) {
  int rank = 0;
  CW_NEXT(MPI_Comm_rank)(on.handle, &rank);
  auto levels = std::make_unique<Levels>();
  find_places(keys, rank, *levels);
  if (!split(on.handle, rank, *levels)) return;
  // All agree after each: who leads a group that failed would be missed among the leaders.
  for (Communicator* const level : {&levels->node, &levels->leaders}) {
    const bool has_it = level->handle != MPI_COMM_NULL && level->ranks > 1;
    if (has_it) level->fate = set_up(level->handle, level->team);
    if (!on_all(on.handle, !has_it || level->fate == Fate::taken)) return;
  }
  on.levels = std::move(levels);
  on.fate = Fate::several_nodes;
}

/// The first rank of each domain of a kind, in the order of the ranks.
std::vector<Domains> leaders_of(const std::vector<Domains>& ranks, std::size_t kind) {
  std::vector<Domains> leaders;
  for (const Domains& each : ranks) {
    const bool is_led = std::ranges::any_of(leaders, [&](const Domains& led) { return led[kind] == each[kind]; });
    if (!is_led) leaders.push_back(each);
  }
  return leaders;
}

/// Levels over levels, by the kinds of domains that part the ranks. All ranks have the same `ranks`.
void set_up_by(Communicator& on, std::vector<Domains> ranks, bool reduces) {
  Communicator* level = &on;
  for (const std::size_t kind : useful_kinds(ranks)) {
    std::vector<std::uint64_t> keys;
    for (const Domains& each : ranks) keys.push_back(each[kind]);
    set_up_groups_by(*level, keys);
    if (level->levels == nullptr) return;
    level->levels->reduces = reduces;
    if (!leads(*level->levels)) return;
    // The next kind's groups are among the leaders, which are numbered as the groups are by their first ranks.
    ranks = leaders_of(ranks, kind);
    level = &level->levels->leaders;
    if (level->fate != Fate::taken) return;
  }
}

}  // namespace

void set_up_groups(Communicator& on, std::string_view sizes) {
  std::vector<Domains> ranks;
  for (int rank = 0; rank < on.ranks; ++rank) ranks.push_back(groups_of(rank, sizes));
  set_up_by(on, std::move(ranks), true);
}

void set_up_domains(Communicator& on) {
  static_assert(std::is_trivially_copyable_v<Domains>);
  const Domains own = own_domains();
  std::vector<Domains> ranks(static_cast<std::size_t>(on.ranks));
  if (CW_NEXT(MPI_Allgather)(own.data(), sizeof own, MPI_BYTE, ranks.data(), sizeof own, MPI_BYTE, on.handle) ==
      MPI_SUCCESS) {
    set_up_by(on, std::move(ranks), false);
  }
}

Outcome spread_barrier(Communicator& on) {
  Levels& levels = *on.levels;
  int code = node_barrier(levels);
  if (code == MPI_SUCCESS && leads(levels)) code = barrier_on(levels.leaders);
  if (code == MPI_SUCCESS) code = node_barrier(levels);
  return finished(on, code);
}

Outcome spread_broadcast(Communicator& on, Items data, int root) {
  Levels& levels = *on.levels;
  KeptType type;
  if (!is_rank(on, root) || data.count < 0 || !type.read(data.datatype)) return kWrong;
  if (!has_fitting_bytes(data, type)) return kLeft;
  const int node = levels.node_of[static_cast<std::size_t>(root)];
  const int place = levels.place_of[static_cast<std::size_t>(root)];
  const bool first = levels.own_node == node && place != kLeader;  // the leader has it before the other nodes
  int code = first ? node_broadcast(levels, data, place) : MPI_SUCCESS;
  if (code == MPI_SUCCESS && leads(levels)) {
    code = broadcast_on(levels.leaders, data, node);
  }
  if (code == MPI_SUCCESS && !first) code = node_broadcast(levels, data, kLeader);
  return finished(on, code);
}

Outcome spread_allreduce(Communicator& on, const void* send, void* receive, Items operand, MPI_Op op) {
  Levels& levels = *on.levels;
  if (!levels.reduces) return kLeft;
  KeptType type;
  if (const Fate fate = judge_reduction(operand, op, type); fate != Fate::taken) return {fate};
  if (send == receive) return kWrong;
  const Items result{receive, operand.count, operand.datatype};
  int code = gather_operand(levels, is_in_place(send) ? receive : send, receive, result, type, op);
  if (code == MPI_SUCCESS && leads(levels)) {
    code = allreduce_on(levels.leaders, receive, operand, op);
  }
  if (code == MPI_SUCCESS) code = node_broadcast(levels, result, kLeader);
  return finished(on, code);
}

Outcome spread_reduce(Communicator& on, const void* send, void* receive, Items operand, MPI_Op op, int root) {
  Levels& levels = *on.levels;
  if (!levels.reduces) return kLeft;
  KeptType type;
  if (!is_rank(on, root)) return kWrong;
  if (const Fate fate = judge_reduction(operand, op, type); fate != Fate::taken) return {fate};
  const int node = levels.node_of[static_cast<std::size_t>(root)];
  const int place = levels.place_of[static_cast<std::size_t>(root)];
  int rank = 0;
  CW_NEXT(MPI_Comm_rank)(on.handle, &rank);
  const bool at_root = rank == root;
  if ((is_in_place(send) && !at_root) || (at_root && send == receive)) return kWrong;
  Room room;
  void* at = at_root ? receive : nullptr;
  if (leads(levels) && !at_root) at = room.take(operand.count, type);
  const void* const own = is_in_place(send) ? receive : send;
  int code = gather_operand(levels, own, at, operand, type, op);
  if (code == MPI_SUCCESS && leads(levels)) code = reduce_among_leaders(levels, at, operand, op, node);
  const bool hands = levels.own_node == node && place != kLeader && (at_root || leads(levels));
  if (code == MPI_SUCCESS && hands) code = hand_to_root(levels, at, operand, place, at_root);
  return finished(on, code);
}

}  // namespace corewise::preload::accelerating

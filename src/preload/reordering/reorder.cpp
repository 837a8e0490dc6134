// Finding the seats, agreeing on the order, making the world; see reorder.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/reordering/reorder.hpp"

#include <fcntl.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "base/fnv.hpp"
#include "base/knobs.hpp"
#include "preload/environment.hpp"
#include "preload/reordering/grid.hpp"
#include "preload/reordering/plan.hpp"

namespace corewise::preload::reorder {

bool active = false;
MPI_Comm stand_in = MPI_COMM_NULL;

namespace {

constexpr Knob kReorder{
    "reorder", KnobType::text, "", "reverse, order:RANK,RANK,..., or a prepared file",
    "the order of MPI_COMM_WORLD; empty: the launcher's; set for all ranks of a run or for none"};

constexpr std::int64_t kDeadline_s = 600;  ///< for ranks that do not come: they lack this library
constexpr std::size_t kMostPlaces = 4096;  ///< of a topology; the table of distances grows with its square

/// What all ranks agreed on.
struct World {
  bool known = false;  ///< where every rank sits
  Plan plan;
  std::vector<Seat> seats;        ///< by launch rank
  std::vector<int> launch_ranks;  ///< by world rank
};
World world;

std::int64_t seconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec;
}

// ---- agreeing ----

bool is_spawned() {
  MPI_Comm parent = MPI_COMM_NULL;
  CW_NEXT(MPI_Comm_get_parent)(&parent);
  return parent != MPI_COMM_NULL;
}

/// A communicator of our own; MPI_COMM_NULL where a rank does not take part.
MPI_Comm own_communicator() {
  // MPI may write them after the deadline.
  static MPI_Comm comm = MPI_COMM_NULL;
  static MPI_Request request = MPI_REQUEST_NULL;
  if (CW_NEXT(MPI_Comm_idup)(MPI_COMM_WORLD, &comm, &request) != MPI_SUCCESS) return MPI_COMM_NULL;
  const std::int64_t deadline = seconds() + kDeadline_s;
  for (int done = 0; done == 0;) {
    if (CW_NEXT(MPI_Test)(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return MPI_COMM_NULL;
    if (done == 0 && seconds() > deadline) return MPI_COMM_NULL;
    if (done == 0) sched_yield();
  }
  CW_NEXT(MPI_Comm_set_errhandler)(comm, MPI_ERRORS_RETURN);
  return comm;
}

Seat own_seat(const Plan& plan) {
  char node[64] = {};
  name_node(node, sizeof node);
  return {fnv(node), plan.hash, find_unit(plan)};
}

bool gather_seats(MPI_Comm comm, std::vector<Seat>& seats) {
  int size = 0;
  CW_NEXT(MPI_Comm_size)(comm, &size);
  seats.resize(static_cast<std::size_t>(size));
  Seat mine = own_seat(world.plan);
  constexpr int kBytes = static_cast<int>(sizeof(Seat));
  return CW_NEXT(MPI_Allgather)(&mine, kBytes, MPI_BYTE, seats.data(), kBytes, MPI_BYTE, comm) == MPI_SUCCESS;
}

// ---- making the world ----

/// The value of `key` among `hints`; empty without one.
std::string hint(MPI_Info hints, const char* key) {
  char value[MPI_MAX_INFO_VAL + 1] = {};
  int found = 0;
  CW_NEXT(MPI_Info_get)(hints, key, MPI_MAX_INFO_VAL, value, &found);
  return found != 0 ? value : "";
}

/// Those of `from` that differ in `to`: a hint that is merely repeated may come to mean more.
void copy_hints(MPI_Comm from, MPI_Comm to) {
  MPI_Info wanted = MPI_INFO_NULL, present = MPI_INFO_NULL, missing = MPI_INFO_NULL;
  int keys = 0;
  CW_NEXT(MPI_Comm_get_info)(from, &wanted);
  CW_NEXT(MPI_Comm_get_info)(to, &present);
  CW_NEXT(MPI_Info_create)(&missing);
  CW_NEXT(MPI_Info_get_nkeys)(wanted, &keys);
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = {};
    CW_NEXT(MPI_Info_get_nthkey)(wanted, i, key);
    if (const std::string value = hint(wanted, key); value != hint(present, key))
      CW_NEXT(MPI_Info_set)(missing, key, value.c_str());
  }
  CW_NEXT(MPI_Comm_set_info)(to, missing);
  for (MPI_Info* info : {&wanted, &present, &missing}) CW_NEXT(MPI_Info_free)(info);
}

/// What the launcher's world was born with: error handler, hints, name.
void inherit(MPI_Comm fresh) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  CW_NEXT(MPI_Comm_get_errhandler)(MPI_COMM_WORLD, &handler);
  copy_hints(MPI_COMM_WORLD, fresh);
  CW_NEXT(MPI_Comm_set_name)(fresh, "MPI_COMM_WORLD");
  CW_NEXT(MPI_Comm_set_errhandler)(fresh, handler);
  CW_NEXT(MPI_Errhandler_free)(&handler);
}

/// Runs in MPI_Finalize as the last of MPI_COMM_SELF's delete callbacks, because it was set first
/// (MPI-4.1, 11.2.4): the program's own, which may still communicate, have run.
int end_world(MPI_Comm, int, void*, void*) {
#ifndef OPEN_MPI
  // MPICH deletes the attributes of MPI_COMM_WORLD now; Open MPI never does.
  if (active) {
    MPI_Comm ending = stand_in;
    CW_NEXT(MPI_Comm_free)(&ending);
  }
#endif
  active = false;
  return MPI_SUCCESS;
}

void watch_for_the_end() {
  int keyval = MPI_KEYVAL_INVALID;
  CW_NEXT(MPI_Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, end_world, &keyval, nullptr);
  CW_NEXT(MPI_Comm_set_attr)(MPI_COMM_SELF, keyval, nullptr);
  CW_NEXT(MPI_Comm_free_keyval)(&keyval);
}

int world_rank_of(int launch_rank) {
  const auto found = std::find(world.launch_ranks.begin(), world.launch_ranks.end(), launch_rank);
  return static_cast<int>(found - world.launch_ranks.begin());
}

bool make_world(MPI_Comm comm) {
  int launch_rank = 0;
  CW_NEXT(MPI_Comm_rank)(comm, &launch_rank);
  if (CW_NEXT(MPI_Comm_split)(comm, 0, world_rank_of(launch_rank), &stand_in) != MPI_SUCCESS) return false;
  inherit(stand_in);
  watch_for_the_end();
  active = true;
  return true;
}

// ---- telling ----

std::string as_json(bool reordered, const std::string& reason) {
  std::string list;
  for (const int rank : world.launch_ranks) list += (list.empty() ? "" : ", ") + std::to_string(rank);
  return std::string("{\"format\": \"corewise-reorder\", \"version\": 1, \"reordered\": ") +
         (reordered ? "true" : "false") + ", \"reason\": \"" + reason + "\", \"launch_ranks\": [" + list + "]}\n";
}

/// Rank 0's part.
void tell(bool reordered, const std::string& reason) {
  int rank = -1;
  CW_NEXT(MPI_Comm_rank)(actual(MPI_COMM_WORLD), &rank);
  if (rank != 0 || trace_directory().empty()) return;
  const std::string path = std::string(trace_directory()) + "/reorder.json";
  const std::string text = as_json(reordered, reason);
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, text.data(), text.size());
  close(fd);
}

void decide_and_make(MPI_Comm comm) {
  Decision decision = decide(world.plan, world.seats);
  world.launch_ranks = decision.launch_ranks;
  world.known = !world.launch_ranks.empty();
  if (!world.known) return tell(false, decision.reason);
  if (std::is_sorted(world.launch_ranks.begin(), world.launch_ranks.end()))
    return tell(false, "the launcher's order is the one that was asked for");
  const bool made = make_world(comm);
  tell(made, made ? "" : "MPI_Comm_split failed");
}

// ---- topologies ----

/// Launch ranks of the members of `comm`. False where one of them is not of this world: all members see the same,
/// also those of the other world.
bool launch_ranks_of(MPI_Comm comm, std::vector<int>& launch) {
  MPI_Group group = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
  int size = 0;
  CW_NEXT(MPI_Comm_size)(comm, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  launch.resize(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  CW_NEXT(MPI_Comm_group)(comm, &group);
  CW_NEXT(MPI_Comm_group)(MPI_COMM_WORLD, &all);
  CW_NEXT(MPI_Group_translate_ranks)(group, size, ranks.data(), all, launch.data());
  CW_NEXT(MPI_Group_free)(&group);
  CW_NEXT(MPI_Group_free)(&all);
  return std::find(launch.begin(), launch.end(), MPI_UNDEFINED) == launch.end();
}

/// Of both directions, so that the table is symmetric.
std::vector<std::int64_t> distances_between(const std::vector<int>& launch) {
  std::vector<std::int64_t> table;
  table.reserve(launch.size() * launch.size());
  for (const int a : launch)
    for (const int b : launch)
      table.push_back(distance(world.plan, world.seats, a, b) + distance(world.plan, world.seats, b, a));
  return table;
}

/// Whether topologies on `comm` are ours to arrange; `size` is its size.
bool may_arrange(MPI_Comm comm, int& size) {
  int is_inter = 1;
  if (!world.known || comm == MPI_COMM_NULL) return false;
  if (CW_NEXT(MPI_Comm_test_inter)(comm, &is_inter) != MPI_SUCCESS || is_inter != 0) return false;
  return CW_NEXT(MPI_Comm_size)(comm, &size) == MPI_SUCCESS;
}

/// The place on the graph that the calling rank takes. All members come to the same order, each for itself.
bool find_place(MPI_Comm comm, const Neighbours& graph, int* place) {
  std::vector<int> launch;
  if (graph.size() > kMostPlaces || !launch_ranks_of(comm, launch)) return false;
  launch.resize(graph.size());
  const std::vector<int> members = arrange(graph, distances_between(launch), launch.size());
  int rank = 0;
  CW_NEXT(MPI_Comm_rank)(comm, &rank);
  const auto found = std::find(members.begin(), members.end(), rank);
  *place = found == members.end() ? MPI_UNDEFINED : static_cast<int>(found - members.begin());
  return true;
}

/// Whether MPI would accept these numbers; it says itself what is wrong with others.
bool is_grid(int ndims, const int* dims, const int* periods, int size) {
  std::int64_t places = 1;
  if (ndims < 1 || dims == nullptr || periods == nullptr) return false;
  for (int d = 0; d < ndims; ++d) {
    if (dims[d] < 1 || dims[d] > size) return false;
    places *= dims[d];
    if (places > size) return false;
  }
  return true;
}

bool is_graph(int nodes, const int* index, const int* edges, int size) {
  if (nodes < 1 || nodes > size || index == nullptr || edges == nullptr) return false;
  for (int node = 0, before = 0; node < nodes; before = index[node++])
    if (index[node] < before) return false;
  return std::all_of(edges, edges + index[nodes - 1], [nodes](int to) { return to >= 0 && to < nodes; });
}

}  // namespace

MPI_Comm shown(MPI_Comm comm) {
  return stand_in != MPI_COMM_NULL && comm == stand_in ? MPI_COMM_WORLD : comm;
}

void arrange_world() {
  static bool done = false;
  const std::string_view text = knob_text(kReorder);
  if (text.empty() || done) return;
  done = true;
  const int saved_errno = errno;
  world.plan = read_plan(text);
  if (MPI_Comm comm = is_spawned() ? MPI_COMM_NULL : own_communicator(); comm != MPI_COMM_NULL) {
    if (gather_seats(comm, world.seats)) decide_and_make(comm);
    CW_NEXT(MPI_Comm_free)(&comm);
  }
  errno = saved_errno;
}

void arrange_group(const char* process_set, MPI_Group* group) {
  if (!active || std::string_view(process_set) != "mpi://WORLD") return;
  MPI_Group arranged = MPI_GROUP_NULL;
  const auto size = static_cast<int>(world.launch_ranks.size());
  if (CW_NEXT(MPI_Group_incl)(*group, size, world.launch_ranks.data(), &arranged) != MPI_SUCCESS) return;
  CW_NEXT(MPI_Group_free)(group);
  *group = arranged;
}

bool place_in_grid(MPI_Comm comm, int ndims, const int* dims, const int* periods, int* place) {
  int size = 0;
  if (!may_arrange(comm, size) || !is_grid(ndims, dims, periods, size)) return false;
  std::vector<bool> periodic(static_cast<std::size_t>(ndims));
  for (std::size_t d = 0; d < periodic.size(); ++d) periodic[d] = periods[d] != 0;
  return find_place(comm, grid_neighbours({dims, dims + ndims}, periodic), place);
}

bool place_in_graph(MPI_Comm comm, int nodes, const int* index, const int* edges, int* place) {
  int size = 0;
  if (!may_arrange(comm, size) || !is_graph(nodes, index, edges, size)) return false;
  Neighbours graph(static_cast<std::size_t>(nodes));
  for (int node = 0, at = 0; node < nodes; ++node)
    for (; at < index[node]; ++at) {
      graph[static_cast<std::size_t>(node)].push_back(edges[at]);
      graph[static_cast<std::size_t>(edges[at])].push_back(node);
    }
  return find_place(comm, graph, place);
}

bool split_by_place(MPI_Comm comm, int place, MPI_Comm* arranged) {
  const bool takes_part = place != MPI_UNDEFINED;
  return CW_NEXT(MPI_Comm_split)(comm, takes_part ? 0 : MPI_UNDEFINED, takes_part ? place : 0, arranged) ==
         MPI_SUCCESS;
}

}  // namespace corewise::preload::reorder

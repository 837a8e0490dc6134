// Communicators (MPI-3.1, section 6.4). A new one is agreed on by an all-gather over the old one, as in a real MPI;
// what its members share is then one object. SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "simmpi/api/groups.hpp"
#include "simmpi/collectives/collectives.hpp"

namespace corewise::simmpi {
namespace {

struct Choice {
  int color;
  int key;
};

/// Everybody's choice, by rank.
std::vector<Choice> all_choices(Context& call, Choice mine) {
  std::vector<Choice> all(static_cast<std::size_t>(call.size()));
  const Data own = bytes_at(reinterpret_cast<const std::byte*>(&mine), sizeof mine);
  all_gather(call, own, even_blocks(all.data(), sizeof mine, byte_type(), call.size()));
  return all;
}

/// Ranks in the world of those with this color, by key and rank.
std::vector<int> members_of(const Comm& comm, const std::vector<Choice>& all, int color) {
  std::vector<std::pair<int, int>> chosen;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const Choice& each = all[static_cast<std::size_t>(rank)];
    if (each.color == color) chosen.emplace_back(each.key, rank);
  }
  std::sort(chosen.begin(), chosen.end());
  std::vector<int> members;
  for (const auto& [key, rank] : chosen) members.push_back(comm.shared->world[static_cast<std::size_t>(rank)]);
  return members;
}

/// The new communicator of those that chose the same color; null for MPI_UNDEFINED.
MPI_Comm split(Context& call, Choice mine) {
  const std::vector<Choice> all = all_choices(call, mine);
  if (mine.color == MPI_UNDEFINED) return MPI_COMM_NULL;
  const std::vector<int> members = members_of(call.comm, all, mine.color);
  return new_comm(*call.actor.rank, World::here().common(*call.comm.shared, call.tag, members), call.comm);
}

/// A plan that writes the handle of a split.
Plan split_plan(MPI_Comm comm, Choice mine, MPI_Comm* newcomm) {
  Plan plan;
  plan.comm = comm_of(comm);
  plan.error = Demands()
                   .that(plan.comm != nullptr, MPI_ERR_COMM)
                   .that(newcomm != nullptr, MPI_ERR_ARG)
                   .that(mine.color >= 0 || mine.color == MPI_UNDEFINED, MPI_ERR_ARG)
                   .code();
  plan.work = [mine, newcomm](Context& call) { *newcomm = split(call, mine); };
  return plan;
}

void copy_topology(const Comm& from, Comm& to) {
  if (from.topology) to.topology = std::make_unique<Topology>(*from.topology);
}

/// A duplicate: all members, attributes and topology too.
Plan dup_plan(MPI_Comm comm, MPI_Comm* newcomm, const Info* info) {
  Plan plan;
  plan.comm = comm_of(comm);
  plan.error = Demands().that(plan.comm != nullptr, MPI_ERR_COMM).that(newcomm != nullptr, MPI_ERR_ARG).code();
  plan.work = [newcomm, info = info != nullptr ? *info : Info{}, keep = info == nullptr](Context& call) {
    *newcomm = split(call, {0, call.rank()});
    Comm& made = *comm_of(*newcomm);
    made.info = keep ? call.comm.info : info;
    copy_topology(call.comm, made);
    call.error = copy_attributes(*call.actor.rank, call.comm, made);
  };
  return plan;
}

/// Fetched by every member of a group: its first one made it.
Shared& agreed(Context& call, const std::vector<int>& members) {
  Shared* shared = nullptr;
  const auto rank_of = [&](int world) {
    const auto& all = call.comm.shared->world;
    return static_cast<int>(std::find(all.begin(), all.end(), world) - all.begin());
  };
  const Data address = bytes_at(reinterpret_cast<const std::byte*>(&shared), sizeof shared);
  if (call.actor.rank->world != members.front()) {
    call.receive(address, rank_of(members.front()));
    return *shared;
  }
  shared = &World::here().new_shared(members);
  for (std::size_t i = 1; i < members.size(); ++i) call.send(address, rank_of(members[i]));
  return *shared;
}

/// Tags of MPI_Comm_create_group's messages: apart from those of collectives, which count up from 0.
constexpr int kGroupTags = -2;

}  // namespace

MPI_Comm new_comm(Rank& rank, Shared& shared, const Comm& parent) {
  auto* made = new Comm;
  made->shared = &shared;
  const auto self = std::find(shared.world.begin(), shared.world.end(), rank.world);
  made->rank = static_cast<int>(self - shared.world.begin());
  made->handle = reinterpret_cast<MPI_Comm>(made);
  made->handler = parent.handler;
  if (made->handler != nullptr) ++made->handler->references;
  CallRecord::note_new(World::here(), World::actor(), *made);
  return made->handle;
}

}  // namespace corewise::simmpi

using namespace corewise::simmpi;

extern "C" {

int PMPI_Comm_size(MPI_Comm comm, int* size) {
  Entry entry("MPI_Comm_size");
  const Comm* found = comm_of(comm);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  *size = found->size();
  return MPI_SUCCESS;
}

int PMPI_Comm_rank(MPI_Comm comm, int* rank) {
  Entry entry("MPI_Comm_rank");
  const Comm* found = comm_of(comm);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  *rank = found->rank;
  return MPI_SUCCESS;
}

int PMPI_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int* result) {
  Entry entry("MPI_Comm_compare");
  const Comm* left = comm_of(comm1);
  const Comm* right = comm_of(comm2);
  if (left == nullptr || right == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  if (left->shared == right->shared) {
    *result = MPI_IDENT;
    return MPI_SUCCESS;
  }
  const int groups = compare(left->shared->world, right->shared->world);
  *result = groups == MPI_IDENT ? int{MPI_CONGRUENT} : groups;
  return MPI_SUCCESS;
}

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm* newcomm) {
  return Entry("MPI_Comm_dup").now(dup_plan(comm, newcomm, nullptr));
}

int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  const auto* own = reinterpret_cast<const Info*>(info);
  const Info none;
  return Entry("MPI_Comm_dup_with_info").now(dup_plan(comm, newcomm, own != nullptr ? own : &none));
}

int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
  return Entry("MPI_Comm_idup").later(dup_plan(comm, newcomm, nullptr), request);
}

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  return Entry("MPI_Comm_split").now(split_plan(comm, {color, key}, newcomm));
}

int PMPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info, MPI_Comm* newcomm) {
  // The machine is one node.
  const int color = split_type == MPI_UNDEFINED ? MPI_UNDEFINED : 0;
  return Entry("MPI_Comm_split_type").now(split_plan(comm, {color, key}, newcomm));
}

int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm) {
  Entry entry("MPI_Comm_create");
  const Group* members = group_of(group);
  if (members == nullptr) return entry.raise(comm_of(comm), MPI_ERR_GROUP);
  const auto self = std::find(members->world.begin(), members->world.end(), entry.rank().world);
  const bool inside = self != members->world.end();
  // Members of one group name it by its first one; groups of one call are the same or have no member in common.
  const int color = inside ? members->world.front() : MPI_UNDEFINED;
  return entry.now(split_plan(comm, {color, static_cast<int>(self - members->world.begin())}, newcomm));
}

int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm) {
  Entry entry("MPI_Comm_create_group");
  Comm* found = comm_of(comm);
  const Group* members = group_of(group);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  if (members == nullptr) return entry.raise(found, MPI_ERR_GROUP);
  *newcomm = MPI_COMM_NULL;
  const auto& world = members->world;
  if (std::find(world.begin(), world.end(), entry.rank().world) == world.end()) return MPI_SUCCESS;
  Context call{entry.actor(), *found, kGroupTags - tag, MPI_SUCCESS};
  *newcomm = new_comm(entry.rank(), agreed(call, world), *found);
  return MPI_SUCCESS;
}

int PMPI_Comm_free(MPI_Comm* comm) {
  Entry entry("MPI_Comm_free");
  Comm* found = comm != nullptr ? comm_of(*comm) : nullptr;
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  if (*comm == MPI_COMM_WORLD || *comm == MPI_COMM_SELF) return entry.raise(found, MPI_ERR_COMM);
  if (const int code = delete_attributes(entry.rank(), *found)) return entry.raise(found, code);
  *comm = MPI_COMM_NULL;  // the object stays: requests under way may name it
  return MPI_SUCCESS;
}

int PMPI_Comm_disconnect(MPI_Comm* comm) {
  return PMPI_Comm_free(comm);
}

int PMPI_Comm_test_inter(MPI_Comm comm, int* flag) {
  Entry entry("MPI_Comm_test_inter");
  if (comm_of(comm) == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  *flag = 0;
  return MPI_SUCCESS;
}

int PMPI_Comm_get_parent(MPI_Comm* parent) {
  *parent = MPI_COMM_NULL;  // nothing spawns a simulated program
  return MPI_SUCCESS;
}

int PMPI_Comm_set_name(MPI_Comm comm, const char* comm_name) {
  Entry entry("MPI_Comm_set_name");
  Comm* found = comm_of(comm);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  found->name = std::string(comm_name).substr(0, MPI_MAX_OBJECT_NAME - 1);
  if (Recording* recording = entry.world().recording()) recording->rank(entry.rank().world).renamed(*found);
  return MPI_SUCCESS;
}

int PMPI_Comm_get_name(MPI_Comm comm, char* comm_name, int* resultlen) {
  Entry entry("MPI_Comm_get_name");
  const Comm* found = comm_of(comm);
  const std::string name = found != nullptr ? found->name : comm == MPI_COMM_NULL ? "MPI_COMM_NULL" : "";
  *resultlen = std::snprintf(comm_name, MPI_MAX_OBJECT_NAME, "%s", name.c_str());
  return MPI_SUCCESS;
}

}  // extern "C"

COREWISE_ALIAS(Comm_size);
COREWISE_ALIAS(Comm_rank);
COREWISE_ALIAS(Comm_compare);
COREWISE_ALIAS(Comm_dup);
COREWISE_ALIAS(Comm_dup_with_info);
COREWISE_ALIAS(Comm_idup);
COREWISE_ALIAS(Comm_split);
COREWISE_ALIAS(Comm_split_type);
COREWISE_ALIAS(Comm_create);
COREWISE_ALIAS(Comm_create_group);
COREWISE_ALIAS(Comm_free);
COREWISE_ALIAS(Comm_disconnect);
COREWISE_ALIAS(Comm_test_inter);
COREWISE_ALIAS(Comm_get_parent);
COREWISE_ALIAS(Comm_set_name);
COREWISE_ALIAS(Comm_get_name);

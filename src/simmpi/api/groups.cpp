// Groups (MPI-3.1, section 6.3). SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/api/groups.hpp"

#include <algorithm>
#include <vector>

namespace corewise::simmpi {
namespace {

bool contains(const Group& group, int world) {
  return std::find(group.world.begin(), group.world.end(), world) != group.world.end();
}

int rank_in(const Group& group, int world) {
  const auto found = std::find(group.world.begin(), group.world.end(), world);
  return found == group.world.end() ? MPI_UNDEFINED : static_cast<int>(found - group.world.begin());
}

MPI_Group made(std::vector<int> world) {
  return world.empty() ? MPI_GROUP_EMPTY : reinterpret_cast<MPI_Group>(new Group{std::move(world)});
}

/// The members at `ranks`; false where one does not exist or comes twice.
bool pick(const Group& group, const std::vector<int>& ranks, std::vector<int>& world) {
  std::vector<bool> taken(group.world.size());
  for (const int rank : ranks) {
    if (rank < 0 || std::cmp_greater_equal(rank, group.world.size()) || taken[static_cast<std::size_t>(rank)]) {
      return false;
    }
    taken[static_cast<std::size_t>(rank)] = true;
    world.push_back(group.world[static_cast<std::size_t>(rank)]);
  }
  return true;
}

std::vector<int> without(const Group& group, const std::vector<int>& out) {
  std::vector<int> kept;
  for (const int world : group.world) {
    if (std::find(out.begin(), out.end(), world) == out.end()) kept.push_back(world);
  }
  return kept;
}

/// The ranks that (first, last, stride) triplets name; false where a stride is 0.
bool expand(int n, int ranges[][3], std::vector<int>& ranks) {
  for (int i = 0; i < n; ++i) {
    const int step = ranges[i][2];
    if (step == 0) return false;
    for (int rank = ranges[i][0]; step > 0 ? rank <= ranges[i][1] : rank >= ranges[i][1]; rank += step) {
      ranks.push_back(rank);
    }
  }
  return true;
}

int choose(Entry& entry, MPI_Group group, const std::vector<int>& ranks, bool keep, MPI_Group* newgroup) {
  const Group* from = group_of(group);
  if (from == nullptr) return entry.raise(nullptr, MPI_ERR_GROUP);
  std::vector<int> picked;
  if (!pick(*from, ranks, picked)) return entry.raise(nullptr, MPI_ERR_RANK);
  *newgroup = made(keep ? picked : without(*from, picked));
  return MPI_SUCCESS;
}

int choose_ranges(Entry& entry, MPI_Group group, int n, int ranges[][3], bool keep, MPI_Group* newgroup) {
  std::vector<int> ranks;
  if (n < 0 || !expand(n, ranges, ranks)) return entry.raise(nullptr, MPI_ERR_ARG);
  return choose(entry, group, ranks, keep, newgroup);
}

}  // namespace

const Group* group_of(MPI_Group handle) {
  static const Group nobody;
  if (handle == MPI_GROUP_EMPTY) return &nobody;
  return reinterpret_cast<const Group*>(handle);
}

int compare(const std::vector<int>& left, const std::vector<int>& right) {
  if (left == right) return MPI_IDENT;
  if (left.size() != right.size()) return MPI_UNEQUAL;
  return std::is_permutation(left.begin(), left.end(), right.begin()) ? MPI_SIMILAR : MPI_UNEQUAL;
}

}  // namespace corewise::simmpi

using namespace corewise::simmpi;

extern "C" {

int PMPI_Comm_group(MPI_Comm comm, MPI_Group* group) {
  Entry entry("MPI_Comm_group");
  const Comm* found = comm_of(comm);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_COMM);
  *group = made(found->shared->world);
  return MPI_SUCCESS;
}

int PMPI_Group_size(MPI_Group group, int* size) {
  Entry entry("MPI_Group_size");
  const Group* found = group_of(group);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_GROUP);
  *size = static_cast<int>(found->world.size());
  return MPI_SUCCESS;
}

int PMPI_Group_rank(MPI_Group group, int* rank) {
  Entry entry("MPI_Group_rank");
  const Group* found = group_of(group);
  if (found == nullptr) return entry.raise(nullptr, MPI_ERR_GROUP);
  *rank = rank_in(*found, entry.rank().world);
  return MPI_SUCCESS;
}

int PMPI_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[]) {
  Entry entry("MPI_Group_translate_ranks");
  const Group* from = group_of(group1);
  const Group* to = group_of(group2);
  if (from == nullptr || to == nullptr) return entry.raise(nullptr, MPI_ERR_GROUP);
  for (int i = 0; i < n; ++i) {
    if (ranks1[i] == MPI_PROC_NULL) {
      ranks2[i] = MPI_PROC_NULL;
      continue;
    }
    if (ranks1[i] < 0 || std::cmp_greater_equal(ranks1[i], from->world.size())) {
      return entry.raise(nullptr, MPI_ERR_RANK);
    }
    ranks2[i] = rank_in(*to, from->world[static_cast<std::size_t>(ranks1[i])]);
  }
  return MPI_SUCCESS;
}

int PMPI_Group_compare(MPI_Group group1, MPI_Group group2, int* result) {
  Entry entry("MPI_Group_compare");
  const Group* left = group_of(group1);
  const Group* right = group_of(group2);
  if (left == nullptr || right == nullptr) return entry.raise(nullptr, MPI_ERR_GROUP);
  *result = compare(left->world, right->world);
  return MPI_SUCCESS;
}

int PMPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  Entry entry("MPI_Group_union");
  const Group* left = group_of(group1);
  const Group* right = group_of(group2);
  if (left == nullptr || right == nullptr) return entry.raise(nullptr, MPI_ERR_GROUP);
  std::vector<int> both = left->world;
  for (const int world : right->world) {
    if (!contains(*left, world)) both.push_back(world);
  }
  *newgroup = made(std::move(both));
  return MPI_SUCCESS;
}

int PMPI_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  Entry entry("MPI_Group_intersection");
  const Group* left = group_of(group1);
  const Group* right = group_of(group2);
  if (left == nullptr || right == nullptr) return entry.raise(nullptr, MPI_ERR_GROUP);
  std::vector<int> shared;
  for (const int world : left->world) {
    if (contains(*right, world)) shared.push_back(world);
  }
  *newgroup = made(std::move(shared));
  return MPI_SUCCESS;
}

int PMPI_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  Entry entry("MPI_Group_difference");
  const Group* left = group_of(group1);
  const Group* right = group_of(group2);
  if (left == nullptr || right == nullptr) return entry.raise(nullptr, MPI_ERR_GROUP);
  *newgroup = made(without(*left, right->world));
  return MPI_SUCCESS;
}

int PMPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup) {
  Entry entry("MPI_Group_incl");
  return choose(entry, group, listed(n, ranks), true, newgroup);
}

int PMPI_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup) {
  Entry entry("MPI_Group_excl");
  return choose(entry, group, listed(n, ranks), false, newgroup);
}

int PMPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) {
  Entry entry("MPI_Group_range_incl");
  return choose_ranges(entry, group, n, ranges, true, newgroup);
}

int PMPI_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) {
  Entry entry("MPI_Group_range_excl");
  return choose_ranges(entry, group, n, ranges, false, newgroup);
}

int PMPI_Group_free(MPI_Group* group) {
  Entry entry("MPI_Group_free");
  if (group == nullptr || *group == MPI_GROUP_NULL) return entry.raise(nullptr, MPI_ERR_GROUP);
  if (*group != MPI_GROUP_EMPTY) delete reinterpret_cast<Group*>(*group);
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}

}  // extern "C"

COREWISE_ALIAS(Comm_group);
COREWISE_ALIAS(Group_size);
COREWISE_ALIAS(Group_rank);
COREWISE_ALIAS(Group_translate_ranks);
COREWISE_ALIAS(Group_compare);
COREWISE_ALIAS(Group_union);
COREWISE_ALIAS(Group_intersection);
COREWISE_ALIAS(Group_difference);
COREWISE_ALIAS(Group_incl);
COREWISE_ALIAS(Group_excl);
COREWISE_ALIAS(Group_range_incl);
COREWISE_ALIAS(Group_range_excl);
COREWISE_ALIAS(Group_free);

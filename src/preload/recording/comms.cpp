// Describing communicators; see comms.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/recording/comms.hpp"

#include <cstdlib>
#include <mutex>

namespace corewise::preload {
namespace {

MPI_Group world_group = MPI_GROUP_NULL;
int keyval = MPI_KEYVAL_INVALID;
std::uint32_t next_index = 0;
Communicator unknown;
std::mutex registering;  ///< two threads must not describe one communicator twice

/// Those that live, by the keys of their handles.
constexpr std::size_t kChains = 64;
Communicator* chains[kChains];
std::mutex listing;  ///< nobody who holds it calls MPI

Communicator*& chain_of(std::uint64_t key) {
  return chains[(key * 0x9e3779b97f4a7c15ULL) >> 58];
}

void enlist(Communicator& comm, MPI_Comm handle) {
  const std::lock_guard lock(listing);
  comm.key = handle_key(handle);
  comm.next = chain_of(comm.key);
  chain_of(comm.key) = &comm;
}

void strike(const Communicator& comm) {
  const std::lock_guard lock(listing);
  for (Communicator** link = &chain_of(comm.key); *link != nullptr; link = &(*link)->next)
    if (*link == &comm) {
      *link = comm.next;
      return;
    }
}

/// Attribute delete callback: the handle may come back as another communicator.
int forget(MPI_Comm, int, void* value, void*) {
  auto* comm = static_cast<Communicator*>(value);
  strike(*comm);
  __atomic_fetch_add(&comm_generation, 1, __ATOMIC_ACQ_REL);
  release(comm);
  return MPI_SUCCESS;
}

/// World ranks of `group`; nullptr when it is the identity on the world's first ranks.
std::int32_t* translate(MPI_Group group, int size, bool may_be_identity) {
  auto* local = static_cast<int*>(std::calloc(static_cast<std::size_t>(size) * 2 + 1, sizeof(int)));
  if (local == nullptr) return nullptr;
  int* world = local + size;
  for (int rank = 0; rank < size; ++rank) local[rank] = rank;
  PMPI_Group_translate_ranks(group, size, local, world_group, world);
  bool identity = may_be_identity;
  for (int rank = 0; rank < size; ++rank) {
    identity = identity && world[rank] == rank;
    local[rank] = world[rank] == MPI_UNDEFINED ? trace::kOutside : world[rank];
  }
  if (!identity) return local;
  std::free(local);
  return nullptr;
}

std::uint32_t claim_index() {
  const std::uint32_t index = __atomic_fetch_add(&next_index, 1, __ATOMIC_RELAXED);
  if (index < trace::kUnknownComm) return index;
  __atomic_fetch_add(&process.file->lost_comms, 1, __ATOMIC_RELAXED);
  return trace::kUnknownComm;
}

void append_comm(const Communicator& comm, const char* name, std::uint64_t created_by, std::uint64_t parent) {
  static const std::uint64_t zero = 0;
  trace::CommHeader header{};
  header.block = {trace::BlockKind::comm, static_cast<std::uint32_t>(comm.index), 0};
  header.size = comm.size;
  header.remote_size = comm.remote_size;
  header.my_rank = comm.my_rank;
  header.identity = comm.world_ranks == nullptr ? 1 : 0;
  header.name_bytes = static_cast<std::uint32_t>(std::strlen(name));
  header.created_by = static_cast<std::uint16_t>(created_by);
  header.parent = static_cast<std::uint16_t>(parent);
  header.created_ticks = now();
  const std::uint64_t padding = (8 - header.name_bytes % 8) % 8;
  const std::uint64_t local_bytes = header.identity != 0 ? 0 : sizeof(std::int32_t) * comm.size;
  const Part parts[] = {{name, header.name_bytes},
                        {&zero, padding},
                        {comm.world_ranks, local_bytes},
                        {comm.remote_ranks, sizeof(std::int32_t) * comm.remote_size}};
  append_block(header.block, sizeof header, parts, 4);
}

void read_groups(Communicator& comm, MPI_Comm handle) {
  MPI_Group group = MPI_GROUP_NULL;
  int inter = 0;
  PMPI_Comm_size(handle, &comm.size);
  PMPI_Comm_rank(handle, &comm.my_rank);
  PMPI_Comm_group(handle, &group);
  comm.world_ranks = translate(group, comm.size, true);
  PMPI_Group_free(&group);
  PMPI_Comm_test_inter(handle, &inter);
  comm.is_inter = inter != 0;
  if (!comm.is_inter) return;
  PMPI_Comm_remote_size(handle, &comm.remote_size);
  PMPI_Comm_remote_group(handle, &group);
  comm.remote_ranks = translate(group, comm.remote_size, false);
  PMPI_Group_free(&group);
}

Communicator* register_comm(MPI_Comm handle, std::uint64_t created_by, std::uint64_t parent) {
  if (keyval == MPI_KEYVAL_INVALID) return &unknown;
  auto* comm = new Communicator;
  read_groups(*comm, handle);
  comm->index = claim_index();
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0;
  PMPI_Comm_get_name(handle, name, &length);
  append_comm(*comm, name, created_by, parent);
  if (PMPI_Comm_set_attr(handle, keyval, comm) == MPI_SUCCESS) {
    enlist(*comm, handle);
    return comm;
  }
  release(comm);
  return &unknown;
}

Communicator* find_attribute(MPI_Comm handle) {
  void* value = nullptr;
  int found = 0;
  if (keyval == MPI_KEYVAL_INVALID) return nullptr;
  PMPI_Comm_get_attr(handle, keyval, &value, &found);
  return found != 0 ? static_cast<Communicator*>(value) : nullptr;
}

Communicator* find_or_register(MPI_Comm handle, std::uint64_t created_by, std::uint64_t parent) {
  const std::lock_guard lock(registering);
  Communicator* found = find_attribute(handle);
  return found != nullptr ? found : register_comm(handle, created_by, parent);
}

void cache(Thread& thread, MPI_Comm handle, Communicator* comm, std::uint64_t generation) {
  if (thread.comm_generation != generation) {
    for (std::uint64_t& key : thread.comm_keys) key = UINT64_MAX;
    thread.comm_generation = generation;
  }
  const std::uint64_t key = handle_key(handle);
  const std::size_t line = (key >> 3 ^ key >> 9 ^ key) % Thread::kCachedComms;
  thread.comm_keys[line] = key;
  thread.comms[line] = comm;
}

}  // namespace

std::uint64_t comm_generation = 1;

void start_communicators(MPI_Group world) {
  if (keyval != MPI_KEYVAL_INVALID) {  // a session came first; its world is this one
    PMPI_Group_free(&world);
    return;
  }
  world_group = world;
  if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, nullptr) != MPI_SUCCESS)
    keyval = MPI_KEYVAL_INVALID;
}

void stop_communicators() {
  if (world_group != MPI_GROUP_NULL) PMPI_Group_free(&world_group);
  if (keyval != MPI_KEYVAL_INVALID) PMPI_Comm_free_keyval(&keyval);
  {
    const std::lock_guard lock(listing);
    for (Communicator*& chain : chains) chain = nullptr;
  }
  // What is described so far must not be found under a handle of MPI's next life.
  __atomic_fetch_add(&comm_generation, 1, __ATOMIC_ACQ_REL);
  world_group = MPI_GROUP_NULL;
  keyval = MPI_KEYVAL_INVALID;
}

Communicator* describe(Thread& thread, MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return &unknown;
  if (thread.pinned_comm != nullptr && thread.pinned_comm_key == handle_key(comm)) return thread.pinned_comm;
  const std::uint64_t generation = __atomic_load_n(&comm_generation, __ATOMIC_ACQUIRE);
  Communicator* found = find_or_register(comm, trace::kCallMask, trace::kUnknownComm);
  cache(thread, comm, found, generation);
  return found;
}

Communicator* find_described(MPI_Comm comm) {
  const std::uint64_t key = handle_key(comm);
  const std::lock_guard lock(listing);
  for (Communicator* each = chain_of(key); each != nullptr; each = each->next)
    if (each->key == key) return each;
  return nullptr;
}

Communicator* unknown_communicator() {
  return &unknown;
}

Communicator* describe_group(MPI_Group group) {
  if (world_group == MPI_GROUP_NULL) return &unknown;
  auto* comm = new Communicator;
  PMPI_Group_size(group, &comm->size);
  PMPI_Group_rank(group, &comm->my_rank);
  comm->world_ranks = translate(group, comm->size, true);
  comm->index = claim_index();
  append_comm(*comm, "", trace::kCallMask, trace::kUnknownComm);
  return comm;
}

void note_new_communicator(Thread& thread, MPI_Comm fresh, std::uint64_t created_by, MPI_Comm parent) {
  if (fresh == MPI_COMM_NULL || keyval == MPI_KEYVAL_INVALID) return;
  const std::uint64_t above =
      parent == MPI_COMM_NULL ? trace::kUnknownComm : communicator_of(thread, parent)->index;
  find_or_register(fresh, created_by, above);
}

void retain(Communicator* comm) {
  __atomic_fetch_add(&comm->references, 1, __ATOMIC_RELAXED);
}

void release(Communicator* comm) {
  if (comm == &unknown || __atomic_sub_fetch(&comm->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  std::free(comm->world_ranks);
  std::free(comm->remote_ranks);
  delete comm;
}

}  // namespace corewise::preload

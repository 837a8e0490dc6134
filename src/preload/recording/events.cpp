// The parts of Event that are no templates; see events.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/recording/events.hpp"

#include <cstdlib>

namespace corewise::preload {
namespace {

CollectiveParts* keep_parts(const std::vector<CollectivePart>& parts) {
  if (parts.empty()) return nullptr;
  const std::size_t bytes = sizeof(CollectiveParts) + sizeof(CollectivePart) * (parts.size() - 1);
  auto* kept = static_cast<CollectiveParts*>(std::malloc(bytes));
  if (kept == nullptr) return nullptr;
  kept->count = static_cast<int>(parts.size());
  std::memcpy(kept->part, parts.data(), sizeof(CollectivePart) * parts.size());
  return kept;
}

std::vector<int> cart_destinations(MPI_Comm comm) {
  int dimensions = 0;
  PMPI_Cartdim_get(comm, &dimensions);
  std::vector<int> ranks;
  for (int axis = 0; axis < dimensions; ++axis) {
    int below = MPI_PROC_NULL;
    int above = MPI_PROC_NULL;
    PMPI_Cart_shift(comm, axis, 1, &below, &above);
    ranks.push_back(below);
    ranks.push_back(above);
  }
  return ranks;
}

std::vector<int> graph_destinations(MPI_Comm comm) {
  int me = 0;
  int count = 0;
  PMPI_Comm_rank(comm, &me);
  PMPI_Graph_neighbors_count(comm, me, &count);
  std::vector<int> ranks(static_cast<std::size_t>(count));
  PMPI_Graph_neighbors(comm, me, count, ranks.data());
  return ranks;
}

std::vector<int> dist_graph_destinations(MPI_Comm comm) {
  int in = 0;
  int out = 0;
  int weighted = 0;
  PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  std::vector<int> sources(static_cast<std::size_t>(in) + 1), source_weights(sources.size());
  std::vector<int> ranks(static_cast<std::size_t>(out)), weights(ranks.size() + 1);
  PMPI_Dist_graph_neighbors(comm, in, sources.data(), source_weights.data(), out, ranks.data(), weights.data());
  return ranks;
}

}  // namespace

bool Pin::hold(MPI_Comm comm) {
  Thread* thread = recording_thread();
  if (thread == nullptr) return false;
  thread_ = thread;
  thread->pinned_types = 0;
  if (comm == MPI_COMM_NULL) return true;
  const DepthGuard guard(*thread);
  Communicator* described = communicator_of(*thread, comm);
  retain(described);
  thread->pinned_comm = described;
  thread->pinned_comm_key = handle_key(comm);
  return true;
}

void Pin::hold(MPI_Datatype type, Unknown unknown) const {
  constexpr std::size_t kStep = 16 * sizeof(KnownType);
  const std::uint64_t key = handle_key(type);
  const std::size_t count = thread_->pinned_types;
  auto* held = static_cast<KnownType*>(scratch(*thread_, align_up((count + 1) * sizeof(KnownType), kStep)));
  if (held == nullptr || type == MPI_DATATYPE_NULL) return;
  for (std::size_t i = 0; i < count; ++i)
    if (held[i].key == key) return;
  const DepthGuard guard(*thread_);
  if (unknown == Unknown::ask)
    held[count] = ask_type(type);
  else if (!find_type(type, held[count]))
    return;
  thread_->pinned_types = count + 1;
}

std::size_t Pin::peers() const {
  const Communicator* on = thread_->pinned_comm;
  return on == nullptr ? 0 : static_cast<std::size_t>(on->is_inter ? on->remote_size : on->size);
}

std::size_t Pin::neighbours(MPI_Comm comm) {
  return topology_destinations(comm).size();
}

void Pin::let_go() {
  if (thread_->pinned_comm != nullptr) release(thread_->pinned_comm);
  thread_->pinned_comm = nullptr;
  thread_->pinned_types = 0;
}

std::vector<int> topology_destinations(MPI_Comm comm) {
  int topology = MPI_UNDEFINED;
  PMPI_Topo_test(comm, &topology);
  if (topology == MPI_CART) return cart_destinations(comm);
  if (topology == MPI_GRAPH) return graph_destinations(comm);
  if (topology == MPI_DIST_GRAPH) return dist_graph_destinations(comm);
  return {};
}

Operation Event::operation(OperationKind kind, int rank, int tag, const Data& data, MPI_Comm comm) {
  Communicator* on = communicator_of(thread, comm);
  Operation made;
  made.kind = kind;
  made.procedure = procedure;
  made.site = site;
  made.peer = world_peer(*on, rank);
  made.tag = recorded_tag(tag);
  made.bytes = data.bytes;
  made.type = data.type;
  made.comm = on;
  return made;
}

void Event::start_operation(const Operation& posted, MPI_Request request) {
  Operation entry = posted;
  started(entry);
  if (request == MPI_REQUEST_NULL) return;
  retain(entry.comm);
  put_operation(handle_key(request), entry);
}

void Event::init_operation(const Operation& posted, MPI_Request request) {
  plain();
  Operation entry = posted;
  entry.persistent = true;
  if (request == MPI_REQUEST_NULL) return std::free(entry.parts);
  retain(entry.comm);
  put_operation(handle_key(request), entry);
}

void Event::started(Operation& entry) {
  entry.start = start;
  entry.active = true;
  const bool sends = entry.kind == OperationKind::send;
  if (entry.kind != OperationKind::collective)
    return message(sends ? trace::Role::send : trace::Role::post_receive, entry.peer, entry.tag,
                   {entry.bytes, entry.type}, entry.comm->index);
  // The start is one call, the collective under its own name a part of it.
  if (!counted) plain();
  Event part = *this;
  part.counted = true;
  part.procedure = entry.procedure;
  part.message(trace::Role::collective, entry.peer, 0, {entry.bytes, entry.type}, entry.comm->index);
  for (int i = 0; entry.parts != nullptr && i < entry.parts->count; ++i)
    part.message(trace::Role::collective_part, entry.parts->part[i].peer, 0,
                 {entry.parts->part[i].bytes, entry.parts->part[i].type}, entry.comm->index);
  counted = true;
}

namespace {

/// MPICH 5.0 leaves the status of MPI_Isendrecv unset: what contradicts the post is no news of the message.
bool answers(const Operation& posted, std::int32_t peer, std::int32_t tag) {
  return (posted.peer == peer || posted.peer == trace::kAnySource) &&
         (posted.tag == tag || posted.tag == trace::kAnyTag || peer == trace::kProcNull);
}

}  // namespace

void Event::completed(const Operation& entry, const MPI_Status& status) {
  if (!records(trace::kMessages)) return;
  int cancelled = 0;
  if (entry.cancelled || __atomic_load_n(&process.cancels, __ATOMIC_RELAXED)) [[unlikely]]
    PMPI_Test_cancelled(&status, &cancelled);
  const std::uint64_t took = start + ticks - entry.start;
  if (cancelled != 0) {
    trace::put_message(thread.recorder, {entry.start, took, entry.bytes, entry.peer, entry.tag, entry.procedure,
                                         entry.site, entry.comm->index, trace::Role::cancel, entry.type});
  } else if (entry.kind == OperationKind::receive) {
    const std::int32_t peer = world_peer(*entry.comm, status.MPI_SOURCE);
    const std::int32_t tag = recorded_tag(status.MPI_TAG);
    if (!answers(entry, peer, tag)) return count_lost_request();
    trace::put_message(thread.recorder, {entry.start, took, status_bytes(status), peer, tag, entry.procedure,
                                         entry.site, entry.comm->index, trace::Role::arrival, entry.type});
  }
}

void Event::collective(MPI_Comm comm, int root, const Data& data, const MPI_Request* init,
                       const std::vector<CollectivePart>& parts) {
  Communicator* on = communicator_of(thread, comm);
  const std::int32_t peer = world_root(*on, root);
  if (init != nullptr) {
    Operation posted;
    posted.kind = OperationKind::collective;
    posted.procedure = procedure;
    posted.site = site;
    posted.peer = peer;
    posted.bytes = data.bytes;
    posted.type = data.type;
    posted.comm = on;
    posted.parts = keep_parts(parts);
    return init_operation(posted, *init);
  }
  message(trace::Role::collective, peer, 0, data, on->index);
  for (const CollectivePart& part : parts)
    message(trace::Role::collective_part, part.peer, 0, {part.bytes, part.type}, on->index);
}

std::vector<int> Event::peers_of(MPI_Comm comm) {
  const Communicator& on = *communicator_of(thread, comm);
  std::vector<int> ranks(static_cast<std::size_t>(on.is_inter ? on.remote_size : on.size));
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i);
  return ranks;
}

}  // namespace corewise::preload

// Events: from the arguments of one intercepted call to its records. The generated wrappers (recording.py has the
// table of recipes) call `traced` with a lambda that forwards to PMPI and one that describes the call to an Event.
//
// Contract: an Event reads only arguments that the standard makes significant on the calling rank, only after the
// call succeeded, and calls MPI only for local facts (sizes of datatypes, counts in statuses, topologies).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>
#include <vector>

#include "preload/recording/requests.hpp"
#include "preload/recording/windows.hpp"

namespace corewise::preload {

/// Sizes of predefined datatypes, whose handles never change their meaning; filled once, when recording starts.
struct PredefinedTypes {
  static constexpr std::size_t kSlots = 256;
  std::uint64_t keys[kSlots];
  std::uint64_t sizes[kSlots];

  static std::size_t home(std::uint64_t key) { return (key * 0x9e3779b97f4a7c15ULL) >> 56; }
};
extern PredefinedTypes predefined_types;
void learn_predefined_types();

inline std::uint64_t type_bytes(MPI_Datatype type) {
  const std::uint64_t key = handle_key(type);
  const std::size_t slot = PredefinedTypes::home(key);
  if (predefined_types.keys[slot] == key) [[likely]]
    return predefined_types.sizes[slot];
  if (this_thread.pinned_comm != nullptr && this_thread.pinned_type_key == key) [[unlikely]]
    return this_thread.pinned_type_bytes;
  // MPI was given it under a handler that let the call succeed; asking would end the job by the world's handler.
  if (type == MPI_DATATYPE_NULL) return 0;
  int size = 0;
  PMPI_Type_size(type, &size);
  if (size != MPI_UNDEFINED) [[likely]]
    return static_cast<std::uint64_t>(size);
  MPI_Count large = 0;
  PMPI_Type_size_x(type, &large);
  return static_cast<std::uint64_t>(large);
}

template <class Count>
inline std::uint64_t data_bytes(Count count, MPI_Datatype type) {
  return count > 0 ? static_cast<std::uint64_t>(count) * type_bytes(type) : 0;
}

inline std::uint64_t status_bytes(const MPI_Status& status) {
  int count = 0;
  PMPI_Get_count(&status, MPI_BYTE, &count);
  if (count != MPI_UNDEFINED) [[likely]]
    return static_cast<std::uint64_t>(count);
  MPI_Count large = 0;
  PMPI_Get_elements_x(&status, MPI_BYTE, &large);
  return large > 0 ? static_cast<std::uint64_t>(large) : 0;
}

/// Libraries differ in the value of MPI_ANY_TAG, which a receive from MPI_PROC_NULL returns.
inline std::int32_t recorded_tag(int tag) {
  return tag == MPI_ANY_TAG ? trace::kAnyTag : tag;
}

/// Holds on to what a call's description needs while the call runs. With several threads another one may free the
/// communicator or the datatype meanwhile: pending operations complete normally (MPI-4.1, 7.4.3), and only the
/// call's start is certain to come before. Costs one branch where threads do not call MPI at one time.
class Pin {
 public:
  explicit Pin(MPI_Comm comm, MPI_Datatype type = MPI_DATATYPE_NULL) {
    if (process.multiple) [[unlikely]]
      hold(comm, type);
  }
  ~Pin() {
    if (thread_ != nullptr) [[unlikely]]
      let_go();
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

 private:
  void hold(MPI_Comm comm, MPI_Datatype type);
  void let_go();

  Thread* thread_ = nullptr;
};

/// What a call left at `where`. MPICH returns success from a call whose error went to a handler of the program's
/// own: what MPI refused may be a null pointer.
template <class Value>
inline Value value_at(const Value* where, std::type_identity_t<Value> nothing) {
  return where != nullptr ? *where : nothing;
}

/// Stands in for a status that the program ignores: the sentinel itself is never written to.
class OwnStatus {
 public:
  explicit OwnStatus(MPI_Status* given) : given_(given) {}
  MPI_Status* get() { return given_ == MPI_STATUS_IGNORE ? &own_ : given_; }
  const MPI_Status& value() { return *get(); }

 private:
  MPI_Status* given_;
  MPI_Status own_;
};

/// MPI_MESSAGE: where it came from, taken before the receive consumes the handle.
class TakenMessage {
 public:
  explicit TakenMessage(const MPI_Message* message) {
    if (!process.recording || message == nullptr) return;
    if (*message != MPI_MESSAGE_NULL && *message != MPI_MESSAGE_NO_PROC)
      comm_ = take_message_comm(handle_key(*message));
  }
  ~TakenMessage() {
    if (comm_ != nullptr) release(comm_);
  }
  TakenMessage(const TakenMessage&) = delete;
  TakenMessage& operator=(const TakenMessage&) = delete;
  [[nodiscard]] Communicator* comm() const { return comm_; }

 private:
  Communicator* comm_ = nullptr;
};

class DepthGuard {
 public:
  explicit DepthGuard(Thread& thread) : thread_(thread) { thread_.depth = 1; }
  ~DepthGuard() { thread_.depth = 0; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  Thread& thread_;
};

/// Destinations of this rank in the communicator's topology, as ranks; empty without one.
std::vector<int> topology_destinations(MPI_Comm comm);

/// The choice that a record belongs to. What is not chosen is looked at all the same, so that requests and
/// communicators stay known when recording is stopped and resumed (MPI_Pcontrol).
constexpr trace::Kind kind_of(trace::Role role) {
  switch (role) {
    case trace::Role::send:
    case trace::Role::receive:
    case trace::Role::post_receive:
    case trace::Role::arrival:
    case trace::Role::cancel:
      return trace::kMessages;
    case trace::Role::collective:
    case trace::Role::collective_part:
      return trace::kCollectives;
    case trace::Role::rma_put:
    case trace::Role::rma_get:
      return trace::kOneSided;
    case trace::Role::file_read:
    case trace::Role::file_write:
      return trace::kFiles;
    default:
      return trace::kCalls;
  }
}

struct Event {
  Thread& thread;
  std::uint64_t start;
  std::uint64_t ticks;
  std::uint64_t procedure;
  std::uint64_t site;
  bool counted = false;  ///< a record of this call is out: further ones carry no duration

  // ---- writing records ----

  void plain() {
    if (records(trace::kCalls)) trace::put_call(thread.recorder, start, ticks, procedure, site);
  }
  void miss() {
    if (records(trace::kCalls)) trace::put_miss(thread.recorder, start, ticks, procedure, site);
  }

  void message(trace::Role role, std::int32_t peer, std::int32_t tag, std::uint64_t bytes, std::uint64_t comm) {
    if (records(kind_of(role)))
      trace::put_message(thread.recorder,
                         {start, counted ? 0 : ticks, bytes, peer, tag, procedure, site, comm, role});
    counted = true;
  }

  // ---- point to point ----

  template <class Count>
  [[gnu::always_inline]] inline void send(int dest, int tag, Count count, MPI_Datatype type, MPI_Comm comm) {
    const Communicator& on = *communicator_of(thread, comm);
    message(trace::Role::send, world_peer(on, dest), tag, data_bytes(count, type), on.index);
  }

  void receive(const MPI_Status& status, MPI_Comm comm) {
    const Communicator& on = *communicator_of(thread, comm);
    message(trace::Role::receive, world_peer(on, status.MPI_SOURCE), recorded_tag(status.MPI_TAG),
            status_bytes(status), on.index);
  }

  /// The receiving half of MPI_Sendrecv.
  void receive_half(const MPI_Status& status, MPI_Comm comm) {
    const Communicator& on = *communicator_of(thread, comm);
    if (records(trace::kMessages))
      trace::put_message(thread.recorder,
                         {start, ticks, status_bytes(status), world_peer(on, status.MPI_SOURCE),
                          recorded_tag(status.MPI_TAG), procedure, site, on.index, trace::Role::arrival});
  }

  void receive_message(const MPI_Status& status, const TakenMessage& taken) {
    if (taken.comm() == nullptr) return plain();
    const Communicator& on = *taken.comm();
    message(trace::Role::receive, world_peer(on, status.MPI_SOURCE), recorded_tag(status.MPI_TAG),
            status_bytes(status), on.index);
  }

  template <class Count>
  void post_send(int dest, int tag, Count count, MPI_Datatype type, MPI_Comm comm, MPI_Request request) {
    start_operation(operation(OperationKind::send, dest, tag, data_bytes(count, type), comm), request);
  }
  template <class Count>
  void post_receive(int source, int tag, Count count, MPI_Datatype type, MPI_Comm comm, MPI_Request request) {
    start_operation(operation(OperationKind::receive, source, tag, data_bytes(count, type), comm), request);
  }
  template <class Count>
  void post_receive_message(const TakenMessage& taken, Count count, MPI_Datatype type, MPI_Request request) {
    if (taken.comm() == nullptr) return plain();
    Operation posted;
    posted.kind = OperationKind::receive;
    posted.peer = trace::kAnySource;
    posted.tag = trace::kAnyTag;
    posted.bytes = data_bytes(count, type);
    posted.comm = taken.comm();
    posted.procedure = procedure;
    posted.site = site;
    start_operation(posted, request);
  }
  template <class Count>
  void init_send(int dest, int tag, Count count, MPI_Datatype type, MPI_Comm comm, MPI_Request request) {
    init_operation(operation(OperationKind::send, dest, tag, data_bytes(count, type), comm), request);
  }
  template <class Count>
  void init_receive(int source, int tag, Count count, MPI_Datatype type, MPI_Comm comm, MPI_Request request) {
    init_operation(operation(OperationKind::receive, source, tag, data_bytes(count, type), comm), request);
  }
  template <class Count>
  void init_partitioned_send(int partitions, int dest, int tag, Count count, MPI_Datatype type, MPI_Comm comm,
                             MPI_Request request) {
    const std::uint64_t bytes = data_bytes(count, type) * static_cast<std::uint64_t>(partitions);
    init_operation(operation(OperationKind::send, dest, tag, bytes, comm), request);
  }
  template <class Count>
  void init_partitioned_receive(int partitions, int source, int tag, Count count, MPI_Datatype type, MPI_Comm comm,
                                MPI_Request request) {
    const std::uint64_t bytes = data_bytes(count, type) * static_cast<std::uint64_t>(partitions);
    init_operation(operation(OperationKind::receive, source, tag, bytes, comm), request);
  }

  void probe(const MPI_Status& status, MPI_Comm comm) {
    const Communicator& on = *communicator_of(thread, comm);
    message(trace::Role::probe, world_peer(on, status.MPI_SOURCE), recorded_tag(status.MPI_TAG),
            status_bytes(status), on.index);
  }
  void probe_message(const MPI_Status& status, MPI_Comm comm, MPI_Message found) {
    if (found != MPI_MESSAGE_NO_PROC) put_message_comm(handle_key(found), communicator_of(thread, comm));
    probe(status, comm);
  }

  // ---- requests ----

  /// The record of a started operation, and its entry until it completes.
  void start_operation(const Operation& posted, MPI_Request request);
  /// A persistent operation: its entry, inactive; the call itself moves nothing.
  void init_operation(const Operation& posted, MPI_Request request);
  /// Records that `operation` is under way from this call on (MPI_Start).
  void started(Operation& operation);
  /// MPI_Start and MPI_Startall.
  void start_all(int count, const MPI_Request* requests);
  /// Writes what the completion of `operation` means; `status` is valid.
  void completed(const Operation& operation, const MPI_Status& status);

  // ---- collectives; `init` names the request of a persistent one, which is recorded at each start ----

  void collective(MPI_Comm comm, int root, std::uint64_t bytes, const MPI_Request* init,
                  const std::vector<CollectivePart>& parts = {});

  template <class Count>
  void rooted(Count count, MPI_Datatype type, int root, MPI_Comm comm, const MPI_Request* init = nullptr) {
    collective(comm, root, root == MPI_PROC_NULL ? 0 : data_bytes(count, type), init);
  }
  /// Reduce: a root of an intercommunicator contributes nothing.
  template <class Count>
  void reduce(Count count, MPI_Datatype type, int root, MPI_Comm comm, const MPI_Request* init = nullptr) {
    collective(comm, root, root == MPI_PROC_NULL || root == MPI_ROOT ? 0 : data_bytes(count, type), init);
  }
  template <class Count>
  void rootless(Count count, MPI_Datatype type, MPI_Comm comm, const MPI_Request* init = nullptr) {
    collective(comm, MPI_PROC_NULL, data_bytes(count, type), init);
  }
  template <class Count>
  void gather(const void* sendbuf, Count count, MPI_Datatype type, int root, MPI_Comm comm,
              const MPI_Request* init = nullptr) {
    const bool contributes = root != MPI_ROOT && root != MPI_PROC_NULL && sendbuf != MPI_IN_PLACE;
    collective(comm, root, contributes ? data_bytes(count, type) : 0, init);
  }
  template <class Count>
  void scatter(const void* recvbuf, Count count, MPI_Datatype type, int root, MPI_Comm comm,
               const MPI_Request* init = nullptr) {
    gather(recvbuf, count, type, root, comm, init);
  }
  template <class Count>
  void allgather(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, Count recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm, const MPI_Request* init = nullptr) {
    const bool in_place = sendbuf == MPI_IN_PLACE;
    collective(comm, MPI_PROC_NULL, in_place ? data_bytes(recvcount, recvtype) : data_bytes(sendcount, sendtype),
               init);
  }
  template <class Count>
  void allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, const Count* recvcounts,
                  MPI_Datatype recvtype, MPI_Comm comm, const MPI_Request* init = nullptr) {
    const int me = communicator_of(thread, comm)->my_rank;
    const bool in_place = sendbuf == MPI_IN_PLACE;
    collective(comm, MPI_PROC_NULL,
               in_place ? data_bytes(recvcounts[me], recvtype) : data_bytes(sendcount, sendtype), init);
  }
  /// Bytes to each peer.
  template <class Count>
  void alltoall(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, Count recvcount, MPI_Datatype recvtype,
                MPI_Comm comm, const MPI_Request* init = nullptr) {
    allgather(sendbuf, sendcount, sendtype, recvcount, recvtype, comm, init);
  }
  template <class Count>
  void alltoallv(const void* sendbuf, const Count* sendcounts, MPI_Datatype sendtype, const Count* recvcounts,
                 MPI_Datatype recvtype, MPI_Comm comm, const MPI_Request* init = nullptr) {
    const bool in_place = sendbuf == MPI_IN_PLACE;
    const Count* counts = in_place ? recvcounts : sendcounts;
    const MPI_Datatype type = in_place ? recvtype : sendtype;
    shared_out(comm, peers_of(comm), init, [&](std::size_t i) { return data_bytes(counts[i], type); });
  }
  template <class Count, class Types>
  void alltoallw(const void* sendbuf, const Count* sendcounts, Types sendtypes, const Count* recvcounts,
                 Types recvtypes, MPI_Comm comm, const MPI_Request* init = nullptr) {
    const bool in_place = sendbuf == MPI_IN_PLACE;
    const Count* counts = in_place ? recvcounts : sendcounts;
    const Types types = in_place ? recvtypes : sendtypes;
    shared_out(comm, peers_of(comm), init, [&](std::size_t i) { return data_bytes(counts[i], types[i]); });
  }
  /// Bytes that this rank receives; every other rank of the group sends it that much.
  template <class Count>
  void reduce_scatter(const Count* recvcounts, MPI_Datatype type, MPI_Comm comm,
                      const MPI_Request* init = nullptr) {
    rootless(recvcounts[communicator_of(thread, comm)->my_rank], type, comm, init);
  }
  template <class Count>
  void neighbor_same(Count count, MPI_Datatype type, MPI_Comm comm, const MPI_Request* init = nullptr) {
    shared_out(comm, topology_destinations(comm), init, [&](std::size_t) { return data_bytes(count, type); });
  }
  template <class Count>
  void neighbor_v(const Count* counts, MPI_Datatype type, MPI_Comm comm, const MPI_Request* init = nullptr) {
    shared_out(comm, topology_destinations(comm), init, [&](std::size_t i) { return data_bytes(counts[i], type); });
  }
  template <class Count, class Types>
  void neighbor_w(const Count* counts, Types types, MPI_Comm comm, const MPI_Request* init = nullptr) {
    shared_out(comm, topology_destinations(comm), init,
               [&](std::size_t i) { return data_bytes(counts[i], types[i]); });
  }

  // ---- one-sided: bytes that the origin gives and takes ----

  template <class Count>
  void put(int target, Count count, MPI_Datatype type, MPI_Win window) {
    one_sided(trace::Role::rma_put, target, data_bytes(count, type), window);
  }
  template <class Count>
  void get(int target, Count count, MPI_Datatype type, MPI_Win window) {
    one_sided(trace::Role::rma_get, target, data_bytes(count, type), window);
  }
  /// Get_accumulate and its kin: with MPI_NO_OP the origin's buffer is not significant.
  template <class Count>
  void fetch(int target, MPI_Op op, Count given, MPI_Datatype given_type, Count taken, MPI_Datatype taken_type,
             MPI_Win window) {
    if (op != MPI_NO_OP) put(target, given, given_type, window);
    get(target, taken, taken_type, window);
  }
  void new_window(MPI_Win fresh, MPI_Comm comm) {
    plain();
    note_new_window(thread, fresh, comm);
  }

  // ---- files: bytes that were moved, or, where the call only starts it, asked for ----

  void file_access(trace::Role role, const MPI_Status& status) { file_bytes(role, status_bytes(status)); }
  template <class Count>
  void file_access(trace::Role role, Count count, MPI_Datatype type) {
    file_bytes(role, data_bytes(count, type));
  }

  // ---- communicators ----

  void new_communicator(MPI_Comm fresh, MPI_Comm parent) {
    plain();
    note_new_communicator(thread, fresh, procedure, parent);
  }

 private:
  Operation operation(OperationKind kind, int rank, int tag, std::uint64_t bytes, MPI_Comm comm);
  std::vector<int> peers_of(MPI_Comm comm);

  void one_sided(trace::Role role, int target, std::uint64_t bytes, MPI_Win window) {
    const Communicator& on = *communicator_of_window(window);
    message(role, world_peer(on, target), 0, bytes, on.index);
  }
  void file_bytes(trace::Role role, std::uint64_t bytes) {
    message(role, trace::kNoPeer, 0, bytes, trace::kUnknownComm);
  }

  /// A collective with one share per destination.
  template <class BytesOf>
  void shared_out(MPI_Comm comm, const std::vector<int>& destinations, const MPI_Request* init, BytesOf bytes_of) {
    const Communicator& on = *communicator_of(thread, comm);
    std::vector<CollectivePart> parts;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < destinations.size(); ++i) {
      const std::uint64_t bytes = destinations[i] == MPI_PROC_NULL ? 0 : bytes_of(i);
      if (bytes > 0) parts.push_back({world_peer(on, destinations[i]), bytes});
      total += bytes;
    }
    collective(comm, MPI_PROC_NULL, total, init, parts);
  }
};

/// Forwards one call and describes it. `invoke` returns an MPI error code.
template <class Invoke, class Note>
[[gnu::always_inline]] inline int traced(std::uint64_t procedure, const void* return_address, Invoke invoke,
                                         Note note) {
  Thread* thread = recording_thread();
  if (thread == nullptr) [[unlikely]]
    return invoke();
  const DepthGuard guard(*thread);
  const std::uint64_t start = now();
  const int code = invoke();
  const std::uint64_t ticks = now() - start;
  Event event{*thread, start, ticks, procedure, site_index(return_address)};
  if (code == MPI_SUCCESS) [[likely]]
    note(event);
  else
    event.plain();
  return code;
}

/// The same for procedures that return a value: MPI_Wtime, MPI_Aint_add, handle conversions.
template <class Invoke>
[[gnu::always_inline]] inline auto traced_value(std::uint64_t procedure, const void* return_address,
                                                Invoke invoke) {
  Thread* thread = recording_thread();
  if (thread == nullptr) [[unlikely]]
    return invoke();
  const DepthGuard guard(*thread);
  const std::uint64_t start = now();
  const auto value = invoke();
  Event{*thread, start, now() - start, procedure, site_index(return_address)}.plain();
  return value;
}

}  // namespace corewise::preload

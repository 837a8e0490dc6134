// Events: from the arguments of one intercepted call to its records. The generated wrappers (recording.py has the
// table of recipes) call `traced` with a lambda that forwards to PMPI and one that describes the call to an Event.
//
// Contract: an Event reads only arguments that the standard makes significant on the calling rank, only after the
// call succeeded, and calls MPI only for local facts (sizes of datatypes, counts in statuses, topologies).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>
#include <vector>

#include "preload/recording/opening.hpp"
#include "preload/recording/requests.hpp"
#include "preload/recording/windows.hpp"

namespace corewise::preload {

/// A message's or a contribution's data: bytes, and the index of their datatype.
struct Data {
  std::uint64_t bytes = 0;
  std::uint64_t type = trace::kUnknownType;
};

template <class Count>
inline Data data_of(Count count, MPI_Datatype type) {
  const KnownType element = type_of(type);
  return {count > 0 ? static_cast<std::uint64_t>(count) * element.size : 0, element.index};
}

template <class Count>
inline std::uint64_t data_bytes(Count count, MPI_Datatype type) {
  return count > 0 ? static_cast<std::uint64_t>(count) * type_of(type).size : 0;
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

/// Whether MPI is asked, before the call, for a datatype that is not in our table. An argument that means nothing
/// on this rank may be anything.
enum class Unknown : bool { ask, leave };

/// Holds on to what a call's description needs while the call runs. With several threads another one may free the
/// communicator or the datatypes meanwhile: pending operations complete normally (MPI-4.1, 7.4.3), and only the
/// call's start is certain to come before. Costs one branch where threads do not call MPI at one time.
class Pin {
 public:
  /// `comm` may be MPI_COMM_NULL.
  template <class... Types>
  explicit Pin(Unknown unknown, MPI_Comm comm, Types... types) {
    if (!process.multiple) [[likely]]
      return;
    if (hold(comm)) (hold(types, unknown), ...);
  }
  ~Pin() {
    if (thread_ != nullptr) [[unlikely]]
      let_go();
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

  /// MPI_Alltoallw: a datatype for each peer, in an array or what stands for one.
  template <class Types>
  void hold_each(Types types) const {
    if (thread_ != nullptr) [[unlikely]]
      hold_first(types, peers());
  }
  /// The same for its neighbours.
  template <class Types>
  void hold_each(Types types, MPI_Comm comm) const {
    if (thread_ != nullptr) [[unlikely]]
      hold_first(types, neighbours(comm));
  }

 private:
  bool hold(MPI_Comm comm);
  void hold(MPI_Datatype type, Unknown unknown) const;
  template <class Types>
  void hold_first(Types types, std::size_t count) const {
    if constexpr (std::is_pointer_v<Types>)
      if (types == nullptr) return;
    for (std::size_t i = 0; i < count; ++i) hold(types[i], Unknown::leave);
  }
  [[nodiscard]] std::size_t peers() const;
  static std::size_t neighbours(MPI_Comm comm);
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
  [[gnu::always_inline]] explicit DepthGuard(Thread& thread) : thread_(thread) {
    thread_.depth = 1;
    thread_.entered = stack_pointer();
  }
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
  bool described = false;  ///< what stands in the thread's OpenCall is the record of this call's message
  bool counted = false;    ///< a record of this call is out: further ones carry no duration

  // ---- writing records ----

  void plain() {
    if (records(trace::kCalls)) trace::put_call(thread.recorder, start, ticks, procedure, site);
  }
  void miss() {
    if (records(trace::kCalls)) trace::put_miss(thread.recorder, start, ticks, procedure, site);
  }

  void message(trace::Role role, std::int32_t peer, std::int32_t tag, const Data& data, std::uint64_t comm) {
    if (records(kind_of(role)))
      trace::put_message(thread.recorder, {start, counted ? 0 : ticks, data.bytes, peer, tag, procedure, site, comm,
                                           role, data.type});
    counted = true;
  }
  /// True where the send's record was known when the call was entered, and has been written.
  bool sent() {
    if (!described) return false;
    if (records(trace::kMessages))
      trace::put_words(thread.recorder, start, ticks, trace::load_words(thread.recorder.header->open.call));
    return counted = true;
  }
  /// The datatype of a blocking receive.
  [[nodiscard]] std::uint64_t type_asked() const {
    return trace::target_type(thread.recorder.header->open.call.target);
  }

  // ---- point to point ----

  template <class Count>
  [[gnu::always_inline]] inline void send(int dest, int tag, Count count, MPI_Datatype type, MPI_Comm comm) {
    if (sent()) [[likely]]
      return;
    const Communicator& on = *communicator_of(thread, comm);
    message(trace::Role::send, world_peer(on, dest), tag, data_of(count, type), on.index);
  }

  void receive(const MPI_Status& status, MPI_Comm comm) {
    const Communicator& on = *communicator_of(thread, comm);
    message(trace::Role::receive, world_peer(on, status.MPI_SOURCE), recorded_tag(status.MPI_TAG),
            {status_bytes(status), type_asked()}, on.index);
  }

  /// The receiving half of MPI_Sendrecv.
  void receive_half(const MPI_Status& status, MPI_Comm comm) {
    const Communicator& on = *communicator_of(thread, comm);
    const std::uint64_t type = trace::target_type(thread.recorder.header->open.pending[0].target);
    if (records(trace::kMessages))
      trace::put_message(thread.recorder,
                         {start, ticks, status_bytes(status), world_peer(on, status.MPI_SOURCE),
                          recorded_tag(status.MPI_TAG), procedure, site, on.index, trace::Role::arrival, type});
  }

  void receive_message(const MPI_Status& status, const TakenMessage& taken, MPI_Datatype type) {
    if (taken.comm() == nullptr) return plain();
    const Communicator& on = *taken.comm();
    message(trace::Role::receive, world_peer(on, status.MPI_SOURCE), recorded_tag(status.MPI_TAG),
            {status_bytes(status), type_of(type).index}, on.index);
  }

  template <class Count>
  void post_send(int dest, int tag, Count count, MPI_Datatype type, MPI_Comm comm, MPI_Request request) {
    start_operation(operation(OperationKind::send, dest, tag, data_of(count, type), comm), request);
  }
  template <class Count>
  void post_receive(int source, int tag, Count count, MPI_Datatype type, MPI_Comm comm, MPI_Request request) {
    start_operation(operation(OperationKind::receive, source, tag, data_of(count, type), comm), request);
  }
  template <class Count>
  void post_receive_message(const TakenMessage& taken, Count count, MPI_Datatype type, MPI_Request request) {
    if (taken.comm() == nullptr) return plain();
    Operation posted;
    posted.kind = OperationKind::receive;
    posted.peer = trace::kAnySource;
    posted.tag = trace::kAnyTag;
    const Data data = data_of(count, type);
    posted.bytes = data.bytes;
    posted.type = data.type;
    posted.comm = taken.comm();
    posted.procedure = procedure;
    posted.site = site;
    start_operation(posted, request);
  }
  template <class Count>
  void init_send(int dest, int tag, Count count, MPI_Datatype type, MPI_Comm comm, MPI_Request request) {
    init_operation(operation(OperationKind::send, dest, tag, data_of(count, type), comm), request);
  }
  template <class Count>
  void init_receive(int source, int tag, Count count, MPI_Datatype type, MPI_Comm comm, MPI_Request request) {
    init_operation(operation(OperationKind::receive, source, tag, data_of(count, type), comm), request);
  }
  template <class Count>
  void init_partitioned_send(int partitions, int dest, int tag, Count count, MPI_Datatype type, MPI_Comm comm,
                             MPI_Request request) {
    init_operation(operation(OperationKind::send, dest, tag, parts_of(partitions, count, type), comm), request);
  }
  template <class Count>
  void init_partitioned_receive(int partitions, int source, int tag, Count count, MPI_Datatype type, MPI_Comm comm,
                                MPI_Request request) {
    init_operation(operation(OperationKind::receive, source, tag, parts_of(partitions, count, type), comm),
                   request);
  }

  void probe(const MPI_Status& status, MPI_Comm comm) {
    const Communicator& on = *communicator_of(thread, comm);
    message(trace::Role::probe, world_peer(on, status.MPI_SOURCE), recorded_tag(status.MPI_TAG),
            {status_bytes(status)}, on.index);
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
  /// Writes what the completion of `operation` means; `status` is valid.
  void completed(const Operation& operation, const MPI_Status& status);

  // ---- collectives; `init` names the request of a persistent one, which is recorded at each start ----

  void collective(MPI_Comm comm, int root, const Data& data, const MPI_Request* init,
                  const std::vector<CollectivePart>& parts = {});

  template <class Count>
  void rooted(Count count, MPI_Datatype type, int root, MPI_Comm comm, const MPI_Request* init = nullptr) {
    collective(comm, root, root == MPI_PROC_NULL ? Data{} : data_of(count, type), init);
  }
  /// Reduce: a root of an intercommunicator contributes nothing.
  template <class Count>
  void reduce(Count count, MPI_Datatype type, int root, MPI_Comm comm, const MPI_Request* init = nullptr) {
    collective(comm, root, root == MPI_PROC_NULL || root == MPI_ROOT ? Data{} : data_of(count, type), init);
  }
  template <class Count>
  void rootless(Count count, MPI_Datatype type, MPI_Comm comm, const MPI_Request* init = nullptr) {
    collective(comm, MPI_PROC_NULL, data_of(count, type), init);
  }
  template <class Count>
  void gather(const void* sendbuf, Count count, MPI_Datatype type, int root, MPI_Comm comm,
              const MPI_Request* init = nullptr) {
    const bool contributes = root != MPI_ROOT && root != MPI_PROC_NULL && sendbuf != MPI_IN_PLACE;
    collective(comm, root, contributes ? data_of(count, type) : Data{}, init);
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
    collective(comm, MPI_PROC_NULL, in_place ? data_of(recvcount, recvtype) : data_of(sendcount, sendtype), init);
  }
  template <class Count>
  void allgatherv(const void* sendbuf, Count sendcount, MPI_Datatype sendtype, const Count* recvcounts,
                  MPI_Datatype recvtype, MPI_Comm comm, const MPI_Request* init = nullptr) {
    const int me = communicator_of(thread, comm)->my_rank;
    const bool in_place = sendbuf == MPI_IN_PLACE;
    collective(comm, MPI_PROC_NULL, in_place ? data_of(recvcounts[me], recvtype) : data_of(sendcount, sendtype),
               init);
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
    shared_out(comm, peers_of(comm), init, [&](std::size_t i) { return data_of(counts[i], type); });
  }
  template <class Count, class Types>
  void alltoallw(const void* sendbuf, const Count* sendcounts, Types sendtypes, const Count* recvcounts,
                 Types recvtypes, MPI_Comm comm, const MPI_Request* init = nullptr) {
    const bool in_place = sendbuf == MPI_IN_PLACE;
    const Count* counts = in_place ? recvcounts : sendcounts;
    const Types types = in_place ? recvtypes : sendtypes;
    shared_out(comm, peers_of(comm), init, [&](std::size_t i) { return data_of(counts[i], types[i]); });
  }
  /// Bytes that this rank receives; every other rank of the group sends it that much.
  template <class Count>
  void reduce_scatter(const Count* recvcounts, MPI_Datatype type, MPI_Comm comm,
                      const MPI_Request* init = nullptr) {
    rootless(recvcounts[communicator_of(thread, comm)->my_rank], type, comm, init);
  }
  template <class Count>
  void neighbor_same(Count count, MPI_Datatype type, MPI_Comm comm, const MPI_Request* init = nullptr) {
    shared_out(comm, topology_destinations(comm), init, [&](std::size_t) { return data_of(count, type); });
  }
  template <class Count>
  void neighbor_v(const Count* counts, MPI_Datatype type, MPI_Comm comm, const MPI_Request* init = nullptr) {
    shared_out(comm, topology_destinations(comm), init, [&](std::size_t i) { return data_of(counts[i], type); });
  }
  template <class Count, class Types>
  void neighbor_w(const Count* counts, Types types, MPI_Comm comm, const MPI_Request* init = nullptr) {
    shared_out(comm, topology_destinations(comm), init,
               [&](std::size_t i) { return data_of(counts[i], types[i]); });
  }

  // ---- one-sided: bytes that the origin gives and takes ----

  template <class Count>
  void put(int target, Count count, MPI_Datatype type, MPI_Win window) {
    one_sided(trace::Role::rma_put, target, data_of(count, type), window);
  }
  template <class Count>
  void get(int target, Count count, MPI_Datatype type, MPI_Win window) {
    one_sided(trace::Role::rma_get, target, data_of(count, type), window);
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

  void file_access(trace::Role role, const MPI_Status& status) { file_bytes(role, {status_bytes(status)}); }
  template <class Count>
  void file_access(trace::Role role, Count count, MPI_Datatype type) {
    file_bytes(role, data_of(count, type));
  }

  // ---- datatypes and communicators ----

  void new_type(MPI_Datatype fresh) {
    plain();
    learn_type(fresh);
  }
  void new_communicator(MPI_Comm fresh, MPI_Comm parent) {
    plain();
    note_new_communicator(thread, fresh, procedure, parent);
  }

 private:
  Operation operation(OperationKind kind, int rank, int tag, const Data& data, MPI_Comm comm);
  template <class Count>
  static Data parts_of(int partitions, Count count, MPI_Datatype type) {
    const Data one = data_of(count, type);
    return {one.bytes * static_cast<std::uint64_t>(partitions), one.type};
  }
  std::vector<int> peers_of(MPI_Comm comm);

  void one_sided(trace::Role role, int target, const Data& data, MPI_Win window) {
    const Communicator& on = *communicator_of_window(window);
    message(role, world_peer(on, target), 0, data, on.index);
  }
  void file_bytes(trace::Role role, const Data& data) {
    message(role, trace::kNoPeer, 0, data, trace::kUnknownComm);
  }

  /// A collective with one share per destination.
  template <class DataOf>
  void shared_out(MPI_Comm comm, const std::vector<int>& destinations, const MPI_Request* init,
                  DataOf data_of_peer) {
    const Communicator& on = *communicator_of(thread, comm);
    std::vector<CollectivePart> parts;
    Data total;
    for (std::size_t i = 0; i < destinations.size(); ++i) {
      const Data share = destinations[i] == MPI_PROC_NULL ? Data{} : data_of_peer(i);
      if (share.bytes == 0) continue;
      // Of several datatypes the whole has none.
      total.type = parts.empty() || total.type == share.type ? share.type : std::uint64_t{trace::kUnknownType};
      total.bytes += share.bytes;
      parts.push_back({world_peer(on, destinations[i]), share.bytes, share.type});
    }
    collective(comm, MPI_PROC_NULL, total, init, parts);
  }
};

/// Forwards one call and describes it: `enter` to an Opening when it begins, `note` to an Event when it succeeded.
/// `invoke` returns an MPI error code.
template <class Invoke, class Note, class Enter>
[[gnu::always_inline]] inline int traced(std::uint64_t procedure, const void* return_address, Enter enter,
                                         Invoke invoke, Note note) {
  Thread* thread = recording_thread();
  if (thread == nullptr) [[unlikely]]
    return invoke();
  const DepthGuard guard(*thread);
  const std::uint64_t site = site_index(return_address);
  Opening open(*thread, procedure, site);
  enter(open);
  const std::uint64_t start = now();
  open.enter(start);
  const int code = invoke();
  const std::uint64_t ticks = now() - start;
  Event event{*thread, start, ticks, procedure, site, open.described()};
  if (code == MPI_SUCCESS) [[likely]]
    note(event);
  else
    event.plain();
  return code;
}

/// The same where nothing is known when it begins but which call it is.
template <class Invoke, class Note>
[[gnu::always_inline]] inline int traced(std::uint64_t procedure, const void* return_address, Invoke invoke,
                                         Note note) {
  return traced(procedure, return_address, [](Opening& /*open*/) {}, invoke, note);
}

/// The same for procedures that return a value and wait for nobody: MPI_Wtime, MPI_Aint_add, handle conversions.
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

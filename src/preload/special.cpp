// The wrappers that no recipe describes: the life of MPI itself, and completion and start of requests.
// The procedure numbers and names come from the generated procedures.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>

#include "preload/events.hpp"
#include "procedures.hpp"

#define CW_EXPORT __attribute__((visibility("default")))
#define CW_CALLER __builtin_return_address(0)

namespace corewise::preload {
namespace {

bool world_is_up = false;
int open_sessions = 0;  ///< atomic: sessions come and go in any thread

std::int32_t spawned() {
  MPI_Comm parent = MPI_COMM_NULL;
  PMPI_Comm_get_parent(&parent);
  return parent != MPI_COMM_NULL ? 1 : 0;
}

WorldFacts facts(int rank, int size, const char* library) {
  WorldFacts world{rank, size, 0, false, library};
  PMPI_Query_thread(&world.thread_level);
  static constexpr int kLevels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                    MPI_THREAD_MULTIPLE};
  for (int level = 0; level < 4; ++level)
    if (kLevels[level] == world.thread_level) {
      world.thread_level = level;
      break;
    }
  return world;
}

/// MPI_Init returned: the world is there.
void begin_world(const StartTime& start) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0, rank = 0, size = 0;
  MPI_Group world = MPI_GROUP_NULL;
  world_is_up = true;
  PMPI_Get_library_version(library, &length);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  WorldFacts world_facts = facts(rank, size, library);
  world_facts.spawned = spawned() != 0;
  start_recording(start, world_facts, kProcedureNames, kProcedures);
  if (!process.recording) return;
  learn_predefined_types();
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  start_communicators(world);
  if (Thread* thread = recording_thread()) {
    const DepthGuard guard(*thread);
    describe(*thread, MPI_COMM_WORLD);
    describe(*thread, MPI_COMM_SELF);
  }
}

/// MPI_Init and MPI_Init_thread.
template <class Invoke>
int begin(Procedure procedure, const void* caller, Invoke invoke) {
  const StartTime start = read_start_time();
  const int code = invoke();
  const std::uint64_t ticks = now() - start.ticks;
  if (code != MPI_SUCCESS) return code;
  begin_world(start);
  if (Thread* thread = recording_thread())
    Event{*thread, start.ticks, ticks, procedure, site_index(caller)}.plain();
  return code;
}

/// The last use of MPI ends inside `invoke`.
template <class Invoke>
int end(Procedure procedure, const void* caller, Invoke invoke) {
  if (!process.recording) return invoke();
  note_end_of_run();
  stop_communicators();
  const int code = traced(procedure, caller, invoke, [](Event& event) {
    event.plain();
    trace::flush(event.thread.recorder);
  });
  mark_finalized(procedure == kMPI_Finalize && __atomic_load_n(&open_sessions, __ATOMIC_RELAXED) == 0);
  return code;
}

/// The requests of a completion call on many, known by the handle values they had before it. With several threads
/// they are taken out of the table before the call, because a value may come back as another thread's request
/// (requests.hpp). Statuses are the program's own, or ours where it ignores them. Lives in the thread's scratch
/// memory: a call with many requests allocates once in the thread's life.
class Batch {
 public:
  /// `own_statuses`: how many are needed when `given` is MPI_STATUSES_IGNORE.
  Batch(Thread& thread, int count, const MPI_Request* requests, MPI_Status* given, int own_statuses)
      : count_(count > 0 ? static_cast<std::size_t>(count) : 0), requests_(requests), statuses_(given) {
    const std::size_t key_bytes = count_ * sizeof(std::uint64_t);
    const std::size_t taken_bytes = process.multiple ? count_ * sizeof(Operation) : 0;
    const bool own = given == MPI_STATUSES_IGNORE && own_statuses > 0;
    const std::size_t status_bytes = own ? static_cast<std::size_t>(own_statuses) * sizeof(MPI_Status) : 0;
    auto* memory = static_cast<std::byte*>(scratch(thread, key_bytes + taken_bytes + status_bytes));
    if (memory == nullptr) count_ = 0;
    keys_ = reinterpret_cast<std::uint64_t*>(memory);
    for (std::size_t i = 0; i < count_; ++i) keys_[i] = handle_key(requests[i]);
    if (taken_bytes > 0) take_all(reinterpret_cast<Operation*>(memory + key_bytes));
    if (own && memory != nullptr) statuses_ = reinterpret_cast<MPI_Status*>(memory + key_bytes + taken_bytes);
  }

  MPI_Status* statuses() { return statuses_; }
  /// Whether statuses() holds statuses after the call.
  [[nodiscard]] bool informed() const { return statuses_ != MPI_STATUSES_IGNORE; }

  /// Request `i` is complete, its status at statuses()[status].
  void complete(Event& event, int i, int status, bool delivered) {
    if (i < 0 || static_cast<std::size_t>(i) >= count_) return;
    Operation operation = take(static_cast<std::size_t>(i));
    if (operation.kind == OperationKind::none) return;
    if (operation.active && delivered) event.completed(operation, statuses_[status]);
    operation.active = false;
    operation.persistent ? put_operation(keys_[i], operation) : drop_operation(operation);
  }

  /// Everything that complete() was not called for is still under way, unless the call failed and ended it: its
  /// handle is gone then, and may come back as any other request.
  void put_rest_back(int code) {
    if (taken_ == nullptr && code == MPI_SUCCESS) return;
    for (std::size_t i = 0; i < count_; ++i) {
      const bool ended = code != MPI_SUCCESS && handle_key(requests_[i]) != keys_[i];
      if (taken_ == nullptr && !ended) continue;
      Operation operation = take(i);
      if (operation.kind == OperationKind::none) continue;
      ended ? drop_operation(operation) : put_operation(keys_[i], operation);
    }
  }

 private:
  static void* scratch(Thread& thread, std::size_t bytes) {
    if (bytes > thread.scratch_bytes) {
      void* grown = std::realloc(thread.scratch, bytes);
      if (grown == nullptr) return nullptr;
      thread.scratch = grown;
      thread.scratch_bytes = bytes;
    }
    return thread.scratch;
  }

  void take_all(Operation* room) {
    taken_ = room;
    for (std::size_t i = 0; i < count_; ++i) taken_[i] = take_operation(keys_[i]);
  }

  Operation take(std::size_t i) {
    if (taken_ == nullptr) return take_operation(keys_[i]);
    const Operation operation = taken_[i];
    taken_[i].kind = OperationKind::none;
    return operation;
  }

  std::size_t count_;
  const MPI_Request* requests_;
  MPI_Status* statuses_;
  std::uint64_t* keys_ = nullptr;
  Operation* taken_ = nullptr;
};

/// One completion call on one request.
template <class Invoke>
int complete_one(Procedure procedure, const void* caller, MPI_Request* request, MPI_Status* status, const int* flag,
                 Invoke invoke) {
  Thread* thread = recording_thread();
  if (thread == nullptr) return invoke(status);
  const DepthGuard guard(*thread);
  const std::uint64_t key = handle_key(*request);
  Operation operation = take_operation(key);
  OwnStatus own(status);
  const std::uint64_t start = now();
  const int code = invoke(own.get());
  Event event{*thread, start, now() - start, procedure, site_index(caller)};
  const bool failed = code != MPI_SUCCESS;  // a flag that was not set must not be read
  const bool done = flag == nullptr || (!failed && *flag != 0);
  done || failed ? event.plain() : event.miss();
  if (operation.kind == OperationKind::none) return code;
  const bool alive = handle_key(*request) == key;
  if (done && !failed && operation.active) event.completed(operation, own.value());
  if (done && operation.persistent) operation.active = false;
  alive ? put_operation(key, operation) : drop_operation(operation);
  return code;
}

/// One completion call that completes at most one of many.
template <class Invoke>
int complete_any(Procedure procedure, const void* caller, int count, MPI_Request* requests, const int* index,
                 const int* flag, MPI_Status* status, Invoke invoke) {
  Thread* thread = recording_thread();
  if (thread == nullptr) return invoke(status);
  const DepthGuard guard(*thread);
  OwnStatus own(status);
  Batch batch(*thread, count, requests, own.get(), 0);
  const std::uint64_t start = now();
  const int code = invoke(own.get());
  Event event{*thread, start, now() - start, procedure, site_index(caller)};
  if (code != MPI_SUCCESS) {  // which request it was, and whether it is gone, is not said
    event.plain();
  } else if (flag != nullptr && *flag == 0) {
    event.miss();
  } else {
    event.plain();
    if (*index != MPI_UNDEFINED) batch.complete(event, *index, 0, true);
  }
  batch.put_rest_back(code);
  return code;
}

/// Whether the request behind `status` was completed without error by a call that returned `code`.
bool delivered(int code, const MPI_Status& status) {
  return code == MPI_SUCCESS || (code == MPI_ERR_IN_STATUS && status.MPI_ERROR == MPI_SUCCESS);
}

bool pending(int code, const MPI_Status& status) {
  return code == MPI_ERR_IN_STATUS && status.MPI_ERROR == MPI_ERR_PENDING;
}

/// MPI_Waitall, MPI_Testall.
template <class Invoke>
int complete_all(Procedure procedure, const void* caller, int count, MPI_Request* requests, const int* flag,
                 MPI_Status* statuses, Invoke invoke) {
  Thread* thread = recording_thread();
  if (thread == nullptr) return invoke(statuses);
  const DepthGuard guard(*thread);
  Batch batch(*thread, count, requests, statuses, count);
  const std::uint64_t start = now();
  const int code = invoke(batch.statuses());
  Event event{*thread, start, now() - start, procedure, site_index(caller)};
  const bool settled = code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS;
  const bool done = flag == nullptr || code == MPI_ERR_IN_STATUS || (settled && *flag != 0);
  done || !settled ? event.plain() : event.miss();
  for (int i = 0; done && settled && batch.informed() && i < count; ++i)
    if (!pending(code, batch.statuses()[i])) batch.complete(event, i, i, delivered(code, batch.statuses()[i]));
  batch.put_rest_back(code);
  return code;
}

/// MPI_Waitsome, MPI_Testsome.
template <class Invoke>
int complete_some(Procedure procedure, const void* caller, int count, MPI_Request* requests, const int* outcount,
                  const int* indices, MPI_Status* statuses, bool polls, Invoke invoke) {
  Thread* thread = recording_thread();
  if (thread == nullptr) return invoke(statuses);
  const DepthGuard guard(*thread);
  Batch batch(*thread, count, requests, statuses, count);
  const std::uint64_t start = now();
  const int code = invoke(batch.statuses());
  Event event{*thread, start, now() - start, procedure, site_index(caller)};
  const bool settled = code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS;
  const bool missed = polls && code == MPI_SUCCESS && *outcount == 0;
  missed ? event.miss() : event.plain();
  for (int k = 0; settled && batch.informed() && *outcount != MPI_UNDEFINED && k < *outcount; ++k)
    batch.complete(event, indices[k], k, delivered(code, batch.statuses()[k]));
  batch.put_rest_back(code);
  return code;
}

}  // namespace
}  // namespace corewise::preload

using namespace corewise::preload;

extern "C" {

// ---- life ----

CW_EXPORT int MPI_Init(int* argc, char*** argv) {
  return begin(kMPI_Init, CW_CALLER, [&] { return PMPI_Init(argc, argv); });
}

CW_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return begin(kMPI_Init_thread, CW_CALLER, [&] { return PMPI_Init_thread(argc, argv, required, provided); });
}

CW_EXPORT int MPI_Finalize(void) {
  world_is_up = false;
  return end(kMPI_Finalize, CW_CALLER, [] { return PMPI_Finalize(); });
}

CW_EXPORT int MPI_Abort(MPI_Comm comm, int errorcode) {
  if (Thread* thread = recording_thread()) Event{*thread, now(), 0, kMPI_Abort, site_index(CW_CALLER)}.plain();
  mark_aborted(errorcode);
  return PMPI_Abort(comm, errorcode);
}

/// Variadic: further arguments are for tools that define them; the MPI's own version takes none.
CW_EXPORT int MPI_Pcontrol(const int level, ...) {
  return traced(
      kMPI_Pcontrol, CW_CALLER, [&] { return PMPI_Pcontrol(level); }, [](Event& event) { event.plain(); });
}

#ifdef CW_HAVE_MPI_Session_init
CW_EXPORT int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  const StartTime start = read_start_time();
  const int code = PMPI_Session_init(info, errhandler, session);
  const std::uint64_t ticks = now() - start.ticks;
  if (code != MPI_SUCCESS) return code;
  const bool first = __atomic_add_fetch(&open_sessions, 1, __ATOMIC_RELAXED) == 1 && !world_is_up;
  MPI_Group world = MPI_GROUP_NULL;
  if (first && PMPI_Group_from_session_pset(*session, "mpi://WORLD", &world) == MPI_SUCCESS) {
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0, rank = 0, size = 0;
    PMPI_Get_library_version(library, &length);
    PMPI_Group_rank(world, &rank);
    PMPI_Group_size(world, &size);
    WorldFacts world_facts{rank, size, 3, false, library};
    start_recording(start, world_facts, kProcedureNames, kProcedures);
    if (process.recording) {
      learn_predefined_types();
      start_communicators(world);
    }
  }
  process.multiple = true;
  if (Thread* thread = recording_thread())
    Event{*thread, start.ticks, ticks, kMPI_Session_init, site_index(CW_CALLER)}.plain();
  return code;
}

CW_EXPORT int MPI_Session_finalize(MPI_Session* session) {
  if (__atomic_sub_fetch(&open_sessions, 1, __ATOMIC_RELAXED) == 0 && !world_is_up)
    return end(kMPI_Session_finalize, CW_CALLER, [&] { return PMPI_Session_finalize(session); });
  return traced(
      kMPI_Session_finalize, CW_CALLER, [&] { return PMPI_Session_finalize(session); },
      [](Event& event) { event.plain(); });
}
#endif

// ---- completion ----

CW_EXPORT int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  return complete_one(kMPI_Wait, CW_CALLER, request, status, nullptr,
                      [&](MPI_Status* own) { return PMPI_Wait(request, own); });
}

CW_EXPORT int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  return complete_one(kMPI_Test, CW_CALLER, request, status, flag,
                      [&](MPI_Status* own) { return PMPI_Test(request, flag, own); });
}

CW_EXPORT int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  return complete_any(kMPI_Waitany, CW_CALLER, count, requests, index, nullptr, status,
                      [&](MPI_Status* own) { return PMPI_Waitany(count, requests, index, own); });
}

CW_EXPORT int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  return complete_any(kMPI_Testany, CW_CALLER, count, requests, index, flag, status,
                      [&](MPI_Status* own) { return PMPI_Testany(count, requests, index, flag, own); });
}

CW_EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status* statuses) {
  return complete_all(kMPI_Waitall, CW_CALLER, count, requests, nullptr, statuses,
                      [&](MPI_Status* own) { return PMPI_Waitall(count, requests, own); });
}

CW_EXPORT int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status* statuses) {
  return complete_all(kMPI_Testall, CW_CALLER, count, requests, flag, statuses,
                      [&](MPI_Status* own) { return PMPI_Testall(count, requests, flag, own); });
}

CW_EXPORT int MPI_Waitsome(int incount, MPI_Request requests[], int* outcount, int indices[],
                           MPI_Status* statuses) {
  return complete_some(kMPI_Waitsome, CW_CALLER, incount, requests, outcount, indices, statuses, false,
                       [&](MPI_Status* own) { return PMPI_Waitsome(incount, requests, outcount, indices, own); });
}

CW_EXPORT int MPI_Testsome(int incount, MPI_Request requests[], int* outcount, int indices[],
                           MPI_Status* statuses) {
  return complete_some(kMPI_Testsome, CW_CALLER, incount, requests, outcount, indices, statuses, true,
                       [&](MPI_Status* own) { return PMPI_Testsome(incount, requests, outcount, indices, own); });
}

CW_EXPORT int MPI_Request_free(MPI_Request* request) {
  Operation operation;
  if (recording_thread() != nullptr) operation = take_operation(handle_key(*request));
  const int code = traced(
      kMPI_Request_free, CW_CALLER, [&] { return PMPI_Request_free(request); },
      [](Event& event) { event.plain(); });
  if (operation.kind != OperationKind::none) drop_operation(operation);
  return code;
}

CW_EXPORT int MPI_Cancel(MPI_Request* request) {
  const std::uint64_t key = handle_key(*request);
  return traced(
      kMPI_Cancel, CW_CALLER, [&] { return PMPI_Cancel(request); },
      [&](Event& event) {
        event.plain();
        Operation operation = take_operation(key);
        operation.cancelled = true;
        if (operation.kind != OperationKind::none) put_operation(key, operation);
      });
}

// ---- starts of persistent operations ----

CW_EXPORT int MPI_Start(MPI_Request* request) {
  return traced(
      kMPI_Start, CW_CALLER, [&] { return PMPI_Start(request); },
      [&](Event& event) { event.start_all(1, request); });
}

CW_EXPORT int MPI_Startall(int count, MPI_Request requests[]) {
  return traced(
      kMPI_Startall, CW_CALLER, [&] { return PMPI_Startall(count, requests); },
      [&](Event& event) { event.start_all(count, requests); });
}

}  // extern "C"

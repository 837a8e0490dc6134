// The wrappers that no recipe describes: the life of MPI itself, and completion and start of requests.
// The procedure numbers and names come from the generated procedures.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/recording/lifetime.hpp"

#include "preload/recording/completion.hpp"

#define CW_EXPORT __attribute__((visibility("default")))
#define CW_CALLER __builtin_return_address(0)

namespace corewise::preload {
namespace {

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

}  // namespace

bool world_is_up = false;

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
  compare_clocks_at_start();
  if (!process.recording) return;
  learn_predefined_types();
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  start_communicators(world);
  start_functions();
  if (Thread* thread = recording_thread()) {
    const DepthGuard guard(*thread);
    describe(*thread, MPI_COMM_WORLD);
    describe(*thread, MPI_COMM_SELF);
  }
}

void begin_end() {
  note_end_of_run();
  // Communicators of a session outlive MPI_Finalize.
  if (__atomic_load_n(&open_sessions, __ATOMIC_RELAXED) > 0) return;
  stop_windows();
  stop_communicators();
}

void finish_end(Procedure procedure) {
  mark_finalized(procedure == kMPI_Finalize && __atomic_load_n(&open_sessions, __ATOMIC_RELAXED) == 0);
}

void note_abort(const void* caller, int code) {
  if (Thread* thread = recording_thread()) Event{*thread, now(), 0, kMPI_Abort, site_index(caller)}.plain();
  mark_aborted(code);
}

#ifdef CW_HAVE_MPI_Session_init
void begin_world_of_sessions(const StartTime& start, MPI_Session session) {
  const bool first = __atomic_add_fetch(&open_sessions, 1, __ATOMIC_RELAXED) == 1 && !world_is_up;
  MPI_Group world = MPI_GROUP_NULL;
  if (first && PMPI_Group_from_session_pset(session, "mpi://WORLD", &world) == MPI_SUCCESS) {
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
      start_functions();
    }
  }
  process.multiple = true;
}

bool close_session() {
  return __atomic_sub_fetch(&open_sessions, 1, __ATOMIC_RELAXED) == 0 && !world_is_up;
}
#endif

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
  return end(kMPI_Finalize, CW_CALLER, [] { return PMPI_Finalize(); });
}

CW_EXPORT int MPI_Abort(MPI_Comm comm, int errorcode) {
  note_abort(CW_CALLER, errorcode);
  return PMPI_Abort(comm, errorcode);
}

/// Variadic: further arguments are for tools that define them; the MPI's own version takes none.
CW_EXPORT int MPI_Pcontrol(const int level, ...) {
  return controlled(CW_CALLER, level, [&] { return PMPI_Pcontrol(level); });
}

#ifdef CW_HAVE_MPI_Session_init
CW_EXPORT int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  return begin_session(
      CW_CALLER, [&] { return PMPI_Session_init(info, errhandler, session); }, [&] { return *session; });
}

CW_EXPORT int MPI_Session_finalize(MPI_Session* session) {
  return end_session(CW_CALLER, [&] { return PMPI_Session_finalize(session); });
}
#endif

// ---- completion ----

CW_EXPORT int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  return complete_one<CLanguage>(kMPI_Wait, CW_CALLER, request, status, nullptr,
                                 [&](MPI_Status* own) { return PMPI_Wait(request, own); });
}

CW_EXPORT int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  return complete_one<CLanguage>(kMPI_Test, CW_CALLER, request, status, flag,
                                 [&](MPI_Status* own) { return PMPI_Test(request, flag, own); });
}

CW_EXPORT int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  return complete_any<CLanguage>(kMPI_Waitany, CW_CALLER, count, requests, index, nullptr, status,
                                 [&](MPI_Status* own) { return PMPI_Waitany(count, requests, index, own); });
}

CW_EXPORT int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  return complete_any<CLanguage>(kMPI_Testany, CW_CALLER, count, requests, index, flag, status,
                                 [&](MPI_Status* own) { return PMPI_Testany(count, requests, index, flag, own); });
}

CW_EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status* statuses) {
  return complete_all<CLanguage>(kMPI_Waitall, CW_CALLER, count, requests, nullptr, statuses,
                                 [&](MPI_Status* own) { return PMPI_Waitall(count, requests, own); });
}

CW_EXPORT int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status* statuses) {
  return complete_all<CLanguage>(kMPI_Testall, CW_CALLER, count, requests, flag, statuses,
                                 [&](MPI_Status* own) { return PMPI_Testall(count, requests, flag, own); });
}

CW_EXPORT int MPI_Waitsome(int incount, MPI_Request requests[], int* outcount, int indices[],
                           MPI_Status* statuses) {
  return complete_some<CLanguage>(
      kMPI_Waitsome, CW_CALLER, incount, requests, outcount, indices, statuses, false,
      [&](MPI_Status* own) { return PMPI_Waitsome(incount, requests, outcount, indices, own); });
}

CW_EXPORT int MPI_Testsome(int incount, MPI_Request requests[], int* outcount, int indices[],
                           MPI_Status* statuses) {
  return complete_some<CLanguage>(
      kMPI_Testsome, CW_CALLER, incount, requests, outcount, indices, statuses, true,
      [&](MPI_Status* own) { return PMPI_Testsome(incount, requests, outcount, indices, own); });
}

CW_EXPORT int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  return look_at_request<CLanguage>(CW_CALLER, request, flag, status,
                                    [&](MPI_Status* own) { return PMPI_Request_get_status(request, flag, own); });
}

#ifdef CW_HAVE_MPI_Request_get_status_all
CW_EXPORT int MPI_Request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag,
                                         MPI_Status* status) {
  return complete_any<CLanguage>(
      kMPI_Request_get_status_any, CW_CALLER, count, requests, index, flag, status,
      [&](MPI_Status* own) { return PMPI_Request_get_status_any(count, requests, index, flag, own); },
      Requests::stay);
}

CW_EXPORT int MPI_Request_get_status_all(int count, const MPI_Request requests[], int* flag, MPI_Status* statuses) {
  return complete_all<CLanguage>(
      kMPI_Request_get_status_all, CW_CALLER, count, requests, flag, statuses,
      [&](MPI_Status* own) { return PMPI_Request_get_status_all(count, requests, flag, own); }, Requests::stay);
}

CW_EXPORT int MPI_Request_get_status_some(int incount, const MPI_Request requests[], int* outcount, int indices[],
                                          MPI_Status* statuses) {
  return complete_some<CLanguage>(
      kMPI_Request_get_status_some, CW_CALLER, incount, requests, outcount, indices, statuses, true,
      [&](MPI_Status* own) { return PMPI_Request_get_status_some(incount, requests, outcount, indices, own); },
      Requests::stay);
}
#endif

CW_EXPORT int MPI_Request_free(MPI_Request* request) {
  return free_request<CLanguage>(CW_CALLER, request, [&] { return PMPI_Request_free(request); });
}

CW_EXPORT int MPI_Cancel(MPI_Request* request) {
  return cancel_request<CLanguage>(CW_CALLER, request, [&] { return PMPI_Cancel(request); });
}

// ---- starts of persistent operations ----

CW_EXPORT int MPI_Start(MPI_Request* request) {
  return start_requests<CLanguage>(kMPI_Start, CW_CALLER, 1, request, [&] { return PMPI_Start(request); });
}

CW_EXPORT int MPI_Startall(int count, MPI_Request requests[]) {
  return start_requests<CLanguage>(kMPI_Startall, CW_CALLER, count, requests,
                                   [&] { return PMPI_Startall(count, requests); });
}

}  // extern "C"

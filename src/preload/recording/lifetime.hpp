// The life of MPI in any language: what its first and last calls mean to the recording. The wrappers of C and of
// Fortran hand in the call that they forward.
// What the recorder does of its own at either end is time of that call, never of the program.
// Contract: a Fortran entry that calls the C name is one call: the C wrapper under it (depth above 0) only
// forwards.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "preload/recording/clocks.hpp"
#include "preload/recording/crash.hpp"
#include "preload/recording/events.hpp"
#include "preload/recording/program/functions.hpp"
#include "procedures.hpp"

namespace corewise::preload {

extern bool world_is_up;

/// MPI_Init returned: the world is there.
void begin_world(const StartTime& start);

/// Around the last use of MPI.
void begin_end();
void finish_end(Procedure procedure);

/// MPI_Abort was called.
void note_abort(const void* caller, int code);

/// MPI_Init and MPI_Init_thread.
template <class Invoke>
int begin(Procedure procedure, const void* caller, Invoke invoke) {
  if (!is_outermost(this_thread)) return invoke();
  const StartTime start = read_start_time();
  note_own_handlers();
  const int code = [&] {
    const DepthGuard guard(this_thread);
    return invoke();
  }();
  if (code != MPI_SUCCESS) return code;
  begin_world(start);
  if (Thread* thread = recording_thread())
    Event{*thread, start.ticks, now() - start.ticks, procedure, site_index(caller)}.plain();
  return code;
}

/// The last use of MPI ends inside `invoke`.
template <class Invoke>
int end(Procedure procedure, const void* caller, Invoke invoke) {
  if (!is_outermost(this_thread)) return invoke();
  const std::uint64_t start = now();
  if (procedure == kMPI_Finalize) world_is_up = false;
  if (procedure == kMPI_Finalize) compare_clocks_at_end();  // whether or not this rank records
  if (!process.recording) return invoke();
  begin_end();
  const int code = traced(procedure, caller, invoke, [&](Event& event) {
    event.ticks += event.start - start;
    event.start = start;
    event.plain();
    trace::flush(event.thread.recorder);
  });
  finish_end(procedure);
  return code;
}

/// MPI_Pcontrol.
template <class Invoke>
int controlled(const void* caller, int level, Invoke invoke) {
  if (!is_outermost(this_thread)) return invoke();
  return traced(
      kMPI_Pcontrol, caller,
      [&] {
        control(level);
        return invoke();
      },
      [](Event& event) { event.plain(); });
}

#ifdef CW_HAVE_MPI_Session_init
/// A session was opened; the first one without a world is the world's beginning.
void begin_world_of_sessions(const StartTime& start, MPI_Session session);

/// A session is about to end. True if it is the last use of MPI.
bool close_session();

/// MPI_Session_init; `session` gives the new handle after `invoke`.
template <class Invoke, class GetSession>
int begin_session(const void* caller, Invoke invoke, GetSession session) {
  if (!is_outermost(this_thread)) return invoke();
  const StartTime start = read_start_time();
  note_own_handlers();
  const int code = [&] {
    const DepthGuard guard(this_thread);
    return invoke();
  }();
  if (code != MPI_SUCCESS) return code;
  begin_world_of_sessions(start, session());
  if (Thread* thread = recording_thread())
    Event{*thread, start.ticks, now() - start.ticks, kMPI_Session_init, site_index(caller)}.plain();
  return code;
}

/// MPI_Session_finalize.
template <class Invoke>
int end_session(const void* caller, Invoke invoke) {
  if (!is_outermost(this_thread)) return invoke();
  if (close_session()) return end(kMPI_Session_finalize, caller, invoke);
  return traced(kMPI_Session_finalize, caller, invoke, [](Event& event) { event.plain(); });
}
#endif

}  // namespace corewise::preload

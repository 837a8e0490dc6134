// Functions: entry and exit of the program's functions, by the hooks that -finstrument-functions calls
// (paper 003, sections 3.1 and 4.2.2), and the program's own switch for recording, MPI_Pcontrol.
//
// Contract: a hook records 16 bytes, or nothing; it calls no MPI, allocates nothing, and may run before MPI_Init
// (open functions are kept, at most kKeptFrames deep, and written when recording starts), after MPI_Finalize (it
// records to the end of the process), in signal handlers and in threads that MPI does not know.
// In a thread's stream entries and exits nest, also across a stop by MPI_Pcontrol: of a function that was entered
// before the stop the exit is recorded, of one that was entered meanwhile the entry, when recording resumes. An
// exit is missing only where the function never returned (longjmp), an entry only where kKeptFrames were open.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "preload/recording/process.hpp"

namespace corewise::preload {

/// Recording has just been switched on for the calling thread: what is open is written, filters are loaded.
void start_functions();

/// MPI_Pcontrol(level): 0 stops recording of everything in all threads, 1 resumes, 2 also drains this thread's
/// buffers; other levels mean nothing here. Either moment leaves a `recording` record (paper 003, table 1:
/// PROFILE_START, PROFILE_STOP). Before MPI_Init and in a forked child it does nothing.
void control(int level);

inline constexpr std::uint32_t kKeptFrames = 64;

enum class Gate : std::uint32_t {
  idle,     ///< not recording yet, or never: a forked child
  on,       ///< from MPI_Init to the end of the process
  stopped,  ///< MPI_Pcontrol(0)
};

/// Functions and regions ask this one, and not Process::recording, which ends with MPI.
struct RecordingSwitch {
  std::uint32_t generation = 1;  ///< changes with the gate; never 0
  Gate gate = Gate::idle;
};
extern RecordingSwitch recording_switch;

/// What functions and regions do at once where it is theirs alone to be interrupted: a signal handler's hooks find
/// `busy` set and leave.
class BusyGuard {
 public:
  explicit BusyGuard(bool& busy) : busy_(busy) {
    busy_ = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  }
  ~BusyGuard() {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    busy_ = false;
  }
  BusyGuard(const BusyGuard&) = delete;
  BusyGuard& operator=(const BusyGuard&) = delete;

 private:
  bool& busy_;
};

/// The calling thread's recorder, given one if it has none; nullptr where it cannot have one.
inline trace::ThreadRecorder* own_recorder() {
  Thread& thread = this_thread;
  const bool ended = thread.depth >= kEndedDepth;  // its last destructors are running
  return thread.attached || (!ended && attach_thread(thread)) ? &thread.recorder : nullptr;
}

}  // namespace corewise::preload

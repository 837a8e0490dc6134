// Process: what the preload knows about the rank it lives in. Owns the trace file, the switch that says whether
// calls are recorded, and each thread's recorder.
//
// Life: idle (every call passes straight through) -> recording (MPI_Init, MPI_Init_thread or the first
// MPI_Session_init returned and COREWISE_TRACE_DIR names a directory) -> finished. A forked child is idle for good.
// Invariant: nothing here ever prints, exits, or changes what a call returns; what cannot be recorded is counted.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "preload/environment.hpp"
#include "trace/recorder.hpp"

namespace corewise::preload {

struct Communicator;
struct Slot;

/// Thread::depth once the thread's recorder has been handed on.
inline constexpr int kEndedDepth = 1 << 20;

inline constexpr std::uint64_t kNoTypeKey = UINT64_MAX - 1;  ///< no library's handle

/// A datatype, see types.hpp.
struct KnownType {
  std::uint64_t key = kNoTypeKey;  ///< of the handle
  std::uint64_t size = 0;          ///< bytes of an element
  std::uint64_t index = trace::kUnknownType;
};

/// Per-thread state. Lives in static TLS of the preloaded library: one instruction away.
struct Thread {
  trace::ThreadRecorder recorder;
  int depth = 0;  ///< above 0 inside an intercepted call: what MPI calls on its own is not the program's
  std::uintptr_t entered = 0;  ///< the stack pointer where depth was last raised from 0
  bool attached = false;
  bool attaching = false;
  Slot* slot = nullptr;  ///< whose recorder this thread has
  std::uint64_t comm_generation = 0;
  static constexpr int kCachedComms = 8;
  std::uint64_t comm_keys[kCachedComms] = {};
  Communicator* comms[kCachedComms] = {};
  std::uint64_t pinned_comm_key = 0;  ///< see Pin in events.hpp
  Communicator* pinned_comm = nullptr;
  std::size_t pinned_types = 0;  ///< KnownTypes in `scratch`
  void* scratch = nullptr;       ///< of completion calls on many requests, and of a Pin
  std::size_t scratch_bytes = 0;
};

/// The thread's scratch memory, at least so much of it, with what is there. nullptr where there is none.
inline void* scratch(Thread& thread, std::size_t bytes) {
  if (bytes > thread.scratch_bytes) [[unlikely]] {
    void* grown = std::realloc(thread.scratch, bytes);
    if (grown == nullptr) return nullptr;
    thread.scratch = grown;
    thread.scratch_bytes = bytes;
  }
  return thread.scratch;
}

/// What this library was built to record at all; the rest costs nothing (corewise build-preload --without).
#ifndef COREWISE_KINDS
#define COREWISE_KINDS 255
#endif
inline constexpr std::uint32_t kBuiltKinds = COREWISE_KINDS;

/// Shared by all threads of the rank.
struct Process {
  std::uint32_t kinds = trace::kAllKinds;  ///< what is recorded: knob COREWISE_TRACE_RECORD, within kBuiltKinds
  bool recording = false;                  ///< written before other threads can call MPI, and at the end
  bool use_tsc = true;
  bool multiple = false;  ///< MPI_THREAD_MULTIPLE: tables lock
  bool cancels = false;   ///< one of several threads called MPI_Cancel: statuses are asked; atomic
  trace::FileHeader* file = nullptr;
  std::uint64_t* sites = nullptr;
};

extern Process process;

/// Whether events of this kind are recorded.
inline bool records(trace::Kind kind) {
  return (kBuiltKinds & kind) != 0 && (process.kinds & kind) != 0;
}
extern constinit thread_local Thread this_thread __attribute__((tls_model("initial-exec")));

std::uint64_t read_os_clock();

inline std::uint64_t now() {
#if defined(__x86_64__)
  if (process.use_tsc) [[likely]]
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  if (process.use_tsc) [[likely]] {
    std::uint64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
  }
#endif
  return read_os_clock();
}

/// Whether a trace was asked for at all: readable before main.
bool trace_wanted();

/// Gives this thread a recorder. False when the file has no room for one (counted).
bool attach_thread(Thread& thread);

[[gnu::always_inline]] inline std::uintptr_t stack_pointer() {
  std::uintptr_t pointer = UINTPTR_MAX;  // above everything: no call seems to have been left
#if defined(__x86_64__)
  asm("mov %%rsp, %0" : "=r"(pointer));
#elif defined(__aarch64__)
  asm("mov %0, sp" : "=r"(pointer));
#endif
  return pointer;
}

/// What MPI calls lies below the stack pointer of the call that the thread is in. `place` is above it: that call
/// was left by longjmp, as by an error handler that does not return, and depth is 0 again.
bool has_jumped_out(Thread& thread, const void* place);

/// Whether the program makes this call, and not MPI.
[[gnu::always_inline]] inline bool is_outermost(Thread& thread) {
  return thread.depth == 0 || has_jumped_out(thread, __builtin_dwarf_cfa());
}

/// One deeper from here on.
[[gnu::always_inline]] inline void go_inside(Thread& thread) {
  if (thread.depth++ == 0) thread.entered = stack_pointer();
}

/// The calling thread's state if this call is to be recorded, else nullptr.
[[gnu::always_inline]] inline Thread* recording_thread() {
  if (!process.recording) [[unlikely]]
    return nullptr;
  Thread& thread = this_thread;
  if (!is_outermost(thread)) [[unlikely]]
    return nullptr;
  if (!thread.attached && !attach_thread(thread)) [[unlikely]]
    return nullptr;
  return &thread;
}

std::uint64_t insert_site(std::uint64_t address);

/// Index of a return address in the shared site table, plus one; 0 when the table is full.
[[gnu::always_inline]] inline std::uint64_t site_index(const void* return_address) {
  if (!records(trace::kSites)) [[unlikely]]
    return 0;
  const auto address = reinterpret_cast<std::uint64_t>(return_address);
  const std::uint64_t slot = (address * 0x9e3779b97f4a7c15ULL) >> 52;
  static_assert(trace::kSiteCapacity == 4096);
  if (__atomic_load_n(&process.sites[slot], __ATOMIC_RELAXED) == address) [[likely]]
    return slot + 1;
  return insert_site(address);
}

// ---- life cycle, called by the hand-written wrappers ------------------------------------------------------

/// A calibration pair taken before MPI starts.
struct StartTime {
  std::uint64_t ticks;
  std::int64_t monotonic_ns;
  std::int64_t realtime_ns;
};
StartTime read_start_time();

struct WorldFacts {
  int rank;
  int size;
  int thread_level;
  bool spawned;
  const char* library;
};

/// Opens the trace file and switches recording on. Quietly stays idle where no directory is asked for or it cannot
/// be written.
void start_recording(const StartTime& start, const WorldFacts& world, const char* const* procedure_names,
                     int procedures);

/// Before MPI_Finalize: affinity and mappings as they are now.
void note_end_of_run();

/// After the last MPI_Finalize / MPI_Session_finalize: the file says finalized. Recording stops if `for_good`.
void mark_finalized(bool for_good);
void mark_running();
void mark_aborted(int code);

/// Appends a block to the file: `header` first, `parts` after it, then kCommit. Fills in block_bytes. What cannot
/// be written, such as on a full disk, is kept where there is room for it, and counted until it is written.
struct Part {
  const void* data;
  std::uint64_t bytes;
};
void append_block(trace::BlockHeader& header, std::uint32_t header_bytes, const Part* parts, int count);

/// Tries again to write what was kept.
void write_kept_blocks();

// ---- the file, for the drain -----------------------------------------------------------------------------

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

/// Room for `bytes` at the end of the file: its offset.
std::uint64_t claim(std::uint64_t bytes);

/// Writes `bytes` there, all or nothing said. False where the file system, a limit or the program forbids it.
bool write_at(const iovec* parts, int count, std::uint64_t offset, std::uint64_t bytes);

/// Copies what lies at `stack` and above into the file's header, as far as it can be read; how many bytes. May be
/// called in a signal handler.
std::uint32_t write_crash_stack(const void* stack);

/// Renews the calibration pair, unless another thread is at it.
void note_latest_time();

/// Adds to FileHeader::memory_bytes.
void note_memory(std::uint64_t bytes);

}  // namespace corewise::preload

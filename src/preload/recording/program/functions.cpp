// The hooks of -finstrument-functions, and MPI_Pcontrol; see functions.hpp.
//
// The hook's fast path is one comparison, a time stamp and a store. Everything else (before MPI_Init, stopped,
// filtered, a thread's first function) leaves the thread's generation behind the switch's and takes the slow path.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/recording/program/functions.hpp"

#include <pthread.h>

#include <cerrno>

#include "preload/recording/program/functions_filter.hpp"
#include "preload/recording/program/functions_objects.hpp"
#include "preload/recording/program/regions.hpp"
#include "procedures.hpp"

#define CW_EXPORT __attribute__((visibility("default")))

namespace corewise::preload {

RecordingSwitch recording_switch;

namespace {

/// A function that is open. `place` is the stack pointer where its hook was called.
struct Frame {
  const void* function;
  const void* place;
  std::uint64_t start;  ///< 0 once its entry is recorded
};

struct FunctionThread {
  std::uint32_t generation = 0;  ///< the switch's when this thread may record right away
  std::uint32_t seen = 0;        ///< the switch's when this thread last wrote what was kept
  std::uint32_t open = 0;        ///< frames kept
  std::uint32_t beyond = 0;      ///< functions open inside the last frame of kKeptFrames
  bool busy = false;
  std::uint64_t lost = 0;  ///< events before MPI_Init
  std::byte* newest_entry = nullptr;
  Frame frames[kKeptFrames] = {};
};
constinit thread_local FunctionThread function_thread __attribute__((tls_model("initial-exec")));

bool never = false;   ///< functions are not wanted: hooks return at once
bool limits = false;  ///< a filter, a shortest time or a depth was asked for
FunctionLimits limit;
std::uint64_t least_ticks = 0;
std::uint32_t chosen_kinds = 0;  ///< Process::kinds while recording is on

// ---- frames ----------------------------------------------------------------------------------------------

/// Frames below the stack pointer of a function that is entered have gone without an exit: longjmp.
void keep(FunctionThread& own, const void* function, const void* place, std::uint64_t start) {
  while (own.open > 0 && own.frames[own.open - 1].place < place) {
    --own.open;
    own.beyond = 0;
  }
  if (own.open < kKeptFrames)
    own.frames[own.open++] = {function, place, start};
  else
    ++own.beyond;
}

/// Takes the innermost frame of `function`, and those inside it, off the stack. Its index, or kKeptFrames where
/// none is known. At an exit the stack pointer is the entry's or, in a tail call, already the caller's.
std::uint32_t unkeep(FunctionThread& own, const void* function, const void* place) {
  if (own.beyond > 0 && place <= own.frames[kKeptFrames - 1].place) {
    --own.beyond;
    return kKeptFrames;
  }
  own.beyond = 0;
  for (std::uint32_t i = own.open; i > 0; --i)
    if (own.frames[i - 1].function == function) return own.open = i - 1;
  return kKeptFrames;
}

/// Entries that were counted as lost and are not.
void forgive(FunctionThread& own, std::uint64_t entries) {
  own.lost -= own.lost < entries ? own.lost : entries;
}

/// Before MPI_Init no filter was known.
void drop_filtered(FunctionThread& own) {
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < own.open; ++i)
    if (filter_allows(own.frames[i].function)) own.frames[kept++] = own.frames[i];
  forgive(own, own.open - kept);
  own.open = kept;
}

/// Frames that are kept only while recording is off are gone when it is on, unless depth is counted.
void write_kept(FunctionThread& own, trace::ThreadRecorder& recorder) {
  for (std::uint32_t i = 0; i < own.open; ++i) {
    Frame& frame = own.frames[i];
    if (frame.start == 0) continue;
    forgive(own, 1);
    if (i >= limit.depth) continue;
    trace::put_function(recorder, frame.start, trace::Role::function_enter, frame.function);
    frame.start = 0;
  }
  if (limit.depth == kKeptFrames) own.open = 0;
}

/// The thread's first hook since the switch was turned on.
trace::ThreadRecorder* catch_up(FunctionThread& own) {
  trace::ThreadRecorder* recorder = own_recorder();
  if (recorder == nullptr) return nullptr;
  const std::uint32_t generation = __atomic_load_n(&recording_switch.generation, __ATOMIC_ACQUIRE);
  if (own.seen != generation) {
    if (own.seen == 0 && limit.filtered) drop_filtered(own);
    write_kept(own, *recorder);
    if (own.lost > 0) __atomic_fetch_add(&process.file->lost_functions, own.lost, __ATOMIC_RELAXED);
    own.lost = 0;
    own.seen = generation;
  }
  own.generation = limits ? 0 : generation;
  return recorder;
}

// ---- limits ----------------------------------------------------------------------------------------------

/// Takes the newest record back when it is this function's entry and not long ago. What is taken back was shorter
/// than the limit with everything in it.
bool take_back(FunctionThread& own, trace::ThreadRecorder& recorder, const void* function, std::uint64_t end) {
  std::byte* entry = own.newest_entry;
  if (entry == nullptr || recorder.busy || recorder.cursor != entry + sizeof(trace::FunctionRecord)) return false;
  // The halves lie side by side: behind the last record of the one that is full comes the first of the other.
  if (entry < trace::half_base(recorder, recorder.active)) return false;
  trace::FunctionRecord record;
  std::memcpy(&record, entry, sizeof record);
  const std::uint64_t address = record.low | (std::uint64_t{record.high} << 32);
  if (trace::role_of(record.call) != trace::Role::function_enter || end - record.start >= least_ticks ||
      address != (reinterpret_cast<std::uint64_t>(function) & 0xffffffffffffULL))
    return false;
  const BusyGuard guard(recorder.busy);
  trace::commit(entry, 0);
  std::memset(entry + sizeof record.start, 0, sizeof record - sizeof record.start);
  recorder.cursor = entry;
  // Its caller's entry is the newest now, if that is what lies before it.
  own.newest_entry = entry - sizeof record;
  if (own.newest_entry < trace::half_base(recorder, recorder.active)) own.newest_entry = nullptr;
  return true;
}

void enter_limited(FunctionThread& own, trace::ThreadRecorder& recorder, const void* function, const void* place) {
  if (limit.depth < kKeptFrames) {
    keep(own, function, place, 0);
    if (own.open > limit.depth) return;
  }
  trace::put_function(recorder, now(), trace::Role::function_enter, function);
  own.newest_entry = recorder.cursor - sizeof(trace::FunctionRecord);
}

void exit_limited(FunctionThread& own, trace::ThreadRecorder& recorder, const void* function, const void* place) {
  if (limit.depth < kKeptFrames && unkeep(own, function, place) >= limit.depth) return;
  const std::uint64_t end = now();
  if (least_ticks > 0 && take_back(own, recorder, function, end)) return;
  trace::put_function(recorder, end, trace::Role::function_exit, function);
}

/// What slow paths call may set it; it is the program's.
class ErrnoKept {
 public:
  ErrnoKept() = default;
  ~ErrnoKept() { errno = saved_; }
  ErrnoKept(const ErrnoKept&) = delete;
  ErrnoKept& operator=(const ErrnoKept&) = delete;

 private:
  int saved_ = errno;
};

// ---- while recording is off ------------------------------------------------------------------------------

void exit_unrecorded(FunctionThread& own, const void* function, const void* place) {
  const std::uint32_t open = own.open;
  const std::uint32_t at = unkeep(own, function, place);
  if (recording_switch.gate == Gate::idle) {
    ++own.lost;
    return;
  }
  // Entered before the stop: its entry is recorded, so its exit is too.
  const bool recorded = at < open ? own.frames[at].start == 0 && at < limit.depth : limit.depth == kKeptFrames;
  // A thread that has not caught up with the start has no entry in its stream.
  if (recorded && this_thread.attached && own.seen != 0)
    trace::put_function(this_thread.recorder, now(), trace::Role::function_exit, function);
}

void unrecorded(FunctionThread& own, trace::Role role, const void* function, const void* place) {
  if (role == trace::Role::function_exit) return exit_unrecorded(own, function, place);
  if (recording_switch.gate == Gate::idle) ++own.lost;
  keep(own, function, place, now());
}

[[gnu::noinline]] void hook_slowly(trace::Role role, const void* function, const void* place) {
  if (never) return;
  FunctionThread& own = function_thread;
  if (own.busy) {
    if (process.file != nullptr) __atomic_fetch_add(&process.file->lost_nested, 1, __ATOMIC_RELAXED);
    return;
  }
  const BusyGuard guard(own.busy);
  const ErrnoKept kept;
  if (limit.filtered && !filter_allows(function)) return;
  if (recording_switch.gate != Gate::on) return unrecorded(own, role, function, place);
  trace::ThreadRecorder* recorder = catch_up(own);
  if (recorder == nullptr) return;
  const bool entry = role == trace::Role::function_enter;
  if (!limits) return trace::put_function(*recorder, now(), role, function);
  entry ? enter_limited(own, *recorder, function, place) : exit_limited(own, *recorder, function, place);
}

[[gnu::always_inline]] inline void hook(trace::Role role, const void* function, const void* place) {
  trace::ThreadRecorder& recorder = this_thread.recorder;
  if (function_thread.generation != recording_switch.generation || !this_thread.attached) [[unlikely]]
    return hook_slowly(role, function, place);
  if (recorder.limit - recorder.cursor < static_cast<std::ptrdiff_t>(sizeof(trace::FunctionRecord))) [[unlikely]] {
    if (!recorder.full && !recorder.busy)
      note_new_objects(trace::half_base(recorder, recorder.active), recorder.cursor);
  }
  trace::put_function(recorder, now(), role, function);
}

// ---- the switch ------------------------------------------------------------------------------------------

void turn(Gate gate) {
  recording_switch.gate = gate;
  __atomic_add_fetch(&recording_switch.generation, 1, __ATOMIC_RELEASE);
}

/// In a forked child: the buffers are the parent's, and what was open is not written by anyone.
void forget_in_child() {
  never = true;
  turn(Gate::idle);
  forget_regions();
}

void record_switch(int level) {
  if (trace::ThreadRecorder* recorder = own_recorder())
    trace::put_short(*recorder, now(), trace::Role::recording, static_cast<std::uint32_t>(level), 0, kMPI_Pcontrol);
}

/// From one state to another, in one thread only.
bool leave(Gate from, Gate to) {
  return __atomic_compare_exchange_n(&recording_switch.gate, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void stop_recording() {
  record_switch(0);
  // Sites stay: a receive posted now may be recorded when it completes.
  process.kinds &= trace::kSites;
}

void resume_recording() {
  process.kinds = chosen_kinds;
  record_switch(1);
}

/// By the two clocks' advance since MPI_Init was called.
std::uint64_t ticks_of(std::uint64_t ns) {
  const StartTime moment = read_start_time();
  const auto ticks = static_cast<double>(moment.ticks - process.file->start_ticks);
  const auto elapsed_ns = static_cast<double>(moment.monotonic_ns - process.file->start_ns);
  return elapsed_ns > 0 ? static_cast<std::uint64_t>(static_cast<double>(ns) * ticks / elapsed_ns) : ns;
}

/// What the calling thread opened before: MPI_Init, or while recording was stopped.
void catch_up_here() {
  if (!never) {
    const BusyGuard guard(function_thread.busy);
    catch_up(function_thread);
  }
  catch_up_regions();
}

/// Hooks run before main: which clock they read, and whether anybody wants what they keep.
__attribute__((constructor)) void prepare_hooks() {
  never = (kBuiltKinds & trace::kFunctions) == 0 || !trace_wanted();
  if (!never) read_start_time();
}

}  // namespace

void start_functions() {
  if (!process.recording || recording_switch.gate != Gate::idle) return;
  chosen_kinds = process.kinds;
  never = never || !records(trace::kFunctions);
  if (!never) {
    limit = load_function_limits();
    limits = limit.filtered || limit.depth < kKeptFrames || limit.least_ns > 0;
    least_ticks = ticks_of(limit.least_ns);
  }
  pthread_atfork(nullptr, nullptr, forget_in_child);
  turn(Gate::on);
  start_regions(records(trace::kRegions));
  catch_up_here();
}

void control(int level) {
  if (recording_switch.gate == Gate::idle || process.file == nullptr) return;
  const int saved_errno = errno;
  if (level == 0 && leave(Gate::on, Gate::stopped)) {
    stop_recording();
    turn(Gate::stopped);
  } else if (level == 1 && leave(Gate::stopped, Gate::on)) {
    resume_recording();
    turn(Gate::on);
    catch_up_here();
  } else if (level == 2 && this_thread.attached) {
    trace::flush(this_thread.recorder);
  }
  errno = saved_errno;
}

}  // namespace corewise::preload

#if COREWISE_KINDS & 32  // trace::kFunctions; else libc's empty hooks stay in place

extern "C" {

CW_EXPORT void __cyg_profile_func_enter(void* function, void* /*caller*/) {
  using namespace corewise;
  preload::hook(trace::Role::function_enter, function, __builtin_dwarf_cfa());
}

CW_EXPORT void __cyg_profile_func_exit(void* function, void* /*caller*/) {
  using namespace corewise;
  preload::hook(trace::Role::function_exit, function, __builtin_dwarf_cfa());
}

}  // extern "C"

#endif

// The rank's process: trace file, threads, clock, fork. The only POSIX code of the recording path.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/recording/process.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/knobs.hpp"
#include "preload/recording/clocks.hpp"
#include "preload/recording/crash.hpp"
#include "preload/recording/drain.hpp"
#include "preload/recording/program/functions_objects.hpp"

namespace corewise::preload {
namespace {

constexpr Knob kTraceBuffer{"trace_buffer", KnobType::size_bytes, "64 KiB", "4096..67108864",
                            "size of each of a thread's two buffers"};
constexpr Knob kTraceMode{"trace_mode", KnobType::choice, "drain", "drain|flight|thread",
                          "who takes full buffers away: the thread that filled them, nobody, a helper thread"};
constexpr Knob kTraceRecord{"trace_record", KnobType::text, "",
                            "calls,messages,collectives,one-sided,files,functions,regions,sites",
                            "what is recorded; empty: everything that was built in"};
constexpr Knob kTraceClock{"trace_clock", KnobType::choice, "auto", "auto|tsc|os", "the clock of time stamps"};

/// File state that only slow paths touch.
struct TraceFile {
  int fd = -1;
  char path[PATH_MAX] = {};
  dev_t device = 0;
  ino_t inode = 0;
  pid_t owner = 0;
  pthread_key_t thread_exit{};
  bool has_key = false;
};
TraceFile trace_file;

std::uint32_t next_slot = 0;
bool out_of_room = false;  ///< a slot could not be mapped: not tried again, each try would claim room in the file

}  // namespace

/// What belongs to a thread slot and not to the file. A thread's first event may come in a signal handler that has
/// interrupted malloc: it lies in pages of its own.
struct Slot {
  trace::ThreadRecorder recorder;  ///< while no thread has it
  trace::Handover handover;
  Slot* next = nullptr;
};

namespace {

/// Slots of threads that ended, for threads to come: a program may start threads without end. Who holds the lock
/// calls nothing and cannot be interrupted by something that takes it (Thread::attaching, kEndedDepth).
std::mutex parked_lock;
Slot* parked = nullptr;

std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

/// True when the cycle counter runs at one rate through sleep states and frequency changes.
bool counter_is_invariant() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1U << 8)) != 0;
#elif defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

bool is_ours(int fd) {
  struct stat found{};
  return fd >= 0 && fstat(fd, &found) == 0 && found.st_dev == trace_file.device && found.st_ino == trace_file.inode;
}

/// A high number: programs close and reuse the low ones.
int move_up(int fd) {
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, 512);
  if (moved < 0) return fd;
  close(fd);
  return moved;
}

/// Once a process has threads, the kernel waits for all cores before it grows a table of descriptors: 10 ms and
/// more.
__attribute__((constructor)) void grow_descriptor_table() {
  if (!trace_wanted()) return;
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) close(move_up(fd));
}

/// A program may close descriptors that it does not know: what has taken our number must be neither written to nor
/// closed, and the file is opened anew. Threads that find it closed at one time may leave a descriptor unused.
bool file_is_ours() {
  const int known = __atomic_load_n(&trace_file.fd, __ATOMIC_RELAXED);
  if (is_ours(known)) return true;
  if (known < 0) return false;
  const int opened = open(trace_file.path, O_RDWR | O_CLOEXEC);
  if (opened < 0) return false;
  if (!is_ours(opened)) return close(opened), false;
  __atomic_store_n(&trace_file.fd, move_up(opened), __ATOMIC_RELAXED);
  return true;
}

/// Beyond RLIMIT_FSIZE a write would raise SIGXFSZ in the program, which may change the limit at any time.
bool within_limit(std::uint64_t end) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur;
}

/// One moment by both clocks: the narrowest of a few brackets, so that losing the core in between does not skew it.
struct Moment {
  std::uint64_t ticks;
  std::int64_t ns;
};

Moment read_moment() {
  Moment best{};
  std::uint64_t width = UINT64_MAX;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const std::uint64_t before = now();
    const auto ns = static_cast<std::int64_t>(read_os_clock());
    const std::uint64_t after = now();
    if (after - before >= width) continue;
    width = after - before;
    best = {before + width / 2, ns};
  }
  return best;
}

/// A program's timer may interrupt this, but not for ever.
bool reserve_blocks(off_t offset, off_t bytes) {
  int code = EINTR;
  for (int attempt = 0; code == EINTR && attempt < 1000; ++attempt)
    code = posix_fallocate(trace_file.fd, offset, bytes);
  return code == 0;
}

/// Maps `bytes` at `offset`, their disk blocks reserved first: a store to a mapped hole on a full disk is SIGBUS.
void* map_reserved(std::uint64_t offset, std::uint64_t bytes) {
  if (!within_limit(offset + bytes) || !file_is_ours()) return nullptr;
  if (!reserve_blocks(static_cast<off_t>(offset), static_cast<off_t>(bytes))) return nullptr;
  void* address =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, trace_file.fd, static_cast<off_t>(offset));
  return address == MAP_FAILED ? nullptr : address;
}

Slot* map_slot() {
  void* address = mmap(nullptr, sizeof(Slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return address == MAP_FAILED ? nullptr : new (address) Slot;
}

bool new_slot(Thread& thread) {
  const std::uint32_t half_bytes = process.file->half_bytes;
  const std::uint64_t bytes = align_up(sizeof(trace::ThreadHeader) + 2ULL * half_bytes, trace::kThreadAlign);
  const std::uint64_t start = align_up(claim(bytes + trace::kThreadAlign), trace::kThreadAlign);
  auto* header = static_cast<trace::ThreadHeader*>(map_reserved(start, bytes));
  if (header == nullptr || (thread.slot = map_slot()) == nullptr) return false;
  attach_recorder(thread.recorder, header, &thread.slot->handover);
  header->block.index = __atomic_fetch_add(&next_slot, 1, __ATOMIC_RELAXED);
  header->block.block_bytes = bytes;
  note_memory(bytes + align_up(sizeof(Slot), trace::kThreadAlign));
  __atomic_store_n(&header->block.kind, trace::BlockKind::thread, __ATOMIC_RELEASE);
  return true;
}

bool take_parked(Thread& thread) {
  const std::lock_guard lock(parked_lock);
  if (parked == nullptr) return false;
  thread.slot = parked;
  parked = parked->next;
  thread.recorder = thread.slot->recorder;
  return true;
}

// ---- blocks that could not be written --------------------------------------------------------------------

/// Such blocks, each behind the offset that was claimed for it: they are tried again. Who finds the lock taken goes
/// on, and its block stays lost.
struct UnwrittenBlocks {
  std::byte bytes[16384];
  std::size_t used;  ///< atomic
  bool locked;
};
UnwrittenBlocks unwritten;

/// What the file's header says of descriptions that are missing.
void count_lost_block(trace::BlockKind kind, std::int64_t change) {
  std::uint64_t* counter = kind == trace::BlockKind::comm     ? &process.file->lost_comms
                           : kind == trace::BlockKind::type   ? &process.file->lost_types
                           : kind == trace::BlockKind::region ? &process.file->lost_names
                                                              : nullptr;
  if (counter != nullptr) __atomic_fetch_add(counter, static_cast<std::uint64_t>(change), __ATOMIC_RELAXED);
}

void keep_block(std::uint64_t offset, const iovec* pieces, int count, std::uint64_t bytes) {
  if (__atomic_test_and_set(&unwritten.locked, __ATOMIC_ACQUIRE)) return;
  std::byte* at = unwritten.bytes + unwritten.used;
  if (sizeof unwritten.bytes - unwritten.used >= sizeof offset + bytes) {
    std::memcpy(at, &offset, sizeof offset);
    at += sizeof offset;
    for (int i = 0; i < count; ++i) {
      if (pieces[i].iov_len > 0) std::memcpy(at, pieces[i].iov_base, pieces[i].iov_len);
      at += pieces[i].iov_len;
    }
    __atomic_store_n(&unwritten.used, static_cast<std::size_t>(at - unwritten.bytes), __ATOMIC_RELAXED);
  }
  __atomic_clear(&unwritten.locked, __ATOMIC_RELEASE);
}

/// pthread key destructor: the thread's recorder outlives it.
void park_thread(void* state) {
  auto* thread = static_cast<Thread*>(state);
  if (!thread->attached || getpid() != trace_file.owner) return;
  thread->depth = kEndedDepth;  // whatever runs from here on is not recorded
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  thread->attached = false;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  std::free(thread->scratch);
  const std::lock_guard lock(parked_lock);
  thread->slot->recorder = thread->recorder;
  thread->slot->next = parked;
  parked = thread->slot;
}

/// Before main, where the number is low: values of high numbers are kept in memory that setting them allocates.
__attribute__((constructor)) void make_thread_key() {
  trace_file.has_key = trace_wanted() && pthread_key_create(&trace_file.thread_exit, park_thread) == 0;
}

/// The end of the process by exit(), also from inside MPI, which ends a program so after an error.
__attribute__((destructor)) void note_exit() {
  if (process.file == nullptr || getpid() != trace_file.owner) return;
  process.file->exit_ticks = now();
  write_kept_blocks();
  note_latest_time();
}

/// In a forked child: the buffers belong to the parent.
void become_idle() {
  process.recording = false;
  this_thread.attached = false;
  if (file_is_ours()) close(trace_file.fd);
  trace_file.fd = -1;
}

/// The kernel watches the counter, and turns to another clock when it drifts between processors.
bool kernel_distrusts_counter() {
  char name[32] = {};
  const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t length = read(fd, name, sizeof name - 1);
  close(fd);
  if (length <= 0) return false;
  for (const char* other : {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"})
    if (std::strncmp(name, other, std::strlen(other)) == 0) return true;
  return false;
}

bool choose_clock() {
  if (read_skew()) return false;  // a test's wrong clock is made from the system's
  int choice = 0;
  if (!read_choice(kTraceClock, choice).ok()) choice = 0;
  return choice == 1 || (choice == 0 && counter_is_invariant() && !kernel_distrusts_counter());
}

int open_new(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  // The program may change its working directory.
  if (fd >= 0 && realpath(path.c_str(), trace_file.path) == nullptr) trace_file.path[0] = '\0';
  return fd;
}

int create_file(const std::string& directory, const WorldFacts& world) {
  char name[64];
  if (world.spawned)
    std::snprintf(name, sizeof name, "spawn%d-rank-%05d", static_cast<int>(getppid()), world.rank);
  else
    std::snprintf(name, sizeof name, "rank-%05d", world.rank);
  const std::string base = directory + "/" + name;
  int fd = open_new(base + ".cwt");
  // An exec'd MPI program inside a rank starts as another rank 0.
  if (fd < 0 && errno == EEXIST) fd = open_new(base + ".pid" + std::to_string(getpid()) + ".cwt");
  return fd < 0 ? fd : move_up(fd);
}

bool adopt_file(int fd) {
  struct stat found{};
  if (fd < 0 || fstat(fd, &found) != 0) return false;
  trace_file.fd = fd;
  trace_file.device = found.st_dev;
  trace_file.inode = found.st_ino;
  trace_file.owner = getpid();
  auto* base = static_cast<std::byte*>(map_reserved(0, trace::kFirstBlock));
  if (base == nullptr) {
    (void)!ftruncate(fd, 0);  // a disk that fills meanwhile leaves a file of the wanted length, and no trace
    return false;
  }
  process.file = reinterpret_cast<trace::FileHeader*>(base);
  process.sites = reinterpret_cast<std::uint64_t*>(base + trace::kHeaderBytes);
  return true;
}

void copy_text(char* target, std::size_t bytes, const char* source) {
  std::snprintf(target, bytes, "%s", source);
}

void read_affinity(std::uint8_t* bits, std::size_t bytes) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return;
  for (std::size_t cpu = 0; cpu < bytes * 8 && cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) bits[cpu / 8] = static_cast<std::uint8_t>(bits[cpu / 8] | (1U << (cpu % 8)));
}

/// Bits of the words of `kTraceRecord`; everything where a word is unknown: the launcher refuses those.
std::uint32_t chosen_kinds() {
  static constexpr std::string_view kWords[] = {"calls", "messages",  "collectives", "one-sided",
                                                "files", "functions", "regions",     "sites"};
  std::string_view text = knob_text(kTraceRecord);
  std::uint32_t kinds = text.empty() ? trace::kAllKinds : 0;
  while (!text.empty()) {
    const std::size_t end = text.find(',');
    const std::string_view word = text.substr(0, end);
    const auto* const found = std::find(std::begin(kWords), std::end(kWords), word);
    if (found == std::end(kWords)) return kBuiltKinds;
    kinds |= 1U << (found - std::begin(kWords));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return kinds & kBuiltKinds;
}

/// Memory that every rank has, whatever it does: the tables of this library and the mapped start of the file.
std::uint64_t standing_memory() {
  return trace::kFirstBlock + 28 * 1024;
}

void fill_header(const StartTime& start, const WorldFacts& world) {
  trace::FileHeader& file = *process.file;
  std::uint64_t half_bytes = 0;
  int mode = 0;
  if (!read_size(kTraceBuffer, half_bytes).ok()) half_bytes = 65536;
  if (!read_choice(kTraceMode, mode).ok()) mode = 0;
  file.version = trace::kVersion;
  file.header_bytes = trace::kHeaderBytes;
  file.rank = world.rank;
  file.world_size = world.size;
  file.pid = static_cast<std::uint32_t>(getpid());
  file.spawned = world.spawned ? 1 : 0;
  file.clock = process.use_tsc ? trace::Clock::tsc : trace::Clock::monotonic_raw_ns;
  file.half_bytes = static_cast<std::uint32_t>(half_bytes & ~std::uint64_t{31});
  file.memory_bytes = standing_memory();
  file.mode = start_draining(static_cast<trace::Mode>(mode), file.half_bytes);
  file.kinds = process.kinds = chosen_kinds();
  name_node(file.node, sizeof file.node);
  file.thread_level = static_cast<std::uint32_t>(world.thread_level);
  file.start_ticks = start.ticks;
  file.start_ns = start.monotonic_ns;
  file.start_realtime_ns = start.realtime_ns;
  file.tail = trace::kFirstBlock;
  gethostname(file.host, sizeof file.host - 1);
  copy_text(file.library, sizeof file.library, world.library);
  read_affinity(file.cpus_start, sizeof file.cpus_start);
  note_latest_time();
  std::memcpy(file.magic, trace::kMagic, sizeof trace::kMagic);
}

void append_text(trace::BlockKind kind, const std::string& text) {
  trace::TextHeader header{};
  header.block.kind = kind;
  header.payload_bytes = text.size();
  const Part part{text.data(), text.size()};
  append_block(header.block, sizeof header, &part, 1);
}

void append_names(const char* const* procedure_names, int procedures) {
  std::string text;
  for (int i = 0; i < procedures; ++i) text.append(procedure_names[i]).push_back('\0');
  append_text(trace::BlockKind::names, text);
}

}  // namespace

Process process;
constinit thread_local Thread this_thread __attribute__((tls_model("initial-exec")));

std::uint64_t claim(std::uint64_t bytes) {
  return __atomic_fetch_add(&process.file->tail, bytes, __ATOMIC_RELAXED);
}

bool write_at(const iovec* parts, int count, std::uint64_t offset, std::uint64_t bytes) {
  const int saved_errno = errno;  // the program's: descriptions are written in the middle of its calls
  ssize_t written = -1;
  if (within_limit(offset + bytes) && file_is_ours()) {
    do {
      written = pwritev(trace_file.fd, parts, count, static_cast<off_t>(offset));
    } while (written < 0 && errno == EINTR);
  }
  errno = saved_errno;
  return written == static_cast<ssize_t>(bytes);
}

std::uint32_t write_crash_stack(const void* stack) {
  if (!file_is_ours()) return 0;
  const ssize_t written =
      pwrite(trace_file.fd, stack, trace::kHeaderBytes - trace::kCrashStack, trace::kCrashStack);
  return written > 0 ? static_cast<std::uint32_t>(written) : 0;
}

bool trace_wanted() {
  return !trace_directory().empty();
}

/// The two words belong together: of several threads that come at once, one writes.
void note_latest_time() {
  static bool writing = false;
  if (__atomic_exchange_n(&writing, true, __ATOMIC_ACQUIRE)) return;
  const Moment moment = read_moment();
  process.file->latest_ticks = moment.ticks;
  process.file->latest_ns = moment.ns;
  __atomic_store_n(&writing, false, __ATOMIC_RELEASE);
}

void note_memory(std::uint64_t bytes) {
  __atomic_fetch_add(&process.file->memory_bytes, bytes, __ATOMIC_RELAXED);
}

std::uint64_t read_os_clock() {
  return static_cast<std::uint64_t>(skewed(clock_ns(CLOCK_MONOTONIC_RAW)));
}

StartTime read_start_time() {
  // Once: a file's time stamps are of one clock, whatever the kernel thinks of it later.
  static const bool use_tsc = choose_clock();
  process.use_tsc = use_tsc;
  const Moment moment = read_moment();
  return {moment.ticks, moment.ns, skewed(clock_ns(CLOCK_REALTIME))};
}

bool attach_thread(Thread& thread) {
  if (thread.attaching) {  // a signal handler's hook
    __atomic_fetch_add(&process.file->lost_nested, 1, __ATOMIC_RELAXED);
    return false;
  }
  const int saved_errno = errno;
  thread.attaching = true;
  thread.attached = take_parked(thread) || (!out_of_room && new_slot(thread));
  if (thread.attached) {
    pthread_setspecific(trace_file.thread_exit, &thread);
  } else {
    out_of_room = true;
    __atomic_fetch_add(&process.file->lost_bytes, sizeof(trace::CallRecord), __ATOMIC_RELAXED);
  }
  thread.attaching = false;
  errno = saved_errno;
  return thread.attached;
}

bool has_jumped_out(Thread& thread, const void* place) {
  if (thread.depth >= kEndedDepth || reinterpret_cast<std::uintptr_t>(place) <= thread.entered) return false;
  thread.depth = 0;
  return true;
}

std::uint64_t insert_site(std::uint64_t address) {
  const std::uint64_t home = (address * 0x9e3779b97f4a7c15ULL) >> 52;
  for (std::uint64_t probe = 0; probe < trace::kSiteCapacity; ++probe) {
    const std::uint64_t slot = (home + probe) % trace::kSiteCapacity;
    std::uint64_t found = __atomic_load_n(&process.sites[slot], __ATOMIC_RELAXED);
    if (found == 0 && __atomic_compare_exchange_n(&process.sites[slot], &found, address, false, __ATOMIC_RELAXED,
                                                  __ATOMIC_RELAXED))
      found = address;
    if (found == address) return slot + 1;
  }
  __atomic_fetch_add(&process.file->lost_sites, 1, __ATOMIC_RELAXED);
  return 0;
}

void start_recording(const StartTime& start, const WorldFacts& world, const char* const* procedure_names,
                     int procedures) {
  if (process.file != nullptr) return mark_running();
  const std::string directory(trace_directory());
  if (directory.empty()) return;
  const int saved_errno = errno;
  if (trace_file.has_key && adopt_file(create_file(directory, world))) {
    fill_header(start, world);
    append_names(procedure_names, procedures);
    append_maps();
    pthread_atfork(nullptr, nullptr, become_idle);
    process.multiple = world.thread_level == 3;
    process.recording = true;
    watch_crashes();
  }
  errno = saved_errno;
}

void note_end_of_run() {
  if (!process.recording) return;
  write_kept_blocks();
  append_maps();
  std::memset(process.file->cpus_end, 0, sizeof process.file->cpus_end);
  read_affinity(process.file->cpus_end, sizeof process.file->cpus_end);
}

void mark_finalized(bool for_good) {
  if (!process.recording) return;
  note_latest_time();
  // MPI_Abort of MPICH 5.0 may return, and the program then go on to finalize.
  if (process.file->state != trace::State::aborted) process.file->state = trace::State::finalized;
  if (for_good) process.recording = false;
}

void mark_running() {
  if (process.recording) process.file->state = trace::State::running;
}

void mark_aborted(int code) {
  if (!process.recording) return;
  note_latest_time();
  process.file->abort_code = code;
  process.file->state = trace::State::aborted;
}

void write_kept_blocks() {
  if (__atomic_load_n(&unwritten.used, __ATOMIC_RELAXED) == 0) [[likely]]
    return;
  if (__atomic_test_and_set(&unwritten.locked, __ATOMIC_ACQUIRE)) return;
  std::size_t done = 0;
  while (done < unwritten.used) {
    std::uint64_t offset = 0;
    trace::BlockHeader header{};
    std::byte* block = unwritten.bytes + done + sizeof offset;
    std::memcpy(&offset, block - sizeof offset, sizeof offset);
    std::memcpy(&header, block, sizeof header);
    const iovec piece{block, header.block_bytes};
    if (!write_at(&piece, 1, offset, header.block_bytes)) break;
    count_lost_block(header.kind, -1);
    done += sizeof offset + header.block_bytes;
  }
  std::memmove(unwritten.bytes, unwritten.bytes + done, unwritten.used - done);
  __atomic_store_n(&unwritten.used, unwritten.used - done, __ATOMIC_RELAXED);
  __atomic_clear(&unwritten.locked, __ATOMIC_RELEASE);
}

void append_block(trace::BlockHeader& header, std::uint32_t header_bytes, const Part* parts, int count) {
  static const std::uint64_t zeros[trace::kBlockAlign / 8] = {};
  iovec pieces[8];
  std::uint64_t bytes = header_bytes;
  pieces[0] = {&header, header_bytes};
  for (int i = 0; i < count; ++i) {
    pieces[i + 1] = {const_cast<void*>(parts[i].data), parts[i].bytes};
    bytes += parts[i].bytes;
  }
  header.block_bytes = align_up(bytes + sizeof trace::kCommit, trace::kBlockAlign);
  std::uint64_t commit_word = trace::kCommit;
  pieces[count + 1] = {const_cast<std::uint64_t*>(zeros), header.block_bytes - bytes - sizeof commit_word};
  pieces[count + 2] = {&commit_word, sizeof commit_word};
  write_kept_blocks();
  const std::uint64_t offset = claim(header.block_bytes);
  if (write_at(pieces, count + 3, offset, header.block_bytes)) return;
  count_lost_block(header.kind, 1);
  keep_block(offset, pieces, count + 3, header.block_bytes);
}

}  // namespace corewise::preload

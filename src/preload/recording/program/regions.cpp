// Regions and phases; see regions.hpp. A call with a name that was seen at the same address costs a comparison of
// the text and a record.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/recording/program/regions.hpp"

#include <sched.h>

#include <cerrno>
#include <cstring>

#include "base/fnv.hpp"
#include "preload/recording/program/functions.hpp"

#define CW_EXPORT __attribute__((visibility("default")))

namespace corewise::preload {
namespace {

constexpr std::uint32_t kNoName = UINT32_MAX;
constexpr std::size_t kTextBytes = std::size_t{64} << 10;
constexpr std::size_t kBuckets = 2048;
constexpr std::size_t kPointers = 256;

/// The names, in order of their number. Only grows; `count` is stored last.
struct NameTable {
  const char* text[kNames];
  std::uint16_t buckets[kBuckets];  ///< number plus one
  /// By the address of the caller's text: the address shifted up by 16, number plus one.
  std::uint64_t pointers[kPointers];
  std::uint32_t count;
  std::uint32_t written;
  std::size_t used;
  bool locked;
  char characters[kTextBytes];
};
NameTable names;

struct OpenRegion {
  std::uint32_t name;
  std::uint64_t start;  ///< 0 once it is recorded
};

struct RegionThread {
  std::uint32_t seen = 0;  ///< the switch's generation when this thread last wrote what was kept
  std::uint32_t open = 0;  ///< those beyond kOpenRegions included
  std::uint32_t phase = kNoName;
  std::uint64_t phase_start = 0;  ///< 0 once it is recorded
  bool busy = false;
  OpenRegion regions[kOpenRegions] = {};
};
constinit thread_local RegionThread region_thread __attribute__((tls_model("initial-exec")));

std::uint64_t lost_before_start = 0;
bool never = false;  ///< regions are not wanted

void count_lost() {
  std::uint64_t* counter = process.file != nullptr ? &process.file->lost_names : &lost_before_start;
  __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

// ---- names -----------------------------------------------------------------------------------------------

class NamesLock {
 public:
  NamesLock() {
    while (__atomic_test_and_set(&names.locked, __ATOMIC_ACQUIRE)) sched_yield();
  }
  ~NamesLock() { __atomic_clear(&names.locked, __ATOMIC_RELEASE); }
  NamesLock(const NamesLock&) = delete;
  NamesLock& operator=(const NamesLock&) = delete;
};

bool is_name(std::uint32_t number, const char* name) {
  return std::strncmp(names.text[number], name, kNameBytes) == 0;
}

std::size_t bucket_of(const char* name) {
  const std::uint64_t hash = fnv({name, strnlen(name, kNameBytes)});
  return (hash ^ (hash >> 32)) % kBuckets;
}

/// With the lock held.
void write_name(std::uint32_t number) {
  trace::TextHeader header{};
  header.block.kind = trace::BlockKind::region;
  header.block.index = number;
  header.payload_bytes = std::strlen(names.text[number]);
  const Part part{names.text[number], header.payload_bytes};
  append_block(header.block, sizeof header, &part, 1);
}

/// With the lock held. What was named before recording started is written when it has.
void write_new_names() {
  if (recording_switch.gate == Gate::idle) return;
  for (; names.written < names.count; ++names.written) write_name(names.written);
}

std::uint32_t add_name(const char* name, std::uint16_t& bucket) {
  const std::size_t length = strnlen(name, kNameBytes);
  if (names.count == kNames || names.used + length + 1 > kTextBytes) return kNoName;
  char* text = names.characters + names.used;
  std::memcpy(text, name, length);
  text[length] = '\0';
  names.used += length + 1;
  names.text[names.count] = text;
  bucket = static_cast<std::uint16_t>(names.count + 1);
  ++names.count;
  write_new_names();
  return names.count - 1;
}

std::uint32_t find_or_add(const char* name) {
  const NamesLock lock;
  for (std::size_t bucket = bucket_of(name);; bucket = (bucket + 1) % kBuckets) {
    if (names.buckets[bucket] == 0) return add_name(name, names.buckets[bucket]);
    if (is_name(names.buckets[bucket] - 1U, name)) return names.buckets[bucket] - 1U;
  }
}

[[gnu::noinline]] std::uint32_t name_slowly(const char* name, std::uint64_t& slot) {
  const int saved_errno = errno;
  const std::uint32_t number = find_or_add(name);
  errno = saved_errno;
  if (number == kNoName)
    count_lost();
  else
    __atomic_store_n(&slot, reinterpret_cast<std::uint64_t>(name) << 16 | (number + 1), __ATOMIC_RELEASE);
  return number;
}

/// A program may write another name into the same memory: an address alone is no name.
std::uint32_t name_number(const char* name) {
  const auto address = reinterpret_cast<std::uint64_t>(name);
  std::uint64_t& slot = names.pointers[(address * 0x9e3779b97f4a7c15ULL) >> 56];
  static_assert(kPointers == 256);
  const std::uint64_t found = __atomic_load_n(&slot, __ATOMIC_ACQUIRE);
  const auto number = static_cast<std::uint32_t>(found & 0xffff) - 1;
  if (found >> 16 == (address & 0xffffffffffffULL) && found != 0 && is_name(number, name)) [[likely]]
    return number;
  return name_slowly(name, slot);
}

// ---- records ---------------------------------------------------------------------------------------------

/// What this thread opened while recording was off.
[[gnu::noinline]] trace::ThreadRecorder* catch_up(RegionThread& own) {
  trace::ThreadRecorder* recorder = own_recorder();
  if (recorder == nullptr) return nullptr;
  own.seen = __atomic_load_n(&recording_switch.generation, __ATOMIC_ACQUIRE);
  if (own.phase != kNoName && own.phase_start != 0)
    trace::put_short(*recorder, own.phase_start, trace::Role::phase, own.phase, 0);
  own.phase_start = 0;
  for (std::uint32_t i = 0; i < own.open && i < kOpenRegions; ++i) {
    OpenRegion& region = own.regions[i];
    if (region.start == 0 || region.name == kNoName) continue;
    trace::put_short(*recorder, region.start, trace::Role::region_enter, region.name, 0);
    region.start = 0;
  }
  return recorder;
}

/// Where this thread may record now, else nullptr.
trace::ThreadRecorder* recorder_of(RegionThread& own) {
  if (recording_switch.gate != Gate::on) return nullptr;
  if (own.seen == recording_switch.generation && this_thread.attached) [[likely]]
    return &this_thread.recorder;
  return catch_up(own);
}

void begin(const char* name) {
  RegionThread& own = region_thread;
  // Before the region is open: catching up looks at those that are.
  trace::ThreadRecorder* recorder = recorder_of(own);
  const std::uint32_t depth = own.open++;
  if (depth >= kOpenRegions) return count_lost();
  const std::uint32_t number = name_number(name);
  own.regions[depth] = {number, recorder != nullptr ? 0 : now()};
  if (recorder != nullptr && number != kNoName)
    trace::put_short(*recorder, now(), trace::Role::region_enter, number, 0);
}

/// A begin without a name that could be kept has an end without a record.
void end() {
  RegionThread& own = region_thread;
  if (own.open == 0) return;
  trace::ThreadRecorder* recorder = recorder_of(own);
  const std::uint32_t depth = --own.open;
  if (depth >= kOpenRegions || own.regions[depth].name == kNoName || own.regions[depth].start != 0) return;
  if (recorder == nullptr && this_thread.attached && recording_switch.gate == Gate::stopped)
    recorder = &this_thread.recorder;
  if (recorder != nullptr) trace::put_short(*recorder, now(), trace::Role::region_exit, own.regions[depth].name, 0);
}

void phase(const char* name) {
  RegionThread& own = region_thread;
  trace::ThreadRecorder* recorder = recorder_of(own);
  own.phase = name_number(name);
  own.phase_start = recorder != nullptr ? 0 : now();
  if (recorder != nullptr && own.phase != kNoName)
    trace::put_short(*recorder, now(), trace::Role::phase, own.phase, 0);
}

/// One of the three, unless it interrupts itself: a signal handler's is lost.
template <class Do>
void alone(Do act) {
  if (never) return;
  if (region_thread.busy) return count_lost();
  const BusyGuard guard(region_thread.busy);
  act();
}

}  // namespace

void start_regions(bool wanted) {
  never = !wanted;
  if (never) return;
  const BusyGuard guard(region_thread.busy);  // a handler that came now would wait for its own thread's lock
  const NamesLock lock;
  write_new_names();
  process.file->lost_names += lost_before_start;
}

void catch_up_regions() {
  alone([] { catch_up(region_thread); });
}

void forget_regions() {
  never = true;
  __atomic_clear(&names.locked, __ATOMIC_RELEASE);  // a thread that held it is not in the child
}

}  // namespace corewise::preload

#if COREWISE_KINDS & 64  // trace::kRegions

extern "C" {

CW_EXPORT void corewise_begin(const char* name) {
  using namespace corewise::preload;
  alone([name] { begin(name != nullptr ? name : ""); });
}

CW_EXPORT void corewise_end() {
  using namespace corewise::preload;
  alone([] { end(); });
}

CW_EXPORT void corewise_phase(const char* name) {
  using namespace corewise::preload;
  alone([name] { phase(name != nullptr ? name : ""); });
}

}  // extern "C"

#endif

// The recorder: one thread's two small buffers that swap roles (paper 003, section 3.2). Owns where the next
// record goes; knows no file, no clock and no MPI: buffers and the drain are handed in.
//
// Contract: one ThreadRecorder belongs to one thread at a time. A call that interrupts another one on the same
// thread (a signal handler) is refused and counted, never mixed in. Nothing allocates, locks or throws.
// When a half is full the halves swap and the full one is drained before the next record is accepted; when the
// drain fails the full half stays as it is and later records are counted as lost: nothing recorded is ever
// overwritten, except in flight-recorder mode, where there is no drain and the older half is given up.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "trace/format.hpp"

namespace corewise::trace {

/// Keeps `bytes` of records that start at stream offset `first`. True once they are safe.
using Drain = bool (*)(void* sink, std::uint32_t slot, std::uint64_t first, const std::byte* records,
                       std::uint32_t bytes);

struct ThreadRecorder {
  std::byte* cursor = nullptr;
  std::byte* limit = nullptr;  ///< end of the active half
  ThreadHeader* header = nullptr;
  Drain drain = nullptr;  ///< nullptr: flight recorder
  void* sink = nullptr;
  MessageRecord* last_miss = nullptr;  ///< the newest record while it is a merged miss
  FileHeader* losses = nullptr;        ///< where lost_bytes and lost_nested are counted, shared by all threads
  std::uint32_t half_bytes = 0;
  std::uint32_t active = 0;
  bool busy = false;
  bool full = false;  ///< the drain failed: nothing is accepted any more
};

/// Sets up `recorder` over a zeroed thread block whose header carries kind, slot and block_bytes.
void attach(ThreadRecorder& recorder, ThreadHeader* header, FileHeader* losses, std::uint32_t half_bytes,
            Drain drain, void* sink);

/// Swaps the halves and drains the full one; returns room for `bytes` or nullptr (counted as lost). Slow path.
std::byte* swap_halves(ThreadRecorder& recorder, std::uint32_t bytes);

/// Hands what the active half holds to the drain, at a quiet moment (the end of the run). True when it is safe.
bool flush(ThreadRecorder& recorder);

inline void count_nested(ThreadRecorder& recorder) {
  __atomic_fetch_add(&recorder.losses->lost_nested, 1, __ATOMIC_RELAXED);
}

inline std::byte* half_base(const ThreadRecorder& recorder, std::uint32_t half) {
  return reinterpret_cast<std::byte*>(recorder.header + 1) + std::size_t{half} * recorder.half_bytes;
}

inline std::byte* reserve(ThreadRecorder& recorder, std::uint32_t bytes) {
  std::byte* place = recorder.cursor;
  if (static_cast<std::size_t>(recorder.limit - place) < bytes) [[unlikely]]
    return swap_halves(recorder, bytes);
  return place;
}

/// The commit: everything else of the record is written, its first word makes it valid.
inline void commit(std::byte* place, std::uint64_t start) {
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(place), start, __ATOMIC_RELEASE);
}

inline void store_head(std::byte* place, std::uint32_t duration, std::uint64_t call, std::uint64_t site) {
  const std::uint64_t word = std::uint64_t{duration} | (std::uint64_t{call} << 32) | (std::uint64_t{site} << 48);
  std::memcpy(place + 8, &word, sizeof word);
}

inline void put_call(ThreadRecorder& recorder, std::uint64_t start, std::uint64_t ticks, std::uint64_t procedure,
                     std::uint64_t site) {
  if (recorder.busy) [[unlikely]] {
    count_nested(recorder);
    return;
  }
  recorder.busy = true;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (std::byte* place = reserve(recorder, sizeof(CallRecord))) [[likely]] {
    store_head(place, pack_duration(ticks), call_word(procedure, Role::plain), site);
    commit(place, start);
    recorder.cursor = place + sizeof(CallRecord);
    recorder.last_miss = nullptr;
  }
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  recorder.busy = false;
}

struct MessageFields {
  std::uint64_t start;
  std::uint64_t ticks;
  std::uint64_t bytes;
  std::int32_t peer;
  std::int32_t tag;
  // 16 bits suffice for these three; as words they are not spilt narrow and reloaded wide, which stalls (5 ns).
  std::uint64_t procedure;
  std::uint64_t site;
  std::uint64_t comm;
  Role role;
};

inline void put_message(ThreadRecorder& recorder, const MessageFields& fields) {
  if (recorder.busy) [[unlikely]] {
    count_nested(recorder);
    return;
  }
  recorder.busy = true;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (std::byte* place = reserve(recorder, sizeof(MessageRecord))) [[likely]] {
    const std::uint64_t volume = volume_word(fields.bytes, fields.comm);
    const std::uint64_t ends =
        static_cast<std::uint32_t>(fields.peer) | (std::uint64_t{static_cast<std::uint32_t>(fields.tag)} << 32);
    std::memcpy(place + 16, &volume, sizeof volume);
    std::memcpy(place + 24, &ends, sizeof ends);
    store_head(place, pack_duration(fields.ticks), call_word(fields.procedure, fields.role), fields.site);
    commit(place, fields.start);
    recorder.cursor = place + sizeof(MessageRecord);
    recorder.last_miss = nullptr;
  }
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  recorder.busy = false;
}

/// A failed test or probe: merged into the newest record when that is a miss of the same procedure and site, so
/// that a polling loop costs 32 bytes however long it runs.
void put_miss(ThreadRecorder& recorder, std::uint64_t start, std::uint64_t ticks, std::uint64_t procedure,
              std::uint64_t site);

}  // namespace corewise::trace

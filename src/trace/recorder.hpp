// The recorder: one thread's two small buffers that swap roles (paper 003, section 3.2). Owns where the next
// record goes; knows no file, no clock and no MPI: buffers and the drain are handed in.
//
// Contract: one ThreadRecorder belongs to one thread at a time. A call that interrupts another one on the same
// thread (a signal handler) is refused and counted, never mixed in. Nothing allocates, locks or throws.
// When a half is full the halves swap. The full one is drained before the next record is accepted, or handed to a
// helper thread, for which the recording thread waits only when it has filled the next half first. When the drain
// fails the full half stays as it is and later records are counted as lost: nothing recorded is ever overwritten,
// except in flight-recorder mode, where there is no drain and the older half is given up.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "trace/format.hpp"

namespace corewise::trace {

/// Records on their way out of a half, the first at stream offset `first`. `scratch` is the drain's to write to.
struct FullHalf {
  std::uint32_t slot;
  std::uint64_t first;
  const std::byte* records;
  std::uint32_t bytes;
  std::byte* scratch;
  std::uint32_t room;
};

/// Keeps a half's records. True once they are safe.
using Drain = bool (*)(void* sink, const FullHalf& half);

/// Between a recording thread and the helper thread that drains its halves; lives as long as the thread's block.
/// `full` is the only word that both write: the recording thread to hand a half over, the helper to give it back.
struct Handover {
  ThreadHeader* header = nullptr;
  void (*wake)() = nullptr;  ///< there is work for the helper
  void (*wait)() = nullptr;  ///< lets the helper have the core
  std::uint32_t half_bytes = 0;
  std::uint32_t full = 0;    ///< the half that the helper owns, plus one
  bool failed = false;       ///< the drain failed: that half is never given back
  Handover* next = nullptr;  ///< of another thread
};

/// The helper's part: drains what was handed over. False when there was nothing to do.
bool drain_handed_over(Handover& handover, Drain drain, void* sink, std::byte* scratch, std::uint32_t room);

struct ThreadRecorder {
  std::byte* cursor = nullptr;
  std::byte* limit = nullptr;  ///< end of the active half
  ThreadHeader* header = nullptr;
  Drain drain = nullptr;  ///< nullptr and no handover: flight recorder
  void* sink = nullptr;
  Handover* handover = nullptr;        ///< helper-thread mode: `drain` is not used
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

/// The same with a helper thread, which is to find `handover` from here on.
void attach(ThreadRecorder& recorder, ThreadHeader* header, FileHeader* losses, std::uint32_t half_bytes,
            Handover* handover);

/// Swaps the halves and drains the full one, or hands it over; returns room for `bytes` or nullptr (counted as
/// lost). Slow path.
std::byte* swap_halves(ThreadRecorder& recorder, std::uint32_t bytes);

/// Hands what the active half holds to the drain, at a quiet moment (the end of the run), and waits for a helper
/// thread. True when it is safe.
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

/// Any other record of 16 bytes: `low` and `high` are what follows `start` and surrounds `call`.
inline void put_short(ThreadRecorder& recorder, std::uint64_t start, Role role, std::uint32_t low,
                      std::uint16_t high, std::uint64_t procedure = 0) {
  if (recorder.busy) [[unlikely]] {
    count_nested(recorder);
    return;
  }
  recorder.busy = true;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (std::byte* place = reserve(recorder, sizeof(CallRecord))) [[likely]] {
    store_head(place, low, call_word(procedure, role), high);
    commit(place, start);
    recorder.cursor = place + sizeof(CallRecord);
    recorder.last_miss = nullptr;
  }
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  recorder.busy = false;
}

inline void put_function(ThreadRecorder& recorder, std::uint64_t start, Role role, const void* function) {
  const auto address = reinterpret_cast<std::uint64_t>(function);
  put_short(recorder, start, role, static_cast<std::uint32_t>(address), static_cast<std::uint16_t>(address >> 32));
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
  std::uint64_t type = kUnknownType;
};

/// The words of a message record behind `start`; the duration is missing in the first one.
struct MessageWords {
  std::uint64_t head;
  std::uint64_t volume;
  std::uint64_t ends;
};

constexpr std::uint64_t head_word(std::uint64_t procedure, Role role, std::uint64_t site) {
  return std::uint64_t{call_word(procedure, role)} << 32 | site << 48;
}

constexpr std::uint64_t ends_word(std::int32_t peer, std::uint64_t type, std::int32_t tag) {
  return target_word(peer, type) | std::uint64_t{static_cast<std::uint32_t>(tag)} << 32;
}

constexpr MessageWords words_of(const MessageFields& fields) {
  return {head_word(fields.procedure, fields.role, fields.site), volume_word(fields.bytes, fields.comm),
          ends_word(fields.peer, fields.type, fields.tag)};
}

inline void store_words(MessageRecord& place, const MessageWords& words) {
  auto* at = reinterpret_cast<std::byte*>(&place);
  std::memcpy(at + 8, &words.head, sizeof words.head);
  std::memcpy(at + 16, &words.volume, sizeof words.volume);
  std::memcpy(at + 24, &words.ends, sizeof words.ends);
}

inline MessageWords load_words(const MessageRecord& place) {
  const auto* at = reinterpret_cast<const std::byte*>(&place);
  MessageWords words;
  std::memcpy(&words.head, at + 8, sizeof words.head);
  std::memcpy(&words.volume, at + 16, sizeof words.volume);
  std::memcpy(&words.ends, at + 24, sizeof words.ends);
  return words;
}

// ---- the call that the thread is in ----------------------------------------------------------------------

/// From here on it is said to be in the call that `header->open` describes.
inline void enter_call(ThreadRecorder& recorder, std::uint64_t start) {
  __atomic_store_n(&recorder.header->open.call.head.start, start, __ATOMIC_RELEASE);
}

/// The call is over and its records are committed.
inline void leave_call(ThreadRecorder& recorder) {
  __atomic_store_n(&recorder.header->open.call.head.start, 0, __ATOMIC_RELEASE);
}

inline void put_words(ThreadRecorder& recorder, std::uint64_t start, std::uint64_t ticks,
                      const MessageWords& words) {
  if (recorder.busy) [[unlikely]] {
    count_nested(recorder);
    return;
  }
  recorder.busy = true;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (std::byte* place = reserve(recorder, sizeof(MessageRecord))) [[likely]] {
    const std::uint64_t head = words.head | pack_duration(ticks);
    std::memcpy(place + 16, &words.volume, sizeof words.volume);
    std::memcpy(place + 24, &words.ends, sizeof words.ends);
    std::memcpy(place + 8, &head, sizeof head);
    commit(place, start);
    recorder.cursor = place + sizeof(MessageRecord);
    recorder.last_miss = nullptr;
  }
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  recorder.busy = false;
}

inline void put_message(ThreadRecorder& recorder, const MessageFields& fields) {
  put_words(recorder, fields.start, fields.ticks, words_of(fields));
}

/// A failed test or probe: merged into the newest record when that is a miss of the same procedure and site, so
/// that a polling loop costs 32 bytes however long it runs.
void put_miss(ThreadRecorder& recorder, std::uint64_t start, std::uint64_t ticks, std::uint64_t procedure,
              std::uint64_t site);

}  // namespace corewise::trace

// The recorder's slow paths: swapping halves, flushing, merging misses.
// SPDX-License-Identifier: BSD-3-Clause
#include "trace/recorder.hpp"

namespace corewise::trace {
namespace {

std::uint32_t used_bytes(const ThreadRecorder& recorder) {
  return static_cast<std::uint32_t>(recorder.cursor - half_base(recorder, recorder.active));
}

/// Publishes that the stream up to `end` no longer needs its half. The store is what makes chunks valid.
void set_drained(ThreadHeader& header, std::uint64_t end) {
  __atomic_store_n(&header.drained, end, __ATOMIC_RELEASE);
}

/// From here on nobody reads the half, whatever it holds: its records are in a chunk, or were given up.
void close_half(ThreadHeader& header, std::uint32_t half) {
  __atomic_store_n(&header.half_first[half], kClosedHalf, __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/// Makes `half` the active one, empty, its first record at stream offset `first`.
void open_half(ThreadRecorder& recorder, std::uint32_t half, std::uint64_t first) {
  std::byte* base = half_base(recorder, half);
  close_half(*recorder.header, half);
  std::memset(base, 0, recorder.half_bytes);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&recorder.header->half_first[half], first, __ATOMIC_RELEASE);
  recorder.active = half;
  recorder.cursor = base;
  recorder.limit = base + recorder.half_bytes;
  recorder.last_miss = nullptr;
}

/// Drains the active half here and now, with the other one as scratch.
bool drain_half(ThreadRecorder& recorder, std::uint64_t first, std::uint32_t used) {
  const std::uint32_t other = recorder.active ^ 1U;
  close_half(*recorder.header, other);
  if (!recorder.drain(recorder.sink, {recorder.header->block.index, first, half_base(recorder, recorder.active),
                                      used, half_base(recorder, other), recorder.half_bytes}))
    return false;
  set_drained(*recorder.header, first + used);
  return true;
}

/// Waits until the helper thread owns no half of this thread; false when it never will give one back.
bool wait_for_helper(const Handover& handover) {
  while (__atomic_load_n(&handover.full, __ATOMIC_ACQUIRE) != 0) {
    if (__atomic_load_n(&handover.failed, __ATOMIC_ACQUIRE)) return false;
    handover.wait();
  }
  return true;
}

/// Takes the active half out of use and opens the other one; false when its records could not be made safe.
bool exchange_halves(ThreadRecorder& recorder) {
  const std::uint64_t first = recorder.header->half_first[recorder.active];
  const std::uint32_t used = used_bytes(recorder);
  const std::uint32_t full = recorder.active;
  if (recorder.handover != nullptr) {
    if (!wait_for_helper(*recorder.handover)) return false;
    open_half(recorder, full ^ 1U, first + used);
    __atomic_store_n(&recorder.handover->full, full + 1, __ATOMIC_RELEASE);
    recorder.handover->wake();
    return true;
  }
  if (recorder.drain == nullptr)
    set_drained(*recorder.header, first);  // what is given up is the other half, the older one
  else if (!drain_half(recorder, first, used))
    return false;
  open_half(recorder, full ^ 1U, first + used);
  return true;
}

}  // namespace

void attach(ThreadRecorder& recorder, ThreadHeader* header, FileHeader* losses, std::uint32_t half_bytes,
            Drain drain, void* sink) {
  recorder = ThreadRecorder{};
  recorder.losses = losses;
  recorder.header = header;
  recorder.half_bytes = half_bytes;
  recorder.drain = drain;
  recorder.sink = sink;
  open_half(recorder, 0, 0);
}

void attach(ThreadRecorder& recorder, ThreadHeader* header, FileHeader* losses, std::uint32_t half_bytes,
            Handover* handover) {
  attach(recorder, header, losses, half_bytes, nullptr, nullptr);
  handover->header = header;
  handover->half_bytes = half_bytes;
  recorder.handover = handover;
}

bool drain_handed_over(Handover& handover, Drain drain, void* sink, std::byte* scratch, std::uint32_t room) {
  const std::uint32_t full = __atomic_load_n(&handover.full, __ATOMIC_ACQUIRE);
  if (full == 0 || handover.failed) return false;
  ThreadHeader& header = *handover.header;
  const std::uint64_t first = header.half_first[full - 1];
  const std::uint64_t end = header.half_first[full & 1U];
  const std::byte* records =
      reinterpret_cast<const std::byte*>(&header + 1) + std::size_t{full - 1} * handover.half_bytes;
  if (drain(sink, {header.block.index, first, records, static_cast<std::uint32_t>(end - first), scratch, room})) {
    set_drained(header, end);
    __atomic_store_n(&handover.full, 0, __ATOMIC_RELEASE);
  } else {
    __atomic_store_n(&handover.failed, true, __ATOMIC_RELEASE);
  }
  return true;
}

std::byte* swap_halves(ThreadRecorder& recorder, std::uint32_t bytes) {
  if (recorder.full || !exchange_halves(recorder)) {
    recorder.full = true;
    recorder.limit = recorder.cursor;
    __atomic_fetch_add(&recorder.losses->lost_bytes, bytes, __ATOMIC_RELAXED);
    return nullptr;
  }
  return recorder.cursor;
}

bool flush(ThreadRecorder& recorder) {
  if (recorder.drain == nullptr && recorder.handover == nullptr) return true;
  if (used_bytes(recorder) > 0 && swap_halves(recorder, 0) == nullptr) return false;
  return recorder.handover == nullptr || wait_for_helper(*recorder.handover);
}

void put_miss(ThreadRecorder& recorder, std::uint64_t start, std::uint64_t ticks, std::uint64_t procedure,
              std::uint64_t site) {
  MessageRecord* last = recorder.last_miss;
  if (last != nullptr && procedure_of(last->head.call) == procedure && last->head.site == site && !recorder.busy) {
    last->head.duration = pack_duration(start + ticks - last->head.start);
    last->volume += 1;
    return;
  }
  std::byte* before = recorder.cursor;
  put_message(recorder, {start, ticks, 1, kNoPeer, 0, procedure, site, kUnknownComm, Role::miss});
  if (recorder.cursor != before)
    recorder.last_miss = reinterpret_cast<MessageRecord*>(recorder.cursor - sizeof(MessageRecord));
}

}  // namespace corewise::trace

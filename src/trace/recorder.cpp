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

/// Makes `half` the active one, empty, its first record at stream offset `first`.
void open_half(ThreadRecorder& recorder, std::uint32_t half, std::uint64_t first) {
  std::byte* base = half_base(recorder, half);
  std::memset(base, 0, recorder.half_bytes);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&recorder.header->half_first[half], first, __ATOMIC_RELEASE);
  recorder.active = half;
  recorder.cursor = base;
  recorder.limit = base + recorder.half_bytes;
  recorder.last_miss = nullptr;
}

/// Takes the active half out of use; false when its records could not be made safe.
bool retire_half(ThreadRecorder& recorder) {
  const std::uint64_t first = recorder.header->half_first[recorder.active];
  const std::uint32_t used = used_bytes(recorder);
  if (recorder.drain == nullptr) {
    // Flight recorder: what is given up is the other half, the older one.
    set_drained(*recorder.header, first);
    return true;
  }
  if (!recorder.drain(recorder.sink, recorder.header->block.index, first, half_base(recorder, recorder.active),
                      used))
    return false;
  set_drained(*recorder.header, first + used);
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

std::byte* swap_halves(ThreadRecorder& recorder, std::uint32_t bytes) {
  if (recorder.full || !retire_half(recorder)) {
    recorder.full = true;
    recorder.limit = recorder.cursor;
    __atomic_fetch_add(&recorder.losses->lost_bytes, bytes, __ATOMIC_RELAXED);
    return nullptr;
  }
  const std::uint64_t next = recorder.header->half_first[recorder.active] + used_bytes(recorder);
  open_half(recorder, recorder.active ^ 1U, next);
  return recorder.cursor;
}

bool flush(ThreadRecorder& recorder) {
  if (recorder.drain == nullptr || used_bytes(recorder) == 0) return true;
  return swap_halves(recorder, 0) != nullptr;
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

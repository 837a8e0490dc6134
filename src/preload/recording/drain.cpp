// Chunks, written by the thread that filled a half or by the helper thread.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/recording/drain.hpp"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdlib>

#include "preload/recording/process.hpp"
#include "trace/codec.hpp"

namespace corewise::preload {
namespace {

constexpr std::size_t kHelperStack = 128 * 1024;  ///< of which it touches two pages

/// What the helper thread works on: a list to which threads add themselves, never taken apart.
struct Helper {
  trace::Handover* threads = nullptr;
  sem_t work{};
  std::byte* scratch = nullptr;
  std::uint32_t room = 0;
};
Helper helper;

/// The recorder's drain: appends one chunk. errno is the program's.
bool drain_half(void* /*sink*/, const trace::FullHalf& half) {
  const int saved_errno = errno;
  const std::uint32_t encoded = trace::encode(half.records, half.bytes, half.scratch, half.room);
  trace::ChunkHeader header{};
  header.payload_bytes = encoded > 0 ? encoded : half.bytes;
  header.block = {trace::BlockKind::chunk, half.slot,
                  align_up(sizeof header + header.payload_bytes, trace::kBlockAlign)};
  header.first = half.first;
  header.encoding = encoded > 0 ? trace::kDelta : trace::kRaw;
  header.record_bytes = half.bytes;
  const std::byte* payload = encoded > 0 ? half.scratch : half.records;
  const iovec parts[2] = {{&header, sizeof header}, {const_cast<std::byte*>(payload), header.payload_bytes}};
  const bool safe = write_at(parts, 2, claim(header.block.block_bytes), sizeof header + header.payload_bytes);
  if (safe) write_kept_blocks();
  note_latest_time();
  errno = saved_errno;
  return safe;
}

void* help(void* /*unused*/) {
  while (true) {
    while (sem_wait(&helper.work) != 0) {
    }
    for (trace::Handover* each = __atomic_load_n(&helper.threads, __ATOMIC_ACQUIRE); each != nullptr;
         each = each->next)
      trace::drain_handed_over(*each, drain_half, nullptr, helper.scratch, helper.room);
  }
  return nullptr;
}

void wake_helper() {
  sem_post(&helper.work);
}

void yield_to_helper() {
  sched_yield();
}

bool start_thread() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kHelperStack);
  sigset_t all;
  sigset_t mine;
  sigfillset(&all);
  pthread_t thread{};
  pthread_sigmask(SIG_SETMASK, &all, &mine);
  const bool started = pthread_create(&thread, &attributes, help, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &mine, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

bool start_helper(std::uint32_t half_bytes) {
  helper.room = half_bytes / 2;
  helper.scratch = static_cast<std::byte*>(std::malloc(helper.room));
  if (helper.scratch == nullptr || sem_init(&helper.work, 0, 0) != 0 || !start_thread()) {
    std::free(helper.scratch);
    return false;
  }
  note_memory(helper.room + 2 * trace::kThreadAlign);
  return true;
}

void publish(trace::Handover* handover) {
  handover->next = __atomic_load_n(&helper.threads, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&helper.threads, &handover->next, handover, false, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED)) {
  }
}

}  // namespace

trace::Mode start_draining(trace::Mode wanted, std::uint32_t half_bytes) {
  if (wanted == trace::Mode::helper_thread && !start_helper(half_bytes)) return trace::Mode::drain;
  return wanted;
}

void attach_recorder(trace::ThreadRecorder& recorder, trace::ThreadHeader* header, trace::Handover* handover) {
  const std::uint32_t half_bytes = process.file->half_bytes;
  if (process.file->mode != trace::Mode::helper_thread) {
    const bool drains = process.file->mode == trace::Mode::drain;
    return trace::attach(recorder, header, process.file, half_bytes, drains ? drain_half : nullptr, nullptr);
  }
  handover->wake = wake_helper;
  handover->wait = yield_to_helper;
  trace::attach(recorder, header, process.file, half_bytes, handover);
  publish(handover);
}

}  // namespace corewise::preload

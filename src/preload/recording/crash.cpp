// The handler that notes a crash; see crash.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "preload/recording/crash.hpp"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

#include "base/knobs.hpp"
#include "preload/recording/process.hpp"

namespace corewise::preload {
namespace {

constexpr Knob kTraceCrash{"trace_crash", KnobType::choice, "on", "on|off",
                           "note where a rank was when a signal ended it, by a handler"};

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr std::size_t kWatched = std::size(kSignals);

struct sigaction before[kWatched];  ///< whom the signal belongs to
bool own[kWatched];                 ///< to the program
pid_t watched_process = 0;

/// For a stack that has overflowed; of the thread that started MPI, unless it has one.
alignas(64) char other_stack[64 * 1024];

struct Place {
  std::uint64_t instruction = 0;
  std::uint64_t stack = 0;
};

Place interrupted_at(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return {static_cast<std::uint64_t>(machine.gregs[REG_RIP]), static_cast<std::uint64_t>(machine.gregs[REG_RSP])};
#elif defined(__aarch64__)
  return {machine.pc, machine.sp};
#else
  (void)machine;
  return {};
#endif
}

/// Of several threads that crash the first one counts. The signal's number comes last.
void note_crash(int number, const siginfo_t& info, const void* context) {
  static bool noted = false;
  if (__atomic_exchange_n(&noted, true, __ATOMIC_ACQ_REL)) return;
  const Place place = interrupted_at(context);
  trace::Crash& crash = process.file->crash;
  crash.code = info.si_code;
  crash.ticks = now();
  crash.instruction = place.instruction;
  crash.address = info.si_code > 0 ? reinterpret_cast<std::uint64_t>(info.si_addr) : 0;
  crash.slot = this_thread.attached ? this_thread.recorder.header->block.index : trace::kNoSlot;
  crash.stack_bytes = 0;
  __atomic_store_n(&crash.signal, static_cast<std::uint32_t>(number), __ATOMIC_RELEASE);
  // By the kernel, which says no where there is no stack: reading it here would be the next fault.
  crash.stack_bytes = write_crash_stack(reinterpret_cast<const void*>(place.stack));
  note_latest_time();
}

void on_signal(int number, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  if (getpid() == watched_process) note_crash(number, *info, context);
  for (std::size_t i = 0; i < kWatched; ++i)
    if (kSignals[i] == number) sigaction(number, &before[i], nullptr);
  // A fault happens again when this returns. What somebody sent does not: it is sent again, and waits until then.
  if (info->si_code <= 0) raise(number);
  errno = saved_errno;
}

void provide_stack() {
  stack_t now_used{};
  if (sigaltstack(nullptr, &now_used) != 0 || (now_used.ss_flags & SS_DISABLE) == 0) return;
  stack_t ours{};
  ours.ss_sp = other_stack;
  ours.ss_size = sizeof other_stack;
  sigaltstack(&ours, nullptr);
}

}  // namespace

void note_own_handlers() {
  for (std::size_t i = 0; i < kWatched; ++i) {
    struct sigaction found{};
    own[i] = sigaction(kSignals[i], nullptr, &found) != 0 || found.sa_handler != SIG_DFL;
  }
}

void watch_crashes() {
  int off = 0;
  if (read_choice(kTraceCrash, off).ok() && off == 1) return;
  watched_process = getpid();
  provide_stack();
  for (std::size_t i = 0; i < kWatched; ++i) {
    if (own[i] || sigaction(kSignals[i], nullptr, &before[i]) != 0) continue;
    struct sigaction ours = before[i];
    ours.sa_sigaction = on_signal;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(kSignals[i], &ours, nullptr);
  }
}

}  // namespace corewise::preload

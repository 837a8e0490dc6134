// Progress and the peers' lives; see waiting.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/waiting.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace corewise::preload::accelerating {
namespace {

/// At most between two looks after the peers.
constexpr std::uint64_t kSeldomNs = 64'000'000;
/// No program sends itself this: a probe that finds a message makes no progress.
constexpr int kTag = 32749;

bool ended(pid_t process) {
#if defined(SYS_pidfd_open)
  const int file = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (file < 0) return errno == ESRCH;
  pollfd seen{file, POLLIN, 0};
  const bool gone = poll(&seen, 1, 0) == 1;
  close(file);
  return gone;
#else
  return false;
#endif
}

}  // namespace

shm::WaitPolicy Waiting::policy(const CallBoard& board) {
  board_ = &board;
  shm::WaitPolicy policy = crowded_ ? shm::WaitPolicy::crowded() : shm::WaitPolicy::alone();
  policy.meanwhile = &meanwhile;
  policy.context = this;
  return policy;
}

void Waiting::progress() const {
  int found = 0;
  CW_NEXT(MPI_Iprobe)(rank_, kTag, comm_, &found, MPI_STATUS_IGNORE);
}

void Waiting::meanwhile(void* context, std::uint64_t waited_ns) {
  Waiting& me = *static_cast<Waiting*>(context);
  me.progress();
  if (waited_ns < me.waited_ns_) me.next_look_ns_ = kFirstLookNs;  // another wait
  me.waited_ns_ = waited_ns;
  if (waited_ns < me.next_look_ns_) return;
  me.next_look_ns_ = waited_ns + std::min(waited_ns, kSeldomNs);
  me.look_after_peers();
}

void Waiting::look_after_peers() const {
  if (const int code = board_->judge(); code != MPI_SUCCESS) throw CallFailed{code};
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    // In this order: it leaves before it ends.
    if (ended(peers_[rank]) && !board_->has_left(static_cast<int>(rank))) throw CallFailed{};
  }
}

}  // namespace corewise::preload::accelerating

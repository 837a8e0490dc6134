// See processes.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "shm/processes.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

namespace corewise::shm {
namespace {

/// What the system moves at once, less than its limit (MAX_RW_COUNT, 2 GiB less a page).
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

iovec piece(const std::byte* at, std::uint64_t done, std::uint64_t bytes) {
  return {const_cast<std::byte*>(at) + done, bytes};
}

}  // namespace

template <class Move>
std::uint64_t Processes::move(int rank, std::uint64_t bytes, Move one) {
  const auto index = static_cast<std::size_t>(rank);
  if (index >= ranks_.size() || ranks_[index] == 0) return 0;
  std::uint64_t done = 0;
  while (done < bytes) {
    const ssize_t moved = one(ranks_[index], done, std::min(kMostBytes, bytes - done));
    if (moved > 0) {
      done += static_cast<std::uint64_t>(moved);
      continue;
    }
    if (moved < 0 && errno != EFAULT && errno != ENOMEM) ranks_[index] = 0;
    break;
  }
  return done;
}

std::uint64_t Processes::read(int rank, const std::byte* from, std::byte* to, std::uint64_t bytes) {
  return move(rank, bytes, [&](pid_t process, std::uint64_t done, std::uint64_t count) {
    const iovec own = piece(to, done, count);
    const iovec theirs = piece(from, done, count);
    return process_vm_readv(process, &own, 1, &theirs, 1, 0);
  });
}

std::uint64_t Processes::write(int rank, const std::byte* from, std::byte* to, std::uint64_t bytes) {
  return move(rank, bytes, [&](pid_t process, std::uint64_t done, std::uint64_t count) {
    const iovec own = piece(from, done, count);
    const iovec theirs = piece(to, done, count);
    return process_vm_writev(process, &own, 1, &theirs, 1, 0);
  });
}

}  // namespace corewise::shm

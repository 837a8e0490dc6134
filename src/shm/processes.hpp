// Processes: the user memory of other ranks' processes, read and written with one copy by the system (Linux:
// process_vm_readv and process_vm_writev, "cross memory attach"). The system asks who may look into whom at every
// call: it may refuse from the start (Yama, seccomp, other users) or at any time later, and memory may not be such
// that it can be copied (a device's). SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace corewise::shm {

class Processes {
 public:
  /// Of nobody: nothing can be reached.
  Processes() = default;
  /// ranks[r] is the process of rank r.
  explicit Processes(std::vector<pid_t> ranks) : ranks_(std::move(ranks)) {}

  [[nodiscard]] bool none() const { return ranks_.empty(); }

  /// `bytes` at `from`, an address of rank `rank`'s process, to own memory. The bytes that were moved, from the
  /// front; fewer where the system refuses. Once refused for good a rank is not asked for again.
  std::uint64_t read(int rank, const std::byte* from, std::byte* to, std::uint64_t bytes);
  /// The other way.
  std::uint64_t write(int rank, const std::byte* from, std::byte* to, std::uint64_t bytes);

 private:
  template <class Move>
  std::uint64_t move(int rank, std::uint64_t bytes, Move one);

  std::vector<pid_t> ranks_;  ///< 0: it may not be reached
};

}  // namespace corewise::shm

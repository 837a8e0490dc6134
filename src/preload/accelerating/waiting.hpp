// Waiting: what a rank does while a peer has not come. The MPI makes progress, since a message that was sent before
// our collective may need it to arrive; and it is seen whether the peers live, and are in the same call.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "preload/accelerating/call_board.hpp"
#include "preload/next.hpp"
#include "shm/wait_policy.hpp"

namespace corewise::preload::accelerating {

/// Thrown out of a wait, with an error code of MPI: a rank of the communicator has ended, or is in another call.
struct CallFailed : shm::WaitEnds {
  explicit CallFailed(int error = MPI_ERR_OTHER) : code(error) {}
  int code;
};

class Waiting {
 public:
  /// `rank` is the own one; `peers` are the processes of all ranks.
  Waiting(MPI_Comm comm, int rank, std::vector<pid_t> peers, bool crowded)
      : comm_(comm), rank_(rank), crowded_(crowded), peers_(std::move(peers)) {}

  /// Refers to this object and the board.
  shm::WaitPolicy policy(const CallBoard& board);
  /// Lets the MPI do what is under way.
  void progress() const;

 private:
  static void meanwhile(void* context, std::uint64_t waited_ns);
  void look_after_peers() const;

  MPI_Comm comm_;
  const CallBoard* board_ = nullptr;
  int rank_;
  bool crowded_;
  std::vector<pid_t> peers_;
  static constexpr std::uint64_t kFirstLookNs = 1'000'000;

  std::uint64_t next_look_ns_ = kFirstLookNs;
  std::uint64_t waited_ns_ = 0;
};

}  // namespace corewise::preload::accelerating

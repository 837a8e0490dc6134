// What the tests share: a job in shared memory, its ranks as threads or as processes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>
#include <vector>

#include "shm/mapping.hpp"
#include "shm/port.hpp"
#include "shm/segment.hpp"

namespace corewise::shm::testing {

/// A block and the segment laid out over it.
struct Job {
  Job(int ranks, const port::Layout& layout)
      : mapping(Mapping::anonymous(Segment::bytes(ranks, layout)).value()),
        segment(Segment::over(mapping.block(), ranks, layout).value()) {}

  Mapping mapping;
  Segment segment;
};

/// Runs `program(rank)` as one thread per rank.
inline void run_threads(int ranks, const std::function<void(int)>& program) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(program, rank);
  for (std::thread& thread : threads) thread.join();
}

/// Runs `program(rank)` as one forked process per rank; a rank is right when it returns true. A process that hangs
/// is ended by its alarm.
inline void run_processes(int ranks, const std::function<bool(int)>& program) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(120);
      _exit(program(rank) ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  }
}

}  // namespace corewise::shm::testing

// A job of the shared-memory port among the ranks of MPI_COMM_WORLD, all on one node: rank 0 makes the memory, the
// others open it, its name is gone before anybody goes on. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "coll/rank.hpp"
#include "shm/mapping.hpp"
#include "shm/port.hpp"
#include "shm/segment.hpp"

namespace corewise::bench {

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
inline int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// Ends the program on all ranks.
[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  _exit(1);
}

/// The same block of `bytes` in every rank.
inline shm::Mapping share(std::size_t bytes) {
  long creator = getpid();
  MPI_Bcast(&creator, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  static int count = 0;
  const std::string path = "/dev/shm/corewise-" + std::to_string(creator) + "-" + std::to_string(count++);
  Result<shm::Mapping> mine = Status{};
  if (world_rank() == 0) mine = shm::Mapping::create(path, bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() != 0) mine = shm::Mapping::open(path, bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) unlink(path.c_str());
  if (!mine.ok()) give_up(mine.status().message());
  return std::move(mine).value();
}

/// This rank's port and what its collectives keep.
class Job {
 public:
  explicit Job(const coll::Shape& shape)
      : mapping_(share(shm::Segment::bytes(shape.ranks, shape.layout()))),
        segment_(shm::Segment::over(mapping_.block(), shape.ranks, shape.layout()).value()),
        port_(segment_, world_rank()),
        rank(port_, shape) {}

 private:
  shm::Mapping mapping_;
  shm::Segment segment_;
  shm::ShmPort port_;

 public:
  coll::Rank<shm::ShmPort> rank;
};

}  // namespace corewise::bench

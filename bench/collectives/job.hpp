// A job of the shared-memory port among the ranks of MPI_COMM_WORLD, all on one node: rank 0 makes the memory, the
// others open it, its name is gone before anybody goes on. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "coll/rank.hpp"
#include "shm/mapping.hpp"
#include "shm/port.hpp"
#include "shm/segment.hpp"
#include "world.hpp"

namespace corewise::bench {

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

// Clocks: how this node's clock stands against rank 0's where ranks run on several nodes. The only part of the
// preload that communicates, and only where the standard makes every rank call: MPI_Init, MPI_Finalize, and, on
// request, collectives of MPI_COMM_WORLD that end on no rank before all have begun. On one node all ranks read one
// clock and nothing is sent. docs/recording/waits.md says what users need to know of it.
//
// Contract: which rank talks to which is decided from facts that are equal on all ranks. Whatever a rank does or
// fails to do, its peers give up after a deadline, say so to those who may wait for them, and compare no more;
// nothing here can make a program hang that does not hang by itself. Everything goes over a communicator of our
// own, so no receive of the program can match. Whether this rank's recording works makes no difference to what it
// sends. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "preload/mpi_api.hpp"
#include "preload/recording/process.hpp"

namespace corewise::preload {

/// MPI_Init has returned and recording is decided; every rank of MPI_COMM_WORLD is here.
void compare_clocks_at_start();

/// MPI_Finalize was called; every rank of MPI_COMM_WORLD will be here.
void compare_clocks_at_end();

extern bool compares_at_collectives;  ///< several nodes, and COREWISE_TRACE_SYNC=collectives
void compare_clocks_after_collective(MPI_Comm comm);

/// Stands in the wrapper of a collective that, with anything to do, ends on no rank before all have begun.
class ClockComparison {
 public:
  ClockComparison(MPI_Comm comm, MPI_Count count)
      : comm_(comm), synchronises_(count > 0 && is_outermost(this_thread)) {}
  ~ClockComparison() {
    if (compares_at_collectives && synchronises_) [[unlikely]]
      compare_clocks_after_collective(comm_);
  }
  ClockComparison(const ClockComparison&) = delete;
  ClockComparison& operator=(const ClockComparison&) = delete;

 private:
  MPI_Comm comm_;
  bool synchronises_;
};

// ---- made-up clocks, for tests of all this on one machine ----

/// Reads COREWISE_TRACE_CLOCK_SKEW ("50000000 ns 100 ppm"); true when this rank's clock is to be a wrong one.
bool read_skew();
/// What the wrong clock shows at `ns`; the right time without a skew.
std::int64_t skewed(std::int64_t ns);

}  // namespace corewise::preload

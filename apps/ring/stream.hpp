// The packets that pass one task in one direction: what comes from one neighbour goes on to the other.
//
// Two buffers swap roles: while the packet in one is being sent on, the next is received into the other. A packet
// is forwarded as soon as it is here and the buffer in front of it is free; a stream never blocks, its caller waits
// for whatever completes first. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <utility>

#include "../common/traffic.hpp"
#include "packet.hpp"

namespace ring {

class Stream {
 public:
  /// Sends `rounds` packets in all to `to`, the first of them `first`, and receives as many from `from`.
  Stream(int from, int to, Direction direction, long rounds, Packet first, Traffic& traffic)
      : from_(from),
        to_(to),
        direction_(direction),
        remaining_(rounds),
        sent_(std::move(first)),
        received_(sent_.size()),
        traffic_(traffic) {}

  /// Posts the first receive and sends the task's own packet.
  void start(MPI_Request& receiving, MPI_Request& sending) { pass(receiving, sending); }

  /// To be called when one of the two requests has completed (it is MPI_REQUEST_NULL then).
  void advance(MPI_Request& receiving, MPI_Request& sending) {
    const bool both_done = receiving == MPI_REQUEST_NULL && sending == MPI_REQUEST_NULL;
    if (!both_done || remaining_ == 0) return;
    std::swap(sent_, received_);
    pass(receiving, sending);
  }

  [[nodiscard]] Direction direction() const { return direction_; }
  /// The packet received last, which is not sent on.
  [[nodiscard]] const Packet& last() const { return received_; }

 private:
  /// Sends one packet and posts the receive of one.
  void pass(MPI_Request& receiving, MPI_Request& sending) {
    const int size_bytes = static_cast<int>(sent_.size());
    const int tag = static_cast<int>(direction_);  // with two tasks both directions come from the same neighbour
    MPI_Irecv(received_.data(), size_bytes, MPI_BYTE, from_, tag, MPI_COMM_WORLD, &receiving);
    MPI_Isend(sent_.data(), size_bytes, MPI_BYTE, to_, tag, MPI_COMM_WORLD, &sending);
    traffic_.count(to_, sent_.size());
    --remaining_;
  }

  int from_;
  int to_;
  Direction direction_;
  long remaining_;
  Packet sent_;
  Packet received_;
  Traffic& traffic_;
};

}  // namespace ring

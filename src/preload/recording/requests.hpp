// Requests: what an outstanding request will mean when it completes.
//
// A bounded table from handle to Operation. Entries are taken out before the completing MPI call and put back if
// the request is still alive after it: once the call runs, another thread may get the same handle value again.
// A request that does not fit is counted (FileHeader::lost_requests) and completes unrecorded. Memory is touched
// in proportion to the number of requests that are outstanding at one time.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "preload/recording/comms.hpp"

namespace corewise::preload {

enum class OperationKind : std::uint8_t { none, send, receive, collective };

/// One peer's share of a vector or neighbour collective.
struct CollectivePart {
  std::int32_t peer;  ///< world rank
  std::uint64_t bytes;
  std::uint64_t type;  ///< index of the datatype
};

/// Shares of a persistent collective, kept until its request is freed.
struct CollectiveParts {
  int count;
  CollectivePart part[1];
};

struct Operation {
  OperationKind kind = OperationKind::none;
  bool persistent = false;
  bool active = false;
  bool cancelled = false;  ///< MPI_Cancel was called
  std::uint64_t procedure = 0;
  std::uint64_t site = 0;
  std::int32_t peer = 0;  ///< world rank as posted
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t type = trace::kUnknownType;  ///< index of the datatype
  std::uint64_t start = 0;                   ///< ticks when it was posted or last started
  Communicator* comm = nullptr;
  CollectiveParts* parts = nullptr;
};

/// Remembers `operation` under `handle`; takes over a reference to operation.comm.
void put_operation(std::uint64_t handle, const Operation& operation);

/// Takes the operation out of the table; kind none when the handle is unknown.
Operation take_operation(std::uint64_t handle);

/// A look at the operation, which stays there.
Operation peek_operation(std::uint64_t handle);

/// One more request whose arrival stays unknown.
void count_lost_request();

/// Gives back what an operation holds.
void drop_operation(Operation& operation);

/// The same for messages between MPI_Mprobe and MPI_Mrecv: the communicator, which MPI cannot be asked for.
void put_message_comm(std::uint64_t message, Communicator* comm);
Communicator* take_message_comm(std::uint64_t message);

}  // namespace corewise::preload

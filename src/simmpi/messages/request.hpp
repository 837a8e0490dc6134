// Request: an operation under way: a send, a receive, a collective in the background, or one of the program's own.
// Plain data; `transport` moves it on, `completion` (api) ends it. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "sim/event_queue.hpp"
#include "simmpi/include/mpi.h"
#include "simmpi/objects/type.hpp"

namespace corewise::simmpi {

struct Actor;
struct Comm;
struct Context;
struct Invitation;
struct Message;
struct Rank;

enum class Mode : std::uint8_t { standard, buffered, synchronous, ready };

/// What a moment rests on: the chain of causes that leads to it, from a rank's start over the messages that were
/// waited for. What is neither transfer nor software was computation.
struct Path {
  sim::Time transfer = 0;  ///< between a message's departure, or its receive's post, and its arrival
  sim::Time software = 0;  ///< costs of sending and receiving
  std::uint64_t messages = 0;
};

/// What becomes of a status.
struct Outcome {
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  int error = MPI_SUCCESS;
  std::int64_t bytes = 0;
  bool cancelled = false;
};

/// What only requests of collectives and of the program's own have.
struct Background {
  std::function<void(Context&)> work;  ///< of a collective
  MPI_Grequest_query_function* query = nullptr;
  MPI_Grequest_free_function* free = nullptr;
  MPI_Grequest_cancel_function* cancel = nullptr;
  void* extra = nullptr;
};

struct Request {
  enum class Kind : std::uint8_t { send, receive, collective, generalized };

  Kind kind = Kind::send;
  Mode mode = Mode::standard;
  bool persistent = false;
  bool active = false;  ///< false: a persistent one that is not started
  bool done = false;
  bool orphan = false;    ///< freed by the program before its end
  bool internal = false;  ///< of a collective: matches its like only
  bool owned = false;     ///< by a handle; else it lives on a stack
  int peer = MPI_PROC_NULL;
  int tag = 0;
  std::int64_t count = 0;
  void* buffer = nullptr;
  Type* type = nullptr;
  Comm* comm = nullptr;
  Actor* waiter = nullptr;           ///< who is woken at the end
  Message* message = nullptr;        ///< of a receive by MPI_Mrecv
  Request* next = nullptr;           ///< in the list of posted receives
  Invitation* invitation = nullptr;  ///< of a posted receive, where it has sent one
  sim::Time posted = 0;
  sim::Time done_at = 0;
  sim::Time cost = 0;             ///< of the rank that completes it
  std::uint64_t recorded_at = 0;  ///< time stamp of the call that posted it; 0: that left no record
  int procedure = 0;              ///< its number there
  Path path;                      ///< of `posted`, then of `done_at`
  Outcome outcome;
  std::unique_ptr<Background> background;
};

}  // namespace corewise::simmpi

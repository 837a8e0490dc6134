// Transfers by MPI's non-blocking operations, and the end of a program whose flow failed.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "overlap/flow.hpp"
#include "overlap/timeline.hpp"

namespace corewise::overlap {

/// Throws std::runtime_error with the MPI's words unless `code` is MPI_SUCCESS.
inline void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  throw std::runtime_error(std::string(call) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

/// The requests of one block's transfer.
class Requests {
 public:
  /// The place for another request, to be filled before the next is asked for.
  MPI_Request* add() {
    requests_.push_back(MPI_REQUEST_NULL);
    return &requests_.back();
  }

  bool test() {
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE),
          "MPI_Testall");
    return done != 0;
  }

  void wait() {
    check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }

  /// Done when all requests are, and not before `arrival_ns` (`Wire::send`).
  static Poll poll(Requests requests, std::int64_t arrival_ns = 0) {
    auto kept = std::make_shared<Requests>(std::move(requests));
    return [kept, arrival_ns] { return kept->test() && (arrival_ns == 0 || now_ns() >= arrival_ns); };
  }

 private:
  std::vector<MPI_Request> requests_;
};

/// Runs a flow whose transfers are MPI's. Where it fails, `report` is told why, and MPI_Abort ends all processes of
/// `comm` with status 1: others may wait for messages that will not come. The calling thread must be one that may
/// call MPI; the program needs MPI_THREAD_FUNNELED.
inline void run_or_abort(Flow& flow, MPI_Comm comm, const std::function<void(const Failure&)>& report) {
  try {
    int level = MPI_THREAD_SINGLE;
    check(MPI_Query_thread(&level), "MPI_Query_thread");
    if (level < MPI_THREAD_FUNNELED && flow.knobs().workers > 0)
      throw Failure("MPI_THREAD_FUNNELED is needed: initialise MPI by MPI_Init_thread");
    flow.run();
  } catch (const Failure& failure) {
    report(failure);
    MPI_Abort(comm, 1);
  }
}

}  // namespace corewise::overlap

// Binds the calling thread to a processor for a while.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pthread.h>
#include <sched.h>

#include <cstddef>
#include <vector>

namespace corewise::overlap::detail {

/// Where the system refuses, the thread runs where it did: binding is about speed alone.
class Bound {
 public:
  /// The processor of a thread by its number, counted round; none where the list is empty.
  Bound(const std::vector<int>& processors, int thread) {
    if (processors.empty()) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processors[static_cast<std::size_t>(thread) % processors.size()], &one);
    known_ = pthread_getaffinity_np(pthread_self(), sizeof before_, &before_) == 0;
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
  }

  ~Bound() {
    if (known_) pthread_setaffinity_np(pthread_self(), sizeof before_, &before_);
  }

  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

 private:
  cpu_set_t before_{};
  bool known_ = false;
};

}  // namespace corewise::overlap::detail

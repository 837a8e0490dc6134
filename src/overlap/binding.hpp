// Binds the calling thread to a processor, or to several, for a while.
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
    if (!processors.empty()) bind({processors[static_cast<std::size_t>(thread) % processors.size()]});
  }

  /// All of them: threads that are started meanwhile need not wait for the processor to which their starter is
  /// bound.
  explicit Bound(const std::vector<int>& processors) {
    if (!processors.empty()) bind(processors);
  }

  ~Bound() {
    if (known_) pthread_setaffinity_np(pthread_self(), sizeof before_, &before_);
  }

  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

 private:
  void bind(const std::vector<int>& processors) {
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    for (const int processor : processors) CPU_SET(processor, &wanted);
    known_ = pthread_getaffinity_np(pthread_self(), sizeof before_, &before_) == 0;
    pthread_setaffinity_np(pthread_self(), sizeof wanted, &wanted);
  }

  cpu_set_t before_{};
  bool known_ = false;
};

}  // namespace corewise::overlap::detail

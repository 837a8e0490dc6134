// Threads that stay, each on a processor of its own, and do a piece of work together when they are told to.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace corewise::bench {

/// The processors that this process may use, as the first caller finds them: a bound thread sees only its own.
inline const std::vector<int>& processors() {
  static const std::vector<int> all = [] {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    std::vector<int> found;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &allowed)) found.push_back(cpu);
    return found;
  }();
  return all;
}

inline void bind(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

class Team {
 public:
  /// The calling thread is thread 0.
  explicit Team(int threads) {
    const std::vector<int> all = processors();
    bind(all[0]);
    for (int thread = 1; thread < threads; ++thread)
      threads_.emplace_back([this, thread, cpu = all[static_cast<std::size_t>(thread) % all.size()]] {
        bind(cpu);
        for (int seen = 0;;) {
          call_.wait(seen);
          seen = call_.load();
          if (work_ == nullptr) return;
          (*work_)(thread);
          left_.fetch_sub(1);
          left_.notify_one();
        }
      });
  }

  ~Team() {
    work_ = nullptr;
    call_.fetch_add(1);
    call_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  /// `work(thread)` on every thread; returns when all are done.
  void run(const std::function<void(int)>& work) {
    work_ = &work;
    left_.store(static_cast<int>(threads_.size()));
    call_.fetch_add(1);
    call_.notify_all();
    work(0);
    for (int left = left_.load(); left > 0; left = left_.load()) left_.wait(left);
  }

 private:
  std::vector<std::thread> threads_;
  const std::function<void(int)>* work_ = nullptr;
  std::atomic<int> call_{0};
  std::atomic<int> left_{0};
};

}  // namespace corewise::bench

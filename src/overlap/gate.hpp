// One lock with a way to wait for what it guards, by either of two means: a mutex and a condition variable, or a
// flag that is looked at again and again. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "overlap/knobs.hpp"

namespace corewise::overlap {

/// Meets the requirements of a BasicLockable.
class Gate {
 public:
  explicit Gate(Lock kind) : kind_(kind) {}

  void lock() {
    if (kind_ == Lock::blocking)
      mutex_.lock();
    else
      spin([this] { return !flag_.test_and_set(std::memory_order_acquire); });
  }

  void unlock() {
    if (kind_ == Lock::blocking)
      mutex_.unlock();
    else
      flag_.clear(std::memory_order_release);
  }

  /// Returns with the lock held and `ready()` true; `held` holds this gate. `ready` is called with the lock held.
  template <class Ready>
  void wait(std::unique_lock<Gate>& held, Ready&& ready) {
    if (kind_ == Lock::blocking) {
      changed_.wait(held, ready);
      return;
    }
    while (!ready()) {
      held.unlock();
      std::this_thread::yield();
      held.lock();
    }
  }

  /// After a change of what is guarded.
  void notify_all() {
    if (kind_ == Lock::blocking) changed_.notify_all();
  }

 private:
  template <class Done>
  static void spin(Done&& done) {
    // Whoever holds it may wait for this core.
    constexpr int looks_before_yield = 64;
    for (int looks = 1; !done(); ++looks)
      if (looks % looks_before_yield == 0) std::this_thread::yield();
  }

  Lock kind_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

}  // namespace corewise::overlap

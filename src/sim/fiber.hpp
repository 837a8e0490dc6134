// Fiber: a stack of its own for a program that blocks, so that simulated programs are ordinary text. Owns the stack
// (with a guard page below it, so that an overflow faults instead of overwriting a neighbour) and tells the address
// and thread sanitizers of every switch.
//
// One thread only. A fiber that is destroyed before its end is unwound: `suspend` throws Fiber::Cancelled inside
// it, destructors run, and the fiber's body must let that exception pass (no catch-all, no noexcept around a
// suspend). A fiber must not suspend inside a catch block. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace corewise::sim {

class Fiber {
 public:
  /// Thrown through the body of a fiber that ends early.
  struct Cancelled {};

  static constexpr std::size_t kDefaultStackBytes = 128 * 1024;

  /// Makes a fiber; nothing runs yet. Throws std::bad_alloc where no stack can be had.
  explicit Fiber(std::function<void()> body, std::size_t stack_bytes = kDefaultStackBytes);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs the body until it suspends or ends. Not from inside a fiber; not after finished().
  void resume();
  /// Gives control back to who resumed. Only from inside this fiber.
  void suspend();
  [[nodiscard]] bool finished() const;
  /// Ends the body now, by Cancelled where it has begun; afterwards finished().
  void cancel();
  /// Lowest usable address and size in bytes of the stack; below it lies the guard page.
  [[nodiscard]] const void* stack_bottom() const;
  [[nodiscard]] std::size_t stack_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace corewise::sim

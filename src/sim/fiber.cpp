// Fibers on Boost.Context, with the switches announced to the sanitizers that need to know (their public interface
// headers sanitizer/common_interface_defs.h and sanitizer/tsan_interface.h).
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/fiber.hpp"

#include <boost/context/fiber.hpp>
#include <boost/context/preallocated.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <utility>

// GCC defines macros, clang has features.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace corewise::sim {
namespace ctx = boost::context;
namespace {

/// One side of a switch as the sanitizers see it.
struct Side {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  void* fake_stack = nullptr;  ///< address sanitizer's, kept while the side is suspended
  void* tsan = nullptr;        ///< thread sanitizer's fiber
};

/// Before a switch to `to`; `from` is null when the leaving side will never run again.
void announce_leave([[maybe_unused]] Side* from, [[maybe_unused]] const Side& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(from != nullptr ? &from->fake_stack : nullptr, to.bottom, to.bytes);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.tsan, 0);
#endif
}

/// After a switch, on the side that now runs; learns the other side's stack.
void announce_arrival([[maybe_unused]] Side& here, [[maybe_unused]] Side* other) {
#if defined(__SANITIZE_ADDRESS__)
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(here.fake_stack, &bottom, &bytes);
  if (other != nullptr) {
    other->bottom = bottom;
    other->bytes = bytes;
  }
#endif
}

void make_clean([[maybe_unused]] const void* bottom, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(bottom, bytes);  // the kernel may hand out the addresses of an earlier stack
#endif
}

}  // namespace

struct Fiber::State {
  std::function<void()> body;
  ctx::protected_fixedsize_stack allocator;
  ctx::stack_context stack;
  ctx::fiber inside;
  ctx::fiber outside;
  Side fiber_side, caller_side;
  bool started = false, finished = false, cancelled = false;

  State(std::function<void()> what, std::size_t stack_bytes)
      : body(std::move(what)), allocator(stack_bytes), stack(allocator.allocate()) {}

  ctx::fiber run(ctx::fiber&& from) {
    announce_arrival(fiber_side, &caller_side);
    outside = std::move(from);
    try {
      if (!cancelled) body();
    } catch (const Cancelled&) {  // the fiber's owner ended it: this is where that leads
    }
    finished = true;
    announce_leave(nullptr, caller_side);
    return std::move(outside);
  }
};

Fiber::Fiber(std::function<void()> body, std::size_t stack_bytes)
    : state_(std::make_unique<State>(std::move(body), stack_bytes)) {
  State& self = *state_;
  const std::size_t guard = ctx::protected_fixedsize_stack::traits_type::page_size();
  self.fiber_side.bytes = self.stack.size - guard;
  self.fiber_side.bottom = static_cast<const char*>(self.stack.sp) - self.fiber_side.bytes;
  make_clean(self.fiber_side.bottom, self.fiber_side.bytes);
#if defined(__SANITIZE_THREAD__)
  self.fiber_side.tsan = __tsan_create_fiber(0);
#endif
  self.inside =
      ctx::fiber(std::allocator_arg, ctx::preallocated(self.stack.sp, self.stack.size, self.stack), self.allocator,
                 [state = state_.get()](ctx::fiber&& from) { return state->run(std::move(from)); });
}

Fiber::~Fiber() {
  cancel();
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(state_->fiber_side.tsan);
#endif
}

void Fiber::resume() {
  State& self = *state_;
  self.started = true;
#if defined(__SANITIZE_THREAD__)
  self.caller_side.tsan = __tsan_get_current_fiber();
#endif
  announce_leave(&self.caller_side, self.fiber_side);
  self.inside = std::move(self.inside).resume();
  announce_arrival(self.caller_side, nullptr);
  // Its stack went back to the kernel, whose next user must not find this one's red zones.
  if (self.finished) make_clean(self.fiber_side.bottom, self.fiber_side.bytes);
}

void Fiber::suspend() {
  State& self = *state_;
  announce_leave(&self.fiber_side, self.caller_side);
  self.outside = std::move(self.outside).resume();
  announce_arrival(self.fiber_side, &self.caller_side);
  if (self.cancelled) throw Cancelled{};
}

bool Fiber::finished() const {
  return state_->finished;
}

void Fiber::cancel() {
  state_->cancelled = true;
  while (!state_->finished) resume();
}

const void* Fiber::stack_bottom() const {
  return state_->fiber_side.bottom;
}

std::size_t Fiber::stack_bytes() const {
  return state_->fiber_side.bytes;
}

}  // namespace corewise::sim

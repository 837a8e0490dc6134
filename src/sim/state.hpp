// State: how a component writes down everything that decides what it does next, as a list of numbers, so that a run
// can be seen to have come back to where it was (lab/mapping/recurrence.hpp).
//
// Contract for every append_state: equal lists mean equal futures, but for what only grows (statistics, sequence
// numbers). Times are relative to the present; a time in the past that no longer matters is 0. What is
// interchangeable (slots of a pool) is named by its rank or its content, never by its place.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/event_queue.hpp"

namespace corewise::sim {

class Engine;

using State = std::vector<std::int64_t>;

/// Writes down what a pending handler will do: its owner knows what the argument means.
class HandlerNames {
 public:
  virtual ~HandlerNames() = default;
  virtual void append(const Handler& handler, State& state) const = 0;
};

/// `when` from `now` on, 0 where it is over.
inline std::int64_t until(Time when, Time now) {
  return std::max<Time>(when - now, 0);
}

/// The pending events in the order in which they will happen, and which programs are blocked, where in their text.
void append_engine_state(const Engine& engine, State& state, const HandlerNames& names);

}  // namespace corewise::sim

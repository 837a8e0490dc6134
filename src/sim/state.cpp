// What decides the future of an engine. SPDX-License-Identifier: BSD-3-Clause
#include "sim/state.hpp"

#include <bit>

#include "sim/engine.hpp"

namespace corewise::sim {

void append_engine_state(const Engine& engine, State& state, const HandlerNames& names) {
  engine.queue().for_each([&](Time delay, const Handler& handler) {
    state.push_back(delay);
    state.push_back(std::bit_cast<std::int64_t>(handler.call));
    names.append(handler, state);
  });
  state.push_back(-1);
  for (const auto& process : engine.processes()) {
    state.push_back(process->blocked() ? process->waiting().where.line() : 0);
  }
}

}  // namespace corewise::sim

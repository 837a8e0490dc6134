// Whose turn it is, and what a change takes. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/microtasks.hpp"

#include <algorithm>
#include <source_location>

#include "sim/networks/network.hpp"

namespace corewise::simmpi {

Microtasks::Microtasks(sim::Engine& engine, const Settings& settings, std::size_t units, std::size_t ranks)
    : engine_(engine),
      context_ns_(settings.context_ns + settings.context_bytes / settings.context_gb_per_s),
      bytes_per_ns_(settings.context_gb_per_s),
      units_(units),
      tasks_(ranks) {}

Microtasks::Task& Microtasks::task_of(const Actor& task) {
  return tasks_[static_cast<std::size_t>(task.rank->world)];
}

Microtasks::Unit& Microtasks::unit_of(const Actor& task) {
  return units_[static_cast<std::size_t>(task.rank->unit)];
}

void Microtasks::leave(const Actor& task) {
  Task& own = task_of(task);
  if (task.clock <= engine_.now()) return next(unit_of(task));
  own.leaving = true;
  own.leaves = task.clock;
  engine_.at(task.clock, {&left, this, reinterpret_cast<std::uint64_t>(&task)});
}

/// At the clock of a task that began to wait. It may have gone on since, and wait again until later.
void Microtasks::left(void* self, std::uint64_t actor) {
  auto& microtasks = *static_cast<Microtasks*>(self);
  const Actor& task = *reinterpret_cast<const Actor*>(actor);
  Task& own = microtasks.task_of(task);
  if (!own.leaving || own.leaves != microtasks.engine_.now()) return;
  own.leaving = false;
  microtasks.next(microtasks.unit_of(task));
}

void Microtasks::enter(Actor& task) {
  Unit& unit = unit_of(task);
  task_of(task).leaving = false;
  if (unit.turn == &task) return;
  if (unit.turn == nullptr) {
    unit.turn = &task;
  } else {
    wait_for_turn(task);
  }
  change(task);
}

void Microtasks::yield(Actor& task) {
  Unit& unit = unit_of(task);
  if (unit.ready.empty()) return;
  next(unit);
  wait_for_turn(task);
  change(task);
}

void Microtasks::end(const Actor& task) {
  Unit& unit = unit_of(task);
  unit.there = nullptr;
  next(unit);
}

void Microtasks::next(Unit& unit) {
  unit.turn = nullptr;
  if (unit.ready.empty()) return;
  unit.turn = unit.ready.front();
  unit.ready.pop_front();
  engine_.wake(*unit.turn->process);
}

void Microtasks::wait_for_turn(const Actor& task) {
  Unit& unit = unit_of(task);
  const sim::Time ready = engine_.now();
  unit.ready.push_back(&task);
  // Requests that end meanwhile may wake it, too.
  while (unit.turn != &task) engine_.block({"its turn", 0, 0, std::source_location::current()});
  task_of(task).turns.waiting += engine_.now() - ready;
}

void Microtasks::change(Actor& task) {
  Unit& unit = unit_of(task);
  task.clock = std::max(task.clock, engine_.now());
  if (unit.used && unit.there != &task) {
    const sim::Time cost = sim::nearest_tick(context_ns_) * (unit.there == nullptr ? 1 : 2);
    Turns& turns = task_of(task).turns;
    ++turns.changes;
    turns.changing += cost;
    task.clock += cost;
  }
  unit.used = true;
  unit.there = &task;
}

sim::Time Microtasks::pass(std::uint64_t bytes) const {
  return sim::nearest_tick(static_cast<double>(bytes) / bytes_per_ns_);
}

}  // namespace corewise::simmpi

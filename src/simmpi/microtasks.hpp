// Microtasks: ranks that share a unit of the machine and take turns on it, where the settings let several do so.
// Paper 001, section 3, names the model: an application is cut into tasks with small code and data, and a scheduler
// puts them on the SPEs (its reference 7: M. Ohara and others, "MPI Microtask for Programming the Cell Broadband
// Engine Processor", IBM Systems Journal 45, 2006). What a change of task costs is declared by the settings.
//
// A task has its unit from its turn on until it waits for what has not happened yet, or ends. Then the task that
// has been ready for longest has its turn. Nothing is preempted, but a test that finds nothing ends the turn where
// another task is ready. The context of the last task stays until another one comes: then it is stored in main
// memory, unless its task has ended, and the other one is loaded. The first task of a unit is there as the run
// begins.
//
// An actor's clock may be ahead of the engine's time (rank.hpp). Its unit is free from its clock on, and a wait
// that is over before that was none. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/engine.hpp"
#include "simmpi/rank.hpp"
#include "simmpi/settings.hpp"

namespace corewise::simmpi {

/// One task's turns.
struct Turns {
  std::uint64_t changes = 0;  ///< turns for which its context was loaded
  sim::Time changing = 0;     ///< its part in these changes: the context before stored, its own loaded
  sim::Time waiting = 0;      ///< ready, while another task had the unit
};

class Microtasks {
 public:
  Microtasks(sim::Engine& engine, const Settings& settings, std::size_t units, std::size_t ranks);

  // From the task's fiber; what returns does so in the task's turn:

  /// The task is about to wait: its turn ends at its clock, if it still waits then.
  void leave(const Actor& task);
  /// It is ready, for the first time or after `leave`: until it is its turn and its context is there.
  void enter(Actor& task);
  /// It may go on, and would rather wait: others that are ready go first. Its clock is the engine's time.
  void yield(Actor& task);
  /// It has ended.
  void end(const Actor& task);

  /// What a message of two tasks of one unit takes: one of them is in main memory, where the message has to go.
  [[nodiscard]] sim::Time pass(std::uint64_t bytes) const;
  [[nodiscard]] const Turns& turns(int rank) const { return tasks_[static_cast<std::size_t>(rank)].turns; }

 private:
  struct Unit {
    const Actor* turn = nullptr;   ///< whose it is
    const Actor* there = nullptr;  ///< whose context is in the local store
    bool used = false;             ///< a task has run
    std::deque<const Actor*> ready;
  };
  struct Task {
    bool leaving = false;  ///< waits, and has its turn until `leaves`
    sim::Time leaves = 0;
    Turns turns;
  };

  static void left(void* self, std::uint64_t actor);
  [[nodiscard]] Task& task_of(const Actor& task);
  [[nodiscard]] Unit& unit_of(const Actor& task);
  /// The turn of the one that has been ready for longest, if any.
  void next(Unit& unit);
  void wait_for_turn(const Actor& task);
  void change(Actor& task);

  sim::Engine& engine_;
  double context_ns_;  ///< to store or to load a context
  double bytes_per_ns_;
  std::vector<Unit> units_;
  std::vector<Task> tasks_;
};

}  // namespace corewise::simmpi

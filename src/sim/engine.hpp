// Engine: integer time, events, and processes (programs on fibers) that wait for them. It knows no Cell, no MPI, no
// network: components schedule handlers, programs sleep and block.
//
// Contract. One thread; nothing here reads a clock, an address or an unordered container, so the same input gives
// the same run. Events at one time happen in the order in which they were scheduled. A program that breaks a rule
// ends the whole run through `fail`; `run` then returns that status. When no event is left and a program still
// waits, run returns a deadlock status that names every waiting program, what it waits for, where in its text, and
// the time. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "sim/event_queue.hpp"
#include "sim/fiber.hpp"
#include "sim/timeline.hpp"

namespace corewise::sim {

inline constexpr Time kForever = std::numeric_limits<Time>::max();

/// What a blocked program waits for; `{}` in `what` is replaced by a, then by b. `what` must outlive the wait.
struct Wait {
  const char* what = "nothing";
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::source_location where;
};

/// "file.cpp:12", without the folder (which differs between builds).
std::string place_of(const std::source_location& where);

/// A program on its fiber. Made by Engine::spawn, lives as long as its engine.
class Process {
 public:
  Process(std::string name, int index, std::function<void()> body, std::size_t stack_bytes)
      : name_(std::move(name)), index_(index), fiber_(std::move(body), stack_bytes) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  /// 0, 1, 2 .. in the order of spawning.
  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] bool finished() const { return fiber_.finished(); }
  /// What it waits for; meaningful while blocked.
  [[nodiscard]] const Wait& waiting() const { return wait_; }
  [[nodiscard]] bool blocked() const { return blocked_; }
  /// How often it has slept or blocked: with the place in its text where it last looked, where it is now.
  [[nodiscard]] std::uint64_t waits() const { return waits_; }

 private:
  friend class Engine;
  std::string name_;
  int index_;
  Fiber fiber_;
  Wait wait_;
  bool blocked_ = false;
  std::uint64_t waits_ = 0;
  bool background_ = false;
  Timeline::Track track_ = -1;  ///< in the engine's timeline, once something of it is recorded
};

struct SpawnOptions {
  std::size_t stack_bytes = Fiber::kDefaultStackBytes;
  bool background = false;  ///< a server: the run may end while it waits
};

class Engine {
 public:
  /// `tick_ns` is the length of a tick in ns: only for what people read.
  explicit Engine(double tick_ns) : tick_ns_(tick_ns) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] Time now() const { return queue_.now(); }
  [[nodiscard]] double tick_ns() const { return tick_ns_; }
  [[nodiscard]] double to_ns(Time ticks) const { return static_cast<double>(ticks) * tick_ns_; }
  /// "1234.5 ns".
  [[nodiscard]] std::string time_text(Time when) const;

  /// Where what happens is recorded; null (the usual case) where nobody watches. Set it before anything is made
  /// that asks for it, and keep it as long as the engine.
  void set_timeline(Timeline* timeline) {
    timeline_ = timeline;
    if (timeline != nullptr) timeline->set_tick_ns(tick_ns_);
  }
  [[nodiscard]] Timeline* timeline() const { return timeline_; }

  /// `handler` is called at `when` (not before now()) or `delay` (not negative) from now.
  void at(Time when, const Handler& handler) { queue_.push(when, handler); }
  void after(Time delay, const Handler& handler) { queue_.push(now() + delay, handler); }

  /// A program that starts at the present time, after the events already due then.
  Process& spawn(std::string name, std::function<void()> body, const SpawnOptions& options = {});
  /// The program that runs now; null inside handlers and outside run().
  [[nodiscard]] Process* current() const { return current_; }
  [[nodiscard]] const std::vector<std::unique_ptr<Process>>& processes() const { return processes_; }

  // From inside a program:

  /// Lets `duration` ticks (0 or more) pass.
  void sleep(Time duration, const std::source_location& where = std::source_location::current());
  /// Waits until somebody wakes this program.
  void block(const Wait& wait);
  /// Ends the run: run() returns `status`. Does not return.
  [[noreturn]] void fail(Status status);

  // From anywhere:

  /// Makes a blocked program run again at the present time, after the events already due then. A program that is
  /// not blocked is left alone.
  void wake(Process& process);
  /// Ends the run after the present handler or program step.
  void stop(Status status);

  /// Runs until nothing is left to do, a program fails, or the next event lies after `limit`. An ok Status means
  /// that every program (background ones excepted) ended. Call once.
  Status run(Time limit = kForever);

  /// `ending` is told what run() will return, before it unwinds the programs that have not ended.
  void set_ending(std::function<void(const Status&)> ending) { ending_ = std::move(ending); }

  /// Events handled so far.
  [[nodiscard]] std::uint64_t events() const { return events_; }
  /// Pending events and their times relative to now, for who fingerprints the state of a run.
  [[nodiscard]] const EventQueue& queue() const { return queue_; }

 private:
  static void resume_process(void* self, std::uint64_t index);
  void resume(Process& process);
  void run_body(const std::function<void()>& body);
  /// A slice from `begin` to now() on the program's track; nothing where nobody watches.
  void record(Process& process, const Wait& wait, Time begin) {
    if (timeline_ != nullptr && now() > begin) record_slice(process, wait, begin);
  }
  void record_slice(Process& process, const Wait& wait, Time begin);
  [[nodiscard]] std::string waiting_programs() const;
  [[nodiscard]] Status outcome() const;

  double tick_ns_;
  EventQueue queue_;
  Timeline* timeline_ = nullptr;
  std::vector<std::unique_ptr<Process>> processes_;
  Process* current_ = nullptr;
  Status status_;
  bool stopped_ = false;
  Time limit_ = kForever;
  std::function<void(const Status&)> ending_;
  std::uint64_t events_ = 0;
};

}  // namespace corewise::sim

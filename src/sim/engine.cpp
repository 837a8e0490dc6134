// The event loop, and the switch between it and the programs.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/engine.hpp"

#include <cstdio>
#include <exception>
#include <utility>

namespace corewise::sim {
namespace {

/// What a sleeping program waits for; told apart from other waits by its address.
constexpr const char* kSleep = "the end of a sleep";

std::string filled(const Wait& wait) {
  const std::int64_t values[] = {wait.a, wait.b};
  std::size_t used = 0;
  std::string text;
  for (const char* at = wait.what; *at != '\0'; ++at) {
    if (at[0] == '{' && at[1] == '}' && used < 2) {
      text += std::to_string(values[used++]);
      ++at;
    } else {
      text += *at;
    }
  }
  return text;
}

}  // namespace

std::string place_of(const std::source_location& where) {
  const std::string_view file = where.file_name();
  const std::size_t slash = file.rfind('/');
  return std::string(slash == std::string_view::npos ? file : file.substr(slash + 1)) + ":" +
         std::to_string(where.line());
}

std::string Engine::time_text(Time when) const {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f ns", to_ns(when));
  return text;
}

Process& Engine::spawn(std::string name, std::function<void()> body, const SpawnOptions& options) {
  const int index = static_cast<int>(processes_.size());
  auto guarded = [this, program = std::move(body)] { run_body(program); };
  processes_.push_back(std::make_unique<Process>(std::move(name), index, std::move(guarded), options.stack_bytes));
  Process& process = *processes_.back();
  process.background_ = options.background;
  after(0, {&resume_process, this, static_cast<std::uint64_t>(index)});
  return process;
}

/// An exception that leaves a program must not leave its fiber: it ends the run.
void Engine::run_body(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    stop(invalid_input("program '" + current_->name() + "' at " + time_text(now()) + ": " + error.what()));
  }
}

void Engine::resume_process(void* self, std::uint64_t index) {
  auto& engine = *static_cast<Engine*>(self);
  engine.resume(*engine.processes_[static_cast<std::size_t>(index)]);
}

void Engine::resume(Process& process) {
  current_ = &process;
  process.fiber_.resume();
  current_ = nullptr;
}

void Engine::sleep(Time duration, const std::source_location& where) {
  const Time begin = now();
  const Time end = begin + duration;
  Process& self = *current_;
  ++self.waits_;
  // Nothing else happens before the end: no need to leave this fiber.
  if (end <= limit_ && !stopped_ && (queue_.empty() || queue_.next_time() > end)) {
    queue_.advance(end);
    record(self, {kSleep, 0, 0, where}, begin);
    return;
  }
  self.wait_ = {kSleep, 0, 0, where};
  at(end, {&resume_process, this, static_cast<std::uint64_t>(self.index_)});
  self.fiber_.suspend();
  record(self, self.wait_, begin);
}

void Engine::block(const Wait& wait) {
  const Time begin = now();
  Process& self = *current_;
  ++self.waits_;
  self.wait_ = wait;
  self.blocked_ = true;
  self.fiber_.suspend();
  record(self, self.wait_, begin);
}

void Engine::record_slice(Process& process, const Wait& wait, Time begin) {
  if (process.track_ < 0) process.track_ = timeline_->track("programs", process.name_);
  const std::string name = wait.what == kSleep ? "runs" : "waits for " + filled(wait);
  timeline_->slice(process.track_, timeline_->kind(name, {}, {}, place_of(wait.where)), begin, now());
}

void Engine::wake(Process& process) {
  if (!process.blocked_) return;
  process.blocked_ = false;
  after(0, {&resume_process, this, static_cast<std::uint64_t>(process.index_)});
}

void Engine::stop(Status status) {
  if (!stopped_) status_ = std::move(status);
  stopped_ = true;
}

void Engine::fail(Status status) {
  stop(std::move(status));
  current_->fiber_.suspend();
  throw Fiber::Cancelled{};  // not reached: a suspended program of a stopped run is only ever cancelled
}

Status Engine::run(Time limit) {
  limit_ = limit;
  while (!stopped_ && !queue_.empty()) {
    const Time next = queue_.next_time();
    if (next > limit) {
      stop(invalid_input("time limit of " + time_text(limit) + " reached: " + waiting_programs()));
      break;
    }
    ++events_;
    queue_.pop(next)();
  }
  const Status result = outcome();
  if (ending_) ending_(result);
  stopped_ = true;
  for (const auto& process : processes_) process->fiber_.cancel();
  return result;
}

Status Engine::outcome() const {
  if (stopped_) return status_;
  for (const auto& process : processes_) {
    if (process->finished() || process->background_) continue;
    return invalid_input("deadlock at " + time_text(now()) + ": " + waiting_programs());
  }
  return {};
}

std::string Engine::waiting_programs() const {
  std::string text;
  for (const auto& process : processes_) {
    if (process->finished() || process->background_) continue;
    if (!text.empty()) text += "; ";
    text += "program '" + process->name() + "' waits for " + filled(process->wait_) + " (" +
            place_of(process->wait_.where) + ")";
  }
  return text.empty() ? "no program waits" : text;
}

}  // namespace corewise::sim

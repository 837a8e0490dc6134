// The registers through which an SPE talks with the outside word by word: signal notification registers and
// mailboxes (CBEA, Signal Notification Facility, Mailbox Facility). They hold values and know who waits for a
// change; what a read or write costs, their users say.
//
// Contract: a waiter is woken at every change and looks again; nobody is promised the value, since a PPE and an SPE
// may want the same slot. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/engine.hpp"

namespace corewise::cell {

/// Programs that wait for a change of something.
class Waiters {
 public:
  /// Blocks the running program until the next wake_all.
  void wait(sim::Engine& engine, const sim::Wait& wait) {
    waiting_.push_back(engine.current());
    engine.block(wait);
  }
  void wake_all(sim::Engine& engine) {
    for (sim::Process* process : waiting_) engine.wake(*process);
    waiting_.clear();
  }

 private:
  std::vector<sim::Process*> waiting_;
};

/// A signal notification register: 32 bits, and whether something was written since the last read.
class SignalRegister {
 public:
  explicit SignalRegister(sim::Engine& engine) : engine_(engine) {}

  /// OR mode: writes gather. Overwrite mode (after reset): the last write counts.
  void set_or_mode(bool or_mode) { or_mode_ = or_mode; }
  [[nodiscard]] bool or_mode() const { return or_mode_; }
  /// The channel count: 1 when something was written since the last read.
  [[nodiscard]] std::uint32_t count() const { return pending_ ? 1 : 0; }

  void write(std::uint32_t value) {
    value_ = or_mode_ ? value_ | value : value;
    pending_ = true;
    readers_.wake_all(engine_);
  }
  /// The value; empties the register.
  std::uint32_t take() {
    const std::uint32_t value = value_;
    value_ = 0;
    pending_ = false;
    return value;
  }
  /// Blocks the running program until something is written.
  void wait(const sim::Wait& wait) {
    while (!pending_) readers_.wait(engine_, wait);
  }

 private:
  sim::Engine& engine_;
  std::uint32_t value_ = 0;
  bool pending_ = false;
  bool or_mode_ = false;
  Waiters readers_;
};

/// A mailbox: a queue of up to 4 words.
class Mailbox {
 public:
  static constexpr std::uint32_t kDeepest = 4;

  Mailbox(sim::Engine& engine, std::uint32_t depth) : engine_(engine), depth_(depth) {}

  [[nodiscard]] std::uint32_t depth() const { return depth_; }
  /// Words that can be read.
  [[nodiscard]] std::uint32_t count() const { return count_; }
  /// Words that can be written before it is full.
  [[nodiscard]] std::uint32_t space() const { return depth_ - count_; }

  /// Adds a word. Into a full mailbox it replaces the last one, as a store by the PPE does (CBEA, SPU Inbound
  /// Mailbox Register).
  void write(std::uint32_t value);
  /// Takes the oldest word; requires count() > 0.
  std::uint32_t read();

  /// Blocks the running program until there is a word, or room for one.
  void wait_for_word(const sim::Wait& wait) {
    while (count_ == 0) readers_.wait(engine_, wait);
  }
  void wait_for_space(const sim::Wait& wait) {
    while (space() == 0) writers_.wait(engine_, wait);
  }

 private:
  sim::Engine& engine_;
  std::uint32_t depth_;
  std::uint32_t first_ = 0, count_ = 0;
  std::array<std::uint32_t, kDeepest> words_{};
  Waiters readers_, writers_;
};

}  // namespace corewise::cell

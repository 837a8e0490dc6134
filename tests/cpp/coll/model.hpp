// An explicit-state model of the port's control lines, to run an algorithm's own text through every interleaving.
//
// A state is: how far each rank's text has come, what every line holds, which line writes are still under way. A
// step is one of: a write under way arrives; a rank that waits for something that is now so goes on to its next
// wait (as late as it likes: others may step before). Starting a write needs no step of its own, since its arrival
// may be put off for ever. The text of a rank is run anew from its start to take one step: what it did before is
// skipped. That is right for texts whose course does not depend on what they read, which holds for barriers.
//
// The rules of arrival are knobs, so that tests can show which rules an algorithm needs.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "port/port.hpp"

namespace corewise::coll::testing {

struct Rules {
  bool fence = true;          ///< writes of one rank under one tag arrive in order (the contract)
  bool taken_at_call = true;  ///< a write carries what it was called with (the contract); else what the rank's last
                              ///< write to anybody says by the time it arrives
};

struct Write {
  int from, to;
  std::uint32_t line;
  port::Sequence sequence;
  port::Tag tag;
  friend auto operator<=>(const Write&, const Write&) = default;
};

struct State {
  std::vector<int> waits_passed;                   ///< of each rank
  std::vector<std::vector<port::Sequence>> lines;  ///< of each rank
  std::vector<port::Sequence> latest;              ///< of each rank: the number it wrote last
  std::vector<Write> under_way;                    ///< by rank and tag, then in the order of calls
  std::vector<int> entered;                        ///< barriers that each rank has entered
  friend auto operator<=>(const State&, const State&) = default;
};

/// The text has come to a wait that may not be passed in this step.
struct Stops {};

/// The model of one rank's port, good for one run of its text in one step.
class ModelPort {
 public:
  using UserAddress = std::byte*;
  using ConstUserAddress = const std::byte*;
  static constexpr std::uint32_t kCopyAlignment = 1;

  ModelPort(State& state, int rank) : state_(state), rank_(rank), skip_(state.waits_passed[at(rank)]) {}

  /// Did the text pass the wait at which it stood?
  [[nodiscard]] bool moved() const { return moved_; }

  /// For the text's own events: a wait that is always over, so that a rank may be late there.
  void pause() {
    wait_lines(port::Line16{}, 0, [] { return true; });
  }
  [[nodiscard]] State& state() { return state_; }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(state_.lines.size()); }
  [[nodiscard]] port::Layout layout() const {
    return {0, static_cast<std::uint32_t>(state_.lines[0].size()), 0, 0};
  }
  std::span<std::byte> stage() { return {}; }

  template <class L>
  void put_line(int peer, L line, port::Sequence sequence, std::span<const std::byte> /*payload*/, port::Tag tag) {
    if (waits_ <= skip_ && !moved_) return;  // done in an earlier step
    state_.latest[at(rank_)] = sequence;
    const Write write{rank_, peer, line.index, sequence, tag};
    const auto after = std::upper_bound(
        state_.under_way.begin(), state_.under_way.end(), write,
        [](const Write& a, const Write& b) { return std::pair(a.from, a.tag) < std::pair(b.from, b.tag); });
    state_.under_way.insert(after, write);
  }
  template <class L>
  [[nodiscard]] port::Sequence line_sequence(L line) const {
    return state_.lines[at(rank_)][line.index];
  }
  template <class L>
  [[nodiscard]] std::span<const std::byte, L::kPayloadBytes> line_payload(L /*line*/) const {
    static constexpr std::byte kNothing[L::kPayloadBytes]{};
    return kNothing;
  }
  template <class L, class Ready>
  void wait_lines(L /*first*/, std::uint32_t /*count*/, Ready&& ready,
                  const std::source_location& /*where*/ = std::source_location::current()) {
    if (waits_ < skip_) {
      ++waits_;
      return;
    }
    if (moved_ || !ready()) throw Stops{};
    moved_ = true;
    ++waits_;
    ++state_.waits_passed[at(rank_)];
  }
  void get(port::Remote /*from*/, port::StageOffset /*to*/, std::uint32_t /*bytes*/, port::Tag /*tag*/) {}
  void put(port::StageOffset /*from*/, port::Remote /*to*/, std::uint32_t /*bytes*/, port::Tag /*tag*/) {}
  void copy_in(ConstUserAddress /*from*/, port::StageOffset /*to*/, std::uint32_t /*bytes*/, port::Tag /*tag*/) {}
  void copy_out(port::StageOffset /*from*/, UserAddress /*to*/, std::uint32_t /*bytes*/, port::Tag /*tag*/) {}
  void wait(port::TagMask /*mask*/) {}
  port::TagMask test(port::TagMask mask) { return mask; }
  void compute(std::int64_t /*cycles*/) {}

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

  State& state_;
  int rank_;
  int skip_;
  int waits_ = 0;
  bool moved_ = false;
};
static_assert(port::Port<ModelPort>);

/// What a search found: how many states there are, and the first thing that is wrong.
struct Found {
  std::size_t states = 0;
  std::string wrong;
};

/// Runs `text(port)` on `ranks` ranks through every interleaving. A text calls pause() before it does anything, and
/// says what is wrong by a string (empty: nothing).
class Search {
 public:
  using Text = std::function<std::string(ModelPort&)>;

  Search(int ranks, std::uint32_t lines, Rules rules, Text text) : rules_(rules), text_(std::move(text)) {
    const auto n = static_cast<std::size_t>(ranks);
    start_.waits_passed.assign(n, 0);
    start_.lines.assign(n, std::vector<port::Sequence>(lines, 0));
    start_.latest.assign(n, 0);
    start_.entered.assign(n, 0);
  }

  Found run() {
    std::vector<State> open{start_};
    seen_.insert(start_);
    while (!open.empty() && found_.wrong.empty()) {
      const State state = std::move(open.back());
      open.pop_back();
      for (State& next : steps_from(state)) {
        if (seen_.insert(next).second) open.push_back(std::move(next));
      }
    }
    found_.states = seen_.size();
    return found_;
  }

 private:
  std::vector<State> steps_from(const State& state) {
    std::vector<State> next;
    for (std::size_t i = 0; i < state.under_way.size(); ++i) {
      if (may_arrive(state, i)) next.push_back(arrived(state, i));
    }
    bool all_ended = true;
    for (int rank = 0; rank < static_cast<int>(state.lines.size()); ++rank) {
      all_ended = take_rank(state, rank, next) && all_ended;
    }
    if (next.empty() && !all_ended && found_.wrong.empty()) found_.wrong = "ranks wait for ever";
    return next;
  }

  /// Adds the step of `rank`, if it has one; true if its text has ended.
  bool take_rank(const State& state, int rank, std::vector<State>& next) {
    State after = state;
    ModelPort port(after, rank);
    bool ended = false;
    try {
      const std::string wrong = text_(port);
      if (!wrong.empty() && found_.wrong.empty()) found_.wrong = wrong;
      ended = !port.moved();
    } catch (const Stops&) {
    }
    if (port.moved()) next.push_back(std::move(after));
    return ended;
  }

  [[nodiscard]] bool may_arrive(const State& state, std::size_t which) const {
    const Write& write = state.under_way[which];
    for (std::size_t i = 0; rules_.fence && i < which; ++i) {
      if (state.under_way[i].from == write.from && state.under_way[i].tag == write.tag) return false;
    }
    return true;
  }
  [[nodiscard]] State arrived(State state, std::size_t which) const {
    const Write write = state.under_way[which];
    state.under_way.erase(state.under_way.begin() + static_cast<std::ptrdiff_t>(which));
    const port::Sequence latest = state.latest[static_cast<std::size_t>(write.from)];
    state.lines[static_cast<std::size_t>(write.to)][write.line] = rules_.taken_at_call ? write.sequence : latest;
    return state;
  }

  Rules rules_;
  Text text_;
  State start_;
  std::set<State> seen_;
  Found found_;
};

}  // namespace corewise::coll::testing

// An explicit-state model of a port, to run an algorithm's own text through every interleaving.
//
// A state is: how far each rank's text has come, what every line, stage, user memory, signal register and shared
// word holds, what is under way. A step is one of: something under way takes effect; a rank that waits for
// something that is now so goes on to its next wait (as late as it likes: others may step before). Starting an
// operation needs no step of its own, since its effect may be put off for ever; what a rank does between two waits
// is one step.
//
// The text of a rank is run anew from its start to take one step: what it did before is skipped. So that it takes
// the same course again, what it has read from lines outside of a wait's condition is kept in the state and handed
// out once more; what it has read from stage and user memory is not, so these must not decide its course (they
// decide what is right in the end). A text calls pause() before it does anything.
//
// The rules of the contract are knobs, so that tests can show which rules an algorithm needs.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "effort.hpp"
#include "port/capabilities.hpp"
#include "port/port.hpp"

namespace corewise::coll::testing {

inline constexpr std::byte kPoison{0xDB};

/// Where a search ends: under sanitizers, which look at the text and not at its interleavings, long before all
/// states.
constexpr std::size_t kStates = test::effort(std::numeric_limits<int>::max(), 4'000);

struct Rules {
  bool fence = true;          ///< lines take effect after all that their rank started under their tag
  bool taken_at_call = true;  ///< a line carries the number it was called with (the contract); else what the rank's
                              ///< last line to anybody says by the time it arrives
  bool waits = true;          ///< wait(mask) waits; else it returns at once
  bool payload_kept = false;  ///< a line without a payload leaves the last one (port::MappedUserMemory)
  std::uint32_t ignored_begin = 0, ignored_end = 0;  ///< lines of 16 bytes for which nobody waits
};

/// Something under way. A copy moves bytes of the memory of one rank to that of another; a line or signal is
/// written.
struct Write {
  enum class Kind : std::uint8_t { line, run, copy, combine, signal };

  int from, to;
  std::uint32_t line;  ///< lines of 128 bytes after those of 16
  port::Sequence sequence;
  port::Tag tag;
  Kind kind = Kind::line;
  std::vector<std::byte> payload;
  int source = 0;  ///< whose memory is read; offsets of stage (then user memory) on both sides
  std::uint32_t source_at = 0, target_at = 0, bytes = 0;
  int own = 0;  ///< of a combination: whose memory has the other operand
  std::uint32_t own_at = 0;
  std::optional<std::uint32_t> too_at = {};
};

struct State {
  using Bytes = std::vector<std::byte>;

  std::vector<int> waits_passed;                   ///< of each rank
  std::vector<std::vector<port::Sequence>> lines;  ///< of each rank
  std::vector<port::Sequence> latest;              ///< of each rank: the number it wrote last
  std::vector<Write> under_way;                    ///< by rank and tag, then in the order of calls
  std::vector<int> entered;                        ///< for the text: barriers or calls that each rank has entered
  std::vector<std::vector<Bytes>> payloads;        ///< of each line of each rank: as far as it was given
  std::vector<Bytes> memory;                       ///< of each rank: stage, then user memory
  std::vector<std::vector<std::uint32_t>> read;    ///< of each rank: what it has read from lines and words
  std::vector<std::uint32_t> signals;              ///< of each rank
  std::vector<std::uint32_t> words;

  /// 128 bits that tell states apart.
  [[nodiscard]] std::array<std::uint64_t, 2> key() const {
    Hash text;
    put(text, waits_passed);
    for (const auto& of_rank : lines) put(text, of_rank);
    put(text, latest);
    put(text, entered);
    for (const auto& of_rank : payloads) {
      for (const Bytes& payload : of_rank) put(text, payload);
    }
    for (const Bytes& bytes : memory) put(text, bytes);
    for (const auto& of_rank : read) put(text, of_rank);
    put(text, signals);
    put(text, words);
    for (const Write& write : under_way) {
      put(text, std::array<std::uint32_t, 13>{
                    static_cast<std::uint32_t>(write.from), static_cast<std::uint32_t>(write.to), write.line,
                    write.sequence, write.tag, static_cast<std::uint32_t>(write.kind),
                    static_cast<std::uint32_t>(write.source), write.source_at, write.target_at, write.bytes,
                    static_cast<std::uint32_t>(write.own), write.own_at, write.too_at.value_or(~0U)});
      put(text, write.payload);
    }
    return text.sum;
  }

 private:
  struct Hash {
    std::array<std::uint64_t, 2> sum{0x243f6a8885a308d3U, 0x13198a2e03707344U};
    void add(std::uint64_t word) {
      std::uint64_t mixed = sum[0] ^ word;
      sum[0] = splitmix64(mixed) + sum[1];
      mixed = sum[1] + std::rotl(word, 23);
      sum[1] = splitmix64(mixed) ^ sum[0];
    }
  };
  template <class Values>
  static void put(Hash& hash, const Values& values) {
    const auto* from = reinterpret_cast<const std::byte*>(values.data());
    std::size_t left = values.size() * sizeof(values[0]);
    hash.add(left);
    while (left > 0) {
      const std::size_t count = std::min(left, sizeof(std::uint64_t));
      std::uint64_t word = 0;
      std::memcpy(&word, from, count);
      hash.add(word);
      from += count;
      left -= count;
    }
  }
};

/// The text has come to a wait that may not be passed in this step.
struct Stops {};

/// The model of one rank's port, good for one run of its text in one step.
class ModelPort {
 public:
  using Where = std::source_location;
  using UserAddress = std::byte*;
  using ConstUserAddress = const std::byte*;
  static constexpr std::uint32_t kCopyAlignment = 1;

  ModelPort(State& state, int rank, const port::Layout& layout, const Rules& rules)
      : state_(state),
        rank_(rank),
        layout_(layout),
        rules_(rules),
        skip_(state.waits_passed[at(rank)]),
        memory_(state.memory[at(rank)].size(), kPoison) {}

  /// Did the text pass the wait at which it stood?
  [[nodiscard]] bool moved() const { return moved_; }
  /// The end of the step: what the text wrote to its memory becomes part of the state.
  void finish() {
    if (moved_) state_.memory[at(rank_)] = memory_;
  }

  /// For the text's own events: a wait that is always over, so that a rank may be late there.
  void pause() {
    wait_lines(port::Line16{}, 0, [] { return true; });
  }
  [[nodiscard]] State& state() { return state_; }
  /// The own user memory.
  [[nodiscard]] std::span<std::byte> user() { return std::span(memory_).subspan(layout_.stage_bytes); }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(state_.lines.size()); }
  [[nodiscard]] port::Layout layout() const { return layout_; }
  std::span<std::byte> stage() { return std::span(memory_).first(layout_.stage_bytes); }
  /// For a text that keeps what it reads in the stage beyond a step: the first bytes of the stage are as they were
  /// here when the text comes here again.
  void remember_stage(std::uint32_t bytes) { remember_bytes(stage().first(bytes)); }

  template <class L>
  void put_line(int peer, L line, port::Sequence sequence, std::span<const std::byte> payload, port::Tag tag) {
    if (!moved_) return;  // done in an earlier step
    state_.latest[at(rank_)] = sequence;
    add({.from = rank_,
         .to = peer,
         .line = index_of(line),
         .sequence = sequence,
         .tag = tag,
         .payload = {payload.begin(), payload.end()}});
  }
  template <class L>
  [[nodiscard]] port::Sequence line_sequence(L line) const {
    const port::Sequence now = state_.lines[at(rank_)][index_of(line)];
    return in_condition_ ? now : const_cast<ModelPort*>(this)->remember(now);
  }
  /// The span holds what the line holds in this step, whenever it was asked for.
  template <class L>
  [[nodiscard]] std::span<const std::byte, L::kPayloadBytes> line_payload(L line) const {
    auto& self = *const_cast<ModelPort*>(this);
    std::array<std::byte, kPayload>& shown = self.shown_[index_of(line)];
    self.show(index_of(line));
    if (!in_condition_) self.remember_bytes(std::span(shown).first(L::kPayloadBytes));
    return std::span<const std::byte, L::kPayloadBytes>(shown.data(), L::kPayloadBytes);
  }
  // port::LineRuns. A run that is under way leaves nothing whole.
  void put_run(int peer, port::Line128 first, std::span<const std::byte> data, port::Tag tag) {
    if (!moved_) return;
    State::Bytes& there = state_.payloads[at(peer)][index_of(first)];
    there.assign(there.size(), kPoison);
    add({.from = rank_,
         .to = peer,
         .line = index_of(first),
         .sequence = 0,
         .tag = tag,
         .kind = Write::Kind::run,
         .payload = {data.begin(), data.end()}});
  }
  [[nodiscard]] std::span<const std::byte> run(port::Line128 first, std::uint32_t bytes) const {
    auto& self = *const_cast<ModelPort*>(this);
    State::Bytes& shown = self.runs_[index_of(first)] = state_.payloads[at(rank_)][index_of(first)];
    shown.resize((bytes + 3) / 4 * 4, kPoison);  // words are remembered
    self.remember_bytes(shown);
    return std::span(shown).first(bytes);
  }
  template <class L, class Ready>
  void wait_lines(L first, std::uint32_t count, Ready&& ready, const Where& /*where*/ = Where::current()) {
    const bool ignored = std::is_same_v<L, port::Line16> && count > 0 && first.index >= rules_.ignored_begin &&
                         first.index < rules_.ignored_end;
    pass([&] { return ignored || ready(); });
  }

  void get(port::Remote from, port::StageOffset to, std::uint32_t bytes, port::Tag tag) {
    copy(from.peer, from.at, rank_, to, bytes, tag);
  }
  void put(port::StageOffset from, port::Remote to, std::uint32_t bytes, port::Tag tag) {
    copy(rank_, from, to.peer, to.at, bytes, tag);
  }
  void copy_in(const std::byte* from, port::StageOffset to, std::uint32_t bytes, port::Tag tag) {
    copy(rank_, offset_of(from), rank_, to, bytes, tag);
  }
  void copy_out(port::StageOffset from, std::byte* to, std::uint32_t bytes, port::Tag tag) {
    copy(rank_, from, rank_, offset_of(to), bytes, tag);
  }
  /// The model's one operator adds bytes.
  void combine(port::Remote theirs, std::uint32_t own, std::uint32_t to, std::optional<std::uint32_t> too,
               std::uint32_t bytes, port::Tag tag) {
    if (moved_ && too) std::fill_n(memory_.begin() + *too, bytes, kPoison);
    combine(theirs, {rank_, own}, {rank_, to}, bytes, tag, too);
  }
  /// Out of and into the memories of any ranks; `too` is in that of `to`.
  void combine(port::Remote theirs, port::Remote own, port::Remote to, std::uint32_t bytes, port::Tag tag,
               std::optional<std::uint32_t> too = {}) {
    if (!moved_ || bytes == 0) return;
    const auto same = [to](port::Remote one) { return one.peer == to.peer && one.at == to.at; };
    State::Bytes& memory = to.peer == rank_ ? memory_ : state_.memory[at(to.peer)];
    if (!same(own) && !same(theirs)) std::fill_n(memory.begin() + to.at, bytes, kPoison);
    add({.from = rank_,
         .to = to.peer,
         .line = 0,
         .sequence = 0,
         .tag = tag,
         .kind = Write::Kind::combine,
         .payload = {},
         .source = theirs.peer,
         .source_at = theirs.at,
         .target_at = to.at,
         .bytes = bytes,
         .own = own.peer,
         .own_at = own.at,
         .too_at = too});
  }
  /// No step where nothing is under way.
  void wait(port::TagMask mask) {
    const bool over = !rules_.waits || (under_way() & mask) == 0;
    if (moved_ && over) {
      count_wait();
    } else {
      pass([over] { return over; });
    }
  }
  port::TagMask test(port::TagMask mask) { return remember(mask & ~under_way()); }
  void compute(std::int64_t /*cycles*/) {}

  // port::SignalRegister
  void send_signal(int peer, std::uint32_t bits, port::Tag tag) {
    if (!moved_) return;
    add({.from = rank_,
         .to = peer,
         .line = 0,
         .sequence = bits,
         .tag = tag,
         .kind = Write::Kind::signal,
         .payload = {}});
  }
  std::uint32_t wait_signal() {
    pass([this] { return state_.signals[at(rank_)] != 0; });
    const std::uint32_t bits = remember(state_.signals[at(rank_)]);
    if (moved_) state_.signals[at(rank_)] = 0;
    return bits;
  }

  // port::AtomicWords. Others may step before each; a word that is read again is read when it has changed.
  std::uint32_t fetch_add(std::uint32_t word, std::uint32_t value) {
    pass([] { return true; });
    const std::uint32_t before = remember(state_.words[word]);
    if (moved_) state_.words[word] += value;
    return before;
  }
  std::uint32_t load_word(std::uint32_t word) {
    const auto last = last_load_.find(word);
    pass([&] { return last == last_load_.end() || last->second != state_.words[word]; });
    return last_load_[word] = remember(state_.words[word]);
  }

  /// Between the memories of any two ranks.
  void copy(port::Remote from, port::Remote to, std::uint32_t bytes, port::Tag tag) {
    copy(from.peer, from.at, to.peer, to.at, bytes, tag);
  }

 private:
  static constexpr std::size_t kPayload = port::Line128::kPayloadBytes;
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  [[nodiscard]] std::uint32_t index_of(port::Line16 line) const { return line.index; }
  [[nodiscard]] std::uint32_t index_of(port::Line128 line) const { return layout_.lines16 + line.index; }
  [[nodiscard]] std::uint32_t offset_of(const std::byte* user) const {
    return static_cast<std::uint32_t>(user - memory_.data());
  }

  template <class Condition>
  void pass(Condition&& condition) {
    if (waits_ < skip_) {
      ++waits_;
      return;
    }
    in_condition_ = true;
    if (moved_ || !condition()) throw Stops{};
    in_condition_ = false;
    begin_step();
    count_wait();
  }
  void count_wait() {
    ++waits_;
    ++state_.waits_passed[at(rank_)];
  }
  void begin_step() {
    moved_ = true;
    memory_ = state_.memory[at(rank_)];
    for (const auto& [line, shown] : shown_) show(line);
  }

  /// What was read, in this step or, once more, in an earlier one.
  std::uint32_t remember(std::uint32_t now) {
    std::vector<std::uint32_t>& all = state_.read[at(rank_)];
    if (moved_) all.push_back(now);
    return next_read_ < all.size() ? all[next_read_++] : now;
  }
  void remember_bytes(std::span<std::byte> bytes) {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint32_t)) {
      std::uint32_t word = 0;
      std::memcpy(&word, &bytes[i], sizeof(word));
      word = remember(word);
      std::memcpy(&bytes[i], &word, sizeof(word));
    }
  }
  void show(std::uint32_t line) {
    const State::Bytes& payload = state_.payloads[at(rank_)][line];
    std::array<std::byte, kPayload>& shown = shown_[line];
    shown.fill(state_.lines[at(rank_)][line] == 0 ? std::byte{0} : kPoison);
    std::copy(payload.begin(), payload.end(), shown.begin());
  }

  [[nodiscard]] port::TagMask under_way() const {
    port::TagMask tags = 0;
    for (const Write& write : state_.under_way) {
      if (write.from == rank_) tags |= port::mask_of(write.tag);
    }
    return tags;
  }
  void copy(int source, std::uint32_t source_at, int target, std::uint32_t target_at, std::uint32_t bytes,
            port::Tag tag) {
    if (!moved_ || bytes == 0) return;
    State::Bytes& memory = target == rank_ ? memory_ : state_.memory[at(target)];
    std::fill_n(memory.begin() + target_at, bytes, kPoison);
    add({.from = rank_,
         .to = target,
         .line = 0,
         .sequence = 0,
         .tag = tag,
         .kind = Write::Kind::copy,
         .payload = {},
         .source = source,
         .source_at = source_at,
         .target_at = target_at,
         .bytes = bytes});
  }
  void add(const Write& write) {
    const auto after = std::upper_bound(
        state_.under_way.begin(), state_.under_way.end(), write,
        [](const Write& a, const Write& b) { return std::pair(a.from, a.tag) < std::pair(b.from, b.tag); });
    state_.under_way.insert(after, write);
  }

  State& state_;
  int rank_;
  port::Layout layout_;
  Rules rules_;
  int skip_;
  int waits_ = 0;
  bool moved_ = false;
  bool in_condition_ = false;
  std::size_t next_read_ = 0;
  State::Bytes memory_;
  std::map<std::uint32_t, std::array<std::byte, kPayload>> shown_;
  std::map<std::uint32_t, State::Bytes> runs_;
  std::map<std::uint32_t, std::uint32_t> last_load_;
};
static_assert(port::Port<ModelPort> && port::SignalRegister<ModelPort> && port::AtomicWords<ModelPort>);
static_assert(port::LineRuns<ModelPort>);

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

  Search(int ranks, std::uint32_t lines, Rules rules, Text text)
      : Search(ranks, port::Layout{0, lines, 0, 0}, 0, rules, std::move(text)) {}
  Search(int ranks, const port::Layout& layout, std::uint32_t user_bytes, Rules rules, Text text)
      : layout_(layout), rules_(rules), text_(std::move(text)) {
    const auto n = static_cast<std::size_t>(ranks);
    const std::size_t lines = layout.lines16 + layout.lines128;
    start_.waits_passed.assign(n, 0);
    start_.lines.assign(n, std::vector<port::Sequence>(lines, 0));
    start_.latest.assign(n, 0);
    start_.entered.assign(n, 0);
    start_.payloads.assign(n, std::vector<State::Bytes>(lines));
    start_.memory.assign(n, State::Bytes(layout.stage_bytes + user_bytes, kPoison));
    start_.read.resize(n);
    start_.signals.assign(n, 0);
    start_.words.assign(layout.atomic_words, 0);
  }

  Found run() {
    std::vector<State> open{start_};
    seen_.insert(start_.key());
    while (!open.empty() && found_.wrong.empty() && seen_.size() < kStates) {
      const State state = std::move(open.back());
      open.pop_back();
      for (State& next : steps_from(state)) {
        if (seen_.insert(next.key()).second) open.push_back(std::move(next));
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
    ModelPort port(after, rank, layout_, rules_);
    bool ended = false;
    try {
      const std::string wrong = text_(port);
      if (!wrong.empty() && found_.wrong.empty()) found_.wrong = wrong;
      ended = !port.moved();
    } catch (const Stops&) {
    }
    port.finish();
    if (port.moved()) next.push_back(std::move(after));
    return ended;
  }

  /// Only lines and signals are fenced; copies and runs have no order.
  [[nodiscard]] bool may_arrive(const State& state, std::size_t which) const {
    const Write& write = state.under_way[which];
    const bool moves = write.kind != Write::Kind::line && write.kind != Write::Kind::signal;
    if (!rules_.fence || moves) return true;
    for (std::size_t i = 0; i < which; ++i) {
      if (state.under_way[i].from == write.from && state.under_way[i].tag == write.tag) return false;
    }
    return true;
  }
  [[nodiscard]] State arrived(State state, std::size_t which) const {
    const Write write = std::move(state.under_way[which]);
    state.under_way.erase(state.under_way.begin() + static_cast<std::ptrdiff_t>(which));
    const auto from = static_cast<std::size_t>(write.from);
    const auto to = static_cast<std::size_t>(write.to);
    switch (write.kind) {
      case Write::Kind::line:
        state.lines[to][write.line] = rules_.taken_at_call ? write.sequence : state.latest[from];
        if (!rules_.payload_kept || !write.payload.empty()) state.payloads[to][write.line] = write.payload;
        break;
      case Write::Kind::run:
        state.payloads[to][write.line] = write.payload;
        break;
      case Write::Kind::copy:
        std::copy_n(state.memory[static_cast<std::size_t>(write.source)].begin() + write.source_at, write.bytes,
                    state.memory[to].begin() + write.target_at);
        break;
      case Write::Kind::combine:
        for (std::uint32_t i = 0; i < write.bytes; ++i) {
          State::Bytes& memory = state.memory[to];
          const std::byte theirs = state.memory[static_cast<std::size_t>(write.source)][write.source_at + i];
          const std::byte own = state.memory[static_cast<std::size_t>(write.own)][write.own_at + i];
          const int sum = std::to_integer<int>(theirs) + std::to_integer<int>(own);
          memory[write.target_at + i] = static_cast<std::byte>(sum);
          if (write.too_at) memory[*write.too_at + i] = static_cast<std::byte>(sum);
        }
        break;
      case Write::Kind::signal:
        state.signals[to] |= write.sequence;
        break;
    }
    return state;
  }

  port::Layout layout_;
  Rules rules_;
  Text text_;
  State start_;
  std::set<std::array<std::uint64_t, 2>> seen_;
  Found found_;
};

}  // namespace corewise::coll::testing

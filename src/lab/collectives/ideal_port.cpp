// The adversary behind IdealPort: who runs next, what completes next; and the checks of the contract.
// SPDX-License-Identifier: BSD-3-Clause
#include "lab/collectives/ideal_port.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "cell/port.hpp"
#include "sim/engine.hpp"

namespace corewise::lab {
namespace {

using Kind = IdealOperation::Kind;
using State = IdealFiber::State;

constexpr int kPoison = 0xDB;
constexpr std::size_t kQueue = 16;  ///< operations of one rank under way, as an MFC's queue has entries
constexpr std::size_t kOutbox = 1;
constexpr std::size_t kInbox = 4;

std::uint32_t round_up(std::uint32_t bytes) {
  return (bytes + port::kStageAlignment - 1) / port::kStageAlignment * port::kStageAlignment;
}

bool overlap(const std::byte* a, const std::byte* b, std::uint64_t bytes) {
  const auto x = reinterpret_cast<std::uintptr_t>(a);
  const auto y = reinterpret_cast<std::uintptr_t>(b);
  return x < y + bytes && y < x + bytes;
}

std::uint32_t take_front(std::deque<std::uint32_t>& words) {
  const std::uint32_t word = words.front();
  words.pop_front();
  return word;
}

}  // namespace

// ---- the calls of a rank ----

IdealCalls::IdealCalls(IdealSystem& system, int rank, std::uint32_t alignment)
    : system_(system),
      self_(*system.ranks_[static_cast<std::size_t>(rank)]),
      layout_(system.job_.layout),
      rank_(rank),
      size_(system.job_.ranks),
      alignment_(alignment) {}

std::span<std::byte> IdealCalls::local() {
  return {self_.stage + round_up(layout_.stage_bytes), system_.job_.local_bytes};
}

void IdealCalls::must(bool holds, const char* call, const char* rule, const Where& where) const {
  if (holds) return;
  system_.fail(
      invalid_input("rank " + std::to_string(rank_) + ", " + call + " (" + sim::place_of(where) + "): " + rule));
}
void IdealCalls::check_peer(int peer, const char* call, const Where& where) const {
  must(peer >= 0 && peer < size_, call, "no such peer", where);
}
void IdealCalls::check_tag(port::Tag tag, const char* call, const Where& where) const {
  must(tag < port::kTags, call, "no such tag", where);
}
void IdealCalls::no_line(std::uint32_t index) const {
  must(false, "a look", ("no line " + std::to_string(index)).c_str(), self_.where);
  std::terminate();  // not reached
}

void IdealCalls::pause(int times, const Where& where) {
  for (int i = 0; i < times; ++i) system_.yield(where);
}
void IdealCalls::compute(std::int64_t /*cycles*/, const Where& where) {
  system_.may_yield(where);
}
void IdealCalls::may_be_late(const Where& where) {
  system_.may_yield(where);
}

port::Sequence IdealCalls::read_sequence(const std::byte* line) {
  port::Sequence sequence = 0;
  std::memcpy(&sequence, line, sizeof(sequence));
  return sequence;
}

void IdealCalls::block_on_lines(const std::byte* begin, std::uint32_t bytes, const Where& where) {
  self_.waits_begin = begin;
  self_.waits_end = begin + bytes;
  system_.suspend("a control line", where);
  self_.waits_begin = self_.waits_end = nullptr;
}

void IdealCalls::write_line(Kind kind, int peer, std::uint32_t index, port::Sequence sequence,
                            std::span<const std::byte> payload, port::Tag tag, const Where& where) {
  constexpr const char* kCall = "put_line";
  const bool small = kind == Kind::line16;
  check_peer(peer, kCall, where);
  check_tag(tag, kCall, where);
  must(index < (small ? layout_.lines16 : layout_.lines128), kCall, "no such line", where);
  const std::size_t room = small ? port::Line16::kPayloadBytes : port::Line128::kPayloadBytes;
  must(payload.size() <= room, kCall, "the payload is too long", where);
  check_writer(kCall, peer, index + (small ? 0 : layout_.lines16), tag, where);
  IdealRank& owner = *system_.ranks_[static_cast<std::size_t>(peer)];
  IdealOperation operation;
  operation.kind = kind;
  operation.tag = tag;
  operation.bytes = small ? port::Line16::kBytes : port::Line128::kBytes;
  operation.peer = peer;
  operation.to = (small ? owner.lines16 : owner.lines128) + std::size_t{index} * operation.bytes;
  std::byte* const line = operation.line.data();
  std::memcpy(line, &sequence, sizeof(sequence));
  std::memset(line + sizeof(sequence), kPoison, room);
  if (!payload.empty()) std::memcpy(line + sizeof(sequence), payload.data(), payload.size());
  system_.start(operation);
}

void IdealCalls::check_writer(const char* call, int peer, std::uint32_t line, port::Tag tag,
                              const Where& where) const {
  IdealRank::Writer& writer = system_.ranks_[static_cast<std::size_t>(peer)]->writers[line];
  if (writer.rank < 0) writer = {rank_, tag};
  must(!system_.job_.one_writer || (writer.rank == rank_ && writer.tag == tag), call,
       "another rank or tag has written this line", where);
}

void IdealCalls::put_run(int peer, port::Line128 first, std::span<const std::byte> data, port::Tag tag,
                         const Where& where) {
  system_.may_yield(where);
  check_peer(peer, "put_run", where);
  check_tag(tag, "put_run", where);
  const std::size_t room = (std::size_t{layout_.lines128} - first.index) * port::Line128::kBytes;
  must(first.index < layout_.lines128 && data.size() <= room, "put_run", "no such lines", where);
  for (std::uint32_t line = 0; line * port::Line128::kBytes < data.size(); ++line)
    check_writer("put_run", peer, layout_.lines16 + first.index + line, tag, where);
  IdealOperation operation;
  operation.kind = Kind::run;
  operation.tag = tag;
  operation.bytes = static_cast<std::uint32_t>(data.size());
  operation.to =
      system_.ranks_[static_cast<std::size_t>(peer)]->lines128 + std::size_t{first.index} * port::Line128::kBytes;
  operation.run.assign(data.begin(), data.end());
  if (!data.empty()) system_.start(operation);
}

void IdealCalls::put_line(int peer, port::Line16 line, port::Sequence sequence, std::span<const std::byte> payload,
                          port::Tag tag, const Where& where) {
  system_.may_yield(where);
  write_line(Kind::line16, peer, line.index, sequence, payload, tag, where);
}
void IdealCalls::put_line(int peer, port::Line128 line, port::Sequence sequence, std::span<const std::byte> payload,
                          port::Tag tag, const Where& where) {
  system_.may_yield(where);
  write_line(Kind::line128, peer, line.index, sequence, payload, tag, where);
}
void IdealCalls::put_line_list(std::span<const int> peers, port::Line16 line, port::Sequence sequence,
                               std::span<const std::byte> payload, port::Tag tag, const Where& where) {
  system_.may_yield(where);
  must(peers.size() <= 16, "put_line_list", "more than 16 peers", where);
  for (const int peer : peers) write_line(Kind::line16, peer, line.index, sequence, payload, tag, where);
}

std::byte* IdealCalls::place(const char* call, port::Remote remote, std::uint32_t bytes, const Where& where) const {
  check_peer(remote.peer, call, where);
  const std::uint64_t end = std::uint64_t{remote.at} + bytes;
  const std::uint64_t local = round_up(layout_.stage_bytes);
  const bool in_stage = end <= layout_.stage_bytes;
  const bool in_local = remote.at >= local && end <= local + system_.job_.local_bytes;
  must(in_stage || in_local, call, "outside of stage and local memory", where);
  return system_.ranks_[static_cast<std::size_t>(remote.peer)]->stage + remote.at;
}

void IdealCalls::copy(const char* call, const std::byte* from, std::byte* to, std::uint32_t bytes, port::Tag tag,
                      const Where& where) {
  check_tag(tag, call, where);
  const auto difference = reinterpret_cast<std::uintptr_t>(from) - reinterpret_cast<std::uintptr_t>(to);
  must(difference % alignment_ == 0, call, "the places are not congruent modulo kCopyAlignment", where);
  must(!overlap(from, to, bytes), call, "the places overlap", where);
  IdealOperation operation;
  operation.tag = tag;
  operation.bytes = bytes;
  operation.from = from;
  operation.to = to;
  system_.start(operation);
}

void IdealCalls::get(port::Remote from, port::StageOffset to, std::uint32_t bytes, port::Tag tag,
                     const Where& where) {
  system_.may_yield(where);
  if (bytes == 0) return;
  copy("get", place("get", from, bytes, where), place("get", {rank_, to}, bytes, where), bytes, tag, where);
}
void IdealCalls::put(port::StageOffset from, port::Remote to, std::uint32_t bytes, port::Tag tag,
                     const Where& where) {
  system_.may_yield(where);
  if (bytes == 0) return;
  copy("put", place("put", {rank_, from}, bytes, where), place("put", to, bytes, where), bytes, tag, where);
}
void IdealCalls::copy_in(const std::byte* from, port::StageOffset to, std::uint32_t bytes, port::Tag tag,
                         const Where& where) {
  system_.may_yield(where);
  if (bytes != 0) copy("copy_in", from, place("copy_in", {rank_, to}, bytes, where), bytes, tag, where);
}
void IdealCalls::copy_out(port::StageOffset from, std::byte* to, std::uint32_t bytes, port::Tag tag,
                          const Where& where) {
  system_.may_yield(where);
  if (bytes != 0) copy("copy_out", place("copy_out", {rank_, from}, bytes, where), to, bytes, tag, where);
}
void IdealCalls::read_user(int peer, const std::byte* from, port::StageOffset to, std::uint32_t bytes,
                           port::Tag tag, const Where& where) {
  system_.may_yield(where);
  check_peer(peer, "read_user", where);
  if (bytes != 0) copy("read_user", from, place("read_user", {rank_, to}, bytes, where), bytes, tag, where);
}
void IdealCalls::write_user(int peer, port::StageOffset from, std::byte* to, std::uint32_t bytes, port::Tag tag,
                            const Where& where) {
  system_.may_yield(where);
  check_peer(peer, "write_user", where);
  if (bytes != 0) copy("write_user", place("write_user", {rank_, from}, bytes, where), to, bytes, tag, where);
}

void IdealCalls::get_user(port::Remote from, std::byte* to, std::uint32_t bytes, port::Tag tag,
                          const Where& where) {
  system_.may_yield(where);
  check_tag(tag, "get_user", where);
  const std::byte* const source = place("get_user", from, bytes, where);
  must(!overlap(source, to, bytes), "get_user", "the places overlap", where);
  IdealOperation operation;
  operation.tag = tag;
  operation.bytes = bytes;
  operation.from = source;
  operation.to = to;
  if (bytes != 0) system_.start(operation);
}
void IdealCalls::combine_user(port::Remote theirs, const std::byte* own, std::byte* to,
                              std::optional<port::StageOffset> too, const port::Combination& how,
                              std::uint32_t bytes, port::Tag tag, const Where& where) {
  system_.may_yield(where);
  check_tag(tag, "combine_user", where);
  IdealOperation operation;
  operation.kind = Kind::combine;
  operation.tag = tag;
  operation.bytes = bytes;
  operation.from = place("combine_user", theirs, bytes, where);
  operation.own = own;
  operation.to = to;
  if (too) operation.too = place("combine_user", {rank_, *too}, bytes, where);
  operation.how = how;
  must(own == to || !overlap(own, to, bytes), "combine_user", "the places overlap", where);
  must(!overlap(operation.from, to, bytes), "combine_user", "the places overlap", where);
  if (bytes != 0) system_.start(operation);
}

std::uint64_t IdealCalls::pull(int peer, const std::byte* from, std::byte* to, std::uint64_t bytes,
                               const Where& where) {
  check_peer(peer, "pull", where);
  must(!overlap(from, to, bytes), "pull", "the places overlap", where);
  std::uint64_t moved = bytes;
  if (!system_.calm() && bytes > 0) {
    std::memset(to, kPoison, bytes);
    if (system_.rng_.below(4) == 0) moved = system_.rng_.below(bytes);
  }
  system_.may_yield(where);
  std::memcpy(to, from, moved);
  return moved;
}
std::uint64_t IdealCalls::push(int peer, const std::byte* from, std::byte* to, std::uint64_t bytes,
                               const Where& where) {
  return pull(peer, from, to, bytes, where);  // all memory is this process's
}

std::optional<port::StageOffset> IdealCalls::in_place(const std::byte* user, std::uint32_t bytes) const {
  const std::uint32_t local = round_up(layout_.stage_bytes);
  const auto offset =
      reinterpret_cast<std::uintptr_t>(user) - reinterpret_cast<std::uintptr_t>(self_.stage + local);
  if (offset > system_.job_.local_bytes || bytes > system_.job_.local_bytes - offset) return std::nullopt;
  return local + static_cast<port::StageOffset>(offset);
}

bool IdealCalls::far(const std::byte* /*user*/) const {
  return (system_.job_.far_ranks >> rank_ & 1U) != 0;
}

void IdealCalls::check_list(const char* call, std::span<const UserPiece> pieces, const Where& where) const {
  for (const UserPiece& piece : pieces) {
    const bool whole = reinterpret_cast<std::uintptr_t>(piece.at) % alignment_ == 0 &&
                       piece.bytes % alignment_ == 0 && piece.bytes <= 16 * 1024;
    must(whole, call, "a piece is not of whole units up to 16 KB", where);
  }
}
void IdealCalls::copy_in_list(std::span<const UserPiece> pieces, port::StageOffset to, port::Tag tag,
                              const Where& where) {
  check_list("copy_in_list", pieces, where);
  for (const UserPiece& piece : pieces) {
    copy_in(piece.at, to, piece.bytes, tag, where);
    to += piece.bytes;
  }
}
void IdealCalls::copy_out_list(port::StageOffset from, std::span<const UserPiece> pieces, port::Tag tag,
                               const Where& where) {
  check_list("copy_out_list", pieces, where);
  for (const UserPiece& piece : pieces) {
    copy_out(from, piece.at, piece.bytes, tag, where);
    from += piece.bytes;
  }
}

namespace {

/// Without order among what is under way.
bool moves(IdealOperation::Kind kind) {
  return kind != IdealOperation::Kind::line16 && kind != IdealOperation::Kind::line128 &&
         kind != IdealOperation::Kind::signal;
}

port::TagMask tags_under_way(const IdealRank& rank) {
  port::TagMask tags = 0;
  for (const IdealOperation& operation : rank.under_way) tags |= port::mask_of(operation.tag);
  return tags;
}

}  // namespace

void IdealCalls::wait(port::TagMask mask, const Where& where) {
  system_.may_yield(where);
  self_.waits_tags = mask;
  while ((tags_under_way(self_) & mask) != 0) system_.suspend("its operations under some tags", where);
  self_.waits_tags = 0;
  system_.may_yield(where);
}
port::TagMask IdealCalls::test(port::TagMask mask, const Where& where) {
  system_.yield(where);
  return mask & ~tags_under_way(self_);
}

void IdealCalls::send_signal(int peer, std::uint32_t bits, port::Tag tag, const Where& where) {
  system_.may_yield(where);
  check_peer(peer, "send_signal", where);
  check_tag(tag, "send_signal", where);
  IdealOperation operation;
  operation.kind = Kind::signal;
  operation.tag = tag;
  operation.peer = peer;
  std::memcpy(operation.line.data(), &bits, sizeof(bits));
  system_.start(operation);
}
std::uint32_t IdealCalls::wait_signal(const Where& where) {
  system_.may_yield(where);
  while (self_.signal == 0) system_.suspend("a signal", where);
  system_.may_yield(where);
  return std::exchange(self_.signal, 0);
}

std::uint32_t IdealCalls::fetch_add(std::uint32_t word, std::uint32_t value, const Where& where) {
  system_.may_yield(where);
  must(word < layout_.atomic_words, "fetch_add", "no such word", where);
  return std::exchange(system_.words_[word], system_.words_[word] + value);
}
std::uint32_t IdealCalls::load_word(std::uint32_t word, const Where& where) {
  system_.yield(where);
  must(word < layout_.atomic_words, "load_word", "no such word", where);
  return system_.words_[word];
}

void IdealCalls::write_mailbox(std::uint32_t value, const Where& where) {
  system_.may_yield(where);
  while (self_.outbox.size() == kOutbox) system_.suspend("room in its mailbox", where);
  self_.outbox.push_back(value);
  system_.wake(system_.coordinator_index());
}
std::uint32_t IdealCalls::read_mailbox(const Where& where) {
  system_.may_yield(where);
  while (self_.inbox.empty()) system_.suspend("a word in its mailbox", where);
  system_.wake(system_.coordinator_index());
  return take_front(self_.inbox);
}

// ---- the coordinator ----

int IdealCoordinator::waiting(int rank) const {
  return static_cast<int>(system_.ranks_[static_cast<std::size_t>(rank)]->outbox.size());
}
std::uint32_t IdealCoordinator::read(int rank, const std::source_location& where) {
  system_.may_yield(where);
  while (waiting(rank) == 0) system_.suspend("a word of a rank", where);
  system_.wake(rank);
  return take_front(system_.ranks_[static_cast<std::size_t>(rank)]->outbox);
}
void IdealCoordinator::write(int rank, std::uint32_t value, const std::source_location& where) {
  system_.may_yield(where);
  std::deque<std::uint32_t>& inbox = system_.ranks_[static_cast<std::size_t>(rank)]->inbox;
  while (inbox.size() == kInbox) system_.suspend("room in a rank's mailbox", where);
  inbox.push_back(value);
  system_.wake(rank);
}
void IdealCoordinator::wait_any(const std::source_location& where) {
  const auto some = [this] {
    for (int rank = 0; rank < system_.job_.ranks; ++rank) {
      if (waiting(rank) > 0) return true;
    }
    return false;
  };
  while (!some()) system_.suspend("a word of any rank", where);
}

void IdealCoordinator::fail(Status status) {
  system_.fail(std::move(status));
}

// ---- a run ----

IdealSystem::~IdealSystem() = default;

IdealFiber& IdealSystem::fiber(int index) {
  if (index == coordinator_index()) return coordinator_;
  return *ranks_[static_cast<std::size_t>(index)];
}

void IdealSystem::prepare_memory() {
  const port::Layout& layout = job_.layout;
  const std::size_t stage = round_up(layout.stage_bytes) + round_up(job_.local_bytes);
  const std::size_t lines16 = std::size_t{layout.lines16} * port::Line16::kBytes;
  const std::size_t lines128 = std::size_t{layout.lines128} * port::Line128::kBytes;
  while (ranks_.size() < static_cast<std::size_t>(job_.ranks)) ranks_.push_back(std::make_unique<IdealRank>());
  for (int index = 0; index < job_.ranks; ++index) {
    IdealRank& rank = *ranks_[static_cast<std::size_t>(index)];
    rank.memory.resize(stage + lines16 + lines128 + port::kStageAlignment);
    const auto begin = reinterpret_cast<std::uintptr_t>(rank.memory.data());
    rank.stage = rank.memory.data() + (0 - begin) % port::kStageAlignment;
    rank.lines16 = rank.stage + stage;
    rank.lines128 = rank.lines16 + lines16;
    std::memset(rank.stage, kPoison, stage);
    std::memset(rank.lines16, 0, lines16 + lines128);
    rank.writers.assign(layout.lines16 + layout.lines128, {});
    rank.under_way.clear();
    rank.waits_tags = 0;
    rank.waits_begin = rank.waits_end = nullptr;
    rank.signal = 0;
    rank.inbox.clear();
    rank.outbox.clear();
  }
  words_.assign(layout.atomic_words, 0);
}

/// Makes the fiber ready to call body_(index), or the coordinator, once.
void IdealSystem::begin(int index) {
  IdealFiber& here = fiber(index);
  here.begun = false;
  here.state = State::ready;
  ready_.push_back(index);
  if (here.fiber != nullptr) return;
  const bool coordinates = &here == &coordinator_;
  here.fiber = std::make_unique<sim::Fiber>(
      [this, &here, index, coordinates] {
        while (true) {
          run_program(coordinates ? -1 : index);
          here.state = State::ended;
          here.fiber->suspend();
        }
      },
      kStackBytes);
}

void IdealSystem::run_program(int rank) {
  try {
    if (rank >= 0) {
      body_(rank);
    } else {
      IdealCoordinator coordinator(*this);
      coordinate_(coordinator);
    }
  } catch (const Ends&) {
  } catch (const std::exception& error) {
    if (status_.ok()) status_ = invalid_input("rank " + std::to_string(rank) + ": " + error.what());
    ending_ = true;
  }
  if (rank >= 0) --running_ranks_;
}

Status IdealSystem::run_bodies(const IdealJob& job, const std::function<void(int)>& body,
                               const Coordinator& coordinator) {
  if (job.ranks < 1 || job.ranks > 32) {
    return bad_field("ideal job", "ranks", std::to_string(job.ranks), "1 to 32");
  }
  if (Result<cell::PortLayout> layout = cell::PortLayout::make(job.layout); !layout.ok()) return layout.status();
  job_ = job;
  body_ = body;
  coordinate_ = coordinator;
  rng_ = Rng(job.seed);
  status_ = {};
  ending_ = false;
  steps_ = 0;
  under_way_ = 0;
  running_ranks_ = job.ranks;
  ready_.clear();
  prepare_memory();
  coordinator_.state = State::ended;
  for (int rank = 0; rank < job.ranks; ++rank) begin(rank);
  if (coordinator) begin(coordinator_index());
  draw_mood();
  while (running_ranks_ > 0 && !ending_) step();
  end_all();
  return status_;
}

/// Unwinds the programs that have begun and not ended.
void IdealSystem::end_all() {
  ending_ = true;
  for (int index = 0; index <= coordinator_index(); ++index) {
    const IdealFiber& here = fiber(index);
    if (here.fiber != nullptr && here.begun && here.state != State::ended) resume(index);
  }
}

void IdealSystem::resume(int index) {
  IdealFiber& here = fiber(index);
  current_ = index;
  here.begun = true;
  here.fiber->resume();
  current_ = -1;
}

// ---- the adversary ----

void IdealSystem::draw_mood() {
  constexpr std::array<std::uint32_t, 6> kEager{0, 1, 2, 4, 7, 8};
  eager_ = kEager[static_cast<std::size_t>(rng_.below(kEager.size()))];
  slow_ = rng_.below(2) == 0 ? 0 : rng_.next();
}

void IdealSystem::step() {
  if (++steps_ > job_.max_steps) {
    status_ = invalid_input("no end after " + std::to_string(job_.max_steps) + " steps: " + waiting());
    ending_ = true;
    return;
  }
  if (!calm() && rng_.below(32) == 0) draw_mood();
  if (under_way_ > 0 && (ready_.empty() || rng_.below(8) < eager_)) {
    complete_any();
  } else if (!ready_.empty()) {
    resume(pick_ready());
  } else {
    status_ = invalid_input("deadlock: " + waiting());
    ending_ = true;
  }
}

int IdealSystem::pick_ready() {
  std::size_t which = 0;
  if (!calm()) {
    which = static_cast<std::size_t>(rng_.below(ready_.size()));
    for (int again = 0; again < 3 && (slow_ >> ready_[which] & 1U) != 0; ++again) {
      which = static_cast<std::size_t>(rng_.below(ready_.size()));
    }
  }
  const int index = ready_[which];
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(which));
  return index;
}

void IdealSystem::complete_any() {
  auto rank = static_cast<std::size_t>(rng_.below(static_cast<std::uint64_t>(job_.ranks)));
  while (ranks_[rank]->under_way.empty()) rank = (rank + 1) % static_cast<std::size_t>(job_.ranks);
  complete_any_of(static_cast<int>(rank));
}

/// A line or signal waits for what its rank started before under its tag: then the first of that completes.
void IdealSystem::complete_any_of(int index) {
  IdealRank& rank = *ranks_[static_cast<std::size_t>(index)];
  auto which = static_cast<std::size_t>(rng_.below(rank.under_way.size()));
  if (!moves(rank.under_way[which].kind)) {
    const port::Tag tag = rank.under_way[which].tag;
    which = 0;
    while (rank.under_way[which].tag != tag) ++which;
  }
  take_effect(rank.under_way[which]);
  rank.under_way.erase(rank.under_way.begin() + static_cast<std::ptrdiff_t>(which));
  --under_way_;
  if (rank.waits_tags != 0 && (tags_under_way(rank) & rank.waits_tags) == 0) wake(index);
}

void IdealSystem::start(const IdealOperation& operation) {
  if (calm()) return take_effect(operation);
  IdealRank& rank = *ranks_[static_cast<std::size_t>(current_)];
  if (rank.under_way.size() == kQueue) complete_any_of(current_);
  if (moves(operation.kind) && operation.to != operation.own) std::memset(operation.to, kPoison, operation.bytes);
  if (operation.too != nullptr) std::memset(operation.too, kPoison, operation.bytes);
  rank.under_way.push_back(operation);
  ++under_way_;
}

void IdealSystem::take_effect(const IdealOperation& operation) {
  if (operation.kind == Kind::copy) {
    std::memcpy(operation.to, operation.from, operation.bytes);
    return;
  }
  if (operation.kind == Kind::run) {
    std::memcpy(operation.to, operation.run.data(), operation.bytes);
    return;
  }
  if (operation.kind == Kind::combine) {
    const port::Combination& how = operation.how;
    return how.run(how.context, operation.from, operation.own, operation.to, operation.too, operation.bytes);
  }
  IdealRank& owner = *ranks_[static_cast<std::size_t>(operation.peer)];
  if (operation.kind == Kind::signal) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, operation.line.data(), sizeof(bits));
    owner.signal |= bits;
  } else {
    std::memcpy(operation.to, operation.line.data(), operation.bytes);
    if (operation.to < owner.waits_begin || operation.to >= owner.waits_end) return;
  }
  wake(operation.peer);
}

// ---- from inside a program ----

void IdealSystem::suspend(const char* waits_for, const std::source_location& where) {
  IdealFiber& here = fiber(current_);
  here.waits_for = waits_for;
  here.where = where;
  here.state = State::waits;
  here.fiber->suspend();
  if (ending_) throw Ends{};
}

void IdealSystem::yield(const std::source_location& where) {
  IdealFiber& here = fiber(current_);
  ready_.push_back(current_);
  here.waits_for = "its turn";
  here.where = where;
  here.fiber->suspend();
  if (ending_) throw Ends{};
}

void IdealSystem::may_yield(const std::source_location& where) {
  if (!calm() && rng_.below(4) == 0) yield(where);
}

/// May wake who waits for something else: every wait looks again.
void IdealSystem::wake(int index) {
  IdealFiber& here = fiber(index);
  if (here.state != State::waits) return;
  here.state = State::ready;
  ready_.push_back(index);
}

void IdealSystem::fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
  ending_ = true;
  throw Ends{};
}

std::string IdealSystem::waiting() const {
  std::string text;
  for (int rank = 0; rank < job_.ranks; ++rank) {
    const IdealRank& here = *ranks_[static_cast<std::size_t>(rank)];
    if (here.state == State::ended) continue;
    if (!text.empty()) text += "; ";
    text +=
        "rank " + std::to_string(rank) + " waits for " + here.waits_for + " (" + sim::place_of(here.where) + ")";
  }
  return text;
}

}  // namespace corewise::lab

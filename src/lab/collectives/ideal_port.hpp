// IdealPort: the port of a rank that is a fiber of this process, at no cost and with every capability, for tests of
// algorithms. What the contract of port/port.hpp leaves open is used against the algorithm; what it forbids is
// reported.
//
// Contract. IdealSystem::run(job, program) runs the program on every rank and says how that ended: well, or by the
// first mistake (the rank, the call and the place in its text), or by a deadlock (every rank and what it waits
// for), or without end. The same job and program give the same run. User memory is this process's memory; nothing
// checks its bounds (an address sanitizer does).
//   Adversarial (a seed other than 0). What a rank started completes later, one after the other in any order that
//     the fence allows. Until then the bytes at its destination are poisoned. What put, copy_out and write_user
//     move is read when they complete, what put_line and send_signal say is taken at the call. Payload bytes that
//     are not given are poisoned. Ranks stop at any call for any time; some run only while nobody else can.
//   Calm (seed 0). Everything completes at once, a rank runs until it blocks: fast.
// Mistakes: a place outside of stage and local memory; the places of a copy that overlap or are not congruent
// modulo the alignment; a peer, tag, line or word that is not there; a payload too long; a line with two writers or
// two tags; a layout that does not fit on the Cell. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/rng.hpp"
#include "base/status.hpp"
#include "port/capabilities.hpp"
#include "port/port.hpp"
#include "sim/fiber.hpp"

namespace corewise::lab {

struct IdealJob {
  int ranks = 1;
  port::Layout layout;
  std::uint32_t local_bytes = 0;  ///< of each rank: user memory that peers can copy to and from (in_place)
  std::uint64_t seed = 0;         ///< 0: calm
  std::uint64_t max_steps = 10'000'000;
  bool one_writer = true;       ///< a line that is written by two ranks or under two tags is a mistake
  std::uint32_t far_ranks = 0;  ///< bit r: rank r's user memory is far from it (port::NearAndFar)
};

class IdealSystem;

/// What a rank and the coordinator have in common: a fiber that can wait.
struct IdealFiber {
  enum class State : std::uint8_t { ready, waits, ended };

  std::unique_ptr<sim::Fiber> fiber;
  State state = State::ended;
  bool begun = false;
  const char* waits_for = "";
  std::source_location where;
};

/// Something started and not complete.
struct IdealOperation {
  enum class Kind : std::uint8_t { copy, combine, line16, line128, run, signal };

  Kind kind = Kind::copy;
  port::Tag tag = 0;
  std::uint32_t bytes = 0;
  int peer = 0;             ///< whose line or register
  std::uint32_t index = 0;  ///< of the line
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  const std::byte* own = nullptr;  ///< of a combination: the other operand, the second place, how
  std::byte* too = nullptr;
  port::Combination how;
  std::array<std::byte, port::Line128::kBytes> line{};  ///< as it will be; a signal's bits
  std::vector<std::byte> run;                           ///< as it will be
};

struct IdealRank : IdealFiber {
  struct Writer {
    int rank = -1;
    port::Tag tag = 0;
  };

  std::vector<std::byte> memory;
  std::byte* stage = nullptr;  ///< the local memory lies behind it
  std::byte* lines16 = nullptr;
  std::byte* lines128 = nullptr;
  std::vector<Writer> writers;  ///< of the lines of 16, then of those of 128 bytes
  std::vector<IdealOperation> under_way;
  port::TagMask waits_tags = 0;
  const std::byte* waits_begin = nullptr;  ///< the lines that it waits for
  const std::byte* waits_end = nullptr;
  std::uint32_t signal = 0;
  std::deque<std::uint32_t> inbox, outbox;
};

/// What one rank's program calls. The alignment is a value here and a constant in IdealPortOf.
class IdealCalls {
 public:
  using Where = std::source_location;
  using UserAddress = std::byte*;
  using ConstUserAddress = const std::byte*;
  struct UserPiece {
    std::byte* at = nullptr;
    std::uint32_t bytes = 0;
  };

  IdealCalls(IdealSystem& system, int rank, std::uint32_t alignment);
  IdealCalls(const IdealCalls&) = delete;
  IdealCalls& operator=(const IdealCalls&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] const port::Layout& layout() const { return layout_; }
  [[nodiscard]] std::span<std::byte> stage() { return {self_.stage, layout_.stage_bytes}; }
  /// The own user memory that in_place knows.
  [[nodiscard]] std::span<std::byte> local();
  /// Lets others run, about so many times.
  void pause(int times, const Where& where = Where::current());

  void put_line(int peer, port::Line16 line, port::Sequence sequence, std::span<const std::byte> payload,
                port::Tag tag, const Where& where = Where::current());
  void put_line(int peer, port::Line128 line, port::Sequence sequence, std::span<const std::byte> payload,
                port::Tag tag, const Where& where = Where::current());
  template <class L>
  [[nodiscard]] port::Sequence line_sequence(L line) const {
    return read_sequence(at(line));
  }
  template <class L>
  [[nodiscard]] std::span<const std::byte, L::kPayloadBytes> line_payload(L line) const {
    return std::span<const std::byte, L::kPayloadBytes>(at(line) + sizeof(port::Sequence), L::kPayloadBytes);
  }
  template <class L, class Ready>
  void wait_lines(L first, std::uint32_t count, Ready&& ready, const Where& where = Where::current()) {
    may_be_late(where);
    while (!ready()) block_on_lines(count == 0 ? nullptr : at(first), count * L::kBytes, where);
    may_be_late(where);
  }

  // port::LineRuns
  void put_run(int peer, port::Line128 first, std::span<const std::byte> data, port::Tag tag,
               const Where& where = Where::current());
  [[nodiscard]] std::span<const std::byte> run(port::Line128 first, std::uint32_t bytes) const {
    return {at(first), bytes};
  }

  void get(port::Remote from, port::StageOffset to, std::uint32_t bytes, port::Tag tag,
           const Where& where = Where::current());
  void put(port::StageOffset from, port::Remote to, std::uint32_t bytes, port::Tag tag,
           const Where& where = Where::current());
  void copy_in(const std::byte* from, port::StageOffset to, std::uint32_t bytes, port::Tag tag,
               const Where& where = Where::current());
  void copy_out(port::StageOffset from, std::byte* to, std::uint32_t bytes, port::Tag tag,
                const Where& where = Where::current());
  void wait(port::TagMask mask, const Where& where = Where::current());
  [[nodiscard]] port::TagMask test(port::TagMask mask, const Where& where = Where::current());
  void compute(std::int64_t cycles, const Where& where = Where::current());

  // port::DirectRead, DirectWrite, UserMemoryInPlace
  void read_user(int peer, const std::byte* from, port::StageOffset to, std::uint32_t bytes, port::Tag tag,
                 const Where& where = Where::current());
  void write_user(int peer, port::StageOffset from, std::byte* to, std::uint32_t bytes, port::Tag tag,
                  const Where& where = Where::current());
  [[nodiscard]] std::optional<port::StageOffset> in_place(const std::byte* user, std::uint32_t bytes) const;

  // port::PeerStageRead, PeerStageCombine
  void get_user(port::Remote from, std::byte* to, std::uint32_t bytes, port::Tag tag,
                const Where& where = Where::current());
  void combine_user(port::Remote theirs, const std::byte* own, std::byte* to, std::optional<port::StageOffset> too,
                    const port::Combination& how, std::uint32_t bytes, port::Tag tag,
                    const Where& where = Where::current());

  // port::PeerUserCopy. An adversarial run refuses now and then.
  std::uint64_t pull(int peer, const std::byte* from, std::byte* to, std::uint64_t bytes,
                     const Where& where = Where::current());
  std::uint64_t push(int peer, const std::byte* from, std::byte* to, std::uint64_t bytes,
                     const Where& where = Where::current());

  // port::NearAndFar
  [[nodiscard]] bool far(const std::byte* user) const;

  // port::SignalRegister
  void send_signal(int peer, std::uint32_t bits, port::Tag tag, const Where& where = Where::current());
  std::uint32_t wait_signal(const Where& where = Where::current());

  // port::DmaLists
  void put_line_list(std::span<const int> peers, port::Line16 line, port::Sequence sequence,
                     std::span<const std::byte> payload, port::Tag tag, const Where& where = Where::current());
  void copy_in_list(std::span<const UserPiece> pieces, port::StageOffset to, port::Tag tag,
                    const Where& where = Where::current());
  void copy_out_list(port::StageOffset from, std::span<const UserPiece> pieces, port::Tag tag,
                     const Where& where = Where::current());

  // port::AtomicWords
  std::uint32_t fetch_add(std::uint32_t word, std::uint32_t value, const Where& where = Where::current());
  std::uint32_t load_word(std::uint32_t word, const Where& where = Where::current());

  // port::Mailboxes
  void write_mailbox(std::uint32_t value, const Where& where = Where::current());
  std::uint32_t read_mailbox(const Where& where = Where::current());

 private:
  [[nodiscard]] const std::byte* at(port::Line16 line) const {
    if (line.index >= layout_.lines16) no_line(line.index);
    return self_.lines16 + std::size_t{line.index} * port::Line16::kBytes;
  }
  [[nodiscard]] const std::byte* at(port::Line128 line) const {
    if (line.index >= layout_.lines128) no_line(line.index);
    return self_.lines128 + std::size_t{line.index} * port::Line128::kBytes;
  }
  static port::Sequence read_sequence(const std::byte* line);
  [[noreturn]] void no_line(std::uint32_t index) const;
  void may_be_late(const Where& where);
  void block_on_lines(const std::byte* begin, std::uint32_t bytes, const Where& where);

  void must(bool holds, const char* call, const char* rule, const Where& where) const;
  void check_peer(int peer, const char* call, const Where& where) const;
  void check_tag(port::Tag tag, const char* call, const Where& where) const;
  std::byte* place(const char* call, port::Remote remote, std::uint32_t bytes, const Where& where) const;
  void copy(const char* call, const std::byte* from, std::byte* to, std::uint32_t bytes, port::Tag tag,
            const Where& where);
  void write_line(IdealOperation::Kind kind, int peer, std::uint32_t index, port::Sequence sequence,
                  std::span<const std::byte> payload, port::Tag tag, const Where& where);
  void check_writer(const char* call, int peer, std::uint32_t line, port::Tag tag, const Where& where) const;
  void check_list(const char* call, std::span<const UserPiece> pieces, const Where& where) const;

  IdealSystem& system_;
  IdealRank& self_;
  const port::Layout& layout_;
  int rank_;
  int size_;
  std::uint32_t alignment_;
};

/// With the Cell's alignment of 16; or 1 as on a host, where user memory is at hand, too.
template <std::uint32_t kAlignment>
class IdealPortOf : public IdealCalls {
 public:
  static constexpr std::uint32_t kCopyAlignment = kAlignment;
  static constexpr bool kUserMemoryAtHand = kAlignment == 1;

  IdealPortOf(IdealSystem& system, int rank) : IdealCalls(system, rank, kAlignment) {}
};
using IdealPort = IdealPortOf<16>;

/// The other end of the mailboxes: what a PPE's program sees. A rank's mailbox to it holds 1 word, the one back 4,
/// as on the Cell.
class IdealCoordinator {
 public:
  explicit IdealCoordinator(IdealSystem& system) : system_(system) {}

  /// Words that this rank has written and nobody has read.
  [[nodiscard]] int waiting(int rank) const;
  /// Blocks while there is none; while the rank's mailbox is full.
  std::uint32_t read(int rank, const std::source_location& where = std::source_location::current());
  void write(int rank, std::uint32_t value, const std::source_location& where = std::source_location::current());
  /// Blocks until some rank has written.
  void wait_any(const std::source_location& where = std::source_location::current());
  /// Ends the run: IdealSystem::run() returns `status`.
  [[noreturn]] void fail(Status status);

 private:
  IdealSystem& system_;
};

/// Ranks, their memory and fibers; made once and used for many runs.
class IdealSystem {
 public:
  using Coordinator = std::function<void(IdealCoordinator&)>;
  static constexpr std::size_t kStackBytes = 256 * 1024;

  IdealSystem() = default;
  ~IdealSystem();
  IdealSystem(const IdealSystem&) = delete;
  IdealSystem& operator=(const IdealSystem&) = delete;

  /// The coordinator need not end: it is ended when all ranks have ended.
  template <std::uint32_t kAlignment = IdealPort::kCopyAlignment>
  Status run(const IdealJob& job,
             const std::type_identity_t<std::function<void(IdealPortOf<kAlignment>&)>>& program,
             const Coordinator& coordinator = {}) {
    return run_bodies(
        job,
        [this, &program](int rank) {
          IdealPortOf<kAlignment> port(*this, rank);
          program(port);
        },
        coordinator);
  }

  /// Of the last run.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  friend class IdealCalls;
  friend class IdealCoordinator;
  struct Ends {};  ///< thrown through a program whose run is over

  Status run_bodies(const IdealJob& job, const std::function<void(int)>& body, const Coordinator& coordinator);
  void prepare_memory();
  void begin(int index);
  void run_program(int rank);
  void step();
  void resume(int index);
  void end_all();

  void draw_mood();
  int pick_ready();
  void complete_any();
  void complete_any_of(int index);
  void take_effect(const IdealOperation& operation);
  void wake(int index);

  // From inside a program:
  void start(const IdealOperation& operation);
  void suspend(const char* waits_for, const std::source_location& where);
  void yield(const std::source_location& where);
  void may_yield(const std::source_location& where);
  [[noreturn]] void fail(Status status);

  [[nodiscard]] bool calm() const { return job_.seed == 0; }
  [[nodiscard]] int coordinator_index() const { return job_.ranks; }
  [[nodiscard]] IdealFiber& fiber(int index);
  [[nodiscard]] std::string waiting() const;

  IdealJob job_;
  std::vector<std::unique_ptr<IdealRank>> ranks_;
  IdealFiber coordinator_;
  std::vector<std::uint32_t> words_;
  std::function<void(int)> body_;
  Coordinator coordinate_;
  Rng rng_{1};
  // Who can run (in a calm run, in turn); how many operations are under way.
  std::vector<int> ready_;
  std::size_t under_way_ = 0;
  // How the adversary is disposed: of 8 steps, how many are completions; who runs only while nobody else can.
  std::uint32_t eager_ = 0;
  std::uint64_t slow_ = 0;
  int current_ = -1;
  int running_ranks_ = 0;
  bool ending_ = false;
  std::uint64_t steps_ = 0;
  Status status_;
};

static_assert(port::Port<IdealPort> && port::DirectRead<IdealPort> && port::DirectWrite<IdealPort>);
static_assert(port::PeerStageRead<IdealPort> && port::PeerStageCombine<IdealPort> && port::PeerUserCopy<IdealPort>);
static_assert(port::UserMemoryInPlace<IdealPort> && port::SignalRegister<IdealPort> && port::DmaLists<IdealPort>);
static_assert(port::LineRuns<IdealPort>);
static_assert(port::AtomicWords<IdealPort> && port::Mailboxes<IdealPort> && port::NearAndFar<IdealPort>);

}  // namespace corewise::lab

// CellPort: the port of a rank on a simulated SPE. Stage and control lines lie in the local store, copies are DMA
// commands, a line is written by a fenced put of the whole line (atomic, being at most 128 bytes) and polled in the
// local store.
//
// Contract: port/port.hpp. What a rank takes of its local store is a value, PortLayout, that says how many bytes it
// is; it never exceeds the room that it is given. Copies between places congruent modulo 16 are cut into what the
// MFC takes; others end the run with its alignment error. A line's bytes are copied into a slot of their own at the
// call, since the MFC reads them when it executes the command; a slot is used again only when its command is
// complete. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "cell/address.hpp"
#include "cell/spe/spu.hpp"
#include "port/capabilities.hpp"
#include "port/port.hpp"

namespace corewise::cell {

class System;

/// What a rank may take of its local store beside its code, if nobody says otherwise.
inline constexpr std::uint32_t kPortBudgetBytes = 36 * 1024;

/// Where a rank's things lie in its local store; equal on all ranks. In the order of the addresses.
struct PortLayout {
  /// Slots from which lines are sent: as many commands can be under way without a wait.
  static constexpr std::uint32_t kSlots16 = 32;
  static constexpr std::uint32_t kSlots128 = 4;
  /// Elements of one list command.
  static constexpr std::uint32_t kListElements = 32;

  port::Layout of;
  LsAddress lines128 = 0;
  LsAddress slots128 = 0;
  LsAddress atomic_line = 0;
  LsAddress stage = 0;
  LsAddress lines16 = 0;
  LsAddress slots16 = 0;
  LsAddress list = 0;
  LsAddress end = 0;
  std::uint32_t bytes = 0;  ///< that it takes

  /// Lays it out from `begin` on (a multiple of 128), by default at the top of the local store. Fails when it takes
  /// more than `most` bytes or goes beyond the local store.
  static Result<PortLayout> make(const port::Layout& of, LsAddress begin = kLocalStoreBytes - kPortBudgetBytes,
                                 std::uint32_t most = kPortBudgetBytes);
};

/// What the ranks of a job agree on: who sits on which SPE, the layout, where the shared words are.
struct PortJob {
  std::vector<int> spes;  ///< of each rank
  PortLayout layout;
  EffectiveAddress words = 0;

  /// Prepares `system`: allocates the shared words in the first memory, sets signal register 1 of every SPE in the
  /// job to OR mode. Fails for an SPE that is not there or given twice, no ranks, a layout that does not fit into
  /// the last `room` bytes of a local store, a multiple of 128.
  static Result<PortJob> make(System& system, std::vector<int> spes, const port::Layout& layout,
                              std::uint32_t room = kPortBudgetBytes);

  [[nodiscard]] int size() const { return static_cast<int>(spes.size()); }
};

/// Slots of the local store from which lines are sent, used in turn in two halves: on entering a half, all that was
/// sent from it is complete. One wait of a few cycles per half, none per line.
class SlotRing {
 public:
  SlotRing(LsAddress begin, std::uint32_t slot_bytes, std::uint32_t slots)
      : begin_(begin), slot_bytes_(slot_bytes), half_(slots / 2) {}

  /// A slot for one command under `tag`.
  LsAddress take(Spu& spu, port::Tag tag, const std::source_location& where);
  /// A whole half, for one command under `tag`.
  LsAddress take_half(Spu& spu, port::Tag tag, const std::source_location& where);
  /// All that was sent under these tags is complete: nobody has to wait for it again.
  void completed(port::TagMask tags) {
    for (port::TagMask& half : under_way_) half &= ~tags;
  }
  [[nodiscard]] std::uint32_t half() const { return half_; }

 private:
  LsAddress begin_;
  std::uint32_t slot_bytes_;
  std::uint32_t half_;
  std::uint32_t next_ = 0;
  std::array<port::TagMask, 2> under_way_{};
};

class CellPort {
 public:
  using Where = std::source_location;
  using UserAddress = EffectiveAddress;
  using ConstUserAddress = EffectiveAddress;
  static constexpr std::uint32_t kCopyAlignment = 16;

  /// For a list: `bytes` a multiple of 16 up to 16 KB, `at` a multiple of 16.
  struct UserPiece {
    EffectiveAddress at = 0;
    std::uint32_t bytes = 0;
  };

  /// `job` must outlive the port; `spu` is that of job.spes[rank].
  CellPort(Spu& spu, const PortJob& job, int rank);

  [[nodiscard]] Spu& spu() { return spu_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return job_.size(); }
  [[nodiscard]] const port::Layout& layout() const { return job_.layout.of; }
  [[nodiscard]] std::span<std::byte> stage() { return spu_.ls(job_.layout.stage, layout().stage_bytes); }

  void put_line(int peer, port::Line16 line, port::Sequence sequence, std::span<const std::byte> payload,
                port::Tag tag, const Where& where = Where::current());
  void put_line(int peer, port::Line128 line, port::Sequence sequence, std::span<const std::byte> payload,
                port::Tag tag, const Where& where = Where::current());
  template <class L>
  [[nodiscard]] port::Sequence line_sequence(L line) const {
    return spu_.load<port::Sequence>(address_of(line));
  }
  template <class L>
  [[nodiscard]] std::span<const std::byte, L::kPayloadBytes> line_payload(L line) const {
    const LsAddress at = address_of(line) + sizeof(port::Sequence);
    return std::span<const std::byte, L::kPayloadBytes>(spu_.ls(at, L::kPayloadBytes));
  }
  template <class L, class Ready>
  void wait_lines(L first, std::uint32_t count, Ready&& ready, const Where& where = Where::current()) {
    spu_.poll(
        address_of(first), count * L::kBytes, [&](std::span<const std::byte>) { return ready(); },
        "a control line of its port", where);
  }

  void get(port::Remote from, port::StageOffset to, std::uint32_t bytes, port::Tag tag,
           const Where& where = Where::current());
  void put(port::StageOffset from, port::Remote to, std::uint32_t bytes, port::Tag tag,
           const Where& where = Where::current());
  void copy_in(EffectiveAddress from, port::StageOffset to, std::uint32_t bytes, port::Tag tag,
               const Where& where = Where::current());
  void copy_out(port::StageOffset from, EffectiveAddress to, std::uint32_t bytes, port::Tag tag,
                const Where& where = Where::current());
  void wait(port::TagMask mask, const Where& where = Where::current());
  [[nodiscard]] port::TagMask test(port::TagMask mask);
  /// Counted cycles; compiled code takes Parameters::spu_code_percent of them.
  void compute(std::int64_t cycles) { spu_.spu_cycles((cycles * code_percent_ + 50) / 100); }
  /// Counted cycles that take so many in compiled code, to a rounding.
  [[nodiscard]] std::int64_t counted(std::int64_t cycles) const {
    return (100 * cycles + code_percent_ / 2) / code_percent_;
  }

  // port::DirectRead: all user memory is main memory.
  void read_user(int /*peer*/, EffectiveAddress from, port::StageOffset to, std::uint32_t bytes, port::Tag tag,
                 const Where& where = Where::current()) {
    copy_in(from, to, bytes, tag, where);
  }

  // port::DirectWrite.
  void write_user(int /*peer*/, port::StageOffset from, EffectiveAddress to, std::uint32_t bytes, port::Tag tag,
                  const Where& where = Where::current()) {
    copy_out(from, to, bytes, tag, where);
  }
  // port::UserMemoryInPlace: what lies in the own local store. The offset counts from the stage and wraps.
  [[nodiscard]] std::optional<port::StageOffset> in_place(EffectiveAddress user, std::uint32_t bytes) const;

  // port::NearAndFar: the other chip's main memory.
  [[nodiscard]] bool far(EffectiveAddress user) const {
    const Location place = locate(user);
    return place.kind == Location::Kind::memory && place.index != spu_.chip();
  }

  // port::SignalRegister: signal notification register 1.
  void send_signal(int peer, std::uint32_t bits, port::Tag tag, const Where& where = Where::current());
  std::uint32_t wait_signal(const Where& where = Where::current()) { return spu_.spu_read_signal1(where); }

  // port::DmaLists. At most 16 peers.
  void put_line_list(std::span<const int> peers, port::Line16 line, port::Sequence sequence,
                     std::span<const std::byte> payload, port::Tag tag, const Where& where = Where::current());
  void copy_in_list(std::span<const UserPiece> pieces, port::StageOffset to, port::Tag tag,
                    const Where& where = Where::current());
  void copy_out_list(port::StageOffset from, std::span<const UserPiece> pieces, port::Tag tag,
                     const Where& where = Where::current());

  // port::AtomicWords: each in a line of its own in the first main memory.
  std::uint32_t fetch_add(std::uint32_t word, std::uint32_t value, const Where& where = Where::current());
  std::uint32_t load_word(std::uint32_t word, const Where& where = Where::current());

  // port::Mailboxes: the PPE's.
  void write_mailbox(std::uint32_t value, const Where& where = Where::current()) {
    spu_.spu_write_out_mbox(value, where);
  }
  std::uint32_t read_mailbox(const Where& where = Where::current()) { return spu_.spu_read_in_mbox(where); }

 private:
  enum class Way : std::uint8_t { in, out };

  [[nodiscard]] LsAddress address_of(port::Line16 line) const {
    return job_.layout.lines16 + line.index * port::Line16::kBytes;
  }
  [[nodiscard]] LsAddress address_of(port::Line128 line) const {
    return job_.layout.lines128 + line.index * port::Line128::kBytes;
  }
  [[nodiscard]] EffectiveAddress base_of(int peer) const {
    return ls_address(job_.spes[static_cast<std::size_t>(peer)]);
  }
  [[nodiscard]] EffectiveAddress remote(port::Remote place) const {
    return base_of(place.peer) + LsAddress{job_.layout.stage + place.at};  // in 32 bits: see in_place
  }
  void fill(LsAddress slot, port::Sequence sequence, std::span<const std::byte> payload);
  void transfer(Way way, LsAddress ls, EffectiveAddress ea, std::uint32_t bytes, port::Tag tag, const Where& where);
  void transfer_list(Way way, LsAddress ls, std::span<const UserPiece> pieces, port::Tag tag, const Where& where);
  /// Fills the list with pieces that one command can take; returns how many.
  std::size_t fill_list(std::span<const UserPiece> pieces, port::Tag tag, const Where& where);
  EffectiveAddress read_word_line(std::uint32_t word, const Where& where);

  Spu& spu_;
  const PortJob& job_;
  int rank_;
  std::int64_t code_percent_;
  SlotRing slots16_;
  SlotRing slots128_;
  port::TagMask list_under_way_ = 0;
};

static_assert(port::Port<CellPort>);
static_assert(port::DirectRead<CellPort> && port::DirectWrite<CellPort> && port::UserMemoryInPlace<CellPort> &&
              port::NearAndFar<CellPort>);
static_assert(port::SignalRegister<CellPort> && port::DmaLists<CellPort> && port::AtomicWords<CellPort> &&
              port::Mailboxes<CellPort>);

/// Puts one rank on every SPE of the job: program(port), named "rank 0" and so on. `job` must outlive the run.
void run_ranks(System& system, const PortJob& job, const std::function<void(CellPort&)>& program);

/// The greatest command that moves the next bytes of a copy of `bytes` from an address whose low bits are those of
/// `at`: 1, 2, 4 or 8 bytes up to a multiple of 16, multiples of 16 up to 16 KB from there on.
std::uint32_t command_bytes(std::uint64_t at, std::uint32_t bytes);

}  // namespace corewise::cell

// MessageLibrary: the message passing of paper 002 (section 2.2) as text for an SPE: a matrix of notifications and
// acknowledgements in main memory, one row per receiver, polled by one mfc_get; a packet then goes from the
// sender's local store to the receiver's by one mfc_get; a buffer per peer on both sides; addresses fixed
// beforehand.
//
// Owns the protocol of one SPE. Invariant: an entry of the matrix has one writer, so a writer always writes all of
// it; a notification or an acknowledgement is a bit that flips, since at most one packet per pair is under way.
// Every variable that lives across a blocking call is a member, so that append_state() is the whole state of the
// library on this SPE. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cell/spe/spu.hpp"

namespace corewise::lab {

inline constexpr int kMostTasks = 8;

/// Where notifications and acknowledgements lie. The default is what the paper's text suggests: one matrix, one
/// line of 128 B per row, an entry of 16 B that carries both.
struct MatrixLayout {
  /// From entry to entry of a row: 4 (two halves of 16 bits), 8, 16 or 32. Shorter ones make shorter rows, of which
  /// several can lie in one line.
  std::uint32_t entry_bytes = 16;
  std::uint32_t row_bytes = 128;  ///< from row to row: a multiple of 16 that holds every entry, at most 1024
  bool separate_acknowledgements = false;  ///< acknowledges in a second matrix of the same shape
  bool one_packet_per_poll = false;        ///< a turn fetches only the first notified packet of the row
  bool notify_local_store = false;  ///< entries are put into the peer's local store, polled there without DMA
};

/// What the program computes, in core cycles: declared, not measured. The copies take at least two cycles per
/// quadword, since loads and stores share the SPU's odd pipeline; the rest are orders of magnitude for some dozens
/// of instructions.
struct LibraryCosts {
  std::int64_t scan_cycles = 80;  ///< looking through a fetched row
  std::int64_t call_cycles = 40;  ///< a send or a receive, besides its copy
  std::int64_t copy_cycles_per_quadword = 2;
  std::int64_t pause_cycles = 0;  ///< between two polls ("from time to time")
};

/// What all tasks of a run agree on.
struct LibraryPlan {
  MatrixLayout layout;
  LibraryCosts costs;
  std::uint32_t packet_bytes = 1024;            ///< a multiple of 16, at most 2048
  std::vector<int> spe_of_thread;               ///< rows and entries are numbered by thread
  cell::EffectiveAddress matrix = 0;            ///< of notifications, in main memory
  cell::EffectiveAddress acknowledgements = 0;  ///< the second matrix, where there is one
};

/// Bytes of one matrix.
std::uint32_t matrix_bytes(const MatrixLayout& layout, int threads);

class MessageLibrary {
 public:
  /// Buffers of the program itself: `user_buffer(n)` for n = 0, 1.
  static cell::LsAddress user_buffer(int index);

  /// Made by the program that uses it: it notes where that program is.
  MessageLibrary(cell::Spu& spu, const LibraryPlan& plan, int self)
      : spu_(spu), program_(*spu.engine().current()), plan_(plan), self_(self) {}

  /// Whether the send buffer to `peer` is free.
  [[nodiscard]] bool can_send(int peer) const { return at(peer).sent == at(peer).acknowledged; }
  /// Copies the packet at `from` into the send buffer and notifies `peer`; requires can_send(peer).
  void send(int peer, cell::LsAddress from);
  /// Whether a packet of `peer` lies in the receive buffer.
  [[nodiscard]] bool has_packet(int peer) const { return at(peer).full; }
  /// Copies the packet of `peer` to `to` and frees the receive buffer; requires has_packet(peer).
  void receive(int peer, cell::LsAddress to);
  /// One turn: fetches the row, marks acknowledged buffers free, fetches the notified packets, acknowledges them.
  void poll();

  /// Appends every live variable and the words of the local store that steer.
  void append_state(std::vector<std::int64_t>& state);
  /// Local store addresses of the receive buffers that hold a packet.
  [[nodiscard]] std::vector<std::int64_t> full_buffers() const;
  /// Turns of poll() so far.
  [[nodiscard]] std::int64_t polls() const { return polls_; }

 private:
  /// What an entry carries; the bits flip.
  struct Entry {
    std::uint16_t notified = 0;
    std::uint16_t acknowledged = 0;
  };
  struct Channel {
    std::uint32_t sent = 0;          ///< the bit that the last packet to the peer carried
    std::uint32_t acknowledged = 0;  ///< the last bit that the peer acknowledged
    std::uint32_t received = 0;      ///< the last bit taken from the peer
    bool full = false;               ///< the receive buffer holds a packet
    bool arriving = false;           ///< a packet is being fetched
  };

  [[nodiscard]] Channel& at(int peer) { return channels_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] const Channel& at(int peer) const { return channels_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] int threads() const { return static_cast<int>(plan_.spe_of_thread.size()); }
  void fetch_row();
  void scan();
  void take(int peer, const Entry& entry);
  void finish_transfers();
  [[nodiscard]] bool arriving() const;
  void publish(int peer, bool acknowledgement);
  void copy(cell::LsAddress from, cell::LsAddress to);
  [[nodiscard]] Entry entry_of(int peer);
  void here(int place, int peer = 0);

  cell::Spu& spu_;
  const sim::Process& program_;
  const LibraryPlan& plan_;
  int self_;
  int place_ = 0;  ///< in this text; with the waits since then, exactly where the program is
  std::uint64_t place_waits_ = 0;
  std::array<Channel, kMostTasks> channels_{};
  std::int64_t polls_ = 0;
};

}  // namespace corewise::lab

// Eager: messages of up to 12, 124 or 136 bytes, or more, inside the write of the metadata entry (paper 001,
// section 8, future work i). Message number m to a peer goes into slot m modulo the number of slots: into a line of
// 16 bytes, into as many of 128 as the shape has, or into both; the reader copies it out and acknowledges late, so
// that a fast writer may be several calls ahead and waits only when it would overwrite a slot that has not been
// read (future work ii: counters, no closing barrier). Where the shape has runs (port::LineRuns), a message that is
// longer than a slot lies in one of them, and its slot has the number alone.
//
// Both ends know the length. Messages from one rank to another are received in the order in which they were sent.
// After receive() the reader acknowledge()s (best off the critical path, but before its call ends). In an exchange,
// where two ranks send each other one message each and then receive, that is not needed with two slots or more:
// receive_exchanged() knows that the peer has read all but the last. Where messages go to and fro one at a time,
// receive_in_turn() knows that it has read them all. A reader keeps count of what its writer knows for certain, so
// that calls of all kinds may follow each other: before it waits for a message that the writer may not dare to send
// it acknowledges what it has read. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <vector>

#include "coll/building/cost.hpp"
#include "coll/building/partners.hpp"
#include "coll/building/shape.hpp"
#include "kernels/copy/copy.hpp"
#include "port/capabilities.hpp"
#include "port/wait.hpp"

namespace corewise::coll {

template <port::Port P>
class Eager {
 public:
  using Where = std::source_location;

  /// `partners`: null where the shape has lines between all ranks; must outlive this.
  Eager(P& port, const Shape& shape, const Partners* partners = nullptr)
      : port_(port),
        slots_(shape.eager_slots),
        lines128_(shape.eager_lines128),
        slot_bytes_(shape.eager_slot_bytes()),
        most_bytes_(shape.eager_bytes()),
        runs_(shape.eager_runs()),
        run_lines_(shape.run_lines()),
        first_run_(shape.first_run()),
        first_short_(shape.eager_lines()),
        short_step_(shape.slots_step()),
        first_acknowledgement_(shape.eager_acknowledgements()),
        acknowledgements_(port.rank(), partners, shape.entry_step()),
        entries_(port.rank(), partners),
        peers_(shape.eager_slots > 0 ? static_cast<std::size_t>(port.size()) : 0) {
    assert(runs_ == 0 || port::LineRuns<P>);
  }

  [[nodiscard]] bool fits(std::uint64_t bytes) const { return slots_ > 0 && bytes <= most_bytes_; }

  /// Sends `data` (fits) to `peer`; blocks while all slots are unread. `data` may be changed at once.
  void send(int peer, std::span<const std::byte> data, const Where& where = Where::current()) {
    assert(fits(data.size()));
    if constexpr (port::LineRuns<P>) {
      if (data.size() > slot_bytes_) return send_run(peer, data, where);
    }
    prepare(peer, where);
    send_prepared(peer, data);
  }

  /// The part of send() that needs no data: takes a slot for what send_prepared() will send to `peer` next; blocks
  /// while it is unread. Ranks of a tree may do so before they receive from their parents: these waits go down the
  /// tree, and leaves, which prepare nothing, acknowledge when they receive.
  void prepare(int peer, const Where& where = Where::current()) {
    wait_for_slot(peer, ++of(peer).sent - slots_, where);
    port_.compute(cost::kAddress);
  }
  /// `data` fits into a slot, not into a run alone.
  void send_prepared(int peer, std::span<const std::byte> data) {
    assert(data.size() <= slot_bytes_);
    const port::Sequence number = of(peer).sent;
    port_.compute(cost::kFill);
    const Parts parts = split(data.size());
    const std::uint32_t mine = entries_.there(peer);
    for_long_lines(mine, number, parts, [&](port::Line128 line, std::size_t begin, std::size_t bytes) {
      port_.put_line(peer, line, number, data.subspan(begin, bytes), metadata_tag(peer));
    });
    if (parts.has_short) {
      port_.put_line(peer, short_slot(mine, number), number, data.subspan(parts.long_bytes), second_tag(peer));
    }
  }

  /// Blocks until the next message of `peer` is there and copies it to `into`, whose size is its length.
  void receive(int peer, std::span<std::byte> into, const Where& where = Where::current()) {
    if constexpr (port::LineRuns<P>) {
      if (into.size() > slot_bytes_) return receive_run(peer, into, where);
    }
    const port::Sequence number = next_of(peer, slots_);
    const Parts parts = split(into.size());
    const std::uint32_t theirs = entries_.here(peer);
    const auto take_short = [&] {
      if (parts.has_short) take(short_slot(theirs, number), number, into.subspan(parts.long_bytes), where);
    };
    const auto take_long = [&](port::Line128 line, std::size_t begin, std::size_t bytes) {
      take(line, number, into.subspan(begin, bytes), where);
    };
    if constexpr (port::UserMemoryAtHand<P>) {  // a host's: seen in the order of writing, so one wait is for all
      take_short();
      for_long_lines<true>(theirs, number, parts, take_long);
    } else {
      for_long_lines(theirs, number, parts, take_long);
      take_short();
    }
    port_.compute(cost::kHear);
  }

  /// Tells `peer` how far it has been read, where that is due: where half of the slots are read and it does not
  /// know.
  void acknowledge(int peer) {
    const port::Sequence due = of(peer).told + std::max(1U, slots_ / 2);
    if (port::reached(of(peer).received, due)) tell_read(peer);
  }

  /// receive() of what `peer` sent in exchange for this rank's last message to it; acknowledges where it must.
  void receive_exchanged(int peer, std::span<std::byte> into, const Where& where = Where::current()) {
    receive(peer, into, where);
    if (slots_ < 2) {
      acknowledge(peer);
      return;
    }
    Peer& with = of(peer);
    raise(with.acknowledged, with.sent - 1);
    raise(with.told, with.received - 1);  // it takes what this rank sent for the same
  }

  /// receive() of a message that `peer` sent when it had received all that this rank has sent to it: a question
  /// that will be answered, or an answer.
  void receive_in_turn(int peer, std::span<std::byte> into, const Where& where = Where::current()) {
    receive(peer, into, where);
    Peer& with = of(peer);
    raise(with.acknowledged, with.sent);
    raise(with.told, with.received - 1);
  }

  [[nodiscard]] port::Sequence sent(int peer) const { return peers_[at(peer)].sent; }
  [[nodiscard]] port::Sequence received(int peer) const { return peers_[at(peer)].received; }

 private:
  struct Parts {
    std::size_t long_bytes;  ///< in lines of 128 bytes
    bool has_short;          ///< a line of 16 bytes has the rest, or there is nothing but the number
  };

  struct Peer {
    port::Sequence sent = 0, received = 0;
    port::Sequence acknowledged = 0;  ///< what is known to have been read
    port::Sequence told = 0;          ///< what the peer knows to have been read, when it sends its next
  };

  static std::uint32_t at(int rank) { return static_cast<std::uint32_t>(rank); }
  Peer& of(int rank) { return peers_[at(rank)]; }
  /// The number of the next message of `peer`, of a length of which `places` may be there and unread: the reader
  /// acknowledges what the writer must know to send it.
  port::Sequence next_of(int peer, std::uint32_t places) {
    Peer& from = of(peer);
    if (!port::reached(from.told, from.received + 1 - places)) tell_read(peer);
    return ++from.received;
  }

  [[gnu::noinline]] void send_run(int peer, std::span<const std::byte> data, const Where& where) {
    const port::Sequence number = ++of(peer).sent;
    wait_for_slot(peer, number - runs_, where);
    port_.compute(cost::kTell);
    const std::uint32_t mine = entries_.there(peer);
    port_.put_run(peer, run_of(mine, number), data, second_tag(peer));
    port_.put_line(peer, short_slot(mine, number), number, {}, second_tag(peer));
  }
  [[gnu::noinline]] void receive_run(int peer, std::span<std::byte> into, const Where& where) {
    const port::Sequence number = next_of(peer, runs_);
    const std::uint32_t theirs = entries_.here(peer);
    port::wait_line(port_, short_slot(theirs, number), number, where);
    const auto bytes = static_cast<std::uint32_t>(into.size());
    kernels::copy(into.data(), port_.run(run_of(theirs, number), bytes).data(), bytes, kernels::Audience::self);
    port_.compute(cost::kHear);
  }
  [[nodiscard]] port::Line128 run_of(std::uint32_t entry, port::Sequence number) const {
    return {first_run_ + (entry * runs_ + (number & (runs_ - 1))) * run_lines_};
  }
  [[nodiscard]] Parts split(std::size_t bytes) const {
    if (bytes <= port::Line16::kPayloadBytes) return {0, true};
    const std::size_t in_long = std::min<std::size_t>(bytes, lines128_ * port::Line128::kPayloadBytes);
    return {in_long, bytes > in_long};
  }
  /// Visits the long lines for message `number` of the writer that has this entry at its reader, each with the
  /// bytes that it carries.
  template <bool kFromTheLast = false, class Visit>
  void for_long_lines(std::uint32_t entry, port::Sequence number, const Parts& parts, Visit visit) const {
    constexpr std::size_t most = port::Line128::kPayloadBytes;
    const port::Line128 first{(entry * slots_ + (number & (slots_ - 1))) * lines128_};
    const auto count = static_cast<std::uint32_t>((parts.long_bytes + most - 1) / most);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t place = kFromTheLast ? count - 1 - i : i;
      visit(first + place, place * most, std::min(parts.long_bytes - place * most, most));
    }
  }
  [[nodiscard]] port::Line16 short_slot(std::uint32_t entry, port::Sequence number) const {
    return {first_short_ + entry * short_step_ + (number & (slots_ - 1))};
  }

  static void raise(port::Sequence& known, port::Sequence number) {
    if (port::reached(number, known)) known = number;
  }
  void tell_read(int peer) {
    of(peer).told = of(peer).received;
    port_.compute(cost::kTell);
    port_.put_line(peer, port::Line16{first_acknowledgement_ + acknowledgements_.there(peer)}, of(peer).told, {},
                   metadata_tag(peer));
  }

  template <class L>
  void take(L line, port::Sequence number, std::span<std::byte> into, const Where& where) {
    port::wait_line(port_, line, number, where);
    kernels::copy_short<L::kPayloadBytes>(into.data(), port_.line_payload(line).data(), into.size());
  }

  /// Until message number `read` and all before it are read.
  void wait_for_slot(int peer, port::Sequence read, const Where& where) {
    if (port::reached(of(peer).acknowledged, read)) return;
    const port::Line16 line{first_acknowledgement_ + acknowledgements_.here(peer)};
    port::wait_line(port_, line, read, where);
    of(peer).acknowledged = port_.line_sequence(line);
  }

  P& port_;
  std::uint32_t slots_, lines128_, slot_bytes_, most_bytes_, runs_, run_lines_, first_run_;  ///< Shape's
  std::uint32_t first_short_, short_step_, first_acknowledgement_;                           ///< lines of 16 bytes
  Entries acknowledgements_, entries_;
  std::vector<Peer> peers_;
};

}  // namespace corewise::coll

// Channels: the metadata array of paper 001, section 4. Rank i tells rank j something by writing entry i of j's
// array; entries carry serial numbers that are never set back, and up to 12 bytes.
//
// The n-th tell(j) of rank i is matched by the n-th hear(i) of rank j: both sides count, nobody resets. A reader
// may find a later number than it waits for, so a payload is right only while its writer has reason to know that
// the one before was read: an answer, or a barrier. Algorithms without a closing barrier see to that (each says
// how).
//
// A Rank has two such arrays, announcements and acknowledgements, so that two ranks that send to each other at once
// do not mix them up. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <span>
#include <type_traits>
#include <vector>

#include "coll/building/cost.hpp"
#include "coll/building/partners.hpp"
#include "coll/building/shape.hpp"
#include "port/port.hpp"
#include "port/wait.hpp"

namespace corewise::coll {

template <port::Port P>
class Channels {
 public:
  using Where = std::source_location;
  using Payload = std::span<const std::byte, port::Line16::kPayloadBytes>;

  /// The array begins at line `first` of every rank, with an entry for each, or as `entries` says.
  Channels(P& port, std::uint32_t first) : Channels(port, first, Entries(port.rank(), nullptr)) {}
  Channels(P& port, std::uint32_t first, const Entries& entries)
      : port_(port),
        first_{first},
        entries_(entries),
        told_(static_cast<std::size_t>(port.size()), 0),
        heard_(static_cast<std::size_t>(port.size()), 0) {}

  /// One more message to `peer`, after all that was started under metadata_tag(peer).
  void tell(int peer, std::span<const std::byte> payload = {}) {
    port_.compute(cost::kTell);
    port_.put_line(peer, first_ + entries_.there(peer), ++told_[index(peer)], payload, metadata_tag(peer));
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void tell_value(int peer, const T& value) {
    static_assert(sizeof(T) <= port::Line16::kPayloadBytes);
    std::byte bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    tell(peer, bytes);
  }

  /// Blocks until `count` more messages of `peer` are there; the payload of the last.
  Payload hear(int peer, std::uint32_t count = 1, const Where& where = Where::current()) {
    const port::Line16 line = first_ + entries_.here(peer);
    heard_[index(peer)] += count;
    port::wait_line(port_, line, heard_[index(peer)], where);
    port_.compute(cost::kHear);
    return port_.line_payload(line);
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  T hear_value(int peer, const Where& where = Where::current()) {
    T value;
    std::memcpy(&value, hear(peer, 1, where).data(), sizeof(T));
    return value;
  }
  /// Blocks until a message of one of `peers` is there, a bit for each and one at least; who that is. Takes none.
  template <class Peers>
  [[nodiscard]] int wait_any(const Peers& peers, const Where& where = Where::current()) {
    const auto first_arrived = [&] {
      int peer = 0;
      while (peer < port_.size() && !(peers.test(index(peer)) && arrived(peer))) ++peer;
      return peer;
    };
    const std::uint32_t lines = entries_.here(port_.size() - 1) + 1;
    port_.wait_lines(first_, lines, [&] { return first_arrived() < port_.size(); }, where);
    return first_arrived();
  }
  /// Are `count` more messages there? Takes none.
  [[nodiscard]] bool arrived(int peer, std::uint32_t count = 1) const {
    return port::reached(port_.line_sequence(first_ + entries_.here(peer)), heard_[index(peer)] + count);
  }

  /// How many messages have ever gone to and come from `peer`: equal at both ends when all is quiet.
  [[nodiscard]] port::Sequence told(int peer) const { return told_[index(peer)]; }
  [[nodiscard]] port::Sequence heard(int peer) const { return heard_[index(peer)]; }

 private:
  static std::uint32_t index(int rank) { return static_cast<std::uint32_t>(rank); }

  P& port_;
  port::Line16 first_;
  Entries entries_;
  std::vector<port::Sequence> told_, heard_;
};

}  // namespace corewise::coll

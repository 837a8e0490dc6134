// Peer messages: the messages of every rank as it sees them, made once per workload.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "place/cost.hpp"
#include "place/links/objective.hpp"

namespace corewise::place {

/// A rank and the unit that it goes to.
struct Relocation {
  int rank = 0;
  machine::UnitId unit = 0;
};

/// A message, from one side.
struct PeerMessage {
  int peer;
  bool outgoing;
  std::uint32_t phase;
  std::uint64_t bytes;
};

class PeerMessages {
 public:
  explicit PeerMessages(const Workload& work);

  /// The largest first.
  [[nodiscard]] std::span<const PeerMessage> of(int rank) const { return part(messages_, first_, rank); }
  /// Ranks that this one exchanges messages with, each once, in order.
  [[nodiscard]] std::span<const int> peers_of(int rank) const { return part(peers_, first_peer_, rank); }
  /// Where those of rank r begin among the peers of all; one more at the end.
  [[nodiscard]] const std::vector<std::size_t>& first_peer() const { return first_peer_; }
  [[nodiscard]] const std::vector<int>& peers() const { return peers_; }

 private:
  template <class Item>
  static std::span<const Item> part(const std::vector<Item>& all, const std::vector<std::size_t>& first, int rank) {
    const std::size_t at = first[static_cast<std::size_t>(rank)];
    return {all.data() + at, first[static_cast<std::size_t>(rank) + 1] - at};
  }

  std::vector<std::size_t> first_;
  std::vector<PeerMessage> messages_;
  std::vector<std::size_t> first_peer_;
  std::vector<int> peers_;
};

/// The links of a message between a rank on unit `own` and its peer on unit `peers`.
[[nodiscard]] inline std::span<const Share> route_of(const RoutedShares& shares, const PeerMessage& message,
                                                     machine::UnitId own, machine::UnitId peers) {
  return message.outgoing ? shares.shares(own, peers) : shares.shares(peers, own);
}

}  // namespace corewise::place

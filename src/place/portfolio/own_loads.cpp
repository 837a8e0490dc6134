// Own loads: stored times. See own_loads.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/portfolio/own_loads.hpp"

#include <algorithm>

#include "base/index.hpp"

namespace corewise::place {

OwnLoads::OwnLoads(const RoutedShares& shares, const PeerMessages& messages, int ranks)
    : shares_(shares),
      messages_(messages),
      gains_(index(ranks)),
      visited_(std::max<std::size_t>(1, index(shares.links())), 0) {}

void OwnLoads::store(Assignment unit_of_rank, std::span<const LinkTerm> links) {
  own_ns_.assign(gains_.size() * visited_.size(), 0);
  for (int rank = 0; rank < static_cast<int>(gains_.size()); ++rank) {
    for (const PeerMessage& message : messages_.of(rank)) {
      if (message.outgoing) add(rank, message, 1, unit_of_rank, links);
    }
  }
}

void OwnLoads::add(int rank, const PeerMessage& message, double sign, Assignment unit_of_rank,
                   std::span<const LinkTerm> links) {
  double* const own = own_ns_.data() + index(rank) * visited_.size();
  double* const of_peer = own_ns_.data() + index(message.peer) * visited_.size();
  const auto route = route_of(shares_, message, unit_of_rank[index(rank)], unit_of_rank[index(message.peer)]);
  for (const Share& share : route) {
    const double ns = sign * links[index(share.link)].time_of(message.bytes * share.parts);
    own[share.link] += ns;
    of_peer[share.link] += ns;
  }
}

void OwnLoads::move(std::span<const Relocation> moves, Assignment before, Assignment after,
                    std::span<const LinkTerm> links) {
  const auto moves_too = [moves](int rank) {
    return std::ranges::find(moves, rank, &Relocation::rank) != moves.end();
  };
  for (const Relocation& each : moves) {
    for (const PeerMessage& message : messages_.of(each.rank)) {
      // Between two ranks that both move, the sender's entry stands for the message.
      if (!message.outgoing && moves_too(message.peer)) continue;
      add(each.rank, message, -1, before, links);
      add(each.rank, message, 1, after, links);
    }
  }
}

}  // namespace corewise::place

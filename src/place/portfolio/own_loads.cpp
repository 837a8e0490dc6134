// Own loads: stored times. See own_loads.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/portfolio/own_loads.hpp"

#include <algorithm>

#include "base/index.hpp"

namespace corewise::place {

OwnLoads::OwnLoads(const RoutedShares& shares, const Exchanges& exchanges, int ranks)
    : shares_(shares),
      exchanges_(exchanges),
      gains_(index(ranks)),
      visited_(std::max<std::size_t>(1, index(shares.links())), 0) {}

void OwnLoads::store(Assignment unit_of_rank, std::span<const LinkTerm> links) {
  own_ns_.assign(gains_.size() * visited_.size(), 0);
  for (int rank = 0; rank < static_cast<int>(gains_.size()); ++rank) {
    for (const Exchange& exchange : exchanges_.of(rank)) {
      if (exchange.outgoing) add(rank, exchange, 1, unit_of_rank, links);
    }
  }
}

void OwnLoads::add(int rank, const Exchange& exchange, double sign, Assignment unit_of_rank,
                   std::span<const LinkTerm> links) {
  double* const own = own_ns_.data() + index(rank) * visited_.size();
  double* const of_peer = own_ns_.data() + index(exchange.peer) * visited_.size();
  const auto route = route_of(shares_, exchange, unit_of_rank[index(rank)], unit_of_rank[index(exchange.peer)]);
  for (const Share& share : route) {
    const double ns = sign * links[index(share.link)].time_of(exchange.bytes * share.parts);
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
    for (const Exchange& exchange : exchanges_.of(each.rank)) {
      // Between two ranks that both move, the sender's entry stands for the message.
      if (!exchange.outgoing && moves_too(exchange.peer)) continue;
      add(each.rank, exchange, -1, before, links);
      add(each.rank, exchange, 1, after, links);
    }
  }
}

}  // namespace corewise::place

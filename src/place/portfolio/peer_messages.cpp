// Peer messages: per rank, sorted. See peer_messages.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/portfolio/peer_messages.hpp"

#include <algorithm>

#include "base/index.hpp"

namespace corewise::place {

PeerMessages::PeerMessages(const Workload& work) {
  std::vector<std::vector<PeerMessage>> of_rank(index(work.ranks));
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    for (const Traffic& each : work.phases[phase]) {
      of_rank[index(each.from)].push_back({each.to, true, static_cast<std::uint32_t>(phase), each.bytes});
      of_rank[index(each.to)].push_back({each.from, false, static_cast<std::uint32_t>(phase), each.bytes});
    }
  }
  for (auto& list : of_rank) {
    // The largest first: it tells soonest that a proposal is too much.
    std::stable_sort(list.begin(), list.end(),
                     [](const PeerMessage& a, const PeerMessage& b) { return a.bytes > b.bytes; });
    first_.push_back(messages_.size());
    messages_.insert(messages_.end(), list.begin(), list.end());
    std::vector<int> peers;
    for (const PeerMessage& each : list) peers.push_back(each.peer);
    std::sort(peers.begin(), peers.end());
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    first_peer_.push_back(peers_.size());
    peers_.insert(peers_.end(), peers.begin(), peers.end());
  }
  first_.push_back(messages_.size());
  first_peer_.push_back(peers_.size());
}

}  // namespace corewise::place

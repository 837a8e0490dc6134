// PE and DIS, the barriers without a root (paper 001, section 5.1): in each step a rank sets a flag at one rank and
// waits for that of another. No two steps have the same peer at the same end, so the entry by writer tells steps
// apart. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/barrier/flags.hpp"
#include "coll/barrier/pairwise_exchange_schedule.hpp"
#include "pattern/schedule.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::barrier {

template <port::Port P>
void exchange_step(Rank<P>& me, const pattern::schedule::Peers& peers, const Parameters& parameters) {
  me.port.compute(cost::kPeer);
  if (peers.to != pattern::schedule::nobody) raise(me, peers.to, parameters);
  if (peers.from != pattern::schedule::nobody) me.barrier_flags.hear(peers.from);
}

/// PE, pairwise exchange: the neighbours of a hypercube; ranks beyond a power of two tell a partner first and hear
/// from it last.
template <port::Port P>
void pairwise_exchange(Rank<P>& me, const Call<P>& /*call*/, const Parameters& parameters) {
  // On a host the closing barrier's object does these steps: it has looked its peers up once. It has lines of its
  // own, so calls of both kinds may be mixed. Between partners alone those lines lie together.
  if constexpr (port::UserMemoryAtHand<P>) {
    if (me.shape.all_pairs()) return me.closing_barrier();
  }
  me.port.compute(cost::kCall);
  for (int step = 0; step < pairwise_exchange_schedule::steps(me.size()); ++step) {
    exchange_step(me, pairwise_exchange_schedule::peers(me.size(), me.rank(), step), parameters);
  }
}

/// DIS, dissemination: to the rank 2^i further on, from the one as far before.
template <port::Port P>
void dissemination(Rank<P>& me, const Call<P>& /*call*/, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  for (int step = 0; step < pattern::schedule::dissemination_steps(me.size()); ++step) {
    exchange_step(me, pattern::schedule::dissemination_peers(me.size(), me.rank(), step), parameters);
  }
}

}  // namespace corewise::coll::barrier

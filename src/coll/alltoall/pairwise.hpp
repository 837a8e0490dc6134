// Pairwise all-to-all, on any port: in each of P - 1 steps a rank exchanges blocks with one peer (P a power of two)
// or sends to one and receives from another (pattern/schedule.hpp). Ranks need only the sizes of their own blocks.
// All has been read at the end of a step, so the closing barrier is only for who wants it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/building/block_exchange.hpp"
#include "coll/building/relay.hpp"
#include "pattern/schedule.hpp"

namespace corewise::coll::alltoall {

/// Blocks for which wanted(bytes) is false are left out.
template <port::Port P, class Wanted>
void exchange_pairwise(Rank<P>& me, const Call<P>& call, const Parameters& parameters, Wanted wanted) {
  namespace schedule = pattern::schedule;
  const auto size = [&](const Blocks& blocks, int peer) {
    const std::uint64_t bytes = blocks.bytes(peer);
    return wanted(bytes) ? bytes : 0;
  };
  for (int step = 0; step < schedule::pairwise_exchange_steps(me.size()); ++step) {
    const schedule::Peers peers = schedule::pairwise_exchange_peers(me.size(), me.rank(), step);
    me.port.compute(cost::kPeer);
    exchange(me, parameters, peers.to,
             one_block<P>(typename P::ConstUserAddress(call.send + call.send_blocks.offset(peers.to)),
                          size(call.send_blocks, peers.to)),
             peers.from,
             one_block<P>(typename P::UserAddress(call.receive + call.receive_blocks.offset(peers.from)),
                          size(call.receive_blocks, peers.from)));
  }
}

template <port::Port P>
void copy_own_block(Rank<P>& me, const Call<P>& call) {
  copy_own(me, Parameters{}, call.send + call.send_blocks.offset(me.rank()),
           call.receive + call.receive_blocks.offset(me.rank()), call.send_blocks.bytes(me.rank()));
}

template <port::Port P>
void pairwise(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  copy_own_block(me, call);
  exchange_pairwise(me, call, parameters, [](std::uint64_t) { return true; });
  me.close(parameters);
}

}  // namespace corewise::coll::alltoall

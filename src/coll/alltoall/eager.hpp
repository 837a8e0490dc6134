// Eager all-to-all: blocks ride in the write of the metadata (paper 001, section 8, future work i); adjacent
// ones are loaded and stored together. Blocks that do not fit, which the vector version may have, go
// pairwise. Each pair exchanges one message. A block that does not fit is empty in it. Where no block of the two
// rides there is no message, as both ends know. So nothing is acknowledged: no closing barrier.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/alltoall/pairwise.hpp"
#include "coll/building/eager_blocks.hpp"

namespace corewise::coll::alltoall {

/// The blocks for which rides(bytes) is true, the own one among them; they fit.
template <port::Port P, class Rides>
[[gnu::flatten]] void exchange_eagerly(Rank<P>& me, const Call<P>& call, Rides rides) {
  const auto riding = [&](const Blocks& blocks, int peer) {
    return static_cast<std::uint32_t>(rides(blocks.bytes(peer)) ? blocks.bytes(peer) : 0);
  };
  const auto meets = [&](int peer) {
    return riding(call.send_blocks, peer) > 0 || riding(call.receive_blocks, peer) > 0;
  };
  EagerSender<P> sender(me);
  for (int step = 1; step < me.size(); ++step) {
    const int peer = (me.rank() + step) % me.size();
    if (!meets(peer)) continue;
    sender.send(peer, call.send + call.send_blocks.offset(peer), riding(call.send_blocks, peer));
  }
  sender.flush();
  EagerStore<P> store(me);
  store.load_own(call.send + call.send_blocks.offset(me.rank()), riding(call.send_blocks, me.rank()));
  for (int peer = 0; peer < me.size(); ++peer) {
    const typename P::UserAddress to = call.receive + call.receive_blocks.offset(peer);
    const std::uint32_t bytes = riding(call.receive_blocks, peer);
    me.port.compute(cost::kPeer);
    if (peer == me.rank()) {
      if (bytes > 0) store.own(to, bytes);
    } else if (meets(peer)) {
      me.eager.receive_exchanged(peer, store.place(to, bytes));
    }
  }
  store.finish();
}

template <port::Port P>
[[gnu::flatten]] void eager(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  exchange_eagerly(me, call, [&](std::uint64_t bytes) { return me.eager.fits(bytes); });
  if (!me.eager.fits(call.send_blocks.bytes(me.rank()))) copy_own_block(me, call);
  exchange_pairwise(me, call, parameters, [&](std::uint64_t bytes) { return !me.eager.fits(bytes); });
}

}  // namespace corewise::coll::alltoall

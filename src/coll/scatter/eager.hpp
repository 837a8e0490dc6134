// Eager scatter: blocks ride in the write of the metadata (paper 001, section 8, future work i); the root loads
// adjacent ones together. Blocks that do not fit, which the vector version may have, go as in the
// linear scatter. Nobody waits but for a slot: no closing barrier. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/building/eager_blocks.hpp"
#include "coll/scatter/linear.hpp"

namespace corewise::coll::scatter {

/// The root's part: the blocks of all others for which rides(bytes) is true; they fit.
template <port::Port P, class Rides>
[[gnu::flatten]] void send_eagerly(Rank<P>& me, const Call<P>& call, Rides rides) {
  const Blocks& blocks = call.send_blocks;
  EagerSender<P> sender(me);
  for (int peer = 0; peer < me.size(); ++peer) {
    const std::uint64_t bytes = blocks.bytes(peer);
    me.port.compute(cost::kPeer);
    if (peer == me.rank() || bytes == 0 || !rides(bytes)) continue;
    sender.send(peer, call.send + blocks.offset(peer), static_cast<std::uint32_t>(bytes), call.send_stride);
  }
  sender.flush();
}

/// The other end, whose block rides.
template <port::Port P>
[[gnu::flatten]] void take_eagerly(Rank<P>& me, const Call<P>& call) {
  if (call.bytes == 0) return;
  EagerStore<P> store(me);
  const auto bytes = static_cast<std::uint32_t>(call.bytes);
  me.eager.receive(call.root, store.place(call.receive, bytes, call.receive_stride));
  store.finish();
  me.eager.acknowledge(call.root);
}

template <port::Port P>
[[gnu::flatten]] void eager(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const auto rides = [&](std::uint64_t bytes) { return me.eager.fits(bytes); };
  me.port.compute(cost::kCall);
  if (me.rank() == call.root) {
    const Blocks& blocks = call.send_blocks;
    send_eagerly(me, call, rides);
    send_streams(me, call, parameters, [&](int peer) { return !rides(blocks.bytes(peer)); });
    copy_own_block(me, call, parameters, call.send + blocks.offset(me.rank()), call.receive,
                   blocks.bytes(me.rank()));
  } else if (rides(call.bytes)) {
    take_eagerly(me, call);
  } else {
    take_stream(me, call, parameters);
  }
}

}  // namespace corewise::coll::scatter

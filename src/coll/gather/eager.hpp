// Eager gather: blocks ride in the write of the metadata (paper 001, section 8, future work i), and the root stores
// adjacent ones together. Blocks that do not fit, which the vector version may have, come as in the
// linear gather. Nobody waits but for a slot: no closing barrier. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/building/eager_blocks.hpp"
#include "coll/gather/linear.hpp"

namespace corewise::coll::gather {

/// The root's part: the blocks for which rides(bytes) is true, its own among them; they fit.
template <port::Port P, class Rides>
[[gnu::flatten]] void take_eagerly(Rank<P>& me, const Call<P>& call, Rides rides_of) {
  const Blocks& blocks = call.receive_blocks;
  const auto rides = [&](int rank) { return rides_of(blocks.bytes(rank)); };
  EagerStore<P> store(me);
  const Stride& stride = call.receive_stride;
  if (rides(me.rank()))
    store.load_own(call.send, static_cast<std::uint32_t>(blocks.bytes(me.rank())), call.send_stride);
  for (int peer = 0; peer < me.size(); ++peer) {
    const typename P::UserAddress to = call.receive + blocks.offset(peer);
    const auto bytes = static_cast<std::uint32_t>(blocks.bytes(peer));
    me.port.compute(cost::kPeer);
    if (!rides(peer) || bytes == 0) continue;
    if (peer == me.rank()) {
      store.own(to, bytes, stride);
    } else {
      me.eager.receive(peer, store.place(to, bytes, stride));
    }
  }
  store.finish();
  for (int peer = 0; peer < me.size(); ++peer) {
    if (peer != me.rank() && rides(peer) && blocks.bytes(peer) > 0) me.eager.acknowledge(peer);
  }
}

/// The other end, whose block rides.
template <port::Port P>
[[gnu::flatten]] void send_eagerly(Rank<P>& me, const Call<P>& call) {
  if (call.bytes == 0) return;
  EagerSender<P> sender(me);
  sender.send(call.root, call.send, static_cast<std::uint32_t>(call.bytes), call.send_stride);
  sender.flush();
}

template <port::Port P>
[[gnu::flatten]] void eager(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const auto rides = [&](std::uint64_t bytes) { return me.eager.fits(bytes); };
  me.port.compute(cost::kCall);
  if (me.rank() == call.root) {
    const Blocks& blocks = call.receive_blocks;
    take_eagerly(me, call, rides);
    if (!rides(blocks.bytes(me.rank()))) {
      copy_own_block(me, call, parameters, call.send, call.receive + blocks.offset(me.rank()),
                     blocks.bytes(me.rank()));
    }
    take_streams(me, call, parameters, [&](int peer) { return !rides(blocks.bytes(peer)); });
  } else if (rides(call.bytes)) {
    send_eagerly(me, call);
  } else {
    send_stream(me, call, parameters);
  }
}

}  // namespace corewise::coll::gather

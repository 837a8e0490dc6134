// Linear scatter, on any port: the root sends every rank its block as a stream through its stage, as many at once
// as it has areas. No rank need know another's size, and a block of no bytes is not sent. All has been read at
// return, so the closing barrier is only for who wants it. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/building/relay.hpp"
#include "coll/building/streams.hpp"

namespace corewise::coll::scatter {

/// The area in which the stream from `root` to `rank` begins: those of consecutive ranks begin in different ones.
inline int first_area(int ranks, int root, int rank) {
  return (rank - root - 1 + ranks) % ranks % StreamAreas::kCount;
}

/// Sends the blocks of all peers for which wanted(peer) is true.
template <port::Port P, class Wanted>
void send_streams(Rank<P>& me, const Call<P>& call, const Parameters& parameters, Wanted wanted) {
  const Blocks& blocks = call.send_blocks;
  Outbox<P> outbox(me, StreamAreas(me.shape, parameters));
  for (int step = 1; step < me.size(); ++step) {
    const int peer = (call.root + step) % me.size();
    me.port.compute(cost::kPeer);
    if (!wanted(peer)) continue;
    outbox.send(peer, first_area(me.size(), call.root, peer), call.send + blocks.offset(peer), blocks.bytes(peer),
                call.send_stride);
  }
  outbox.finish();
}

/// The other end.
template <port::Port P>
void take_stream(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  receive_streams(
      me, StreamAreas(me.shape, parameters), first_area(me.size(), call.root, me.rank()),
      [&](auto take) { take(call.root, call.bytes); }, [&](int) { return call.receive; }, call.receive_stride);
}

template <port::Port P>
void linear(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (me.rank() == call.root) {
    const Blocks& blocks = call.send_blocks;
    send_streams(me, call, parameters, [](int) { return true; });
    copy_own_block(me, call, parameters, call.send + blocks.offset(call.root), call.receive,
                   blocks.bytes(call.root));
  } else {
    take_stream(me, call, parameters);
  }
  me.close(parameters);
}

}  // namespace corewise::coll::scatter

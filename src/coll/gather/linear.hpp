// Linear gather, on any port: every rank sends its block to the root as a stream through its stage, all at once;
// the root takes them in turn, those that are short together. No rank need know another's size, and a block of no
// bytes is not sent. All has been read at return, so the closing barrier is only for who wants it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/building/relay.hpp"
#include "coll/building/streams.hpp"

namespace corewise::coll::gather {

/// Takes the blocks of all peers for which wanted(peer) is true.
template <port::Port P, class Wanted>
void take_streams(Rank<P>& me, const Call<P>& call, const Parameters& parameters, Wanted wanted) {
  const Blocks& blocks = call.receive_blocks;
  const auto each = [&](auto take) {
    me.for_others(call.root, [&](int peer) {
      if (wanted(peer)) take(peer, blocks.bytes(peer));
    });
  };
  receive_streams(
      me, StreamAreas(me.shape, parameters), 0, each, [&](int peer) { return call.receive + blocks.offset(peer); },
      call.receive_stride);
}

/// The other end.
template <port::Port P>
void send_stream(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  Outbox<P> outbox(me, StreamAreas(me.shape, parameters));
  outbox.send(call.root, 0, call.send, call.bytes, call.send_stride);
  outbox.finish();
}

template <port::Port P>
void linear(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (me.rank() == call.root) {
    const Blocks& blocks = call.receive_blocks;
    copy_own_block(me, call, parameters, call.send, call.receive + blocks.offset(call.root),
                   blocks.bytes(call.root));
    take_streams(me, call, parameters, [](int) { return true; });
  } else {
    send_stream(me, call, parameters);
  }
  me.close(parameters);
}

}  // namespace corewise::coll::gather

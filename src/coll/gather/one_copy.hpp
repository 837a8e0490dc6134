// Gather by one copy: every rank writes its block to the root's user memory, and the root reads a part of each.
// Blocks that are too short to ask the system for ride in the write of the metadata, or, where they do not fit,
// come as in the linear gather, without a word before. No rank need know another's size.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/building/one_copy.hpp"
#include "coll/building/relay.hpp"
#include "coll/gather/eager.hpp"
#include "coll/gather/linear.hpp"

namespace corewise::coll::gather {

template <port::PeerUserCopy P>
void one_copy(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const Blocks& blocks = call.receive_blocks;
  const Ways<P> way{me, parameters.min_piece};
  const auto block = [&](int peer) {
    const std::uint64_t bytes = blocks.bytes(peer);
    return Part<typename P::UserAddress>{peer, call.receive + blocks.offset(peer), way.copied(bytes) ? bytes : 0};
  };
  me.port.compute(cost::kCall);
  if (me.rank() == call.root) {
    bool some_long = false;
    me.for_others(call.root, [&](int peer) { some_long = some_long || way.copied(blocks.bytes(peer)); });
    const auto meanwhile = [&] {
      const std::uint64_t own = blocks.bytes(call.root);
      take_eagerly(me, call, [&](std::uint64_t bytes) { return way.rides(bytes); });
      if (!way.rides(own)) copy_own(me, parameters, call.send, block(call.root).address, own);
      take_streams(me, call, parameters, [&](int peer) { return way.streams(blocks.bytes(peer)); });
    };
    if (some_long) {
      copy_to_root(me, call.root, parameters.min_piece, block, {}, meanwhile);
    } else {
      meanwhile();
    }
  } else if (way.rides(call.bytes)) {
    send_eagerly(me, call);
  } else if (way.streams(call.bytes)) {
    send_stream(me, call, parameters);
  } else {
    copy_to_root(me, call.root, parameters.min_piece, block, {call.root, call.send, call.bytes}, [] {});
  }
  me.close(parameters);
}

}  // namespace corewise::coll::gather

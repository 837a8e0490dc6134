// Scatter by one copy: every rank reads its block in the root's user memory, and the root writes a part of each.
// Blocks that are too short to ask the system for ride in the write of the metadata, or, where they do not fit, go
// as in the linear scatter, without a word before. No rank need know another's size.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/building/one_copy.hpp"
#include "coll/building/relay.hpp"
#include "coll/scatter/eager.hpp"
#include "coll/scatter/linear.hpp"

namespace corewise::coll::scatter {

template <port::PeerUserCopy P>
void one_copy(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const Blocks& blocks = call.send_blocks;
  const Ways<P> way{me, parameters.min_piece};
  const auto block = [&](int peer) {
    const std::uint64_t bytes = blocks.bytes(peer);
    return Part<typename P::ConstUserAddress>{peer, call.send + blocks.offset(peer), way.copied(bytes) ? bytes : 0};
  };
  me.port.compute(cost::kCall);
  if (me.rank() == call.root) {
    bool some_long = false;
    me.for_others(call.root, [&](int peer) { some_long = some_long || way.copied(blocks.bytes(peer)); });
    const auto meanwhile = [&] {
      send_eagerly(me, call, [&](std::uint64_t bytes) { return way.rides(bytes); });
      send_streams(me, call, parameters, [&](int peer) { return way.streams(blocks.bytes(peer)); });
      copy_own(me, parameters, block(call.root).address, call.receive, blocks.bytes(call.root));
    };
    if (some_long) {
      copy_from_root(me, call.root, parameters.min_piece, block, {}, meanwhile);
    } else {
      meanwhile();
    }
  } else if (way.rides(call.bytes)) {
    take_eagerly(me, call);
  } else if (way.streams(call.bytes)) {
    take_stream(me, call, parameters);
  } else {
    copy_from_root(me, call.root, parameters.min_piece, block, {call.root, call.receive, call.bytes}, [] {});
  }
  me.close(parameters);
}

}  // namespace corewise::coll::scatter

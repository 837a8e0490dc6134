// Gather by one copy: every rank writes its block to the root's user memory, and the root reads a part of each.
// Blocks that are too short to ask the system for come as in the linear gather, without a word before. No rank need
// know another's size. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/building/one_copy.hpp"
#include "coll/building/relay.hpp"
#include "coll/gather/linear.hpp"

namespace corewise::coll::gather {

template <port::PeerUserCopy P>
void one_copy(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const Blocks& blocks = call.receive_blocks;
  const auto is_short = [&](std::uint64_t bytes) { return bytes < parameters.min_piece; };
  const auto copied = [&](std::uint64_t bytes) { return is_short(bytes) ? 0 : bytes; };
  const auto block = [&](int peer) {
    return Part<typename P::UserAddress>{peer, call.receive + blocks.offset(peer), copied(blocks.bytes(peer))};
  };
  me.port.compute(cost::kCall);
  if (me.rank() == call.root) {
    bool some_long = false;
    me.for_others(call.root, [&](int peer) { some_long = some_long || copied(blocks.bytes(peer)) > 0; });
    const auto meanwhile = [&] {
      copy_own(me, parameters, call.send, block(call.root).address, blocks.bytes(call.root));
      take_streams(me, call, parameters, [&](int peer) { return is_short(blocks.bytes(peer)); });
    };
    if (some_long) {
      copy_to_root(me, call.root, parameters.min_piece, block, {}, meanwhile);
    } else {
      meanwhile();
    }
  } else if (is_short(call.bytes)) {
    send_stream(me, call, parameters);
  } else {
    copy_to_root(me, call.root, parameters.min_piece, block, {call.root, call.send, call.bytes}, [] {});
  }
  me.close(parameters);
}

}  // namespace corewise::coll::gather

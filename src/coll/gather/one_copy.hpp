// Gather by one copy: every rank writes its block to the root's user memory, and the root reads a part of each. No
// rank need know another's size. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/building/one_copy.hpp"
#include "coll/building/relay.hpp"

namespace corewise::coll::gather {

template <port::PeerUserCopy P>
void one_copy(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const Blocks& blocks = call.receive_blocks;
  const auto block = [&](int peer) {
    return Part<typename P::UserAddress>{peer, call.receive + blocks.offset(peer), blocks.bytes(peer)};
  };
  me.port.compute(cost::kCall);
  copy_to_root(me, call.root, parameters.min_piece, block, {call.root, call.send, call.bytes}, [&] {
    if (me.rank() == call.root)
      copy_own(me, parameters, call.send, block(call.root).address, block(call.root).bytes);
  });
  me.close(parameters);
}

}  // namespace corewise::coll::gather

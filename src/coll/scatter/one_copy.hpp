// Scatter by one copy: every rank reads its block in the root's user memory, and the root writes a part of each. No
// rank need know another's size. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/building/one_copy.hpp"
#include "coll/building/relay.hpp"

namespace corewise::coll::scatter {

template <port::PeerUserCopy P>
void one_copy(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const Blocks& blocks = call.send_blocks;
  const auto block = [&](int peer) {
    return Part<typename P::ConstUserAddress>{peer, call.send + blocks.offset(peer), blocks.bytes(peer)};
  };
  me.port.compute(cost::kCall);
  copy_from_root(me, call.root, parameters.min_piece, block, {call.root, call.receive, call.bytes}, [&] {
    if (me.rank() == call.root)
      copy_own(me, parameters, block(call.root).address, call.receive, block(call.root).bytes);
  });
  me.close(parameters);
}

}  // namespace corewise::coll::scatter

// Eager reduce-scatter: every rank sends every other its block inside the metadata's write (paper 001, section 8,
// future work i) and combines what comes. Each pair exchanges one message, so nothing is acknowledged and no
// barrier closes the call. Operands meet in another order at each rank: the operator must commute.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

#include "coll/building/eager_blocks.hpp"
#include "coll/reduce/eager_tree.hpp"

namespace corewise::coll::reduce_scatter {

template <port::Port P>
[[gnu::flatten]] void eager(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const Blocks& blocks = call.receive_blocks;
  me.port.compute(cost::kCall);
  EagerSender<P> sender(me);
  for (int peer = 0; peer < me.size(); ++peer) {
    if (peer == me.rank()) continue;
    sender.send(peer, call.send + blocks.offset(peer), static_cast<std::uint32_t>(blocks.bytes(peer)));
  }
  sender.flush();
  const auto others = [&me](auto take) {
    for (int step = 1; step < me.size(); ++step) {
      me.port.compute(cost::kPeer);
      take((me.rank() + me.size() - step) % me.size());
    }
  };
  if (blocks.bytes(me.rank()) == 0) {
    others([&me](int peer) { me.eager.receive_exchanged(peer, {}); });
  } else {
    Call<P> own = call;
    own.send = call.send + blocks.offset(me.rank());
    own.bytes = blocks.bytes(me.rank());
    reduce::EagerOperands<P> operands(me, own);
    operands.load();
    others([&](int peer) { me.eager.receive_exchanged(peer, operands.next()); });
    operands.fold();
    operands.store();
    operands.finish();
  }
  me.close(parameters);
}

}  // namespace corewise::coll::reduce_scatter

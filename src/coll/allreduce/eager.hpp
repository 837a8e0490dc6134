// Eager all-reduce: every rank's operand rides to all others in the write of the metadata (paper 001, section 8,
// future work i), and every rank combines all of them. One phase, where recursive doubling has log2 P: more
// messages, but nobody waits for somebody who waits. That pays where ranks share cores and a wait is a switch
// between them.
//
// Operands meet in the order of the ranks, so all have the same bytes, whatever the operator. Each pair exchanges
// one message: nothing is acknowledged, and no barrier closes the call. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/reduce/eager_tree.hpp"

namespace corewise::coll::allreduce {

template <port::Port P>
[[gnu::flatten]] void eager(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes == 0) return me.close(parameters);
  reduce::EagerOperands<P> operands(me, call);
  operands.load();
  me.for_others(me.rank(), [&](int peer) { me.eager.send(peer, operands.own()); });
  operands.set_aside();
  for (int rank = 0; rank < me.size(); ++rank) {
    if (rank == me.rank()) {
      operands.next_is_own();
    } else {
      me.port.compute(cost::kPeer);
      me.eager.receive_exchanged(rank, operands.next());
    }
  }
  operands.fold();
  operands.store();
  operands.finish();
  me.close(parameters);
}

}  // namespace corewise::coll::allreduce

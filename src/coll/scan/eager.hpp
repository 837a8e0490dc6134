// Eager scan and exscan: every rank's operand rides to all after it in the write of the metadata (paper 001,
// section 8, future work i), and every rank combines those before it, lower ranks on the left. One phase, where
// recursive doubling has log2 P; that pays where ranks share cores (allreduce/eager.hpp). A message lies in its
// slot until its reader has acknowledged, so fast ranks may be as many calls ahead as there are slots.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/reduce/eager_tree.hpp"
#include "coll/scan/recursive_doubling.hpp"

namespace corewise::coll::scan {

template <Kind kKind, port::Port P>
[[gnu::flatten]] void eager(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes == 0) return me.close(parameters);
  reduce::EagerOperands<P> operands(me, call);
  operands.load();
  for (int rank = me.rank() + 1; rank < me.size(); ++rank) {
    me.port.compute(cost::kPeer);
    me.eager.send(rank, operands.own());
  }
  operands.set_aside();
  for (int rank = 0; rank < me.rank(); ++rank) {
    me.port.compute(cost::kPeer);
    me.eager.receive(rank, operands.next());
  }
  if (kKind == Kind::inclusive) operands.next_is_own();
  if (me.rank() >= first_rank(kKind)) {
    operands.fold();
    operands.store();
  }
  for (int rank = 0; rank < me.rank(); ++rank) me.eager.acknowledge(rank);
  operands.finish();
  me.close(parameters);
}

}  // namespace corewise::coll::scan

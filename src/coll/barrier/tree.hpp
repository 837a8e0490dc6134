// TREE (paper 001, section 5.1): flags go up a tree of degree k to rank 0 and come down again, ceil(log_k P) phases
// each way; k = 1 is a chain. A rank goes up when all under it have come. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/barrier/flags.hpp"
#include "pattern/knomial.hpp"

namespace corewise::coll::barrier {

template <port::Port P>
void tree(Rank<P>& me, const Call<P>& /*call*/, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  const pattern::schedule::Knomial place(me.size(), 0, me.rank(), me.degree(parameters));
  place.for_children([&me](int child) {
    me.port.compute(cost::kPeer);
    me.barrier_flags.hear(child);
  });
  if (const int parent = place.parent(); parent != pattern::schedule::nobody) {
    raise(me, parent, parameters);
    me.barrier_flags.hear(parent);
  }
  FlagTags tags;
  place.for_children([&](int child) {
    me.port.compute(cost::kPeer);
    me.barrier_flags.tell(child);
    tags.add(child);
  });
  settle(me, tags.mask(), parameters);
}

}  // namespace corewise::coll::barrier

// TREEMM (paper 001, section 6.1): a tree in which who has all data in main memory tells its children where they
// are, and each copies them to its own memory through its buffers.
//
// Without a closing barrier a child acknowledges when it has read, and a parent waits for that.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/broadcast/double_buffering.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::broadcast {

template <port::Port P>
  requires port::DirectRead<P>
void tree_main_memory(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes > 0) {
    using Address = typename P::ConstUserAddress;
    const Knomial place = tree_of(me, call, parameters);
    const int parent = place.parent();
    if (parent != nobody) {
      const auto from = me.announcements.template hear_value<Address>(parent);
      copy_from_peer(me, parent, from, call, 0, parameters);
    }
    tell_children(me, place, Address(own_data(me, call)), parameters);
    if (parameters.closing == Closing::counters) {
      if (parent != nobody) me.acknowledgements.tell(parent);
      hear_children(me, place);
    }
  }
  me.close(parameters);
}

}  // namespace corewise::coll::broadcast

// OTA (paper 001, section 6.1): the root's address goes down a tree; every rank copies from the root's memory to
// its own, rank i beginning i x shift further on and wrapping.
//
// Without a closing barrier acknowledgements go up the tree: a rank passes one on when it and all under it have
// read. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/broadcast/double_buffering.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::broadcast {

template <port::Port P>
  requires port::DirectRead<P>
void one_to_all(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes > 0) {
    using Address = typename P::ConstUserAddress;
    const Knomial place = tree_of(me, call, parameters);
    const int parent = place.parent();
    Address from = call.send;
    if (parent != nobody) from = me.announcements.template hear_value<Address>(parent);
    tell_children(me, place, from, parameters);
    if (parent != nobody) {
      const std::uint64_t first = static_cast<std::uint64_t>(me.rank()) * parameters.shift % call.bytes;
      copy_from_peer(me, call.root, from, call, first, parameters);
    }
    if (parameters.closing == Closing::counters) {
      hear_children(me, place);
      if (parent != nobody) me.acknowledgements.tell(parent);
    }
  }
  me.close(parameters);
}

}  // namespace corewise::coll::broadcast

// Broadcast by one copy: every rank reads the root's user memory, and the root writes a part of each result.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/building/one_copy.hpp"

namespace corewise::coll::broadcast {

template <port::PeerUserCopy P>
void one_copy(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const auto block = [&](int peer) { return Part<typename P::ConstUserAddress>{peer, call.send, call.bytes}; };
  me.port.compute(cost::kCall);
  copy_from_root(me, call.root, parameters.min_piece, block, {call.root, call.receive, call.bytes}, [] {});
  me.close(parameters);
}

}  // namespace corewise::coll::broadcast

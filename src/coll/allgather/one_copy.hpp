// All-gather by one copy: every rank copies the blocks straight out of the others' user memory.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/building/one_copy.hpp"
#include "coll/building/relay.hpp"

namespace corewise::coll::allgather {

template <port::PeerUserCopy P>
void one_copy(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const Blocks& blocks = call.receive_blocks;
  const auto to = [&](int peer) { return Part<typename P::ConstUserAddress>{peer, call.send, call.bytes}; };
  const auto from = [&](int peer) {
    return Part<typename P::UserAddress>{peer, call.receive + blocks.offset(peer), blocks.bytes(peer)};
  };
  me.port.compute(cost::kCall);
  copy_between_all(me, parameters.min_piece, to, from, [&] {
    copy_own(me, parameters, call.send, call.receive + blocks.offset(me.rank()), call.bytes);
  });
  me.close(parameters);
}

}  // namespace corewise::coll::allgather

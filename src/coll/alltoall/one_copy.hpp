// All-to-all by one copy: every rank copies its blocks straight out of the others' user memory.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/alltoall/pairwise.hpp"
#include "coll/building/one_copy.hpp"

namespace corewise::coll::alltoall {

template <port::PeerUserCopy P>
void one_copy(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const Blocks& sends = call.send_blocks;
  const Blocks& receives = call.receive_blocks;
  const auto to = [&](int peer) {
    return Part<typename P::ConstUserAddress>{peer, call.send + sends.offset(peer), sends.bytes(peer)};
  };
  const auto from = [&](int peer) {
    return Part<typename P::UserAddress>{peer, call.receive + receives.offset(peer), receives.bytes(peer)};
  };
  me.port.compute(cost::kCall);
  copy_between_all(me, parameters.min_piece, to, from, [&] { copy_own_block(me, call); });
  me.close(parameters);
}

}  // namespace corewise::coll::alltoall

// All-to-all by one copy: every rank copies its blocks straight out of the others' user memory. Blocks that are too
// short to ask the system for ride in the write of the metadata, or, where they do not fit, go through the stages.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/alltoall/eager.hpp"
#include "coll/alltoall/pairwise.hpp"
#include "coll/building/one_copy.hpp"

namespace corewise::coll::alltoall {

template <port::PeerUserCopy P>
void one_copy(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const Blocks& sends = call.send_blocks;
  const Blocks& receives = call.receive_blocks;
  const Ways<P> way{me, parameters.min_piece};
  const auto rides = [&](std::uint64_t bytes) { return way.rides(bytes); };
  const auto others = [&](std::uint64_t bytes) { return rides(bytes) ? 0 : bytes; };
  const auto to = [&](int peer) {
    return Part<typename P::ConstUserAddress>{peer, call.send + sends.offset(peer), others(sends.bytes(peer))};
  };
  const auto from = [&](int peer) {
    return Part<typename P::UserAddress>{peer, call.receive + receives.offset(peer), others(receives.bytes(peer))};
  };
  me.port.compute(cost::kCall);
  copy_between_all(me, parameters.min_piece, to, from, [&] {
    exchange_eagerly(me, call, rides);
    if (!rides(sends.bytes(me.rank()))) copy_own_block(me, call);
  });
  me.close(parameters);
}

}  // namespace corewise::coll::alltoall

// Bruck's all-to-all, on any port, for small blocks: ceil(log2 P) steps; in step k the blocks that are still to go
// a distance with bit k set travel 2^k ranks on, together. Equal blocks only.
//
// The block that still has to go (or has gone) distance i in all lies where the block of rank - i will be: it comes
// from the send buffer when it travels first, and from that place later. What arrives there in a step replaces
// what leaves from there in the same step, so neither rotations nor scratch memory are needed.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstdint>

#include "coll/alltoall/pairwise.hpp"
#include "coll/building/block_exchange.hpp"
#include "pattern/schedule.hpp"

namespace corewise::coll::alltoall {

template <port::Port P>
void bruck(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  namespace schedule = pattern::schedule;
  const int ranks = me.size();
  me.port.compute(cost::kCall);
  copy_own_block(me, call);
  for (int step = 0; step < schedule::bruck_steps(ranks); ++step) {
    const auto place = [&](int distance) {
      return call.receive + call.receive_blocks.offset((me.rank() - distance + ranks) % ranks);
    };
    const auto leaving = [&](int i) {
      const int distance = schedule::bruck_all_to_all_offset(step, i);
      const bool first = distance % (1 << step) == 0;
      const typename P::ConstUserAddress fresh =
          call.send + call.send_blocks.offset((me.rank() + distance) % ranks);
      const typename P::ConstUserAddress held = place(distance);
      return Segment<typename P::ConstUserAddress>{first ? fresh : held, call.send_blocks.bytes(0)};
    };
    const auto coming = [&](int i) {
      return Segment<typename P::UserAddress>{place(schedule::bruck_all_to_all_offset(step, i)),
                                              call.receive_blocks.bytes(0)};
    };
    const schedule::Peers peers = schedule::bruck_all_to_all_peers(ranks, me.rank(), step);
    const int count = schedule::bruck_all_to_all_offset_count(ranks, step);
    exchange(me, parameters, peers.to, BlockList<P, decltype(leaving)>(count, leaving), peers.from,
             BlockList<P, decltype(coming)>(count, coming));
  }
  me.close(parameters);
}

}  // namespace corewise::coll::alltoall

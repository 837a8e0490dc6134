// The all-gathers that go step by step, on any port: ring, recursive doubling (with the usual fold where the number
// of ranks is no power of two) and Bruck's. Which blocks travel when is pattern/schedule.hpp's. A step's blocks
// travel together, and come to rest where they belong: no rotation at the end.
//
// Blocks go through user memory between steps. All has been read at the end of a step, so the closing barrier is
// only for who wants it. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/building/block_exchange.hpp"
#include "coll/building/relay.hpp"
#include "pattern/schedule.hpp"

namespace corewise::coll::allgather {

/// Consecutive ranks, round the end.
struct Range {
  int first = 0;
  int count = 0;
};

/// One step: sends the blocks `leaving` to peers.to, receives `coming` from peers.from.
template <port::Port P>
void step(Rank<P>& me, const Call<P>& call, const Parameters& parameters, pattern::schedule::Peers peers,
          Range leaving, Range coming) {
  const typename P::ConstUserAddress held = call.receive;
  me.port.compute(cost::kPeer);
  exchange(me, parameters, peers.to,
           blocks_of_ranks<P>(held, call.receive_blocks, me.size(), leaving.first, leaving.count), peers.from,
           blocks_of_ranks<P>(call.receive, call.receive_blocks, me.size(), coming.first, coming.count));
}

template <port::Port P>
void begin(Rank<P>& me, const Call<P>& call) {
  me.port.compute(cost::kCall);
  copy_own(me, Parameters{}, call.send, call.receive + call.receive_blocks.offset(me.rank()), call.bytes);
}

template <port::Port P>
void ring(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  namespace schedule = pattern::schedule;
  begin(me, call);
  for (int i = 0; i < schedule::ring_steps(me.size()); ++i) {
    const schedule::Peers peers = schedule::ring_peers(me.size(), me.rank(), i);
    step(me, call, parameters, peers, {schedule::ring_block(me.size(), me.rank(), i), 1},
         {schedule::ring_block(me.size(), peers.from, i), 1});
  }
  me.close(parameters);
}

template <port::Port P>
void recursive_doubling(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  namespace schedule = pattern::schedule;
  begin(me, call);
  const auto sent_by = [&me](int rank, int i) {
    if (rank == schedule::nobody) return Range{};
    return Range{schedule::recursive_doubling_first_block(me.size(), rank, i),
                 schedule::recursive_doubling_block_count(me.size(), rank, i)};
  };
  for (int i = 0; i < schedule::recursive_doubling_steps(me.size()); ++i) {
    const schedule::Peers peers = schedule::recursive_doubling_peers(me.size(), me.rank(), i);
    step(me, call, parameters, peers, sent_by(me.rank(), i), sent_by(peers.from, i));
  }
  me.close(parameters);
}

template <port::Port P>
void bruck(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  namespace schedule = pattern::schedule;
  begin(me, call);
  for (int i = 0; i < schedule::bruck_steps(me.size()); ++i) {
    const schedule::Peers peers = schedule::bruck_all_gather_peers(me.size(), me.rank(), i);
    const int count = schedule::bruck_all_gather_blocks(me.size(), i);
    step(me, call, parameters, peers, {me.rank(), count}, {peers.from, count});
  }
  me.close(parameters);
}

}  // namespace corewise::coll::allgather

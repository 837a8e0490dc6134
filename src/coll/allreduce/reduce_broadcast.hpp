// The paper's way to allreduce: its best reduce to rank 0, then its best broadcast from there (paper 001,
// sections 6.2 and 7.2). Small: trees of degree 3, of degree 4 on four ranks. From 8 KB on by pieces. Very large:
// the pipelined tree for the reduce, except on four ranks. On a port that cannot reach a peer's user memory trees
// do it all.
//
// All ranks get a copy of the one result of rank 0, so all have the same bytes.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/broadcast/local_store_tree.hpp"
#include "coll/broadcast/pieces.hpp"
#include "coll/reduce/pieces.hpp"
#include "coll/reduce/tree.hpp"

namespace corewise::coll::allreduce {

inline constexpr std::uint64_t kPiecesFromBytes = 8 * 1024;
inline constexpr std::uint64_t kPipelineFromBytes = 512 * 1024;

template <port::Port P>
void best_reduce(Rank<P>& me, const Call<P>& call, Parameters parameters) {
  if constexpr (port::DirectRead<P> && port::DirectWrite<P>) {
    const bool very_large = call.bytes >= kPipelineFromBytes && me.size() != 4;
    if (call.bytes >= kPiecesFromBytes && !very_large) return reduce::pieces(me, call, parameters);
  }
  parameters.degree = call.bytes >= kPipelineFromBytes ? 1 : me.size() == 4 ? 4 : 3;
  reduce::tree(me, call, parameters);
}

template <port::Port P>
void best_broadcast(Rank<P>& me, const Call<P>& call, Parameters parameters) {
  if constexpr (port::DirectRead<P> && port::DirectWrite<P>) {
    if (call.bytes >= kPiecesFromBytes) return broadcast::pieces(me, call, parameters);
  }
  parameters.degree = call.bytes >= kPipelineFromBytes ? 1 : 3;
  broadcast::local_store_tree(me, call, parameters);
}

template <port::Port P>
void reduce_broadcast(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  Call<P> part = call;
  part.root = 0;
  best_reduce(me, part, parameters);
  if (me.rank() == 0) part.send = call.receive;
  best_broadcast(me, part, parameters);
}

}  // namespace corewise::coll::allreduce

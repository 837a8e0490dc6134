// Scan and exscan by recursive doubling (scan/recursive_doubling.hpp) with the operands inside the metadata's
// writes: one message a step, no barrier (paper 001, section 8, future work i and ii). A message lies in its slot
// until its reader has acknowledged, so fast ranks may be as many calls ahead as there are slots.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/reduce/eager_tree.hpp"
#include "coll/scan/recursive_doubling.hpp"

namespace corewise::coll::scan {

/// Sends own() and receives into `into()`.
template <port::Port P, class Into>
void meet_eagerly(Rank<P>& me, const pattern::schedule::Peers& peers, reduce::EagerOperands<P>& operands,
                  Into into) {
  me.port.compute(cost::kPeer);
  if (peers.to != pattern::schedule::nobody) me.eager.send(peers.to, operands.own());
  if (peers.from != pattern::schedule::nobody) me.eager.receive(peers.from, into());
}

template <Kind kKind, port::Port P>
[[gnu::flatten]] void eager_recursive_doubling(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  using pattern::schedule::nobody;
  me.port.compute(cost::kCall);
  if (call.bytes == 0) return me.close(parameters);
  constexpr int kFirst = first_rank(kKind);
  const int steps = doubling_steps(me.size(), kKind);
  reduce::EagerOperands<P> operands(me, call);
  operands.load();
  const auto beside = neighbours(me.size(), me.rank());
  if (kKind == Kind::exclusive) meet_eagerly(me, beside, operands, [&] { return operands.own(); });
  for (int step = 0; step < steps; ++step) {
    const auto peers = doubling_peers(me.size(), kFirst, me.rank(), step);
    meet_eagerly(me, peers, operands, [&] { return operands.other(); });
    if (peers.from != nobody) operands.prepend();
  }
  if (me.rank() >= kFirst) operands.store();
  // Off the way of the results. The neighbour of the shift is that of step 0.
  if (beside.from != nobody) me.eager.acknowledge(beside.from);
  for (int step = 1; step < steps; ++step) {
    const auto peers = doubling_peers(me.size(), kFirst, me.rank(), step);
    if (peers.from != nobody) me.eager.acknowledge(peers.from);
  }
  operands.finish();
  me.close(parameters);
}

}  // namespace corewise::coll::scan

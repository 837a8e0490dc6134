// Recursive doubling with the operands inside the metadata's writes: log2 P exchanges, no barrier. In step s a rank
// meets the one whose number differs in bit s; both combine the same two operands, the lower ranks' on the left, so
// both have the same bytes, whatever the operator (and every rank has them at the end). Ranks beyond a power of two
// as in reduce/fold.hpp: the even one of a pair hands its operand over first and gets the result last.
//
// Two slots are enough and nothing is acknowledged: whoever's message of this call has come has read all that was
// sent to it in calls before (it has ended them), and in a call every pair exchanges one message each way. Ranks
// may be a call apart. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/reduce/eager_tree.hpp"
#include "coll/reduce/exchanged_operands.hpp"
#include "coll/reduce/fold.hpp"

namespace corewise::coll::allreduce {

template <port::Port P, class Operands>
void double_recursively(Rank<P>& me, Operands&& operands) {
  const reduce::Fold fold(me.size());
  const int number = fold.number(me.rank());
  const int pair = fold.partner(me.rank());
  operands.load();
  if (number < 0) {
    me.eager.send(pair, operands.own());
    me.eager.receive_in_turn(pair, operands.result());
  } else {
    if (pair >= 0) {
      me.eager.receive_in_turn(pair, operands.other());
      operands.prepend();
    }
    for (int step = 0; step < fold.steps(); ++step) {
      const int peer = fold.rank(number ^ (1 << step));
      me.port.compute(cost::kPeer);
      me.eager.send(peer, operands.own());
      me.eager.receive_exchanged(peer, operands.other());
      if (peer < me.rank()) {
        operands.prepend();
      } else {
        operands.append();
      }
    }
    if (pair >= 0) me.eager.send(pair, operands.own());
  }
  operands.store();
  operands.finish();
}

template <port::Port P>
[[gnu::flatten]] void recursive_doubling(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes == 0) return me.close(parameters);
  const auto run = [&] {
    if constexpr (port::UserMemoryAtHand<P>) {
      using Exchanged = reduce::ExchangedOperands<P>;
      if (Exchanged::fits(call)) return double_recursively(me, Exchanged(me, call));
    }
    double_recursively(me, reduce::EagerOperands<P>(me, call));
  };
  run();
  me.close(parameters);
}

}  // namespace corewise::coll::allreduce

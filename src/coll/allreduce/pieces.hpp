// AG for everybody (paper 001, sections 6 and 7, taken together): each rank reduces a piece of the data out of all
// ranks' main memory and writes it to all ranks' main memory. A piece is computed once, so all have the same bytes.
// Contract and closing barrier as in reduce/pieces.hpp; the first ranks do it all where data are few.
//
// In place: a rank writes a part of a peer's buffer after it has read that part of everybody's, and nobody else
// reads it. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/reduce/pieces.hpp"

namespace corewise::coll::allreduce {

template <port::DirectRead P>
  requires port::DirectWrite<P>
void pieces(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes == 0) return me.close(parameters);
  const reduce::Stated<typename P::ConstUserAddress> operand{call.send,
                                                             reduce::weight_of(me, call.send, parameters)};
  const reduce::Stated<typename P::UserAddress> result{call.receive};
  const auto operands = reduce::all_gather_stated(me, me.announcements, operand, parameters);
  const auto results = reduce::all_gather_stated(me, me.acknowledgements, result, parameters);
  const reduce::Areas areas(me.shape, 4);
  const reduce::Shares shares(call, parameters, operands, 0, areas);
  reduce::ShareReducer<P> reducer(me, call, parameters, areas, operands);
  reducer(shares.at(me.rank()), shares.bytes(me.rank()), [&](int area, std::uint64_t at, std::uint32_t bytes) {
    for (int step = 0; step < me.size(); ++step) {
      const int peer = (me.rank() + step) % me.size();
      me.port.compute(cost::kPeer);
      reduce::write_result(me, peer, areas.at(area), results[static_cast<std::size_t>(peer)].address + at, bytes,
                           buffer_tag(area));
    }
  });
  me.closing_barrier();
}

}  // namespace corewise::coll::allreduce

// AG for reduce-scatter (reduce/pieces.hpp; paper 001, section 7): each rank reduces its own block out of all
// ranks' main memory. Any operator; closes with a barrier, as that does. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/reduce/pieces.hpp"

namespace corewise::coll::reduce_scatter {

template <port::DirectRead P>
void pieces(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  const auto operands = reduce::all_gather_addresses(me, me.announcements, call.send, parameters);
  const reduce::Areas areas(me.shape, 4);
  const std::uint64_t begin = call.receive_blocks.offset(me.rank());
  reduce::ShareReducer<P> reducer(me, call, parameters, areas, operands);
  reducer(begin, call.receive_blocks.bytes(me.rank()), [&](int area, std::uint64_t at, std::uint32_t bytes) {
    me.stage.store(areas.at(area), call.receive + (at - begin), bytes, buffer_tag(area));
  });
  me.closing_barrier();
}

}  // namespace corewise::coll::reduce_scatter

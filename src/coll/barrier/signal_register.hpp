// SIG, by the signal register (paper 001, section 5.1): every rank sets its bit in rank 0's register, which ORs;
// rank 0 reads until it has all, and tells everybody as in OTA. A rank sends the bit of the next barrier only after
// rank 0 has read the last one's. At most 32 ranks, and nobody else may use the register.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cassert>
#include <cstdint>

#include "coll/barrier/one_to_all.hpp"

namespace corewise::coll::barrier {

template <port::Port P>
  requires port::SignalRegister<P>
void signal_register(Rank<P>& me, const Call<P>& /*call*/, const Parameters& parameters) {
  assert(me.size() <= 32);
  me.port.compute(cost::kCall);
  if (me.rank() != 0) {
    me.port.compute(cost::kTell);
    me.port.send_signal(0, std::uint32_t{1} << me.rank(), metadata_tag(0));
    settle(me, port::mask_of(metadata_tag(0)), parameters);
  } else {
    const std::uint32_t all = (me.size() == 32 ? 0 : std::uint32_t{1} << me.size()) - 1;
    for (std::uint32_t come = 1; come != all; me.port.compute(cost::kHear)) come |= me.port.wait_signal();
  }
  release(me, parameters);
}

}  // namespace corewise::coll::barrier

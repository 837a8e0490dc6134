// The barrier by atomic increments of a word in main memory (paper 001, section 5.3): everybody adds one and waits
// until all have. The word's low nine bits count who has come, the rest counts barriers; the last one in turns the
// count into one barrier more by a single addition, and until then nobody else adds. Needs Shape::atomic_words.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cassert>
#include <cstdint>

#include "coll/rank.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::barrier {

template <port::Port P>
  requires port::AtomicWords<P>
void atomic_increment(Rank<P>& me, const Call<P>& /*call*/, const Parameters& /*parameters*/) {
  constexpr std::uint32_t kWord = 0, kBarriers = 512;
  static_assert(kMostRanks < kBarriers);
  const auto ranks = static_cast<std::uint32_t>(me.size());
  assert(me.shape.atomic_words > kWord);
  me.port.compute(cost::kCall);
  const std::uint32_t before = me.port.fetch_add(kWord, 1);
  if (before % kBarriers == ranks - 1) {
    me.port.fetch_add(kWord, kBarriers - ranks);
  } else {
    const auto all_in = [&me, before] { return me.port.load_word(kWord) / kBarriers != before / kBarriers; };
    if constexpr (port::WordWaits<P>) {
      me.port.wait_word(kWord, all_in);
    } else {
      while (!all_in()) me.port.compute(cost::kHear);
    }
  }
}

}  // namespace corewise::coll::barrier

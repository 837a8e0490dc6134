// Each rank takes a part of the data through all ranks' own memory, from rank 0 on, and writes every prefix where
// it belongs: for inclusive scans in which all ranks lend their buffers (building/lending.hpp). No byte is staged,
// and all work at once, where a chain keeps the later ranks waiting. Operands meet in the order of chain.hpp: any
// operator, and the bytes are the same either way.
//
// In place: a prefix replaces an operand that this rank alone reads, as it is read. An exclusive scan's would
// replace the next one's, so it lends nothing. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "coll/building/lending.hpp"
#include "coll/reduce/operand_buffers.hpp"

namespace corewise::coll::scan {

/// Complete where P has such memory.
template <port::Port P>
class LentParts {
 public:
  LentParts(Rank<P>& me, const Call<P>& call, bool inclusive, std::uint32_t piece_bytes, std::uint32_t area_bytes)
      : me_(me),
        how_(combination(*call.operation)),
        lending_(me, inclusive && may_lend<P>(call.bytes), inclusive ? offer_of(me, call) : kNoOffer,
                 me.rank() > 0 ? Below{me.rank() - 1, me.rank()} : Below{},
                 me.rank() + 1 < me.size() ? me.rank() + 1 : kNobodyAbove),
        parts_(call.bytes, me.size(), call.operation->element_bytes, area_bytes),
        pieces_(parts_.bytes(me.rank(), me.rank() + 1), piece_bytes) {}

  bool operator()() {
    const std::uint64_t part = parts_.at(me_.rank());
    return combine_lent(me_, lending_, pieces_,
                        [&](std::uint64_t at, std::uint32_t bytes) { combine(part + at, bytes); });
  }
  void tell_first(int right) { lending_.tell_first(right); }
  void hear_first(int left) { lending_.hear_first(left); }

 private:
  void combine(std::uint64_t at, std::uint32_t bytes) {
    Offers<P>& lent = lending_.offers();
    typename P::UserAddress prefix = lent.second(0, at, bytes);
    if (lent.of(0).first() != lent.of(0).second()) me_.port.give(lent.first(0, at, bytes), prefix, bytes, kTag);
    me_.port.wait(port::mask_of(kTag));
    for (int rank = 1; rank < me_.size(); ++rank) {
      me_.port.compute(cost::kPeer);
      typename P::UserAddress const to = lent.second(rank, at, bytes);
      me_.port.combine_reached(prefix, lent.first(rank, at, bytes), to, std::nullopt, how_, bytes, kTag);
      me_.port.wait(port::mask_of(kTag));
      prefix = to;
    }
  }

  static constexpr port::Tag kTag = buffer_tag(0);

  Rank<P>& me_;
  port::Combination how_;
  ClimbingLending<P> lending_;
  reduce::Parts parts_;
  Pieces pieces_;
};

}  // namespace corewise::coll::scan

// Each rank takes a part of the data through all ranks' own memory, from rank 0 on, and writes every prefix where
// it belongs: for scans in which all ranks lend their buffers (building/lending.hpp). No byte is staged, and all
// work at once, where a chain keeps the later ranks waiting. Operands meet in the order of chain.hpp: any operator,
// and the bytes are the same either way.
//
// In place: a prefix replaces an operand that this rank alone reads, as it is read. An exclusive scan's would
// replace an operand that is still wanted. So each rank but the last then holds its inclusive prefix for a while,
// and the prefixes move on by one rank, the last first. SPDX-License-Identifier: BSD-3-Clause
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
        inclusive_(inclusive),
        how_(combination(*call.operation)),
        lending_(me, may_lend<P>(call.bytes), inclusive ? offer_of(me, call) : exclusive_offer(call),
                 me.rank() > 0 ? Below{me.rank() - 1, me.rank()} : Below{},
                 me.rank() + 1 < me.size() ? me.rank() + 1 : kNobodyAbove),
        parts_(call.bytes, me.size(), call.operation->element_bytes, area_bytes),
        pieces_(parts_.bytes(me.rank(), me.rank() + 1), piece_bytes) {}

  bool operator()() {
    const std::uint64_t part = parts_.at(me_.rank());
    return combine_lent(me_, lending_, pieces_, [&](std::uint64_t at, std::uint32_t bytes) {
      if (inclusive_) return combine(part + at, bytes);
      combine_exclusive(part + at, bytes);
    });
  }
  void tell_first(int right) { lending_.tell_first(right); }
  void hear_first(int left) { lending_.hear_first(left); }

 private:
  [[nodiscard]] int last() const { return me_.size() - 1; }
  /// Rank 0 has no result, and nobody reads the last one's operand.
  [[nodiscard]] Offer exclusive_offer(const Call<P>& call) const {
    if (me_.rank() > 0 && me_.rank() < last()) return offer_of(me_, call);
    if (!may_lend<P>(call.bytes)) return kNoOffer;
    const typename P::ConstUserAddress one = me_.rank() == 0 ? call.send : call.receive;
    const std::uint64_t number = me_.port.offer(one, call.bytes);
    return {number, number};
  }

  void combine(std::uint64_t at, std::uint32_t bytes) {
    Offers<P>& lent = lending_.offers();
    typename P::UserAddress prefix = lent.second(0, at, bytes);
    if (lent.of(0).first() != lent.of(0).second()) give(lent.first(0, at, bytes), prefix, bytes);
    for (int rank = 1; rank < me_.size(); ++rank) {
      me_.port.compute(cost::kPeer);
      prefix = add(prefix, rank, lent.second(rank, at, bytes), at, bytes);
    }
  }
  void combine_exclusive(std::uint64_t at, std::uint32_t bytes) {
    Offers<P>& lent = lending_.offers();
    bool replaces = false;
    for (int rank = 1; rank < last(); ++rank)
      replaces = replaces || lent.of(rank).first() == lent.of(rank).second();
    typename P::UserAddress prefix = lent.first(0, at, bytes);
    for (int rank = 1; rank < last(); ++rank) {
      me_.port.compute(cost::kPeer);
      const bool belongs = !replaces || rank + 1 == last();
      prefix = add(prefix, rank, lent.second(belongs ? rank + 1 : rank, at, bytes), at, bytes);
    }
    for (int rank = last() - 1; replaces && rank > 1; --rank)
      give(lent.second(rank - 1, at, bytes), lent.second(rank, at, bytes), bytes);
    if (last() > 0) give(lent.first(0, at, bytes), lent.second(1, at, bytes), bytes);
  }

  /// What comes of a prefix and a rank's operand, at `to`.
  typename P::UserAddress add(typename P::UserAddress prefix, int rank, typename P::UserAddress to,
                              std::uint64_t at, std::uint32_t bytes) {
    const typename P::UserAddress operand = lending_.offers().first(rank, at, bytes);
    me_.port.combine_reached(prefix, operand, to, std::nullopt, how_, bytes, kTag);
    me_.port.wait(port::mask_of(kTag));
    return to;
  }
  void give(typename P::UserAddress from, typename P::UserAddress to, std::uint32_t bytes) {
    me_.port.give(from, to, bytes, kTag);
    me_.port.wait(port::mask_of(kTag));
  }

  static constexpr port::Tag kTag = buffer_tag(0);

  Rank<P>& me_;
  bool inclusive_;
  port::Combination how_;
  ClimbingLending<P> lending_;
  reduce::Parts parts_;
  Pieces pieces_;
};

}  // namespace corewise::coll::scan

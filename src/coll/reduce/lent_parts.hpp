// Each rank combines a part of everybody's data straight out of their own memory into the root's result: for calls
// in which all ranks lend their buffers (building/lending.hpp). No byte is staged, and no rank idles. Operands meet
// in the order of peer_stages.hpp, from the root on: the operator must commute, and the bytes are the same either
// way.
//
// Part r of all buffers is read, and of the root's result written, by rank r alone; so in place or not makes no
// difference. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "coll/building/lending.hpp"
#include "coll/reduce/operand_buffers.hpp"

namespace corewise::coll::reduce {

/// Complete where P has such memory.
template <port::Port P>
class LentParts {
 public:
  LentParts(Rank<P>& me, const Call<P>& call, std::uint32_t piece_bytes, std::uint32_t area_bytes)
      : me_(me),
        call_(call),
        how_(combination(*call.operation)),
        lending_(me, may_lend<P>(call.bytes), own_offer(), at_root() ? Below{0, me.size()} : Below{},
                 at_root() ? kNobodyAbove : call.root),
        parts_(call.bytes, me.size(), call.operation->element_bytes, area_bytes),
        pieces_(parts_.bytes(me.rank(), me.rank() + 1), piece_bytes) {}

  bool operator()() {
    const std::uint64_t part = parts_.at(me_.rank());
    return combine_lent(me_, lending_, pieces_,
                        [&](std::uint64_t at, std::uint32_t bytes) { combine(part + at, bytes); });
  }
  void tell_first(int root) { lending_.tell_first(root); }
  void hear_first(int peer) { lending_.hear_first(peer); }

 private:
  [[nodiscard]] bool at_root() const { return me_.rank() == call_.root; }
  /// The operand, and the root's result; none unless the rank lends all that it has.
  [[nodiscard]] Offer own_offer() const {
    if (!may_lend<P>(call_.bytes)) return kNoOffer;
    const std::uint64_t send = me_.port.offer(call_.send, call_.bytes);
    const std::uint64_t receive = at_root() ? me_.port.offer(call_.receive, call_.bytes) : send;
    return send != 0 && receive != 0 ? Offer{send, receive} : kNoOffer;
  }

  void combine(std::uint64_t at, std::uint32_t bytes) {
    Offers<P>& lent = lending_.offers();
    typename P::ConstUserAddress combined = lent.first(call_.root, at, bytes);
    typename P::UserAddress const to = lent.second(call_.root, at, bytes);
    me_.for_others(call_.root, [&](int peer) {
      me_.port.combine_reached(lent.first(peer, at, bytes), combined, to, std::nullopt, how_, bytes, kTag);
      me_.port.wait(port::mask_of(kTag));
      combined = to;
    });
  }

  static constexpr port::Tag kTag = buffer_tag(0);

  Rank<P>& me_;
  const Call<P>& call_;
  port::Combination how_;
  ClimbingLending<P> lending_;
  Parts parts_;
  Pieces pieces_;
};

}  // namespace corewise::coll::reduce

// Each rank combines its own block straight out of everybody's memory: for calls in which all ranks lend their
// operands (building/lending.hpp). No byte is staged. Operands meet in the order of pairwise.hpp, from the own one
// down: the operator must commute, and the bytes are the same either way. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "coll/building/lending.hpp"
#include "coll/reduce/operand_buffers.hpp"

namespace corewise::coll::reduce_scatter {

/// Complete where P has such memory.
template <port::Port P>
class LentBlocks {
 public:
  LentBlocks(Rank<P>& me, const Call<P>& call, std::uint64_t piece_bytes)
      : me_(me),
        call_(call),
        how_(combination(*call.operation)),
        lending_(me, in_play(), own_offer(), me.size() == 2 ? Decline::with_operand : Decline::at_once),
        pieces_(call.receive_blocks.bytes(me.rank()), piece_bytes) {}

  bool operator()() {
    return combine_lent(me_, lending_, pieces_, [&](std::uint64_t at, std::uint32_t bytes) { combine(at, bytes); });
  }
  void tell_first(int peer) { lending_.tell_first(peer); }
  void hear_first(int peer) { lending_.hear_first(peer); }

 private:
  /// Whether all blocks are long enough, which all ranks know; so all announce to all.
  [[nodiscard]] bool in_play() const {
    std::uint64_t shortest = call_.receive_blocks.bytes(0);
    for (int rank = 1; rank < me_.size(); ++rank) shortest = std::min(shortest, call_.receive_blocks.bytes(rank));
    return me_.size() > 1 && may_lend<P>(shortest);
  }
  /// The operand, from the send buffer's start.
  [[nodiscard]] Offer own_offer() const {
    if (!in_play()) return kNoOffer;
    std::uint64_t end = 0;
    for (int rank = 0; rank < me_.size(); ++rank)
      end = std::max(end, call_.receive_blocks.offset(rank) + call_.receive_blocks.bytes(rank));
    return {me_.port.offer(call_.send, end), 0};
  }

  void combine(std::uint64_t at, std::uint32_t bytes) {
    const std::uint64_t in_operand = call_.receive_blocks.offset(me_.rank()) + at;
    typename P::ConstUserAddress combined = call_.send + in_operand;
    typename P::UserAddress const to = call_.receive + at;
    for (int step = 1; step < me_.size(); ++step) {
      const int peer = (me_.rank() + me_.size() - step) % me_.size();
      me_.port.compute(cost::kPeer);
      me_.port.combine_reached(lending_.offers().first(peer, in_operand, bytes), combined, to, std::nullopt, how_,
                               bytes, kTag);
      me_.port.wait(port::mask_of(kTag));
      combined = to;
    }
  }

  static constexpr port::Tag kTag = buffer_tag(0);

  Rank<P>& me_;
  const Call<P>& call_;
  port::Combination how_;
  Lending<P> lending_;
  Pieces pieces_;
};

}  // namespace corewise::coll::reduce_scatter

// Each rank combines a part of everybody's data straight out of the peers' own memory and writes the result
// straight to everybody's: for calls in which all ranks lend their buffers (building/lending.hpp). No byte is
// staged. Parts and their chunks are those of peer_stages.hpp, and operands meet in the same order: the operator
// must commute, and the bytes are the same either way.
//
// Part r of all buffers is read and written by rank r alone, after all have offered theirs; at the end all tell all
// that they are done. So in place or not makes no difference. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "coll/building/lending.hpp"
#include "coll/reduce/operand_buffers.hpp"

namespace corewise::coll::allreduce {

/// Whether ranks may lend their buffers: the same on all of them.
template <port::MappedUserMemory P>
bool may_lend(const Call<P>& call) {
  return call.operation->commutative && coll::may_lend<P>(call.bytes);
}

/// Complete where P has such memory.
template <port::Port P>
class LentParts {
 public:
  LentParts(Rank<P>& me, const Call<P>& call, std::uint32_t chunk_bytes, std::uint32_t area_bytes)
      : me_(me),
        call_(call),
        how_(combination(*call.operation)),
        lending_(me, allreduce::may_lend(call), offer_of(me, call)),
        chunks_(call.bytes, chunk_bytes),
        area_bytes_(area_bytes) {}

  bool operator()() {
    return combine_lent(me_, lending_, chunks_, [&](std::uint64_t at, std::uint32_t bytes) { combine(at, bytes); });
  }
  void tell_first(int peer) { lending_.tell_first(peer); }
  void hear_first(int peer) { lending_.hear_first(peer); }

 private:
  void combine(std::uint64_t chunk_at, std::uint32_t chunk_bytes) {
    const reduce::Parts cut(chunk_bytes, me_.size(), call_.operation->element_bytes, area_bytes_);
    const std::uint64_t at = chunk_at + cut.at(me_.rank());
    const auto bytes = static_cast<std::uint32_t>(cut.bytes(me_.rank(), me_.rank() + 1));
    if (bytes == 0) return;
    typename P::ConstUserAddress own = call_.send + at;
    typename P::UserAddress const to = call_.receive + at;
    int left = me_.size() - 1;
    int told = me_.rank();  // who has the result already
    Offers<P>& lent = lending_.offers();
    me_.for_others(me_.rank(), [&](int peer) {
      std::optional<typename P::UserAddress> too;
      if (--left == 0 && lent.of(peer).first() != lent.of(peer).second()) {
        too = lent.second(peer, at, bytes);
        told = peer;
      }
      me_.port.combine_reached(lent.first(peer, at, bytes), own, to, too, how_, bytes, kTag);
      me_.port.wait(port::mask_of(kTag));
      own = to;
    });
    me_.for_others(me_.rank(), [&](int peer) {
      if (peer != told) me_.port.give(to, lent.second(peer, at, bytes), bytes, kTag);
    });
    me_.port.wait(port::mask_of(kTag));
  }

  static constexpr port::Tag kTag = buffer_tag(0);

  Rank<P>& me_;
  const Call<P>& call_;
  port::Combination how_;
  Lending<P> lending_;
  Pieces chunks_;
  std::uint32_t area_bytes_;
};

}  // namespace corewise::coll::allreduce

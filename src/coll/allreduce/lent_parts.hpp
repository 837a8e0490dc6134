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

/// What a rank offers: where it has its operand, and where it wants the result; none unless both are such memory.
template <port::MappedUserMemory P>
Offer offer_of(const Rank<P>& me, const Call<P>& call) {
  if (!may_lend(call)) return kNoOffer;
  const std::uint64_t send = me.port.offer(call.send, call.bytes);
  const std::uint64_t receive = me.port.offer(call.receive, call.bytes);
  return send != 0 && receive != 0 ? Offer{send, receive} : kNoOffer;
}

template <port::MappedUserMemory P>
class LentParts {
 public:
  LentParts(Rank<P>& me, const Call<P>& call, std::uint32_t chunk_bytes, std::uint32_t area_bytes)
      : me_(me),
        call_(call),
        how_(combination(*call.operation)),
        lending_(me, allreduce::may_lend(call), offer_of(me, call)),
        chunks_(call.bytes, chunk_bytes),
        area_bytes_(area_bytes) {}

  /// True: the call is done. Otherwise its first operand is announced by tell_first and heard by hear_first.
  bool operator()() {
    if (!lending_.agreed()) return false;
    for (std::uint64_t chunk = 0; chunk < chunks_.count(); ++chunk) combine(chunk);
    me_.for_others(me_.rank(), [this](int peer) { me_.acknowledgements.tell(peer); });
    me_.for_others(me_.rank(), [this](int peer) { me_.acknowledgements.hear(peer); });
    ++me_.lent_calls;
    return true;
  }
  void tell_first(int peer) { lending_.tell_first(peer); }
  void hear_first(int peer) { lending_.hear_first(peer); }

 private:
  void combine(std::uint64_t chunk) {
    me_.port.compute(cost::kPiece);
    const reduce::Parts cut(chunks_.bytes(chunk), me_.size(), call_.operation->element_bytes, area_bytes_);
    const std::uint64_t at = chunks_.at(chunk) + cut.at(me_.rank());
    const auto bytes = static_cast<std::uint32_t>(cut.bytes(me_.rank(), me_.rank() + 1));
    if (bytes == 0) return;
    typename P::ConstUserAddress own = call_.send + at;
    typename P::UserAddress const to = call_.receive + at;
    int left = me_.size() - 1;
    int told = me_.rank();  // who has the result already
    me_.for_others(me_.rank(), [&](int peer) {
      const Offer& offer = lending_.of(peer);
      std::optional<typename P::UserAddress> too;
      if (--left == 0 && offer.first() != offer.second()) {
        too = me_.port.reach(peer, offer.second() + at, bytes);
        told = peer;
      }
      me_.port.combine_reached(me_.port.reach(peer, offer.first() + at, bytes), own, to, too, how_, bytes, kTag);
      me_.port.wait(port::mask_of(kTag));
      own = to;
    });
    me_.for_others(me_.rank(), [&](int peer) {
      if (peer == told) return;
      me_.port.give(to, me_.port.reach(peer, lending_.of(peer).second() + at, bytes), bytes, kTag);
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

/// On a port without such memory.
template <port::Port P>
class NoParts {
 public:
  NoParts(Rank<P>& me, const Call<P>& /*call*/, std::uint32_t /*chunk_bytes*/, std::uint32_t /*area_bytes*/)
      : me_(me) {}
  bool operator()() { return false; }
  void tell_first(int peer) { me_.announcements.tell(peer); }
  void hear_first(int peer) { me_.announcements.hear(peer); }

 private:
  Rank<P>& me_;
};

template <port::Port P>
struct LentPartsOf {
  using type = NoParts<P>;
};
template <port::MappedUserMemory P>
struct LentPartsOf<P> {
  using type = LentParts<P>;
};

}  // namespace corewise::coll::allreduce

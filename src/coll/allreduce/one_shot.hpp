// Every rank combines everybody's operand straight out of their stages: one phase, where parts for each rank need
// two (peer_stages.hpp). Two ranks move the same bytes either way; more do more work, but wait less.
//
// All fold from the last rank down, s0 op (s1 op (s2 op ...)), with the same operand on the same side: all have the
// same bytes, whatever the operator. The own operand is in the own stage too; so a call in place may put its result
// where it was.
//
// Four areas in turn need no acknowledgement: a rank stages piece c + 1 before it combines piece c. Who stages
// piece c + 1 has heard everybody's piece c - 1, so piece c - 3 has been combined everywhere. At the end of a call
// all tell all that they have read everything: other calls use the stage otherwise.
//
// Where all ranks lend their buffers, and the operator commutes, each does a part (lent_parts.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "coll/allreduce/lent_parts.hpp"
#include "coll/reduce/operand_buffers.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::allreduce {

template <port::Port P>
  requires port::PeerStageRead<P> && port::PeerStageCombine<P>
class OneShot {
 public:
  OneShot(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me),
        call_(call),
        how_(combination(*call.operation)),
        areas_(me.shape, kTurns),
        pieces_(call.bytes, reduce::piece_bytes(call, parameters, areas_)),
        lent_(me, call, areas_.bytes(), areas_.bytes()) {}

  void operator()() {
    if (lent_()) return;
    const std::uint64_t count = pieces_.count();
    if (count == 0) return;
    stage(0);
    for (std::uint64_t piece = 0; piece < count; ++piece) {
      if (piece + 1 < count) stage(piece + 1);
      combine(piece);
    }
    me_.for_others(me_.rank(), [this](int peer) { me_.acknowledgements.tell(peer); });
    me_.for_others(me_.rank(), [this](int peer) { me_.acknowledgements.hear(peer); });
  }

 private:
  static constexpr std::uint32_t kTurns = 4;

  [[nodiscard]] static int area(std::uint64_t piece) { return static_cast<int>(piece % kTurns); }

  void stage(std::uint64_t piece) {
    me_.port.compute(cost::kPiece);
    me_.stage.load(call_.send + pieces_.at(piece), areas_.at(area(piece)), pieces_.bytes(piece),
                   buffer_tag(area(piece)));
    me_.port.wait(areas_.mask(area(piece)));
    me_.for_others(me_.rank(), [&](int peer) {
      if (piece == 0) return lent_.tell_first(peer);
      me_.announcements.tell(peer);
    });
  }

  void hear(std::uint64_t piece, int rank) {
    if (piece == 0) return lent_.hear_first(rank);
    me_.announcements.hear(rank);
  }

  void combine(std::uint64_t piece) {
    const std::uint32_t bytes = pieces_.bytes(piece);
    const port::Tag tag = buffer_tag(area(piece));
    typename P::UserAddress const to = call_.receive + pieces_.at(piece);
    typename P::ConstUserAddress right = call_.send + pieces_.at(piece);
    for (int rank = me_.size() - 1; rank >= 0; --rank) {
      const port::Remote operand{rank, areas_.at(area(piece))};
      if (rank != me_.rank()) hear(piece, rank);
      if (rank < me_.size() - 1) {
        me_.port.combine_user(operand, right, to, std::nullopt, how_, bytes, tag);
      } else if (rank == me_.rank()) {
        continue;  // the own operand, where it is
      } else {
        me_.port.get_user(operand, to, bytes, tag);
      }
      me_.port.wait(areas_.mask(area(piece)));
      right = to;
    }
  }

  Rank<P>& me_;
  const Call<P>& call_;
  port::Combination how_;
  reduce::Areas areas_;
  Pieces pieces_;
  LentOr<P, LentParts<P>> lent_;
};

template <port::Port P>
  requires port::PeerStageRead<P> && port::PeerStageCombine<P>
void one_shot(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (me.size() == 1) {
    reduce::copy_own(me, call);
  } else {
    OneShot<P>(me, call, parameters)();
  }
  me.close(parameters);
}

}  // namespace corewise::coll::allreduce

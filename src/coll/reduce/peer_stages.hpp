// The root combines everybody's operand straight out of their stages, into its result: two passes over each byte,
// where a tree of stages makes four. Every other rank loads pieces through the areas of its stage in turn. The root
// does all the work, so this is for few ranks; operands meet in the order of ranks from the root on: the operator
// must commute.
//
// A rank uses an area again when the root has acknowledged what was in it, and its call ends when the root has read
// everything: no barrier is needed. In place at the root: it replaces its operand as it combines it.
//
// Where all ranks lend their buffers nothing is staged, and all combine a part (lent_parts.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "coll/reduce/lent_parts.hpp"
#include "coll/reduce/operand_buffers.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::reduce {

template <port::PeerStageCombine P>
class PeerStages {
 public:
  PeerStages(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me),
        call_(call),
        how_(combination(*call.operation)),
        areas_(me.shape, kTurns),
        pieces_(call.bytes, piece_bytes(call, parameters, areas_)),
        lent_(me, call, piece_bytes(call, parameters, areas_), areas_.bytes()) {}

  void operator()() {
    if (lent_()) return;
    if (me_.rank() == call_.root) {
      for (std::uint64_t piece = 0; piece < pieces_.count(); ++piece) combine(piece);
    } else {
      feed();
    }
  }

 private:
  static constexpr std::uint32_t kTurns = 4;
  [[nodiscard]] static int area(std::uint64_t piece) { return static_cast<int>(piece % kTurns); }

  void feed() {
    for (std::uint64_t piece = 0; piece < pieces_.count(); ++piece) {
      me_.port.compute(cost::kPiece);
      if (piece >= kTurns) me_.acknowledgements.hear(call_.root);
      me_.stage.load(call_.send + pieces_.at(piece), areas_.at(area(piece)), pieces_.bytes(piece),
                     buffer_tag(area(piece)));
      me_.port.wait(areas_.mask(area(piece)));
      if (piece == 0) {
        lent_.tell_first(call_.root);
      } else {
        me_.announcements.tell(call_.root);
      }
    }
    me_.acknowledgements.hear(call_.root,
                              static_cast<std::uint32_t>(std::min<std::uint64_t>(pieces_.count(), kTurns)));
  }

  void combine(std::uint64_t piece) {
    me_.port.compute(cost::kPiece);
    typename P::ConstUserAddress own = call_.send + pieces_.at(piece);
    typename P::UserAddress const to = call_.receive + pieces_.at(piece);
    me_.for_others(call_.root, [&](int peer) {
      if (piece == 0) {
        lent_.hear_first(peer);
      } else {
        me_.announcements.hear(peer);
      }
      me_.port.combine_user({peer, areas_.at(area(piece))}, own, to, std::nullopt, how_, pieces_.bytes(piece),
                            buffer_tag(area(piece)));
      me_.port.wait(areas_.mask(area(piece)));
      me_.acknowledgements.tell(peer);
      own = to;
    });
  }

  Rank<P>& me_;
  const Call<P>& call_;
  port::Combination how_;
  Areas areas_;
  Pieces pieces_;
  LentOr<P, LentParts<P>> lent_;
};

template <port::PeerStageCombine P>
void peer_stages(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (me.size() == 1) {
    copy_own(me, call);
  } else if (call.bytes > 0) {
    PeerStages<P>(me, call, parameters)();
  }
  me.close(parameters);
}

}  // namespace corewise::coll::reduce

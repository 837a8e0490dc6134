// Each rank combines a part of everybody's data straight out of the peers' stages, and everybody copies the result
// of a part from the stage of the rank that computed it: chunk by chunk, the next chunk staged while this one is
// combined. Every part is computed by one rank, so all have the same bytes; but operands meet in another order for
// each part: the operator must commute.
//
// A chunk's area in the stage of rank r is an image of the chunk: r's operand for the parts of the others, and in
// the place of part r, which r need not stage, its result. A rank tells every other one: operand 0 is there,
// operand 1, result 0, operand 2, result 1 and so on. In place: a rank replaces its part as it combines it, the
// other parts have been staged by then.
//
// Four areas in turn need no acknowledgement. Who stages chunk c has heard everybody's result c - 2, so its operand
// c - 4 has been read; who combines chunk c has heard everybody's operand c, staged after result c - 4 was copied.
// At the end of a call all tell all that they have read everything: other calls use the stage otherwise.
//
// Where all ranks lend their buffers nothing is staged (lent_parts.hpp). SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "coll/allreduce/lent_parts.hpp"
#include "coll/reduce/operand_buffers.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::allreduce {

template <port::Port P>
  requires port::PeerStageRead<P> && port::PeerStageCombine<P>
class PeerStages {
 public:
  PeerStages(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me),
        call_(call),
        how_(combination(*call.operation)),
        areas_(me.shape, kTurns),
        chunks_(call.bytes, reduce::piece_bytes(call, parameters, areas_)),
        // The chunks decide which rank combines what, and so in what order; of two ranks' operands there is one.
        lent_(me, call, me.size() == 2 ? areas_.bytes() : reduce::piece_bytes(call, parameters, areas_),
              areas_.bytes()) {}

  void operator()() {
    if (lent_()) return;
    const std::uint64_t count = chunks_.count();
    for (std::uint64_t chunk = 0; chunk < count; ++chunk) {
      if (chunk == 0) stage(chunk);
      if (chunk + 1 < count) stage(chunk + 1);
      combine(chunk);
      take(chunk);
    }
    if (count == 0) return;
    me_.for_others(me_.rank(), [this](int peer) { me_.acknowledgements.tell(peer); });
    me_.for_others(me_.rank(), [this](int peer) { me_.acknowledgements.hear(peer); });
  }

 private:
  static constexpr std::uint32_t kTurns = 4;

  [[nodiscard]] static int area(std::uint64_t chunk) { return static_cast<int>(chunk % kTurns); }
  [[nodiscard]] reduce::Parts parts(std::uint64_t chunk) const {
    return {chunks_.bytes(chunk), me_.size(), call_.operation->element_bytes, areas_.bytes()};
  }
  /// Where a part of the chunk lies in the stage of any rank.
  [[nodiscard]] port::StageOffset place(std::uint64_t chunk, const reduce::Parts& parts, int part) const {
    return areas_.at(area(chunk)) + static_cast<std::uint32_t>(parts.at(part));
  }
  [[nodiscard]] static std::uint32_t bytes(const reduce::Parts& parts, int part) {
    return static_cast<std::uint32_t>(parts.bytes(part, part + 1));
  }

  /// What the others need of the own operand.
  void stage(std::uint64_t chunk) {
    me_.port.compute(cost::kPiece);
    const reduce::Parts cut = parts(chunk);
    const auto load = [&](int first, int last) {
      const auto count = static_cast<std::uint32_t>(cut.bytes(first, last));
      if (count == 0) return;
      me_.stage.load(call_.send + chunks_.at(chunk) + cut.at(first), place(chunk, cut, first), count,
                     buffer_tag(area(chunk)));
    };
    load(0, me_.rank());
    load(me_.rank() + 1, me_.size());
    me_.port.wait(areas_.mask(area(chunk)));
    me_.for_others(me_.rank(), [&](int peer) {
      if (chunk == 0) return lent_.tell_first(peer);
      me_.announcements.tell(peer);
    });
  }

  /// The own part: into the result, and the last time into the stage too.
  void combine(std::uint64_t chunk) {
    const reduce::Parts cut = parts(chunk);
    const std::uint64_t at = chunks_.at(chunk) + cut.at(me_.rank());
    const port::StageOffset mine = place(chunk, cut, me_.rank());
    typename P::ConstUserAddress own = call_.send + at;
    int left = me_.size() - 1;
    me_.for_others(me_.rank(), [&](int peer) {
      if (chunk == 0) lent_.hear_first(peer);  // of a later operand: in take, before
      const std::optional<port::StageOffset> too = --left == 0 ? std::optional(mine) : std::nullopt;
      me_.port.combine_user({peer, mine}, own, call_.receive + at, too, how_, bytes(cut, me_.rank()),
                            buffer_tag(area(chunk)));
      me_.port.wait(areas_.mask(area(chunk)));
      own = call_.receive + at;
    });
    me_.for_others(me_.rank(), [this](int peer) { me_.announcements.tell(peer); });
  }

  /// The other parts' results.
  void take(std::uint64_t chunk) {
    const reduce::Parts cut = parts(chunk);
    const std::uint32_t told = chunk + 1 < chunks_.count() ? 2 : 1;  // the next operand, this result
    me_.for_others(me_.rank(), [&](int peer) {
      me_.announcements.hear(peer, told);
      me_.port.get_user({peer, place(chunk, cut, peer)}, call_.receive + chunks_.at(chunk) + cut.at(peer),
                        bytes(cut, peer), buffer_tag(area(chunk)));
    });
    me_.port.wait(areas_.mask(area(chunk)));
  }

  Rank<P>& me_;
  const Call<P>& call_;
  port::Combination how_;
  reduce::Areas areas_;
  Pieces chunks_;
  LentOr<P, LentParts<P>> lent_;
};

template <port::Port P>
  requires port::PeerStageRead<P> && port::PeerStageCombine<P>
void peer_stages(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (me.size() == 1) {
    reduce::copy_own(me, call);
  } else {
    PeerStages<P>(me, call, parameters)();
  }
  me.close(parameters);
}

}  // namespace corewise::coll::allreduce

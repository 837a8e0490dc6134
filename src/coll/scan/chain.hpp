// Scan and exscan along the chain of ranks, piece by piece, in local stores: a rank fetches what its left neighbour
// has combined, combines its own operand with it, and the right one fetches that. Pieces follow one another like
// those of the tree of degree 1 (paper 001, section 7: pipelined). Lower ranks are on the left: any operator.
//
// Flow. Two areas in turn hold own operands, which become prefixes; one is used again when the right neighbour has
// acknowledged and what was stored from there is stored. Two more hold what the left one had.
//
// Where all ranks lend their buffers nothing is staged, and all work at once (lent_parts.hpp).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "coll/reduce/operand_buffers.hpp"
#include "coll/scan/lent_parts.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::scan {

/// Does rank r's own operand count for its own result?
enum class Kind : std::uint8_t { inclusive, exclusive };

template <port::Port P>
class Chain {
 public:
  Chain(Rank<P>& me, const Call<P>& call, const Parameters& parameters, Kind kind)
      : me_(me),
        call_(call),
        kind_(kind),
        how_(combination(*call.operation)),
        turns_(reduce::turns(parameters)),
        ahead_(reduce::loads_ahead(parameters)),
        areas_(me.shape, 4),
        pieces_(call.bytes, reduce::piece_bytes(call, parameters, areas_)),
        lent_(me, call, kind == Kind::inclusive, reduce::piece_bytes(call, parameters, areas_), areas_.bytes()) {}

  void operator()() {
    if (lent_()) return;
    const std::uint64_t count = pieces_.count();
    for (std::uint64_t piece = 0; piece < count; ++piece) {
      if (piece == 0 || !ahead_) begin(piece);
      if (ahead_ && piece + 1 < count) begin(piece + 1);
      go_on(piece);
    }
    const auto unread = std::min<std::uint64_t>(count, static_cast<std::uint64_t>(turns_));
    if (!last() && unread > 0) me_.acknowledgements.hear(me_.rank() + 1, static_cast<std::uint32_t>(unread));
    me_.port.wait(areas_.mask(0) | areas_.mask(1) | areas_.mask(2) | areas_.mask(3));
  }

 private:
  [[nodiscard]] bool first() const { return me_.rank() == 0; }
  [[nodiscard]] bool last() const { return me_.rank() == me_.size() - 1; }
  /// Whether the result is made in user memory, straight out of the left neighbour's stage: all but the inner ranks
  /// of an exclusive scan, whose result is not what they hand on.
  [[nodiscard]] bool straight() const {
    return port::PeerStageRead<P> && port::PeerStageCombine<P> && !first() && (kind_ == Kind::inclusive || last());
  }
  [[nodiscard]] bool needs_own() const { return !straight() && (kind_ == Kind::inclusive || !last()); }
  [[nodiscard]] int own(std::uint64_t piece) const {
    return static_cast<int>(piece % static_cast<std::uint64_t>(turns_));
  }
  [[nodiscard]] int prefix(std::uint64_t piece) const { return 2 + own(piece); }

  void begin(std::uint64_t piece) {
    me_.port.compute(cost::kPiece);
    if (!last() && piece >= static_cast<std::uint64_t>(turns_)) me_.acknowledgements.hear(me_.rank() + 1);
    if (!needs_own()) return;
    me_.port.wait(areas_.mask(own(piece)));  // what was stored from there
    me_.stage.load(call_.send + pieces_.at(piece), areas_.at(own(piece)), pieces_.bytes(piece),
                   buffer_tag(own(piece)));
  }

  void go_on(std::uint64_t piece) {
    if constexpr (port::PeerStageRead<P> && port::PeerStageCombine<P>) {
      if (straight()) return take(piece);
    }
    if (!first()) fetch(piece);
    me_.port.wait(areas_.mask(own(piece)));
    if (!first() && needs_own()) {
      me_.stage.combine(*call_.operation, areas_.at(prefix(piece)), areas_.at(own(piece)), pieces_.bytes(piece));
    }
    hand_on(piece);
    if (kind_ == Kind::inclusive) {
      store(piece, own(piece));
    } else if (!first()) {
      store(piece, prefix(piece));
    }
  }
  /// The prefix up to here is in the own area; and that of the left neighbour in its own.
  void hand_on(std::uint64_t piece) {
    if (last()) return;
    if (piece == 0) return lent_.tell_first(me_.rank() + 1);
    me_.announcements.tell(me_.rank() + 1);
  }
  void hear_left(std::uint64_t piece) {
    if (piece == 0) return lent_.hear_first(me_.rank() - 1);
    me_.announcements.hear(me_.rank() - 1);
  }
  void take(std::uint64_t piece) {
    const port::Remote theirs{me_.rank() - 1, areas_.at(own(piece))};
    const port::Tag tag = buffer_tag(own(piece));
    typename P::UserAddress const to = call_.receive + pieces_.at(piece);
    hear_left(piece);
    if (kind_ == Kind::inclusive) {
      const auto too = last() ? std::nullopt : std::optional(areas_.at(own(piece)));
      me_.port.combine_user(theirs, call_.send + pieces_.at(piece), to, too, how_, pieces_.bytes(piece), tag);
    } else {
      me_.port.get_user(theirs, to, pieces_.bytes(piece), tag);
    }
    me_.port.wait(port::mask_of(tag));
    me_.acknowledgements.tell(theirs.peer);
    hand_on(piece);
  }
  void fetch(std::uint64_t piece) {
    const int area = prefix(piece);
    const int left = me_.rank() - 1;
    hear_left(piece);
    me_.port.wait(areas_.mask(area));  // what was stored from there
    me_.port.get({left, areas_.at(own(piece))}, areas_.at(area), pieces_.bytes(piece), buffer_tag(area));
    me_.port.wait(areas_.mask(area));
    me_.acknowledgements.tell(left);
  }
  void store(std::uint64_t piece, int area) {
    me_.stage.store(areas_.at(area), call_.receive + pieces_.at(piece), pieces_.bytes(piece), buffer_tag(area));
  }

  Rank<P>& me_;
  const Call<P>& call_;
  Kind kind_;
  port::Combination how_;
  int turns_;
  bool ahead_;
  reduce::Areas areas_;
  Pieces pieces_;
  LentOr<P, LentParts<P>> lent_;
};

template <Kind kKind, port::Port P>
void chain(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  Chain<P>(me, call, parameters, kKind)();
  me.close(parameters);
}

}  // namespace corewise::coll::scan

// Scan and exscan by recursive doubling, on any number of ranks and with any operator: in step s a rank fetches
// what the one 2^s before it has, which stands for the 2^s ranks up to that one, and combines it on the left of its
// own. After ceil(log2 P) steps all have their prefixes. For exscan everybody first takes its left neighbour's
// operand for its own; then it is a scan of the ranks from 1 on.
//
// Chunk by chunk in local stores: a rank changes what it has only when its reader of this step has acknowledged.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/reduce/operand_buffers.hpp"
#include "coll/scan/chain.hpp"
#include "pattern/schedule.hpp"

namespace corewise::coll::scan {

/// Whom a rank meets: to the one 2^step further on, from the one as far before; among the ranks from `first` on.
inline pattern::schedule::Peers doubling_peers(int ranks, int first, int rank, int step) {
  using pattern::schedule::nobody;
  const int distance = 1 << step;
  if (rank < first) return {nobody, nobody};
  return {rank + distance < ranks ? rank + distance : nobody, rank - distance >= first ? rank - distance : nobody};
}
/// The shift that makes an exscan of a scan.
inline pattern::schedule::Peers neighbours(int ranks, int rank) {
  return doubling_peers(ranks, 0, rank, 0);
}
/// From which rank on the doubling steps have ranks, and how many steps there are.
constexpr int first_rank(Kind kind) {
  return kind == Kind::inclusive ? 0 : 1;
}
inline int doubling_steps(int ranks, Kind kind) {
  const int taking_part = ranks - first_rank(kind);
  return taking_part < 1 ? 0 : pattern::schedule::ceil_log2(taking_part);
}

template <port::Port P>
class Doubling {
 public:
  Doubling(Rank<P>& me, const Call<P>& call, const Parameters& parameters, Kind kind)
      : me_(me),
        call_(call),
        kind_(kind),
        turns_(reduce::turns(parameters)),
        ahead_(reduce::loads_ahead(parameters)),
        areas_(me.shape, 4),
        chunks_(call.bytes, reduce::piece_bytes(call, parameters, areas_)) {}

  void operator()() {
    const std::uint64_t count = chunks_.count();
    for (std::uint64_t chunk = 0; chunk < count; ++chunk) {
      if (chunk == 0 || !ahead_) load(chunk);
      if (ahead_ && chunk + 1 < count) load(chunk + 1);
      me_.port.wait(areas_.mask(own(chunk)));
      if (kind_ == Kind::inclusive) {
        steps(own(chunk), chunk);
        store(chunk, own(chunk));
      } else {
        shift(chunk);
        steps(kShifted, chunk);
        if (me_.rank() > 0) store(chunk, kShifted);
      }
    }
    me_.port.wait(areas_.mask(0) | areas_.mask(1) | areas_.mask(kShifted));
  }

 private:
  static constexpr int kOperand = 2, kShifted = 3;

  [[nodiscard]] int own(std::uint64_t chunk) const {
    return static_cast<int>(chunk % static_cast<std::uint64_t>(turns_));
  }
  void load(std::uint64_t chunk) {
    me_.port.compute(cost::kPiece);
    me_.port.wait(areas_.mask(own(chunk)));  // what was stored from there
    me_.stage.load(call_.send + chunks_.at(chunk), areas_.at(own(chunk)), chunks_.bytes(chunk),
                   buffer_tag(own(chunk)));
  }
  void store(std::uint64_t chunk, int area) {
    me_.stage.store(areas_.at(area), call_.receive + chunks_.at(chunk), chunks_.bytes(chunk), buffer_tag(area));
  }

  void shift(std::uint64_t chunk) {
    me_.port.wait(areas_.mask(kShifted));  // what was stored from there
    meet(neighbours(me_.size(), me_.rank()), own(chunk), kShifted, chunks_.bytes(chunk));
  }
  void steps(int area, std::uint64_t chunk) {
    const int first = first_rank(kind_);
    for (int step = 0; step < doubling_steps(me_.size(), kind_); ++step) {
      const auto peers = doubling_peers(me_.size(), first, me_.rank(), step);
      meet(peers, area, kOperand, chunks_.bytes(chunk));
      if (peers.from == pattern::schedule::nobody) continue;
      me_.stage.combine(*call_.operation, areas_.at(kOperand), areas_.at(area), chunks_.bytes(chunk));
    }
  }
  /// Lets `to` read this rank's `area` and reads that of `from` into `into`; both are done at return.
  void meet(const pattern::schedule::Peers& peers, int area, int into, std::uint32_t bytes) {
    me_.port.compute(cost::kPeer);
    if (peers.to != pattern::schedule::nobody) me_.announcements.tell(peers.to);
    if (peers.from != pattern::schedule::nobody) {
      me_.announcements.hear(peers.from);
      me_.port.get({peers.from, areas_.at(area)}, areas_.at(into), bytes, buffer_tag(into));
      me_.port.wait(areas_.mask(into));
      me_.acknowledgements.tell(peers.from);
    }
    if (peers.to != pattern::schedule::nobody) me_.acknowledgements.hear(peers.to);
  }

  Rank<P>& me_;
  const Call<P>& call_;
  Kind kind_;
  int turns_;
  bool ahead_;
  reduce::Areas areas_;
  Pieces chunks_;
};

template <Kind kKind, port::Port P>
void recursive_doubling(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  Doubling<P>(me, call, parameters, kKind)();
  me.close(parameters);
}

}  // namespace corewise::coll::scan

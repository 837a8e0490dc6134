// TREE (paper 001, section 7): the broadcast's tree of local stores with its directions reversed. Piece by piece a
// rank loads its own operand, fetches each child's result from the child's store, combines them, and tells its
// parent; the root stores. Degree 1 is a chain, the paper's pipelined reduction. Four areas: an operand and a
// result for each of two pieces in turn.
//
// Order. The ranks below a rank are the consecutive ones after it and children are taken nearest first, so operands
// are combined from left to right as seen from the root. An operator that does not commute has its tree at rank 0,
// which hands the result to the root as if the root were its parent. One that does may take them in the
// broadcast's order, large subtrees first (Parameters::far_first): paper 001's, as far as one knows.
// Flow. A rank uses a pair of areas again when its parent has acknowledged the piece that was in them. A parent
// acknowledges once it has fetched, without waiting for anybody above, so every piece gets through. All is
// acknowledged at the end of a call: no barrier is needed.
// Ahead. With Parameters::child_ahead a rank that loads ahead also fetches its first child's operand for the next
// piece, if that has been announced, before it combines: the area is free since the own operand was loaded beside
// it. It never waits for that announcement, so the order of waits stays.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "coll/reduce/operand_buffers.hpp"
#include "pattern/knomial.hpp"

namespace corewise::coll::reduce {

template <port::Port P>
class Tree {
 public:
  Tree(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me),
        call_(call),
        top_(call.operation->commutative ? call.root : 0),
        degree_(me.degree(parameters)),
        place_(node(me.rank())),
        up_(place_.parent() != pattern::schedule::nobody || top_ == call.root ? place_.parent() : call.root),
        turns_(turns(parameters)),
        ahead_(loads_ahead(parameters)),
        child_ahead_(ahead_ && parameters.child_ahead),
        far_first_(parameters.far_first && call.operation->commutative),
        waits_(parameters.waits),
        areas_(me.shape, 4),
        pieces_(call.bytes, piece_bytes(call, parameters, areas_)) {}

  void operator()() {
    const std::uint64_t count = pieces_.count();
    for (std::uint64_t piece = 0; piece < count; ++piece) {
      if (piece == 0 || !ahead_) begin(piece);
      if (ahead_ && piece + 1 < count) begin(piece + 1);
      finish(piece);
    }
    if (up_ != pattern::schedule::nobody) hear_reads(std::min<std::uint64_t>(count, turns_));
    me_.port.wait(areas_.mask(0) | areas_.mask(1) | areas_.mask(2) | areas_.mask(3));
  }

 private:
  [[nodiscard]] pattern::schedule::Knomial node(int rank) const {
    return {me_.size(), top_, rank, degree_, pattern::schedule::TreeOrder::halving};
  }
  /// The two areas of the piece's turn; operands move from one to the other as they are combined.
  [[nodiscard]] int area(std::uint64_t piece, int index) const {
    return 2 * static_cast<int>(piece % static_cast<std::uint64_t>(turns_)) + index % 2;
  }
  [[nodiscard]] port::StageOffset result_at(int rank, std::uint64_t piece) const {
    return areas_.at(area(piece, node(rank).children()));
  }
  void hear_reads(std::uint64_t count) {
    if (count > 0) me_.acknowledgements.hear(up_, static_cast<std::uint32_t>(count));
  }

  void begin(std::uint64_t piece) {
    me_.port.compute(cost::kPiece);
    if (piece >= static_cast<std::uint64_t>(turns_)) {
      if (up_ != pattern::schedule::nobody) hear_reads(1);
      me_.port.wait(areas_.mask(area(piece, 0)) | areas_.mask(area(piece, 1)));  // what was stored from them
    }
    const int own = area(piece, 0);
    me_.stage.load_strided(call_.send, call_.send_stride, pieces_.at(piece), areas_.at(own), pieces_.bytes(piece),
                           buffer_tag(own));
  }

  void finish(std::uint64_t piece) {
    int result = 0;
    for_children([&](int child) {
      me_.port.compute(cost::kPeer);
      const int fetched = area(piece, result + 1);
      if (result == 0) first_child_ = child;
      fetch(child, piece, fetched);
      fetch_ahead(piece + 1);
      me_.stage.combine(*call_.operation, areas_.at(area(piece, result)), areas_.at(fetched), pieces_.bytes(piece));
      ++result;
    });
    if (result == 0) me_.port.wait(areas_.mask(area(piece, 0)));
    if (up_ != pattern::schedule::nobody) announce();
    if (me_.rank() == call_.root) store(piece, result);
  }

  template <class Visit>
  void for_children(Visit visit) const {
    if (far_first_) return place_.for_children(visit);
    place_.for_children_nearest_first(visit);
  }

  void announce() {
    me_.announcements.tell(up_);
    if (waits_) me_.port.wait(port::mask_of(metadata_tag(up_)));
  }

  /// The result of `from` for this piece, into an area of the piece; the own operand is there as well on return.
  void fetch(int from, std::uint64_t piece, int into) {
    if (from != first_child_ || piece >= fetched_) start_fetch(from, piece, into);
    me_.port.wait(areas_.mask(area(piece, 0)) | areas_.mask(area(piece, 1)));
    me_.acknowledgements.tell(from);
  }

  void start_fetch(int from, std::uint64_t piece, int into) {
    me_.announcements.hear(from);
    me_.port.get({from, result_at(from, piece)}, areas_.at(into), pieces_.bytes(piece), buffer_tag(into));
    if (from == first_child_) fetched_ = piece + 1;
  }
  void fetch_ahead(std::uint64_t piece) {
    if (!child_ahead_ || piece >= pieces_.count() || fetched_ != piece) return;
    if (me_.announcements.arrived(first_child_)) start_fetch(first_child_, piece, area(piece, 1));
  }

  void store(std::uint64_t piece, int result) {
    int from = area(piece, result);
    if (top_ != call_.root) {
      from = area(piece, result + 1);
      fetch(top_, piece, from);
    }
    me_.stage.store_strided(areas_.at(from), call_.receive, call_.receive_stride, pieces_.at(piece),
                            pieces_.bytes(piece), buffer_tag(from));
  }

  Rank<P>& me_;
  const Call<P>& call_;
  int top_;
  int degree_;
  pattern::schedule::Knomial place_;
  int up_;
  int turns_;
  bool ahead_;
  bool child_ahead_;
  bool far_first_;
  bool waits_;
  Areas areas_;
  Pieces pieces_;
  int first_child_ = pattern::schedule::nobody;
  std::uint64_t fetched_ = 0;  ///< pieces of the first child that have been asked for
};

template <port::Port P>
void tree(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  Tree<P>(me, call, parameters)();
  me.close(parameters);
}

}  // namespace corewise::coll::reduce

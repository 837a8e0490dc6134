// TREE (paper 001, section 7): the broadcast's tree of local stores with its directions reversed. Piece by piece a
// rank loads its own operand, fetches each child's result from the child's store, combines them, and tells its
// parent; the root stores. Degree 1 is a chain, the paper's pipelined reduction.
//
// Areas. All operands of all pieces go through four areas in turn: the own one, then the children's. An operand is
// combined into the one after it, so a piece's result lies where its last operand came in. While two operands are
// combined the next two are on their way: in a chain, the own operand and the child's of the next piece, which is
// the paper's double buffering of both ("two for each operand of a reduce operation, and two more because of double
// buffering"). A child's operand is fetched ahead only if it has been announced: nobody waits for it early.
// Order. The ranks below a rank are the consecutive ones after it and children are taken nearest first, so operands
// are combined from left to right as seen from the root. An operator that does not commute has its tree at rank 0,
// which hands the result to the root as if the root were its parent.
// Flow. A rank uses the area of a result again when its parent has acknowledged it. A parent acknowledges once it
// has fetched, and waits for nobody above before it does, so every piece gets through. All is acknowledged at the
// end of a call: no barrier is needed. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

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
        degree_(parameters.degree),
        place_(node(me.rank())),
        up_(place_.parent() != pattern::schedule::nobody || top_ == call.root ? place_.parent() : call.root),
        single_(turns(parameters) == 1),
        ahead_(loads_ahead(parameters) ? 2 : 0),
        waits_(parameters.waits),
        areas_(me.shape, kAreas),
        pieces_(call.bytes, piece_bytes(call, parameters, areas_)) {
    sources_.push_back(me.rank());
    place_.for_children_nearest_first([this](int child) { sources_.push_back(child); });
    result_ = sources_.size() - 1;
    if (me.rank() == call.root && top_ != call.root) sources_.push_back(top_);
  }

  void operator()() {
    const std::uint64_t total = pieces_.count() * sources_.size();
    std::uint64_t started = 0;
    for (std::uint64_t k = 0; k < total; ++k) {
      while (started < std::min(total, k + 1 + ahead_) && start(started, started == k)) ++started;
      finish(k);
    }
    if (up_ != pattern::schedule::nobody) hear_reads(pieces_.count());
    for (int area = 0; area < kAreas; ++area) me_.port.wait(areas_.mask(area));
  }

 private:
  static constexpr int kAreas = 4;

  [[nodiscard]] pattern::schedule::Knomial node(int rank) const {
    return {me_.size(), top_, rank, degree_, pattern::schedule::TreeOrder::halving};
  }
  /// Operand k of all pieces' operands in a row.
  [[nodiscard]] static int area(std::uint64_t k) { return static_cast<int>(k % kAreas); }
  [[nodiscard]] std::uint64_t piece(std::uint64_t k) const { return k / sources_.size(); }
  [[nodiscard]] std::size_t index(std::uint64_t k) const { return k % sources_.size(); }
  /// Where `rank` has its result of a piece: it has as many operands as its own and its children's, and the root
  /// below a tree of another top one more, which nobody fetches.
  [[nodiscard]] port::StageOffset result_at(int rank, std::uint64_t piece) const {
    const auto children = static_cast<std::uint64_t>(node(rank).children());
    const std::uint64_t operands = children + (rank == call_.root && top_ != call_.root ? 2 : 1);
    return areas_.at(area(piece * operands + children));
  }

  /// Until the parent has read the results of so many pieces.
  void hear_reads(std::uint64_t count) {
    if (count <= heard_) return;
    me_.acknowledgements.hear(up_, static_cast<std::uint32_t>(count - heard_));
    heard_ = count;
  }
  [[nodiscard]] bool reads_arrived(std::uint64_t count) const {
    return count <= heard_ || me_.acknowledgements.arrived(up_, static_cast<std::uint32_t>(count - heard_));
  }
  /// How many of the own results must have been read before operand k may come into its area.
  [[nodiscard]] std::uint64_t reads_before(std::uint64_t k) const {
    if (up_ == pattern::schedule::nobody) return 0;
    if (single_) return piece(k);  // one buffer: nothing of the next piece before this one is gone
    if (k < kAreas) return 0;
    return piece(k - kAreas) + (index(k - kAreas) >= result_ ? 1 : 0);
  }

  /// Starts to bring operand k in. Unless it `must`, it does so only if that needs no wait for another rank.
  bool start(std::uint64_t k, bool must) {
    const int from = sources_[index(k)];
    const bool own = index(k) == 0;
    if (!must && !(reads_arrived(reads_before(k)) && (own || me_.announcements.arrived(from)))) return false;
    me_.port.compute(own ? cost::kPiece : cost::kPeer);
    hear_reads(reads_before(k));
    me_.port.wait(areas_.mask(area(k)));  // what was stored from there
    const std::uint64_t at = piece(k);
    if (own) {
      me_.stage.load(call_.send + pieces_.at(at), areas_.at(area(k)), pieces_.bytes(at), buffer_tag(area(k)));
    } else {
      me_.announcements.hear(from);
      me_.port.get({from, result_at(from, at)}, areas_.at(area(k)), pieces_.bytes(at), buffer_tag(area(k)));
    }
    return true;
  }

  /// Operand k is there: combines it with what was before it; the last one makes the result.
  void finish(std::uint64_t k) {
    const std::size_t operand = index(k);
    me_.port.wait(areas_.mask(area(k)));
    if (operand > 0) me_.acknowledgements.tell(sources_[operand]);
    const std::uint32_t bytes = pieces_.bytes(piece(k));
    if (operand > 0 && operand <= result_) {
      me_.stage.combine(*call_.operation, areas_.at(area(k - 1)), areas_.at(area(k)), bytes, operand == 1);
    }
    if (operand == result_ && up_ != pattern::schedule::nobody) announce();
    if (me_.rank() == call_.root && operand + 1 == sources_.size()) {
      me_.stage.store(areas_.at(area(k)), call_.receive + pieces_.at(piece(k)), bytes, buffer_tag(area(k)));
    }
  }

  void announce() {
    me_.announcements.tell(up_);
    if (waits_) me_.port.wait(port::mask_of(metadata_tag(up_)));
  }

  Rank<P>& me_;
  const Call<P>& call_;
  int top_;
  int degree_;
  pattern::schedule::Knomial place_;
  int up_;
  bool single_;
  std::uint64_t ahead_;
  bool waits_;
  Areas areas_;
  Pieces pieces_;
  std::vector<int> sources_;  ///< of a piece's operands, in their order: this rank, its children, the tree's top
  std::size_t result_ = 0;    ///< the operand in whose area the result lies
  std::uint64_t heard_ = 0;   ///< results that the parent has read
};

template <port::Port P>
void tree(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  Tree<P>(me, call, parameters)();
  me.close(parameters);
}

}  // namespace corewise::coll::reduce

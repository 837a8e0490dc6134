// Ring: a reduce-scatter and an all-gather around the ring of ranks, chunk by chunk, in local stores. A chunk has a
// part per rank; part b starts at rank b, and each next rank fetches it from the one before and combines it into
// its own; the last to get it, rank b - 1, has the result, which goes on around. Every part is computed by one
// rank, so all have the same bytes; but operands meet in ring order: the operator must commute.
//
// All reads are from the left neighbour. A result comes to a place after the partial sum that lay there has been
// read: the sum went around to become the result. Once a chunk the right neighbour acknowledges its last read.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "coll/reduce/operand_buffers.hpp"

namespace corewise::coll::allreduce {

template <port::Port P>
class Ring {
 public:
  Ring(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me),
        call_(call),
        left_((me.rank() + me.size() - 1) % me.size()),
        right_((me.rank() + 1) % me.size()),
        turns_(reduce::turns(parameters)),
        ahead_(reduce::loads_ahead(parameters)),
        areas_(me.shape, 3),
        chunks_(call.bytes, reduce::piece_bytes(call, parameters, areas_)) {}

  void operator()() {
    const std::uint64_t count = chunks_.count();
    for (std::uint64_t chunk = 0; chunk < count; ++chunk) {
      if (chunk == 0 || !ahead_) begin(chunk);
      if (ahead_ && chunk + 1 < count) begin(chunk + 1);
      go_round(chunk);
      me_.stage.store(areas_.at(area(chunk)), call_.receive + chunks_.at(chunk), chunks_.bytes(chunk),
                      buffer_tag(area(chunk)));
    }
    const auto left_over = std::min<std::uint64_t>(count, static_cast<std::uint64_t>(turns_));
    if (left_over > 0) me_.acknowledgements.hear(right_, static_cast<std::uint32_t>(left_over));
    me_.port.wait(areas_.mask(0) | areas_.mask(1));
  }

 private:
  static constexpr int kOperand = 2;  ///< the third area

  [[nodiscard]] int area(std::uint64_t chunk) const {
    return static_cast<int>(chunk % static_cast<std::uint64_t>(turns_));
  }

  void begin(std::uint64_t chunk) {
    me_.port.compute(cost::kPiece);
    if (chunk >= static_cast<std::uint64_t>(turns_)) me_.acknowledgements.hear(right_);
    me_.port.wait(areas_.mask(area(chunk)));  // what was stored from there
    me_.stage.load(call_.send + chunks_.at(chunk), areas_.at(area(chunk)), chunks_.bytes(chunk),
                   buffer_tag(area(chunk)));
  }

  void go_round(std::uint64_t chunk) {
    const int ranks = me_.size();
    const reduce::Parts parts(chunks_.bytes(chunk), ranks, call_.operation->element_bytes, areas_.bytes());
    me_.port.wait(areas_.mask(area(chunk)));
    const auto part = [&](int back) { return (me_.rank() - back + 2 * ranks) % ranks; };
    for (int step = 0; step + 1 < ranks; ++step) fetch(chunk, parts, part(step + 1), true);
    for (int step = 0; step + 1 < ranks; ++step) fetch(chunk, parts, part(step), false);
    me_.acknowledgements.tell(left_);
  }

  /// The left neighbour's part, added to the own one or in its place. What this rank has by now, the right one may
  /// read.
  void fetch(std::uint64_t chunk, const reduce::Parts& parts, int part, bool combines) {
    const auto offset = static_cast<std::uint32_t>(parts.at(part));
    const auto bytes = static_cast<std::uint32_t>(parts.bytes(part, part + 1));
    const port::StageOffset own = areas_.at(area(chunk)) + offset;
    const int into = combines ? kOperand : area(chunk);
    me_.port.compute(cost::kPeer);
    me_.announcements.tell(right_);
    me_.announcements.hear(left_);
    if (bytes == 0) return;
    me_.port.get({left_, own}, areas_.at(into) + offset, bytes, buffer_tag(into));
    me_.port.wait(areas_.mask(into));
    if (combines) me_.stage.combine(*call_.operation, areas_.at(kOperand) + offset, own, bytes);
  }

  Rank<P>& me_;
  const Call<P>& call_;
  int left_, right_;
  int turns_;
  bool ahead_;
  reduce::Areas areas_;
  Pieces chunks_;
};

template <port::Port P>
void ring(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (me.size() == 1) {
    reduce::copy_own(me, call);
  } else {
    Ring<P>(me, call, parameters)();
  }
  me.close(parameters);
}

}  // namespace corewise::coll::allreduce

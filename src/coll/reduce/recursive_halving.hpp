// Recursive halving in local stores: the first half of Rabenseifner's algorithm (paper 001, section 7.3), for
// reduce and allreduce. The operand is cut into chunks that fit an area; of each chunk every rank of a power of two
// ends with one part, combined over all ranks.
//
// In step s a rank meets the one whose number (among those that take part) differs in bit s. Each fetches from the
// other's store the half of its range that it goes on with and combines it into its own. Partners at distance 1
// come first, so what a rank has is always combined over consecutive ranks: any operator will do. Ranks beyond a
// power of two: of the first pairs each even rank hands its chunk to the odd one first.
// Flow. What a partner reads of a rank's area, that rank does not touch again in this chunk. Two areas in turn hold
// chunks; one is used again when all who read it have acknowledged. Every read is answered without waiting for a
// later chunk, so every chunk gets through. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>

#include "coll/reduce/fold.hpp"
#include "coll/reduce/operand_buffers.hpp"

namespace corewise::coll::reduce {

template <port::Port P>
class RecursiveHalving {
 public:
  RecursiveHalving(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me),
        call_(call),
        fold_(me.size()),
        number_(fold_.number(me.rank())),
        turns_(turns(parameters)),
        areas_(me.shape, 3),
        chunks_(call.bytes, piece_bytes(call, parameters, areas_)) {}

  [[nodiscard]] const Fold& fold() const { return fold_; }
  /// Among those that take part; -1 for a rank that only hands over.
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] const Pieces& chunks() const { return chunks_; }
  [[nodiscard]] int turns_used() const { return turns_; }
  [[nodiscard]] int area(std::uint64_t chunk) const {
    return static_cast<int>(chunk % static_cast<std::uint64_t>(turns_));
  }
  [[nodiscard]] port::StageOffset at(std::uint64_t chunk) const { return areas_.at(area(chunk)); }
  [[nodiscard]] port::TagMask mask(std::uint64_t chunk) const { return areas_.mask(area(chunk)); }
  [[nodiscard]] Parts parts(std::uint64_t chunk) const {
    return {chunks_.bytes(chunk), fold_.numbers(), call_.operation->element_bytes, areas_.bytes()};
  }

  void load(std::uint64_t chunk) {
    me_.port.compute(cost::kPiece);
    me_.port.wait(mask(chunk));  // what was stored from there
    me_.stage.load(call_.send + chunks_.at(chunk), at(chunk), chunks_.bytes(chunk), tag(chunk));
  }
  void store(std::uint64_t chunk) {
    me_.stage.store(at(chunk), call_.receive + chunks_.at(chunk), chunks_.bytes(chunk), tag(chunk));
  }

  /// The opening for ranks beyond a power of two, then the steps. `acknowledge(peer)` is called for every rank that
  /// was read.
  template <class Acknowledge>
  void reduce_scatter(std::uint64_t chunk, Acknowledge acknowledge) {
    me_.port.wait(mask(chunk));
    if (const int partner = fold_.partner(me_.rank()); partner >= 0) {
      if (number_ < 0) return me_.announcements.tell(partner);
      me_.announcements.hear(partner);
      fetch_and_combine(chunk, partner, 0, chunks_.bytes(chunk));
      acknowledge(partner);
    }
    const Parts cut = parts(chunk);
    for (int step = 0; step < fold_.steps(); ++step) {
      const int partner = fold_.rank(number_ ^ (1 << step));
      const Range kept = fold_.range(number_, step + 1);
      me_.port.compute(cost::kPeer);
      me_.announcements.tell(partner);
      me_.announcements.hear(partner);
      fetch_and_combine(chunk, partner, cut.at(kept.first), cut.bytes(kept.first, kept.last));
      acknowledge(partner);
    }
  }

  /// Fetches [from, from + bytes) of a peer's chunk into the same place of the own; complete after the chunk's tag.
  void fetch(std::uint64_t chunk, int peer, std::uint64_t from, std::uint64_t bytes) {
    const port::StageOffset place = at(chunk) + static_cast<std::uint32_t>(from);
    me_.port.get({peer, place}, place, static_cast<std::uint32_t>(bytes), tag(chunk));
  }

 private:
  static constexpr int kOperand = 2;  ///< the third area

  [[nodiscard]] port::Tag tag(std::uint64_t chunk) const { return buffer_tag(area(chunk)); }

  void fetch_and_combine(std::uint64_t chunk, int peer, std::uint64_t from, std::uint64_t count) {
    if (count == 0) return;
    const auto offset = static_cast<std::uint32_t>(from);
    const auto bytes = static_cast<std::uint32_t>(count);
    const port::StageOffset own = at(chunk) + offset;
    const port::StageOffset operand = areas_.at(kOperand) + offset;
    me_.port.get({peer, own}, operand, bytes, buffer_tag(kOperand));
    me_.port.wait(areas_.mask(kOperand));
    if (peer < me_.rank() || call_.operation->commutative) {
      me_.stage.combine(*call_.operation, operand, own, bytes);
    } else {
      me_.stage.combine(*call_.operation, own, operand, bytes);
      std::memcpy(me_.port.stage().data() + own, me_.port.stage().data() + operand, bytes);
      me_.port.compute(cost::shift(bytes));
    }
  }

  Rank<P>& me_;
  const Call<P>& call_;
  Fold fold_;
  int number_;
  int turns_;
  Areas areas_;
  Pieces chunks_;
};

}  // namespace corewise::coll::reduce

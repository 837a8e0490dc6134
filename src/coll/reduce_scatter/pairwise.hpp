// Reduce-scatter by pairwise exchange: in step s each rank sends to the one s further on that one's block and
// combines into its own what comes from the one s before; P - 1 steps, through local stores, piece by piece of the
// blocks. Operands meet in another order at each rank: the operator must commute.
//
// Flow. Message number n (of all pieces' steps in a row, equal on all ranks) lies in sending area n modulo 2, which
// is used again when its reader has acknowledged. A rank waits for others' earlier messages, and for those of the
// same step only after it has sent its own; so none can wait in a circle.
//
// Where all ranks lend their operands nothing is staged (lent_blocks.hpp). SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "coll/reduce/operand_buffers.hpp"
#include "coll/reduce_scatter/lent_blocks.hpp"
#include "pattern/schedule.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::reduce_scatter {

template <port::Port P>
class Pairwise {
 public:
  Pairwise(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me),
        call_(call),
        turns_(reduce::turns(parameters)),
        ahead_(reduce::loads_ahead(parameters)),
        how_(combination(*call.operation)),
        areas_(me.shape, 4),
        piece_bytes_(reduce::piece_bytes(call, parameters, areas_)),
        lent_(me, call, piece_bytes_) {}

  void operator()() {
    if (lent_()) return;
    const auto steps = static_cast<std::uint64_t>(me_.size() - 1);
    std::uint64_t pieces = 0;
    for (int rank = 0; rank < me_.size(); ++rank) pieces = std::max(pieces, block(rank).count());
    const std::uint64_t messages = pieces * steps;
    for (std::uint64_t piece = 0; piece < pieces; ++piece) {
      begin_own(piece);
      for (std::uint64_t step = 0; step < steps; ++step) {
        const std::uint64_t number = piece * steps + step;
        if (number == 0 || !ahead_) load(number);
        post(number);
        if (ahead_ && number + 1 < messages) load(number + 1);
        take(number);
      }
      end_own(piece);
    }
    for (int area = 0; area < turns_; ++area) hear_reader(area);
    me_.port.wait(areas_.mask(kOwn));
  }

 private:
  static constexpr int kOperand = 2, kOwn = 3;
  using Peer = int;

  [[nodiscard]] Pieces block(int rank) const { return {call_.receive_blocks.bytes(rank), piece_bytes_}; }
  [[nodiscard]] std::uint64_t piece(std::uint64_t number) const {
    return number / static_cast<std::uint64_t>(me_.size() - 1);
  }
  [[nodiscard]] int step(std::uint64_t number) const {
    return static_cast<int>(number % static_cast<std::uint64_t>(me_.size() - 1)) + 1;
  }
  [[nodiscard]] int area(std::uint64_t number) const {
    return static_cast<int>(number % static_cast<std::uint64_t>(turns_));
  }
  [[nodiscard]] Peer reader(std::uint64_t number) const { return (me_.rank() + step(number)) % me_.size(); }
  [[nodiscard]] bool sends(std::uint64_t number) const { return piece(number) < block(reader(number)).count(); }

  /// Whether the own block is combined in user memory, straight out of the peers' stages.
  [[nodiscard]] bool straight() const { return port::PeerStageCombine<P> && me_.size() > 1; }

  void begin_own(std::uint64_t index) {
    const Pieces own = block(me_.rank());
    if (straight() || index >= own.count()) return;
    me_.port.wait(areas_.mask(kOwn));  // what was stored from there
    me_.stage.load(call_.send + (call_.receive_blocks.offset(me_.rank()) + own.at(index)), areas_.at(kOwn),
                   own.bytes(index), buffer_tag(kOwn));
  }
  void end_own(std::uint64_t index) {
    const Pieces own = block(me_.rank());
    if (straight() || index >= own.count()) return;
    me_.port.wait(areas_.mask(kOwn));
    me_.stage.store(areas_.at(kOwn), call_.receive + own.at(index), own.bytes(index), buffer_tag(kOwn));
  }

  void hear_reader(int area) {
    Peer& peer = readers_[static_cast<std::size_t>(area)];
    if (peer != pattern::schedule::nobody) me_.acknowledgements.hear(peer);
    peer = pattern::schedule::nobody;
  }
  void load(std::uint64_t number) {
    if (!sends(number)) return;
    const Peer to = reader(number);
    const Pieces pieces = block(to);
    const std::uint64_t index = piece(number);
    me_.port.compute(cost::kPiece);
    hear_reader(area(number));
    me_.stage.load(call_.send + (call_.receive_blocks.offset(to) + pieces.at(index)), areas_.at(area(number)),
                   pieces.bytes(index), buffer_tag(area(number)));
  }
  void post(std::uint64_t number) {
    if (!sends(number)) return;
    me_.port.wait(areas_.mask(area(number)));
    readers_[static_cast<std::size_t>(area(number))] = reader(number);
    if (piece(number) == 0) return lent_.tell_first(reader(number));
    me_.announcements.tell(reader(number));
  }
  void take(std::uint64_t number) {
    const Pieces own = block(me_.rank());
    if (piece(number) >= own.count()) return;
    const Peer from = (me_.rank() + me_.size() - step(number)) % me_.size();
    const std::uint32_t bytes = own.bytes(piece(number));
    if (piece(number) == 0) {
      lent_.hear_first(from);
    } else {
      me_.announcements.hear(from);
    }
    if constexpr (port::PeerStageCombine<P>) {
      const std::uint64_t at = own.at(piece(number));
      typename P::UserAddress const to = call_.receive + at;
      typename P::ConstUserAddress mine = to;
      if (step(number) == 1) mine = call_.send + (call_.receive_blocks.offset(me_.rank()) + at);
      me_.port.combine_user({from, areas_.at(area(number))}, mine, to, std::nullopt, how_, bytes,
                            buffer_tag(kOperand));
      me_.port.wait(areas_.mask(kOperand));
      me_.acknowledgements.tell(from);
      return;
    }
    me_.port.get({from, areas_.at(area(number))}, areas_.at(kOperand), bytes, buffer_tag(kOperand));
    me_.port.wait(areas_.mask(kOperand) | areas_.mask(kOwn));
    me_.acknowledgements.tell(from);
    me_.stage.combine(*call_.operation, areas_.at(kOperand), areas_.at(kOwn), bytes);
  }

  Rank<P>& me_;
  const Call<P>& call_;
  int turns_;
  bool ahead_;
  port::Combination how_;
  reduce::Areas areas_;
  std::uint64_t piece_bytes_;
  LentOr<P, LentBlocks<P>> lent_;
  std::array<Peer, 2> readers_{pattern::schedule::nobody, pattern::schedule::nobody};
};

template <port::Port P>
void pairwise(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  Pairwise<P>(me, call, parameters)();
  me.close(parameters);
}

}  // namespace corewise::coll::reduce_scatter

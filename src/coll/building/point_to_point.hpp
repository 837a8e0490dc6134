// The minimal send and receive for the algorithms that are built on them (paper 001, sections 6 and 7, TREEMM; its
// reference 3): through the sender's buffer and the receiver's, in pieces, double buffered, on any port.
//
// The first half of a rank's buffers is for sending, the second for receiving. For each piece: the sender loads it,
// announces it; the receiver fetches it from the sender's stage, acknowledges, stores it. A sender reuses half of
// its area when the piece before the last has been acknowledged, and returns when all have been: its buffers are
// then free, so calls need no barrier between them. Both sides must know the length (a schedule does).
//
// send_receive does both at once, piece by piece in turn, so rings and exchanges cannot block each other: piece i
// of a rank needs only that its receiver has come to piece i - 2. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "coll/rank.hpp"
#include "pattern/schedule.hpp"

namespace corewise::coll {

/// One side of a transfer: nobody or 0 bytes is none. `address` is own user memory.
template <class Address>
struct Part {
  int peer = pattern::schedule::nobody;
  Address address{};
  std::uint64_t bytes = 0;

  [[nodiscard]] bool none() const { return peer == pattern::schedule::nobody || bytes == 0; }
};

/// Where pieces of a transfer are: turn 0 and 1 of the sending area and of the receiving area.
template <port::Port P>
class TransferAreas {
 public:
  explicit TransferAreas(const Rank<P>& me)
      : half_(me.shape.bounce() / 2), piece_(half_ / 2 / port::kStageAlignment * port::kStageAlignment) {
    assert(piece_ > 0);
  }
  [[nodiscard]] std::uint32_t piece_bytes() const { return piece_; }
  [[nodiscard]] port::StageOffset sending(std::uint64_t piece) const { return turn(piece); }
  [[nodiscard]] port::StageOffset receiving(std::uint64_t piece) const { return half_ + turn(piece); }
  [[nodiscard]] static port::Tag sending_tag(std::uint64_t piece) {
    return buffer_tag(static_cast<int>(piece % 2));
  }
  [[nodiscard]] static port::Tag receiving_tag(std::uint64_t piece) {
    return buffer_tag(2 + static_cast<int>(piece % 2));
  }

 private:
  [[nodiscard]] port::StageOffset turn(std::uint64_t piece) const {
    return static_cast<port::StageOffset>(piece % 2) * piece_;
  }
  std::uint32_t half_;
  std::uint32_t piece_;
};

/// Sends `to.bytes` to to.peer and receives `from.bytes` from from.peer. `granule`: pieces are multiples of it (for
/// operators on elements). `arrived(stage offset, at, bytes)` is called for each piece that has come, in order,
/// before it is stored; what it leaves in the stage is stored.
template <port::Port P, class Arrived>
void send_receive(Rank<P>& me, const Part<typename P::ConstUserAddress>& to,
                  const Part<typename P::UserAddress>& from, std::uint32_t granule, Arrived arrived) {
  const TransferAreas<P> areas(me);
  const std::uint32_t most = std::max(granule, areas.piece_bytes() / granule * granule);
  const Pieces out(to.none() ? 0 : to.bytes, most);
  const Pieces in(from.none() ? 0 : from.bytes, most);
  for (std::uint64_t piece = 0; piece < std::max(out.count(), in.count()); ++piece) {
    me.port.compute(cost::kPiece);
    if (piece < out.count()) {
      if (piece >= 2) me.acknowledgements.hear(to.peer);
      me.stage.load(to.address + out.at(piece), areas.sending(piece), out.bytes(piece), areas.sending_tag(piece));
      me.port.wait(port::mask_of(areas.sending_tag(piece)));
      me.announcements.tell(to.peer);
    }
    if (piece < in.count()) {
      me.announcements.hear(from.peer);
      const port::StageOffset at = areas.receiving(piece);
      const port::TagMask tag = port::mask_of(areas.receiving_tag(piece));
      me.port.wait(tag);  // the store of the piece before the last
      me.port.get({from.peer, areas.sending(piece)}, at, in.bytes(piece), areas.receiving_tag(piece));
      me.port.wait(tag);
      me.acknowledgements.tell(from.peer);
      arrived(at, in.at(piece), in.bytes(piece));
      me.stage.store(at, from.address + in.at(piece), in.bytes(piece), areas.receiving_tag(piece));
    }
  }
  if (out.count() > 0) {
    me.acknowledgements.hear(to.peer, static_cast<std::uint32_t>(std::min<std::uint64_t>(2, out.count())));
  }
  me.port.wait(port::mask_of(areas.receiving_tag(0)) | port::mask_of(areas.receiving_tag(1)));
}

template <port::Port P>
void send_receive(Rank<P>& me, const Part<typename P::ConstUserAddress>& to,
                  const Part<typename P::UserAddress>& from) {
  send_receive(me, to, from, 1, [](port::StageOffset, std::uint64_t, std::uint32_t) {});
}
template <port::Port P>
void send(Rank<P>& me, int peer, typename P::ConstUserAddress from, std::uint64_t bytes) {
  send_receive<P>(me, {peer, from, bytes}, {});
}
template <port::Port P>
void receive(Rank<P>& me, int peer, typename P::UserAddress to, std::uint64_t bytes) {
  send_receive<P>(me, {}, {peer, to, bytes});
}

}  // namespace corewise::coll

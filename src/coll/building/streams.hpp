// Streams: bytes that one rank hands to another in pieces of fixed length through areas of its stage, on any port
// (paper 001, section 4: the sender announces, the receiver fetches and acknowledges).
//
// Both ends know the length, and that piece n of a stream lies in area (first + n) modulo the number of areas. A
// sender uses an area again when its piece has been acknowledged, and is done when all have been: its stage is then
// free, so calls need no barrier between them. A receiver may ask for piece n + 1 before it acknowledges piece n.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "coll/building/relay.hpp"
#include "coll/rank.hpp"
#include "pattern/schedule.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll {

/// The areas from which a rank sends: equal on all ranks. Copies to and from area i go under buffer_tag(i).
class StreamAreas {
 public:
  static constexpr int kCount = 4;

  /// Four that fill the buffers; no longer than `piece_bytes`, if that is given.
  StreamAreas(const Shape& shape, const Parameters& parameters)
      : step_(whole_lines(shape.bounce() / kCount)), piece_(step_) {
    if (parameters.piece_bytes > 0) piece_ = std::min(step_, whole_lines(parameters.piece_bytes + 127));
  }
  [[nodiscard]] std::uint32_t piece_bytes() const { return piece_; }
  [[nodiscard]] port::StageOffset at(int area) const { return static_cast<std::uint32_t>(area) * step_; }
  /// Of piece `piece` of a stream that begins in area `first`.
  [[nodiscard]] static int area(int first, std::uint64_t piece) {
    return static_cast<int>((static_cast<std::uint64_t>(first) + piece) % kCount);
  }
  [[nodiscard]] Pieces pieces(std::uint64_t bytes) const { return {bytes, piece_}; }

 private:
  static constexpr std::uint32_t whole_lines(std::uint32_t bytes) {
    return bytes / port::kStageAlignment * port::kStageAlignment;
  }
  std::uint32_t step_, piece_;
};

/// The sending end of any number of streams, one after the other.
template <port::Port P>
class Outbox {
 public:
  Outbox(Rank<P>& me, const StreamAreas& areas) : me_(me), areas_(areas) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Where `area` is, when nobody needs what was in it and nothing is under way there.
  port::StageOffset open(int area) {
    hear_reader(area);
    me_.port.wait(mask(area));
    return areas_.at(area);
  }
  /// What was started for `area` under its tag is the next piece for `peer`. It is announced with the next one, so
  /// that copies overlap.
  void post(int area, int peer) {
    flush();
    readers_[index(area)] = {peer, next_number(peer)};
    loading_ = area;
    if constexpr (port::PeerStageRead<P>) flush();  // a host's copies are done at once
  }
  /// Announces what has been posted.
  void flush() {
    if (loading_ < 0) return;
    me_.port.wait(mask(loading_));
    me_.announcements.tell(readers_[index(loading_)].peer);
    loading_ = -1;
  }
  /// Own user memory as a whole stream.
  void send(int peer, int first, typename P::ConstUserAddress from, std::uint64_t bytes,
            const Stride& stride = {}) {
    const Pieces pieces = areas_.pieces(bytes);
    for (std::uint64_t piece = 0; piece < pieces.count(); ++piece) {
      const int area = StreamAreas::area(first, piece);
      me_.port.compute(cost::kPiece);
      me_.stage.load_strided(from, stride, pieces.at(piece), open(area), pieces.bytes(piece), buffer_tag(area));
      post(area, peer);
    }
  }
  /// Everything has been read at return.
  void finish() {
    flush();
    for (int area = 0; area < StreamAreas::kCount; ++area) open(area);
  }

 private:
  struct Reader {
    int peer = pattern::schedule::nobody;
    port::Sequence number = 0;  ///< of the acknowledgement
  };

  static std::size_t index(int area) { return static_cast<std::size_t>(area); }
  static port::TagMask mask(int area) { return port::mask_of(buffer_tag(area)); }

  [[nodiscard]] port::Sequence next_number(int peer) const {
    port::Sequence last = me_.acknowledgements.heard(peer);
    for (const Reader& reader : readers_) {
      if (reader.peer == peer && port::reached(reader.number, last)) last = reader.number;
    }
    return last + 1;
  }
  void hear_reader(int area) {
    const Reader reader = readers_[index(area)];
    if (reader.peer == pattern::schedule::nobody) return;
    const port::Sequence heard = me_.acknowledgements.heard(reader.peer);
    if (!port::reached(heard, reader.number)) {
      // A reader may want the posted piece before it acknowledges this one.
      if (!me_.acknowledgements.arrived(reader.peer, reader.number - heard)) flush();
      me_.acknowledgements.hear(reader.peer, reader.number - heard);
    }
    readers_[index(area)] = {};
  }

  Rank<P>& me_;
  StreamAreas areas_;
  std::array<Reader, StreamAreas::kCount> readers_{};
  int loading_ = -1;
};

/// The receiving end of one stream, for who takes any part of it to any place of the stage.
template <port::Port P>
class Inlet {
 public:
  Inlet(Rank<P>& me, const StreamAreas& areas, int peer, int first, std::uint64_t bytes)
      : me_(&me), areas_(areas), peer_(peer), first_(first), bytes_(bytes) {}

  /// Starts to fetch bytes [at, at + bytes) of the stream to `to`; blocks until they are announced. `to` and `at`
  /// are congruent as copies must be.
  void fetch(std::uint64_t at, port::StageOffset to, std::uint32_t bytes, port::Tag tag) {
    const std::uint32_t most = areas_.piece_bytes();
    for (std::uint32_t done = 0; done < bytes;) {
      const std::uint64_t piece = (at + done) / most;
      const auto within = static_cast<std::uint32_t>((at + done) % most);
      const std::uint32_t part = std::min(most - within, bytes - done);
      hear(piece + 1);
      me_->port.get({peer_, areas_.at(StreamAreas::area(first_, piece)) + within}, to + done, part, tag);
      done += part;
    }
  }
  /// All before `at` is here: acknowledges the pieces that end there or before.
  void release(std::uint64_t at) {
    const std::uint32_t most = areas_.piece_bytes();
    const std::uint64_t pieces = at == bytes_ ? (at + most - 1) / most : at / most;
    for (; released_ < pieces; ++released_) me_->acknowledgements.tell(peer_);
  }

 private:
  void hear(std::uint64_t pieces) {
    if (heard_ >= pieces) return;
    me_->announcements.hear(peer_, static_cast<std::uint32_t>(pieces - heard_));
    heard_ = pieces;
  }

  Rank<P>* me_;
  StreamAreas areas_;
  int peer_, first_;
  std::uint64_t bytes_, heard_ = 0, released_ = 0;
};

/// Takes whole streams through the buffers: each(take) calls take(peer, bytes) for every one. When a piece is there
/// its sender may go on, and store(peer, at, from, bytes, tag) brings it on, as that of a relay does.
template <port::Port P, class Each, class Store>
void relay_streams(Rank<P>& me, const StreamAreas& areas, int first, Each each, Store store) {
  const auto load = [&](int peer, std::uint64_t at, port::StageOffset to, std::uint32_t bytes, port::Tag tag) {
    me.announcements.hear(peer);
    me.port.get({peer, areas.at(StreamAreas::area(first, at / areas.piece_bytes()))}, to, bytes, tag);
  };
  const auto taken = [&](int peer, std::uint64_t at, port::StageOffset from, std::uint32_t bytes, port::Tag tag) {
    me.acknowledgements.tell(peer);
    store(peer, at, from, bytes, tag);
  };
  Relay relay(me, Parameters{}, load, taken);
  each([&](int peer, std::uint64_t bytes) {
    const Pieces pieces = areas.pieces(bytes);
    for (std::uint64_t piece = 0; piece < pieces.count(); ++piece) {
      if (piece > 0) relay.turn();  // no more than one piece of a stream is held back
      relay.move(peer, pieces.at(piece), pieces.bytes(piece));
    }
  });
  relay.finish();
}

/// Takes a whole stream straight to own user memory.
template <port::PeerStageRead P>
void take_straight(Rank<P>& me, const StreamAreas& areas, int first, int peer, typename P::UserAddress to,
                   std::uint64_t bytes) {
  const Pieces pieces = areas.pieces(bytes);
  for (std::uint64_t piece = 0; piece < pieces.count(); ++piece) {
    const int area = StreamAreas::area(first, piece);
    me.port.compute(cost::kPiece);
    me.announcements.hear(peer);
    me.port.get_user({peer, areas.at(area)}, to + pieces.at(piece), pieces.bytes(piece), buffer_tag(area));
    me.port.wait(port::mask_of(buffer_tag(area)));
    me.acknowledgements.tell(peer);
  }
}

/// Takes whole streams to own user memory, straight where the port can and it is contiguous: that of `peer` goes to
/// to(peer), and `each` is as above.
template <port::Port P, class Each, class To>
void receive_streams(Rank<P>& me, const StreamAreas& areas, int first, Each each, To to, const Stride& stride) {
  if constexpr (port::PeerStageRead<P>) {
    if (stride.contiguous()) {
      each([&](int peer, std::uint64_t bytes) { take_straight(me, areas, first, peer, to(peer), bytes); });
      return;
    }
  }
  relay_streams(me, areas, first, each,
                [&](int peer, std::uint64_t at, port::StageOffset from, std::uint32_t bytes, port::Tag tag) {
                  me.stage.store_strided(from, to(peer), stride, at, bytes, tag);
                });
}

/// What a block takes in a stream: copies between stages stay congruent.
template <class P>
constexpr std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + P::kCopyAlignment - 1) / P::kCopyAlignment * P::kCopyAlignment;
}

}  // namespace corewise::coll

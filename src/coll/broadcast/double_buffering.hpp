// What the broadcasts share: the tree, how data are cut into pieces that fit a buffer, and the double-buffered copy
// through the buffers (paper 001, section 4: while data are transferred out of one buffer, another is filled).
//
// Payloads of entries. An algorithm that ends with a barrier has had every payload read by then. One that ends by
// counters tells nobody twice with a payload within a call, and returns only when it has heard an acknowledgement
// from everybody whom it has sent one. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "coll/rank.hpp"
#include "pattern/knomial.hpp"

namespace corewise::coll::broadcast {

using pattern::schedule::Knomial;
using pattern::schedule::nobody;

/// The tree of the parameters' degree. Its first child heads the largest subtree.
template <port::Port P>
Knomial tree_of(const Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  return {me.size(), call.root, me.rank(), me.degree(parameters)};
}

template <port::Port P>
bool is_root(const Rank<P>& me, const Call<P>& call) {
  return me.rank() == call.root;
}

/// How many buffers take turns.
template <port::Port P>
int turns(const Rank<P>& me, const Parameters& parameters) {
  return std::clamp(parameters.buffering, 1, me.shape.buffers);
}

/// The most bytes of a piece: multiples of a line where a buffer holds one, so that pieces stay aligned.
template <port::Port P>
std::uint32_t piece_limit(const Rank<P>& me, const Parameters& parameters) {
  const std::uint32_t room = me.stage.buffer_bytes();
  const std::uint32_t wanted = parameters.piece_bytes == 0 ? room : std::min(room, parameters.piece_bytes);
  constexpr std::uint32_t kLine = port::Line128::kBytes;
  constexpr std::uint32_t kQuadword = port::Line16::kBytes;
  return wanted >= kLine ? wanted / kLine * kLine : std::max(kQuadword, wanted / kQuadword * kQuadword);
}

/// How far a buffer's data begin behind its start, so that copies from `address` need no shifting and every piece
/// but the first begins on a line.
template <port::Port P, class Address>
std::uint32_t skew_of(Address address) {
  return P::kCopyAlignment == 1 ? 0 : low_bits(address) % port::Line128::kBytes;
}

/// One piece: where it begins in the data and in its buffer.
struct Cut {
  std::uint64_t at = 0;
  std::uint32_t inside = 0;
  std::uint32_t bytes = 0;
};

/// Consecutive data in pieces of at most `most` bytes; the first is `skew` shorter and begins so far inside its
/// buffer.
class Cuts {
 public:
  Cuts(std::uint64_t bytes, std::uint32_t most, std::uint32_t skew)
      : bytes_(bytes), most_(most), skew_(skew % most) {}

  [[nodiscard]] std::uint64_t count() const { return bytes_ == 0 ? 0 : (bytes_ + skew_ + most_ - 1) / most_; }
  [[nodiscard]] Cut operator[](std::uint64_t piece) const {
    const std::uint64_t at = piece == 0 ? 0 : piece * most_ - skew_;
    const std::uint64_t end = std::min(bytes_, (piece + 1) * most_ - skew_);
    return {at, piece == 0 ? skew_ : 0, static_cast<std::uint32_t>(end - at)};
  }

 private:
  std::uint64_t bytes_;
  std::uint32_t most_, skew_;
};

/// The same, beginning `first` bytes further on and coming back to the start.
class WrappedCuts {
 public:
  template <class Skew>
  WrappedCuts(std::uint64_t bytes, std::uint64_t first, std::uint32_t most, Skew skew)
      : first_(first), upper_(bytes - first, most, skew(first)), lower_(first, most, skew(0)) {}

  [[nodiscard]] std::uint64_t count() const { return upper_.count() + lower_.count(); }
  [[nodiscard]] Cut operator[](std::uint64_t piece) const {
    if (piece >= upper_.count()) return lower_[piece - upper_.count()];
    Cut cut = upper_[piece];
    cut.at += first_;
    return cut;
  }

 private:
  std::uint64_t first_;
  Cuts upper_, lower_;
};

/// Moves all pieces through the buffers in turn: fill(cut, place, tag) starts the copies into a buffer, empty(cut,
/// place, tag) those out of it. With Parameters::ahead a piece is being filled before the one in front of it is
/// there. On return everything is complete.
template <port::Port P, class List, class Fill, class Empty>
void through_buffers(Rank<P>& me, const List& cuts, const Parameters& parameters, Fill fill, Empty empty) {
  const auto buffers = static_cast<std::uint64_t>(turns(me, parameters));
  const std::uint64_t lead = parameters.ahead ? buffers - 1 : 0;
  const std::uint64_t count = cuts.count();
  const auto tag = [buffers](std::uint64_t piece) { return buffer_tag(static_cast<int>(piece % buffers)); };
  const auto place = [&](std::uint64_t piece) {
    return me.stage.buffer(static_cast<int>(piece % buffers)) + cuts[piece].inside;
  };
  std::uint64_t filled = 0;
  const auto fill_next = [&] {
    me.port.compute(cost::kPiece);
    me.port.wait(port::mask_of(tag(filled)));  // what was emptied from this buffer
    fill(cuts[filled], place(filled), tag(filled));
    ++filled;
  };
  for (std::uint64_t piece = 0; piece < count; ++piece) {
    while (filled < std::min(count, piece + lead + 1)) fill_next();
    me.port.wait(port::mask_of(tag(piece)));
    empty(cuts[piece], place(piece), tag(piece));
    if (!parameters.ahead && buffers > 1 && filled < count) fill_next();
  }
  for (std::uint64_t buffer = 0; buffer < buffers; ++buffer) me.port.wait(port::mask_of(tag(buffer)));
}

/// Copies the peer's data at `from` to the own `to`, beginning at byte `first` and wrapping.
template <port::DirectRead P>
void copy_from_peer(Rank<P>& me, int peer, typename P::ConstUserAddress from, const Call<P>& call,
                    std::uint64_t first, const Parameters& parameters) {
  const WrappedCuts cuts(call.bytes, first, piece_limit(me, parameters),
                         [from](std::uint64_t at) { return skew_of<P>(from + at); });
  through_buffers(
      me, cuts, parameters,
      [&](const Cut& cut, port::StageOffset place, port::Tag tag) {
        me.stage.read(peer, from + cut.at, place, cut.bytes, tag);
      },
      [&](const Cut& cut, port::StageOffset place, port::Tag tag) {
        me.stage.store(place, call.receive + cut.at, cut.bytes, tag);
      });
}

/// Where this rank has the data when its part of the broadcast is done.
template <port::Port P>
typename P::ConstUserAddress own_data(const Rank<P>& me, const Call<P>& call) {
  return is_root(me, call) ? call.send : typename P::ConstUserAddress(call.receive);
}

/// How they lie there.
template <port::Port P>
Stride own_stride(const Rank<P>& me, const Call<P>& call) {
  return is_root(me, call) ? call.send_stride : call.receive_stride;
}

/// Tells every child by an entry that carries `value`.
template <port::Port P, class T>
void tell_children(Rank<P>& me, const Knomial& place, const T& value, const Parameters& parameters) {
  port::TagMask tags = 0;
  place.for_children([&](int child) {
    me.port.compute(cost::kPeer);
    me.announcements.tell_value(child, value);
    tags |= port::mask_of(metadata_tag(child));
  });
  if (parameters.waits) me.port.wait(tags);
}

/// One acknowledgement from every child.
template <port::Port P>
void hear_children(Rank<P>& me, const Knomial& place) {
  place.for_children([&](int child) {
    me.port.compute(cost::kPeer);
    me.acknowledgements.hear(child);
  });
}

}  // namespace corewise::coll::broadcast

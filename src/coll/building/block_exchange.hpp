// Block exchange: one step of a schedule in which blocks travel together. A rank sends a list of blocks to one peer
// and receives a list from another (or the same) one, through its stage, on any port, double buffered.
//
// The blocks of a list form a stream, each padded to what copies need, cut into pieces of fixed length; both ends
// know the blocks' sizes. Piece n of a rank needs only that its receiver has come to piece n - 2, so rings and
// exchanges cannot block each other. Bytes are loaded before those that arrive in the same piece are stored: the
// blocks that arrive may replace those that leave, one by one in the same order and of the same sizes.
// All that was sent has been read at return: no barrier is needed between steps or calls.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "coll/building/streams.hpp"
#include "coll/rank.hpp"
#include "pattern/schedule.hpp"

namespace corewise::coll {

/// A place and length in own user memory.
template <class Address>
struct Segment {
  Address address{};
  std::uint64_t bytes = 0;
};

/// `count` blocks, given by segment(0) .. segment(count - 1), as a stream that is walked through piece by piece. Of
/// the port only its alignment counts.
template <class P, class Of>
class BlockList {
 public:
  BlockList(int count, Of segment) : count_(count), segment_(segment) {
    for (int i = 0; i < count; ++i) bytes_ += padded<P>(segment_(i).bytes);
  }
  /// In the stream.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  /// Calls visit(place in the piece, address, bytes) for what of the blocks lies in the next `most` bytes.
  template <class Visit>
  void next(std::uint32_t most, Visit visit) {
    std::uint32_t place = 0;
    while (place < most && at_ < count_) {
      const auto block = segment_(at_);
      const std::uint64_t left = padded<P>(block.bytes) - done_;
      const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, most - place));
      if (part > 0) {
        const auto real = static_cast<std::uint32_t>(std::min<std::uint64_t>(part, block.bytes - done_));
        visit(place, block.address + done_, real);
      }
      place += part;
      done_ += part;
      if (part == left) {
        ++at_;
        done_ = 0;
      }
    }
  }

 private:
  int count_;
  Of segment_;
  std::uint64_t bytes_ = 0;
  int at_ = 0;
  std::uint64_t done_ = 0;  ///< of block at_
};

/// Sends `out` to `to` and receives `in` from `from`; nobody is none. Lists of no bytes are neither announced nor
/// waited for.
template <port::Port P, class Out, class In>
void exchange(Rank<P>& me, const Parameters& parameters, int to, BlockList<P, Out> out, int from,
              BlockList<P, In> in) {
  const StreamAreas areas(me.shape, parameters);
  const Pieces sent = areas.pieces(to == pattern::schedule::nobody ? 0 : out.bytes());
  const Pieces received = areas.pieces(from == pattern::schedule::nobody ? 0 : in.bytes());
  Outbox<P> outbox(me, areas);

  const auto load = [&](std::uint64_t piece) {
    if (piece >= sent.count()) return;
    const int area = static_cast<int>(piece % 2);
    const port::StageOffset at = outbox.open(area);
    me.port.compute(cost::kPiece);
    out.next(areas.piece_bytes(), [&](std::uint32_t place, auto address, std::uint32_t bytes) {
      me.stage.load(address, at + place, bytes, buffer_tag(area));
    });
    outbox.post(area, to);
  };
  const auto take = [&](std::uint64_t piece) {
    if (piece >= received.count()) return;
    const int area = 2 + static_cast<int>(piece % 2);
    const port::Tag tag = buffer_tag(area);
    me.port.compute(cost::kPiece);
    me.announcements.hear(from);
    if constexpr (port::PeerStageRead<P>) {
      in.next(areas.piece_bytes(), [&](std::uint32_t place, auto address, std::uint32_t bytes) {
        me.port.get_user({from, areas.at(static_cast<int>(piece % 2)) + place}, address, bytes, tag);
      });
      me.port.wait(port::mask_of(tag));
      me.acknowledgements.tell(from);
      return;
    }
    me.port.wait(port::mask_of(tag));  // the store of the piece before the last
    me.port.get({from, areas.at(static_cast<int>(piece % 2))}, areas.at(area), received.bytes(piece), tag);
    me.port.wait(port::mask_of(tag));
    me.acknowledgements.tell(from);
    in.next(areas.piece_bytes(), [&](std::uint32_t place, auto address, std::uint32_t bytes) {
      me.stage.store(areas.at(area) + place, address, bytes, tag);
    });
  };

  load(0);
  for (std::uint64_t piece = 0; piece < std::max(sent.count(), received.count()); ++piece) {
    outbox.flush();
    load(piece + 1);
    take(piece);
  }
  outbox.finish();  // waits for the stores too
}

/// The blocks of ranks first, first + 1 .. (round the end) in a buffer that begins at `base`. Equal blocks side by
/// side travel as one.
template <class P, class Address>
auto blocks_of_ranks(Address base, const Blocks& blocks, int ranks, int first, int count) {
  const bool together = blocks.sizes == nullptr && blocks.offsets == nullptr;
  const int before_end = std::min(count, ranks - first);
  const int segments = !together ? count : before_end < count ? 2 : 1;
  const auto segment = [=](int i) {
    if (!together) {
      const int rank = (first + i) % ranks;
      return Segment<Address>{base + blocks.offset(rank), blocks.bytes(rank)};
    }
    const int begin = i == 0 ? first : 0;
    const int length = i == 0 ? before_end : count - before_end;
    return Segment<Address>{base + blocks.offset(begin), blocks.equal * static_cast<std::uint64_t>(length)};
  };
  return BlockList<P, decltype(segment)>(segments, segment);
}

/// One block.
template <class P, class Address>
auto one_block(Address address, std::uint64_t bytes) {
  const auto segment = [=](int) { return Segment<Address>{address, bytes}; };
  return BlockList<P, decltype(segment)>(1, segment);
}

}  // namespace corewise::coll

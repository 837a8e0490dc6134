// Tree scatter, on any port: down a tree of degree k (2: binomial, 1: a chain), through stages only. A rank gets
// one stream from its parent: its own block, then those of the ranks after it, which are its children's streams,
// the nearest child's first. No memory but the root's holds what is not its own.
//
// Blocks are padded to what copies need, so a stream can be cut and joined anywhere. A rank passes a child's part
// on without waiting for more than that it has come. A stream of one piece is passed on to the farthest child
// first, which has the most to pass on. All has been read at return. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "coll/building/relay.hpp"
#include "coll/building/streams.hpp"
#include "pattern/knomial.hpp"

namespace corewise::coll::scatter {

template <port::Port P>
class TreeScatter {
 public:
  TreeScatter(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me),
        call_(call),
        parameters_(parameters),
        place_(node(me.rank())),
        block_(padded<P>(call.bytes)),
        areas_(me.shape, parameters),
        outbox_(me, areas_) {}

  void operator()() {
    const auto pass_on = [this](int child) { pass(child); };
    if (place_.parent() == pattern::schedule::nobody) {
      place_.for_children(pass_on);
      outbox_.finish();
      copy_own_block(me_, call_, parameters_, call_.send + call_.send_blocks.offset(me_.rank()), call_.receive,
                     call_.bytes);
      return;
    }
    const std::uint64_t bytes = stream_bytes(place_);
    in_.emplace(me_, areas_, place_.parent(), area_of(me_.rank()), bytes);
    in_order_ = bytes > areas_.piece_bytes();
    if (in_order_) {
      take_own();
      place_.for_children_nearest_first(pass_on);
    } else {
      place_.for_children(pass_on);
      outbox_.flush();
      take_own();
      in_->release(bytes);
    }
    outbox_.finish();
  }

 private:
  [[nodiscard]] pattern::schedule::Knomial node(int rank) const {
    return {me_.size(), call_.root, rank, me_.degree(parameters_)};
  }
  [[nodiscard]] std::uint64_t stream_bytes(const pattern::schedule::Knomial& node) const {
    return block_ * static_cast<std::uint64_t>(node.subtree());
  }
  /// Where the stream from its parent to `rank` begins.
  [[nodiscard]] int area_of(int rank) const {
    int index = 0;
    int found = 0;
    node(node(rank).parent()).for_children([&](int child) {
      if (child == rank) found = index;
      ++index;
    });
    return found % StreamAreas::kCount;
  }
  /// Where the block of `rank` begins in the own stream.
  [[nodiscard]] std::uint64_t stream_at(int rank) const {
    return block_ * static_cast<std::uint64_t>((rank - me_.rank() + me_.size()) % me_.size());
  }

  /// The child's stream, piece by piece.
  void pass(int child) {
    const Pieces pieces = areas_.pieces(stream_bytes(node(child)));
    const int first = area_of(child);
    me_.port.compute(cost::kPeer);
    for (std::uint64_t piece = 0; piece < pieces.count(); ++piece) {
      const int area = StreamAreas::area(first, piece);
      const port::StageOffset to = outbox_.open(area);
      me_.port.compute(cost::kPiece);
      bring(stream_at(child) + pieces.at(piece), to, pieces.bytes(piece), area);
      outbox_.post(area, child);
      if (in_order_) outbox_.flush();  // it is here already
    }
  }
  void take_own() {
    const Pieces pieces = areas_.pieces(call_.bytes);
    for (std::uint64_t piece = 0; piece < pieces.count(); ++piece) {
      const int area = StreamAreas::area(0, piece);
      const port::StageOffset to = outbox_.open(area);
      me_.port.compute(cost::kPiece);
      // All of the block's padding comes too, so that what follows it starts where a piece may end.
      const bool last = piece + 1 == pieces.count();
      const auto bytes = static_cast<std::uint32_t>(last ? block_ - pieces.at(piece) : pieces.bytes(piece));
      bring(pieces.at(piece), to, bytes, area);
      me_.port.wait(port::mask_of(buffer_tag(area)));
      me_.stage.store_strided(to, call_.receive, call_.receive_stride, pieces.at(piece), pieces.bytes(piece),
                              buffer_tag(area));
    }
  }
  /// Bytes [at, at + bytes) of the own stream: fetched from the parent, or loaded at the root.
  void bring(std::uint64_t at, port::StageOffset to, std::uint32_t bytes, int area) {
    if (!in_) return load_padded(at, to, bytes, buffer_tag(area));
    in_->fetch(at, to, bytes, buffer_tag(area));
    if (!in_order_) return;
    me_.port.wait(port::mask_of(buffer_tag(area)));
    in_->release(at + bytes);
  }
  void load_padded(std::uint64_t at, port::StageOffset to, std::uint32_t bytes, port::Tag tag) {
    const bool side_by_side =
        block_ == call_.bytes && call_.send_blocks.offsets == nullptr && call_.send_stride.contiguous();
    for (std::uint32_t done = 0; done < bytes;) {
      const std::uint64_t within = (at + done) % block_;
      const int rank = static_cast<int>((static_cast<std::uint64_t>(me_.rank()) + (at + done) / block_) %
                                        static_cast<std::uint64_t>(me_.size()));
      const auto before_end = block_ * (side_by_side ? static_cast<std::uint64_t>(me_.size() - rank) : 1) - within;
      const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(before_end, bytes - done));
      const std::uint64_t real = side_by_side ? part : std::min<std::uint64_t>(part, call_.bytes - within);
      me_.stage.load_strided(call_.send + call_.send_blocks.offset(rank), call_.send_stride, within, to + done,
                             static_cast<std::uint32_t>(real), tag);
      done += part;
    }
  }

  Rank<P>& me_;
  const Call<P>& call_;
  const Parameters& parameters_;
  pattern::schedule::Knomial place_;
  std::uint64_t block_;
  StreamAreas areas_;
  Outbox<P> outbox_;
  std::optional<Inlet<P>> in_;
  bool in_order_ = false;  ///< the parent's pieces are acknowledged as they are used up
};

template <port::Port P>
void tree(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes > 0) TreeScatter<P>(me, call, parameters)();
  me.close(parameters);
}

}  // namespace corewise::coll::scatter

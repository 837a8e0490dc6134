// Tree gather, on any port: up a tree of degree k (2: binomial, 1: a chain), through stages only. A rank sends its
// parent one stream: its own block, then its children's streams, the nearest child's first, so the blocks of the
// ranks after it in their order. No memory but the root's receives what is not its own.
//
// Blocks are padded to what copies need, so a stream can be cut and joined anywhere. A rank holds back from a child
// only what its own parent has not taken: all comes up in order. All has been read at return.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "coll/building/relay.hpp"
#include "coll/building/streams.hpp"
#include "pattern/knomial.hpp"

namespace corewise::coll::gather {

/// Stores `bytes` of the stage at `from`, bytes [at, ..) of a stream whose first block is that of `first`.
template <port::Port P>
void store_padded(Rank<P>& me, const Call<P>& call, int first, std::uint64_t at, port::StageOffset from,
                  std::uint32_t bytes, port::Tag tag) {
  const std::uint64_t step = padded<P>(call.bytes);
  for (std::uint32_t done = 0; done < bytes;) {
    const std::uint64_t within = (at + done) % step;
    const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(step - within, bytes - done));
    const int rank = static_cast<int>((static_cast<std::uint64_t>(first) + (at + done) / step) %
                                      static_cast<std::uint64_t>(me.size()));
    const auto real = static_cast<std::uint32_t>(std::min<std::uint64_t>(part, call.bytes - within));
    me.stage.store_strided(from + done, call.receive + call.receive_blocks.offset(rank), call.receive_stride,
                           within, real, tag);
    done += part;
  }
}

template <port::Port P>
void tree_root(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const pattern::schedule::Knomial place(me.size(), call.root, me.rank(), me.degree(parameters));
  copy_own_block(me, call, parameters, call.send, call.receive + call.receive_blocks.offset(call.root), call.bytes);
  const auto each = [&](auto take) {
    place.for_children_nearest_first([&](int child) {
      const pattern::schedule::Knomial below(me.size(), call.root, child, me.degree(parameters));
      me.port.compute(cost::kPeer);
      take(child, padded<P>(call.bytes) * static_cast<std::uint64_t>(below.subtree()));
    });
  };
  relay_streams(me, StreamAreas(me.shape, parameters), 0, each,
                [&](int child, std::uint64_t at, port::StageOffset from, std::uint32_t bytes, port::Tag tag) {
                  store_padded(me, call, child, at, from, bytes, tag);
                });
}

/// A rank's stream to its parent.
template <port::Port P>
class TreeGather {
 public:
  TreeGather(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me),
        call_(call),
        degree_(me.degree(parameters)),
        place_(node(me.rank())),
        block_(padded<P>(call.bytes)),
        areas_(me.shape, parameters),
        outbox_(me, areas_) {}

  void operator()() {
    const Pieces pieces = areas_.pieces(stream_bytes(place_));
    std::uint64_t done = 0;  // of the stream
    std::uint32_t in_piece = 0;
    port::StageOffset piece = 0;
    int area = 0;
    const auto post = [&] {
      outbox_.post(area, place_.parent());
      outbox_.flush();
      in_piece = 0;
    };
    // Takes `bytes` by fetch(at, to, bytes, tag) into as many pieces as they fill; settle(at) after each.
    const auto append = [&](std::uint64_t bytes, auto fetch, auto settle) {
      for (std::uint64_t at = 0; at < bytes;) {
        const std::uint64_t index = done / areas_.piece_bytes();
        if (in_piece == 0) {
          area = StreamAreas::area(0, index);
          piece = outbox_.open(area);
        }
        const auto part =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes - at, pieces.bytes(index) - in_piece));
        me_.port.compute(cost::kPiece);
        fetch(at, piece + in_piece, part, buffer_tag(area));
        settle(at + part, area);
        at += part;
        done += part;
        in_piece += part;
        if (in_piece == pieces.bytes(index)) post();
      }
    };
    append(
        block_,
        [&](std::uint64_t at, port::StageOffset to, std::uint32_t part, port::Tag tag) {
          const auto real = static_cast<std::uint32_t>(std::min<std::uint64_t>(part, call_.bytes - at));
          me_.stage.load_strided(call_.send, call_.send_stride, at, to, real, tag);
        },
        [](std::uint64_t, int) {});
    place_.for_children_nearest_first([&](int child) {
      const std::uint64_t bytes = stream_bytes(node(child));
      Inlet<P> inlet(me_, areas_, child, 0, bytes);
      append(
          bytes,
          [&](std::uint64_t at, port::StageOffset to, std::uint32_t part, port::Tag tag) {
            inlet.fetch(at, to, part, tag);
          },
          [&](std::uint64_t at, int in_area) {
            me_.port.wait(port::mask_of(buffer_tag(in_area)));
            inlet.release(at);
          });
    });
    outbox_.finish();
  }

 private:
  [[nodiscard]] pattern::schedule::Knomial node(int rank) const { return {me_.size(), call_.root, rank, degree_}; }
  [[nodiscard]] std::uint64_t stream_bytes(const pattern::schedule::Knomial& node) const {
    return block_ * static_cast<std::uint64_t>(node.subtree());
  }

  Rank<P>& me_;
  const Call<P>& call_;
  int degree_;
  pattern::schedule::Knomial place_;
  std::uint64_t block_;
  StreamAreas areas_;
  Outbox<P> outbox_;
};

template <port::Port P>
void tree(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (me.rank() == call.root) {
    tree_root(me, call, parameters);
  } else if (call.bytes > 0) {
    TreeGather<P>(me, call, parameters)();
  }
  me.close(parameters);
}

}  // namespace corewise::coll::gather

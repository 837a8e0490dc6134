// TREE with `fenced`: a parent puts a piece into its children's buffers, each put followed under its fence by the
// announcement, so that a child need not fetch.
//
// A child says once that it has come, for its buffers may be in use until then, and after that acknowledges each
// piece whose buffer the parent will need again, when it is free: stored, and passed on. Nothing that a rank has
// told is unheard at the end, and its buffers are its own: no barrier is needed.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/broadcast/double_buffering.hpp"

namespace corewise::coll::broadcast {

template <port::Port P>
class LocalStorePush {
 public:
  LocalStorePush(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me),
        call_(call),
        parameters_(parameters),
        tree_(tree_of(me, call, parameters)),
        turns_(static_cast<std::uint64_t>(turns(me, parameters))),
        cuts_(call.bytes, piece_limit(me, parameters), 0) {
    tree_.for_children([this](int child) { children_ |= port::mask_of(metadata_tag(child)); });
  }

  void operator()() {
    const int parent = tree_.parent();
    if (parent != nobody) me_.acknowledgements.tell(parent);
    const std::uint64_t ahead = parameters_.ahead ? turns_ : 1;
    std::uint64_t loaded = 0;
    const auto load_up_to = [&](std::uint64_t end) {
      for (; parent == nobody && loaded < std::min(end, cuts_.count()); ++loaded) load(loaded);
    };
    for (std::uint64_t piece = 0; piece < cuts_.count(); ++piece) {
      me_.port.compute(cost::kPiece);
      load_up_to(piece + ahead);
      if (parent == nobody) {
        me_.port.wait(port::mask_of(tag(piece)));
      } else {
        me_.announcements.hear(parent);
      }
      push(piece);
      if (parent != nobody) keep(piece);
    }
    me_.port.wait(children_);
    for (std::uint64_t turn = 0; turn < turns_; ++turn) me_.port.wait(port::mask_of(tag(turn)));
  }

 private:
  [[nodiscard]] port::Tag tag(std::uint64_t piece) const { return buffer_tag(static_cast<int>(piece % turns_)); }
  [[nodiscard]] port::StageOffset place(std::uint64_t piece) const {
    return me_.stage.buffer(static_cast<int>(piece % turns_));
  }

  /// The root's data; the children's puts from this buffer must be through.
  void load(std::uint64_t piece) {
    if (piece >= turns_) me_.port.wait(children_);
    const Cut cut = cuts_[piece];
    me_.stage.load_strided(call_.send, call_.send_stride, cut.at, place(piece), cut.bytes, tag(piece));
  }

  void push(std::uint64_t piece) {
    tree_.for_children([&](int child) {
      me_.port.compute(cost::kPeer);
      if (piece == 0 || piece >= turns_) me_.acknowledgements.hear(child);
      me_.port.put(place(piece), {child, place(piece)}, cuts_[piece].bytes, metadata_tag(child));
      me_.announcements.tell(child);
    });
    if (parameters_.waits) me_.port.wait(children_);
  }

  /// Stores a piece, and frees the buffer that the parent will fill next.
  void keep(std::uint64_t piece) {
    const Cut cut = cuts_[piece];
    me_.stage.store_strided(place(piece), call_.receive, call_.receive_stride, cut.at, cut.bytes, tag(piece));
    if (piece + 1 < turns_ || piece + 1 >= cuts_.count()) return;
    me_.port.wait(children_ | port::mask_of(tag(piece + 1)));
    me_.acknowledgements.tell(tree_.parent());
  }

  Rank<P>& me_;
  const Call<P>& call_;
  const Parameters& parameters_;
  Knomial tree_;
  std::uint64_t turns_;
  Cuts cuts_;
  port::TagMask children_ = 0;
};

}  // namespace corewise::coll::broadcast

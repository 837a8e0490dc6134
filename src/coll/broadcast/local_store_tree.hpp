// TREE (paper 001, section 6.1): the root brings a piece into its local store and announces it to its children; a
// child gets it from there, announces it to its own children, acknowledges, and stores it to its memory. A buffer
// is used again when all children have acknowledged what was in it. Degree 1 is a chain, the paper's pipelined
// broadcast. A second buffer lets a rank receive a piece while another waits for the children.
//
// What a child must know of its parent (where data are and how they lie in the buffers) comes with the first
// announcement, and the second one waits for the first acknowledgement; the others carry nothing. User data that
// lie in the local store themselves are neither loaded nor stored: children get them from where they are.
// All acknowledgements are heard before the end: no barrier is needed.
//
// With `list` rank 0, where it is the root, announces to all children by one DMA list; other ranks have no line for
// that (as in barrier/one_to_all.hpp). Every rank counts these announcements, so their number must be known to all:
// pieces are then cut without regard to the alignment of the root's data. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "coll/broadcast/double_buffering.hpp"
#include "coll/broadcast/local_store_push.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::broadcast {

template <port::Port P>
class LocalStoreTree {
 public:
  LocalStoreTree(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me),
        call_(call),
        parameters_(parameters),
        tree_(tree_of(me, call, parameters)),
        turns_(static_cast<std::uint64_t>(turns(me, parameters))),
        cuts_(0, 1, 0),
        list_(port::DmaLists<P> && parameters.list && call.root == 0) {}

  void operator()() {
    if (tree_.parent() == nobody) {
      feed();
    } else {
      relay();
    }
    hear_acknowledgements(cuts_.count());
    if (list_) me_.releases += static_cast<port::Sequence>(cuts_.count());
    for (std::uint64_t turn = 0; turn < turns_; ++turn) me_.port.wait(port::mask_of(tag(turn)));
  }

 private:
  /// Where a rank has the data for its children: pieces in its buffers, or all of them at `base`.
  struct Source {
    port::StageOffset base = 0;
    std::uint16_t skew = 0;
    std::uint16_t in_place = 0;
  };

  static constexpr port::Line16 kListLine{kReleaseLine};

  [[nodiscard]] port::Tag tag(std::uint64_t piece) const { return buffer_tag(static_cast<int>(piece % turns_)); }
  [[nodiscard]] port::StageOffset place(const Source& source, std::uint64_t piece) const {
    const Cut cut = cuts_[piece];
    if (source.in_place != 0) return source.base + static_cast<port::StageOffset>(cut.at);
    return me_.stage.buffer(static_cast<int>(piece % turns_)) + cut.inside;
  }
  void lay_out(std::uint32_t skew) {
    own_.skew = static_cast<std::uint16_t>(skew);
    cuts_ = Cuts(call_.bytes, piece_limit(me_, parameters_), skew);
  }
  /// The own data, if children can get them from where they are.
  [[nodiscard]] std::optional<port::StageOffset> data_in_place() {
    if constexpr (port::UserMemoryInPlace<P>) {
      constexpr std::uint64_t kLocalStore = 1U << 20;
      if (own_stride(me_, call_).contiguous() && call_.bytes < kLocalStore) {
        return me_.port.in_place(own_data(me_, call_), static_cast<std::uint32_t>(call_.bytes));
      }
    }
    return std::nullopt;
  }
  /// Data can be used where they are if they lie as pieces do in the buffers of all.
  void use_in_place_if_congruent() {
    const auto base = data_in_place();
    if (!base || (*base - cuts_[0].inside) % P::kCopyAlignment != 0) return;
    own_.base = *base;
    own_.in_place = 1;
  }

  /// Until the children have read `pieces` pieces.
  void hear_acknowledgements(std::uint64_t pieces) {
    for (; heard_ < pieces; ++heard_) hear_children(me_, tree_);
  }
  /// Until the buffer of `piece` is free.
  void make_room(std::uint64_t piece) {
    if (piece >= turns_) hear_acknowledgements(piece - turns_ + 1);
    me_.port.wait(port::mask_of(tag(piece)));
  }

  /// Tells the children; the first time with the own source.
  void announce(std::uint64_t piece) {
    if (piece == 1) hear_acknowledgements(1);
    if constexpr (port::DmaLists<P>) {
      if (list_ && me_.rank() == 0) return announce_by_list(piece);
    }
    if (piece == 0) return tell_children(me_, tree_, own_, parameters_);
    port::TagMask tags = 0;
    tree_.for_children([&](int child) {
      me_.port.compute(cost::kPeer);
      me_.announcements.tell(child);
      tags |= port::mask_of(metadata_tag(child));
    });
    if (parameters_.waits) me_.port.wait(tags);
  }
  void announce_by_list(std::uint64_t piece)
    requires port::DmaLists<P>
  {
    std::vector<int> children;
    tree_.for_children([&](int child) {
      me_.port.compute(cost::kPeer + cost::kTell);  // an element of the list and its copy of the entry
      children.push_back(child);
    });
    if (children.empty()) return;
    const auto payload = std::as_bytes(std::span(&own_, 1));
    me_.port.put_line_list(children, kListLine, list_number(piece), payload, kReleaseTag);
    if (parameters_.waits) me_.port.wait(port::mask_of(kReleaseTag));
  }
  [[nodiscard]] port::Sequence list_number(std::uint64_t piece) const {
    return me_.releases + static_cast<port::Sequence>(piece) + 1;
  }

  /// The parent's announcement; returns what the first one carries.
  Source hear(std::uint64_t piece) {
    Source source;
    if (list_ && tree_.parent() == 0) {
      port::wait_line(me_.port, kListLine, list_number(piece));
      me_.port.compute(cost::kHear);
      std::memcpy(&source, me_.port.line_payload(kListLine).data(), sizeof(Source));
    } else {
      std::memcpy(&source, me_.announcements.hear(tree_.parent()).data(), sizeof(Source));
    }
    return source;
  }

  void acknowledge() {
    me_.acknowledgements.tell(tree_.parent());
    if (parameters_.waits) me_.port.wait(port::mask_of(metadata_tag(tree_.parent())));
  }

  void load(std::uint64_t piece) {
    if (own_.in_place != 0) return;
    me_.port.compute(cost::kPiece);
    make_room(piece);
    const Cut cut = cuts_[piece];
    me_.stage.load_strided(call_.send, call_.send_stride, cut.at, place(own_, piece), cut.bytes, tag(piece));
  }

  /// The root.
  void feed() {
    lay_out(call_.send_stride.contiguous() && !list_ ? skew_of<P>(call_.send) : 0);
    use_in_place_if_congruent();
    const std::uint64_t ahead = parameters_.ahead ? std::min<std::uint64_t>(turns_, 2) : 1;
    std::uint64_t loaded = 0;
    while (loaded < std::min(ahead, cuts_.count())) load(loaded++);
    for (std::uint64_t piece = 0; piece < cuts_.count(); ++piece) {
      me_.port.wait(port::mask_of(tag(piece)));
      announce(piece);
      if (loaded == piece + 1 && loaded < cuts_.count()) load(loaded++);
    }
  }

  /// Everybody else.
  void relay() {
    const Source source = hear(0);
    lay_out(source.skew);
    use_in_place_if_congruent();
    for (std::uint64_t piece = 0; piece < cuts_.count(); ++piece) {
      me_.port.compute(cost::kPiece);
      if (piece > 0) hear(piece);
      if (own_.in_place == 0) make_room(piece);
      const Cut cut = cuts_[piece];
      me_.port.get({tree_.parent(), place(source, piece)}, place(own_, piece), cut.bytes, tag(piece));
      me_.port.wait(port::mask_of(tag(piece)));
      acknowledge();
      announce(piece);
      if (own_.in_place != 0) continue;
      me_.stage.store_strided(place(own_, piece), call_.receive, call_.receive_stride, cut.at, cut.bytes,
                              tag(piece));
    }
  }

  Rank<P>& me_;
  const Call<P>& call_;
  const Parameters& parameters_;
  Knomial tree_;
  std::uint64_t turns_;
  Cuts cuts_;
  bool list_;  ///< rank 0 announces by lists
  Source own_;
  std::uint64_t heard_ = 0;  ///< acknowledgements, of every child
};

template <port::Port P>
void local_store_tree(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes > 0) {
    if (parameters.fenced) {
      LocalStorePush<P>(me, call, parameters)();
    } else {
      LocalStoreTree<P>(me, call, parameters)();
    }
  }
  me.close(parameters);
}

}  // namespace corewise::coll::broadcast

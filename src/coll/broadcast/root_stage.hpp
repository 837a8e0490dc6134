// Everybody copies the root's data out of the root's stage, straight to its user memory: two copies of each byte,
// where a tree of stages makes three. The root loads pieces through the areas of its stage in turn.
//
// The root uses an area again when all have acknowledged what was in it, and its call ends when all have read
// everything: no barrier is needed. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "coll/building/streams.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::broadcast {

template <port::PeerStageRead P>
class RootStage {
 public:
  RootStage(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me), call_(call), areas_(me.shape, parameters), pieces_(areas_.pieces(call.bytes)) {}

  void operator()() {
    if (me_.rank() == call_.root) {
      feed();
    } else {
      take();
    }
  }

 private:
  static constexpr std::uint64_t kAreas = StreamAreas::kCount;

  void feed() {
    for (std::uint64_t piece = 0; piece < pieces_.count(); ++piece) {
      const int area = StreamAreas::area(0, piece);
      me_.port.compute(cost::kPiece);
      if (piece >= kAreas) me_.for_others(call_.root, [this](int peer) { me_.acknowledgements.hear(peer); });
      me_.stage.load(call_.send + pieces_.at(piece), areas_.at(area), pieces_.bytes(piece), buffer_tag(area));
      me_.port.wait(port::mask_of(buffer_tag(area)));
      me_.for_others(call_.root, [this](int peer) { me_.announcements.tell(peer); });
    }
    const auto left = static_cast<std::uint32_t>(std::min(pieces_.count(), kAreas));
    me_.for_others(call_.root, [this, left](int peer) { me_.acknowledgements.hear(peer, left); });
  }

  void take() {
    for (std::uint64_t piece = 0; piece < pieces_.count(); ++piece) {
      const int area = StreamAreas::area(0, piece);
      me_.port.compute(cost::kPiece);
      me_.announcements.hear(call_.root);
      me_.port.get_user({call_.root, areas_.at(area)}, call_.receive + pieces_.at(piece), pieces_.bytes(piece),
                        buffer_tag(area));
      me_.port.wait(port::mask_of(buffer_tag(area)));
      me_.acknowledgements.tell(call_.root);
    }
  }

  Rank<P>& me_;
  const Call<P>& call_;
  StreamAreas areas_;
  Pieces pieces_;
};

template <port::PeerStageRead P>
void root_stage(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes > 0 && me.size() > 1) RootStage<P>(me, call, parameters)();
  me.close(parameters);
}

}  // namespace corewise::coll::broadcast

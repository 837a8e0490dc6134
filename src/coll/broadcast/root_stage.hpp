// Everybody copies the root's data out of the root's stage, straight to its user memory: two copies of each byte,
// where a tree of stages makes three. The root loads pieces through the areas of its stage in turn.
//
// The root uses an area again when all have acknowledged what was in it, and its call ends when all have read
// everything: no barrier is needed.
//
// Where the root's data lie in memory that all have mapped (building/lending.hpp) all copy from there: one copy. In
// longer calls a rank whose own buffer is such memory says so when it is there, and the root, which has nothing
// else to do, writes the last part of it, as large as each of the ranks' own share: of two ranks each copies half.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>

#include "coll/building/lending.hpp"
#include "coll/building/streams.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::broadcast {

template <port::PeerStageRead P>
class RootStage {
 public:
  RootStage(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me), call_(call), areas_(me.shape, parameters), pieces_(areas_.pieces(call.bytes)) {}

  void operator()() {
    if (me_.rank() != call_.root) return take();
    if (const Offer offer = own_offer(); offer.given()) return lend(offer);
    feed();
  }

 private:
  static constexpr std::uint64_t kAreas = StreamAreas::kCount;
  static constexpr std::uint64_t kGrain = 64;  ///< no two ranks write the same line, where data begin with one

  /// Whether the first announcement says from where to copy.
  [[nodiscard]] bool may_lend() const { return coll::may_lend<P>(call_.bytes); }
  [[nodiscard]] Offer own_offer() const {
    if constexpr (port::MappedUserMemory<P>) {
      if (may_lend()) return {me_.port.offer(call_.send, call_.bytes), 0};
    }
    return kNoOffer;
  }
  void lend(const Offer& offer) {
    me_.for_others(call_.root, [&](int peer) { me_.announcements.tell_value(peer, offer); });
    if constexpr (port::MappedUserMemory<P>) {
      if (call_.bytes >= P::kLeastShared) help();
    }
    me_.for_others(call_.root, [this](int peer) { me_.acknowledgements.hear(peer); });
    ++me_.lent_calls;
  }
  /// What the root writes of a rank's data: from here to the end.
  [[nodiscard]] std::uint64_t helped_from() const {
    const auto ranks = static_cast<std::uint64_t>(me_.size());
    return std::min(call_.bytes, (call_.bytes / ranks * (ranks - 1) + kGrain - 1) / kGrain * kGrain);
  }
  /// The last part for each that asks, in the order in which they come.
  void help() {
    const std::uint64_t at = helped_from();
    std::bitset<kMostRanks> silent;
    me_.for_others(call_.root, [&](int peer) { silent.set(static_cast<std::size_t>(peer)); });
    while (silent.any()) {
      const int peer = me_.acknowledgements.wait_any(silent);
      silent.reset(static_cast<std::size_t>(peer));
      const auto theirs = me_.acknowledgements.template hear_value<Offer>(peer);
      if (!theirs.given()) continue;
      const std::uint64_t bytes = call_.bytes - at;
      if (theirs.second() == call_.bytes) {  // else the program is wrong, and nothing is written
        me_.port.give(call_.send + at, me_.port.reach(peer, theirs.first() + at, bytes), bytes, buffer_tag(0));
        me_.port.wait(port::mask_of(buffer_tag(0)));
      }
      me_.announcements.tell(peer);
    }
  }
  void borrow(const Offer& offer) {
    if constexpr (port::MappedUserMemory<P>) {
      std::uint64_t bytes = call_.bytes;
      bool helped = false;
      if (bytes >= P::kLeastShared) {
        const Offer own{me_.port.offer(call_.receive, bytes), bytes};
        me_.acknowledgements.tell_value(call_.root, own);
        helped = own.given();
        if (helped) bytes = helped_from();
      }
      me_.port.copy_user(me_.port.reach(call_.root, offer.first(), bytes), call_.receive, bytes, buffer_tag(0));
      me_.port.wait(port::mask_of(buffer_tag(0)));
      me_.acknowledgements.tell(call_.root);
      if (helped) me_.announcements.hear(call_.root);
    }
    ++me_.lent_calls;
  }

  void feed() {
    for (std::uint64_t piece = 0; piece < pieces_.count(); ++piece) {
      const int area = StreamAreas::area(0, piece);
      me_.port.compute(cost::kPiece);
      if (piece >= kAreas) me_.for_others(call_.root, [this](int peer) { me_.acknowledgements.hear(peer); });
      me_.stage.load(call_.send + pieces_.at(piece), areas_.at(area), pieces_.bytes(piece), buffer_tag(area));
      me_.port.wait(port::mask_of(buffer_tag(area)));
      me_.for_others(call_.root, [&](int peer) {
        if (piece == 0 && may_lend()) return me_.announcements.tell_value(peer, kNoOffer);
        me_.announcements.tell(peer);
      });
    }
    const auto left = static_cast<std::uint32_t>(std::min(pieces_.count(), kAreas));
    me_.for_others(call_.root, [this, left](int peer) { me_.acknowledgements.hear(peer, left); });
  }

  void take() {
    for (std::uint64_t piece = 0; piece < pieces_.count(); ++piece) {
      const int area = StreamAreas::area(0, piece);
      me_.port.compute(cost::kPiece);
      if (piece == 0 && may_lend()) {
        const auto offer = me_.announcements.template hear_value<Offer>(call_.root);
        if (offer.given()) return borrow(offer);
      } else {
        me_.announcements.hear(call_.root);
      }
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

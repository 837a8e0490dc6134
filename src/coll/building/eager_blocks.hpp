// Eager blocks: the way between user memory and messages that ride in metadata lines (coll/building/eager.hpp).
// Blocks that are adjacent in user memory are adjacent in the stage too and are loaded and stored by one copy, but
// strided ones each for itself.
//
// Where user memory is at hand (port::UserMemoryAtHand), contiguous blocks are sent from there and received there.
// Loading uses the first half of the buffers, storing the second; each is emptied when it is full.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "coll/rank.hpp"
#include "kernels/copy/copy.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll {

/// Places in a part of the stage for blocks of user memory, each congruent to its address.
class EagerPlaces {
 public:
  EagerPlaces(port::StageOffset begin, std::uint32_t room) : begin_(begin), end_(begin + room), next_(begin) {}

  /// Moves to the place of the next block; false when there is no room.
  template <port::Port P, class Address>
  [[nodiscard]] bool take(Address address, std::uint32_t bytes) {
    const port::StageOffset place = next_ + (low_bits(address) - next_) % P::kCopyAlignment;
    if (place + bytes > end_) {
      assert(next_ != begin_);
      return false;
    }
    place_ = place;
    next_ = place + bytes;
    return true;
  }
  [[nodiscard]] port::StageOffset place() const { return place_; }
  /// Whether any was taken since the last restart.
  [[nodiscard]] bool taken() const { return next_ != begin_; }
  void restart() { next_ = begin_; }

 private:
  port::StageOffset begin_, end_, next_;
  port::StageOffset place_ = 0;
};

/// Sends blocks eagerly. Adjacent ones are loaded together: give them in the order of their addresses.
template <port::Port P>
class EagerSender {
 public:
  explicit EagerSender(Rank<P>& me) : me_(me), places_(0, me.shape.bounce() / 2) {}

  /// The block of `peer` is `bytes` at `from`. It is sent by the flush that follows at the latest.
  void send(int peer, typename P::ConstUserAddress from, std::uint32_t bytes, const Stride& stride = {}) {
    if constexpr (port::UserMemoryAtHand<P>) {
      if (stride.contiguous()) return me_.eager.send(peer, {from, bytes});
    }
    if (count_ == kMost || !places_.take<P>(from, bytes)) {
      flush();
      [[maybe_unused]] const bool fits = places_.take<P>(from, bytes);
    }
    messages_[count_++] = {peer, bytes, places_.place()};
    if (!stride.contiguous()) {
      load_run();
      me_.stage.load_strided(from, stride, 0, places_.place(), bytes, buffer_tag(0));
      return;
    }
    if (run_bytes_ == 0 || from != run_from_ + run_bytes_ || places_.place() != run_place_ + run_bytes_) {
      load_run();
      run_from_ = from;
      run_place_ = places_.place();
    }
    run_bytes_ += bytes;
  }
  void flush() {
    if (port::UserMemoryAtHand<P> && count_ == 0) return;
    load_run();
    me_.port.wait(port::mask_of(buffer_tag(0)));
    for (std::uint32_t i = 0; i < count_; ++i) {
      const Message& message = messages_[i];
      me_.port.compute(cost::kPeer);
      me_.eager.send(message.peer, me_.stage.bytes(message.place, message.bytes));
    }
    count_ = 0;
    places_.restart();
  }

 private:
  static constexpr std::uint32_t kMost = 16;
  struct Message {
    int peer;
    std::uint32_t bytes;
    port::StageOffset place;
  };

  void load_run() {
    me_.stage.load(run_from_, run_place_, run_bytes_, buffer_tag(0));
    run_bytes_ = 0;
  }

  Rank<P>& me_;
  EagerPlaces places_;
  typename P::ConstUserAddress run_from_{};
  port::StageOffset run_place_ = 0;
  std::uint32_t run_bytes_ = 0;
  std::array<Message, kMost> messages_;
  std::uint32_t count_ = 0;
};

/// Stores what came eagerly. Adjacent blocks are stored together: give them in the order of their addresses.
template <port::Port P>
class EagerStore {
 public:
  explicit EagerStore(Rank<P>& me) : me_(me), places_(me.shape.bounce() / 2, me.shape.bounce() / 2) {}

  /// The bytes that will be stored at `to`; to be filled before the next call.
  std::span<std::byte> place(typename P::UserAddress to, std::uint32_t bytes, const Stride& stride = {}) {
    if constexpr (port::UserMemoryAtHand<P>) {
      if (stride.contiguous()) return {to, bytes};
    }
    if (!places_.take<P>(to, bytes)) {
      finish();
      [[maybe_unused]] const bool fits = places_.take<P>(to, bytes);
    }
    const bool strided = !stride.contiguous() || !run_stride_.contiguous();
    if (run_bytes_ == 0 || strided || to != run_to_ + run_bytes_ || places_.place() != run_place_ + run_bytes_) {
      store_run();
      run_to_ = to;
      run_place_ = places_.place();
      run_stride_ = stride;
    }
    run_bytes_ += bytes;
    return me_.stage.bytes(places_.place(), bytes);
  }
  /// Starts to load the own block, to where no EagerSender needs the stage any more.
  void load_own(typename P::ConstUserAddress from, std::uint32_t bytes, const Stride& stride = {}) {
    if constexpr (port::UserMemoryAtHand<P>) {
      if (stride.contiguous()) {
        own_ = {from, bytes};
        return;
      }
    }
    const port::StageOffset at = low_bits(from) % P::kCopyAlignment;
    own_ = me_.stage.bytes(at, bytes);
    me_.stage.load_strided(from, stride, 0, at, bytes, buffer_tag(2));
  }
  /// Puts it among what is stored.
  void own(typename P::UserAddress to, std::uint32_t bytes, const Stride& stride = {}) {
    const std::span<std::byte> into = place(to, bytes, stride);
    me_.port.wait(port::mask_of(buffer_tag(2)));
    if (into.data() != own_.data()) kernels::copy(into.data(), own_.data(), bytes, kernels::Audience::self);
    me_.port.compute(cost::shift(bytes));
  }
  /// All is stored at return.
  void finish() {
    if (port::UserMemoryAtHand<P> && !places_.taken()) return;
    store_run();
    me_.port.wait(port::mask_of(buffer_tag(1)));
    places_.restart();
  }

 private:
  void store_run() {
    me_.stage.store_strided(run_place_, run_to_, run_stride_, 0, run_bytes_, buffer_tag(1));
    run_bytes_ = 0;
  }

  Rank<P>& me_;
  EagerPlaces places_;
  typename P::UserAddress run_to_{};
  port::StageOffset run_place_ = 0;
  std::uint32_t run_bytes_ = 0;
  Stride run_stride_;
  std::span<const std::byte> own_;
};

}  // namespace corewise::coll

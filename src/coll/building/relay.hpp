// Relay: parts of blocks on their way through a rank's buffers, loaded at one place and stored at another. As many
// parts as fit travel in one buffer and are waited for together; while one buffer is loaded the other one is stored
// (double buffering, paper 001, section 4).
//
// A part lies in the buffer as its source lies in a line of 128 bytes, so a block is cut at lines and a copy to an
// equally aligned place needs no shifting. For another place the rank shifts the part within the buffer, where it
// has room for that. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>

#include "coll/rank.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll {

/// load(block, at, to, bytes, tag) starts to bring bytes [at, at + bytes) of `block` to `to` in the stage;
/// store(block, at, from, bytes, tag) is called when they are there and starts to bring them on. Both may block.
template <port::Port P, class Load, class Store>
class Relay {
 public:
  Relay(Rank<P>& me, const Parameters& parameters, Load load, Store store)
      : me_(me),
        turns_(parameters.buffering == 1 ? 1 : std::min(2, me.stage.buffers())),
        room_(room(me.stage.buffer_bytes(), parameters.piece_bytes)),
        load_(load),
        store_(store) {}
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  /// Bytes [at, at + bytes) of `block`; the low bits of the source of the first of them, and of its target (where
  /// that is another or not known, copies on the Cell are slow).
  void move(int block, std::uint64_t at, std::uint64_t bytes, std::uint32_t low, std::uint32_t to_low) {
    const std::uint32_t shift = room_ < 2 * kLine ? 0 : (to_low - low) % P::kCopyAlignment;
    const std::uint32_t spare = shift == 0 ? 0 : kLine;
    const std::uint64_t end = at + bytes;
    for (std::uint64_t done = at; done < end;) {
      const std::uint32_t place = place_for(low + static_cast<std::uint32_t>(done - at));
      if (halves_[current_].count > 0 && !fits(place, end - done + shift)) {
        turn();
        continue;
      }
      const bool whole = place + (end - done) + shift <= room_;
      const auto part = static_cast<std::uint32_t>(whole ? end - done : room_ - spare - place);
      add({block, part, done, me_.stage.buffer(current_) + place, shift});
      used_ = place + part + shift;
      done += part;
    }
  }
  void move(int block, std::uint64_t at, std::uint64_t bytes, std::uint32_t low = 0) {
    move(block, at, bytes, low, low);
  }

  /// Goes on to the next buffer: what came before the present one is stored.
  void turn() {
    if (turns_ == 2) store_all(1 - current_);
    if (turns_ == 1) store_all(current_);
    current_ = turns_ - 1 - current_;
    me_.port.wait(mask(current_));
    used_ = 0;
  }

  /// All is stored at return.
  void finish() {
    if (turns_ == 2) store_all(1 - current_);
    store_all(current_);
    me_.port.wait(mask(0) | mask(turns_ - 1));
    used_ = 0;
  }

 private:
  /// As many commands as an MFC's queue takes.
  static constexpr std::uint32_t kParts = 16;
  static constexpr std::uint32_t kLine = port::kStageAlignment;

  struct OnItsWay {
    int block = 0;
    std::uint32_t bytes = 0;
    std::uint64_t at = 0;
    port::StageOffset place = 0;
    std::uint32_t shift = 0;  ///< further on, before it is stored
  };
  struct Half {
    std::array<OnItsWay, kParts> parts;
    std::uint32_t count = 0;
  };

  static std::uint32_t room(std::uint32_t buffer, std::uint32_t wanted) {
    if (wanted == 0 || wanted >= buffer) return buffer;
    return (wanted + kLine - 1) / kLine * kLine;
  }
  static port::TagMask mask(int half) { return port::mask_of(buffer_tag(half)); }

  /// The first free place that lies in its line as `low` does.
  [[nodiscard]] std::uint32_t place_for(std::uint32_t low) const {
    if (P::kCopyAlignment == 1) return used_;
    return used_ + (low - used_) % kLine;
  }
  /// In the present buffer: a block that would be cut begins a new one.
  [[nodiscard]] bool fits(std::uint32_t place, std::uint64_t bytes) const {
    return halves_[current_].count < kParts && place + bytes <= room_;
  }

  void add(const OnItsWay& part) {
    Half& half = halves_[current_];
    half.parts[half.count++] = part;
    me_.port.compute(cost::kPiece);
    load_(part.block, part.at, part.place, part.bytes, buffer_tag(current_));
  }
  /// Where the part is when it lies as its target does.
  port::StageOffset shifted(const OnItsWay& part) {
    if (part.shift == 0) return part.place;
    std::byte* const begin = me_.stage.bytes(part.place, part.bytes + part.shift).data();
    std::memmove(begin + part.shift, begin, part.bytes);
    me_.port.compute(cost::shift(part.bytes));
    return part.place + part.shift;
  }
  void store_all(int index) {
    Half& half = halves_[index];
    if (half.count > 0) me_.port.wait(mask(index));
    for (std::uint32_t i = 0; i < half.count; ++i) {
      const OnItsWay& part = half.parts[i];
      store_(part.block, part.at, shifted(part), part.bytes, buffer_tag(index));
    }
    half.count = 0;
  }

  Rank<P>& me_;
  int turns_;
  std::uint32_t room_;
  Load load_;
  Store store_;
  std::array<Half, 2> halves_{};
  int current_ = 0;
  std::uint32_t used_ = 0;  ///< bytes of the present buffer
};

/// Own user memory to own user memory; nothing where they are the same place.
template <port::Port P>
void copy_own(Rank<P>& me, const Parameters& parameters, typename P::ConstUserAddress from,
              typename P::UserAddress to, std::uint64_t bytes) {
  if (bytes == 0 || from == typename P::ConstUserAddress(to)) return;
  if constexpr (port::UserCopy<P>) {
    me.port.copy_user(from, to, bytes, buffer_tag(0));
    me.port.wait(port::mask_of(buffer_tag(0)));
    return;
  }
  const auto load = [&](int, std::uint64_t at, port::StageOffset stage, std::uint32_t count, port::Tag tag) {
    me.stage.load(from + at, stage, count, tag);
  };
  const auto store = [&](int, std::uint64_t at, port::StageOffset stage, std::uint32_t count, port::Tag tag) {
    me.stage.store(stage, to + at, count, tag);
  };
  Relay relay(me, parameters, load, store);
  relay.move(0, 0, bytes, low_bits(from), low_bits(to));
  relay.finish();
}

/// Own user memory to own user memory, laid out anew; nothing where they are the same place.
template <port::Port P>
void copy_own_strided(Rank<P>& me, const Parameters& parameters, typename P::ConstUserAddress from,
                      const Stride& from_stride, typename P::UserAddress to, const Stride& to_stride,
                      std::uint64_t bytes) {
  if (bytes == 0 || from == typename P::ConstUserAddress(to)) return;
  const auto load = [&](int, std::uint64_t at, port::StageOffset stage, std::uint32_t count, port::Tag tag) {
    me.stage.load_strided(from, from_stride, at, stage, count, tag);
  };
  const auto store = [&](int, std::uint64_t at, port::StageOffset stage, std::uint32_t count, port::Tag tag) {
    me.stage.store_strided(stage, to, to_stride, at, count, tag);
  };
  Relay relay(me, parameters, load, store);
  relay.move(0, 0, bytes);
  relay.finish();
}

/// The rank's own block, from what it sends to where it receives.
template <port::Port P>
void copy_own_block(Rank<P>& me, const Call<P>& call, const Parameters& parameters,
                    typename P::ConstUserAddress from, typename P::UserAddress to, std::uint64_t bytes) {
  if (call.send_stride.contiguous() && call.receive_stride.contiguous()) {
    copy_own(me, parameters, from, to, bytes);
  } else {
    copy_own_strided(me, parameters, from, call.send_stride, to, call.receive_stride, bytes);
  }
}

}  // namespace corewise::coll

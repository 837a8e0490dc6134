// Stage: a rank's buffers and the way between them and user memory, for any alignment and stride.
//
// A copy whose two places are congruent modulo P::kCopyAlignment is one operation of the port, complete after a
// wait for its tag. Otherwise it goes through a small bounce area, piece by piece, shifted by the rank itself, and
// is complete at return (paper 001 does not speak of such data; on a host there are none). Strided user data go
// block by block, or by DMA lists where the port has them and blocks are multiples of 16.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "coll/building/cost.hpp"
#include "coll/building/shape.hpp"
#include "coll/call.hpp"
#include "port/capabilities.hpp"
#include "port/port.hpp"

namespace corewise::coll {

/// The low bits of a user address, as far as alignment needs them.
inline std::uint32_t low_bits(std::uint64_t address) {
  return static_cast<std::uint32_t>(address & 0xFFF);
}
inline std::uint32_t low_bits(const std::byte* address) {
  return low_bits(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address)));
}

/// `total` bytes in pieces of `most`; the last may be shorter. Nothing has no pieces.
class Pieces {
 public:
  Pieces(std::uint64_t total, std::uint64_t most) : total_(total), most_(most) { assert(most > 0); }
  [[nodiscard]] std::uint64_t count() const { return (total_ + most_ - 1) / most_; }
  [[nodiscard]] std::uint64_t at(std::uint64_t piece) const { return piece * most_; }
  [[nodiscard]] std::uint32_t bytes(std::uint64_t piece) const {
    return static_cast<std::uint32_t>(std::min(most_, total_ - at(piece)));
  }

 private:
  std::uint64_t total_, most_;
};

template <port::Port P>
class Stage {
 public:
  using UserAddress = typename P::UserAddress;
  using ConstUserAddress = typename P::ConstUserAddress;

  Stage(P& port, const Shape& shape) : port_(port), shape_(shape) {}

  [[nodiscard]] int buffers() const { return shape_.buffers; }
  [[nodiscard]] std::uint32_t buffer_bytes() const { return shape_.buffer_bytes; }
  /// Where buffer `index` (0 .. buffers() - 1) begins.
  [[nodiscard]] port::StageOffset buffer(int index) const {
    return static_cast<std::uint32_t>(index) * shape_.buffer_bytes;
  }
  [[nodiscard]] std::span<std::byte> bytes(port::StageOffset at, std::uint32_t count) {
    return port_.stage().subspan(at, count);
  }

  /// Where own user data can be used without copies to and from the stage: in the local store, or otherwise at
  /// hand; or null.
  [[nodiscard]] std::byte* in_place(ConstUserAddress user, const Stride& stride, std::uint64_t bytes) {
    if (!stride.contiguous()) return nullptr;
    if constexpr (port::UserMemoryAtHand<P>) return const_cast<std::byte*>(user);
    if constexpr (port::UserMemoryInPlace<P>) {
      const auto offset = port_.in_place(user, static_cast<std::uint32_t>(bytes));
      if (offset) return port_.stage().data() + static_cast<std::int32_t>(*offset);
    }
    return nullptr;
  }

  /// Own user memory to the own stage.
  void load(ConstUserAddress from, port::StageOffset to, std::uint32_t bytes, port::Tag tag) {
    load_by([this](auto user, auto at, auto count, auto t) { port_.copy_in(user, at, count, t); }, from, to, bytes,
            tag);
  }
  /// The own stage to own user memory. What is in the stage must be there.
  void store(port::StageOffset from, UserAddress to, std::uint32_t bytes, port::Tag tag) {
    store_by([this](auto at, auto user, auto count, auto t) { port_.copy_out(at, user, count, t); }, from, to,
             bytes, tag);
  }
  /// A peer's user memory to the own stage.
  void read(int peer, ConstUserAddress from, port::StageOffset to, std::uint32_t bytes, port::Tag tag)
    requires port::DirectRead<P>
  {
    load_by([this, peer](auto user, auto at, auto count, auto t) { port_.read_user(peer, user, at, count, t); },
            from, to, bytes, tag);
  }
  /// The own stage to a peer's user memory. What is in the stage must be there.
  void write(int peer, port::StageOffset from, UserAddress to, std::uint32_t bytes, port::Tag tag)
    requires port::DirectWrite<P>
  {
    store_by([this, peer](auto at, auto user, auto count, auto t) { port_.write_user(peer, at, user, count, t); },
             from, to, bytes, tag);
  }

  /// load and store of bytes [at, at + bytes) of strided user data that begin at `user`.
  void load_strided(ConstUserAddress user, const Stride& stride, std::uint64_t at, port::StageOffset to,
                    std::uint32_t bytes, port::Tag tag) {
    if (stride.contiguous()) return load(user + at, to, bytes, tag);
    if constexpr (port::DmaLists<P>) {
      if (takes_lists(user, stride, at, to, bytes))
        return port_.copy_in_list(pieces_of(user, stride, at, bytes), to, tag);
    }
    for_blocks(stride, at, bytes, [&](std::uint64_t place, std::uint32_t done, std::uint32_t count) {
      load(user + place, to + done, count, tag);
    });
  }
  void store_strided(port::StageOffset from, UserAddress user, const Stride& stride, std::uint64_t at,
                     std::uint32_t bytes, port::Tag tag) {
    if (stride.contiguous()) return store(from, user + at, bytes, tag);
    if constexpr (port::DmaLists<P>) {
      if (takes_lists(user, stride, at, from, bytes))
        return port_.copy_out_list(from, pieces_of(user, stride, at, bytes), tag);
    }
    for_blocks(stride, at, bytes, [&](std::uint64_t place, std::uint32_t done, std::uint32_t count) {
      store(from + done, user + place, count, tag);
    });
  }

  /// read and write of a peer's strided user data, block by block.
  void read_strided(int peer, ConstUserAddress user, const Stride& stride, std::uint64_t at, port::StageOffset to,
                    std::uint32_t bytes, port::Tag tag)
    requires port::DirectRead<P>
  {
    if (stride.contiguous()) return read(peer, user + at, to, bytes, tag);
    for_blocks(stride, at, bytes, [&](std::uint64_t place, std::uint32_t done, std::uint32_t count) {
      read(peer, user + place, to + done, count, tag);
    });
  }
  void write_strided(int peer, port::StageOffset from, UserAddress user, const Stride& stride, std::uint64_t at,
                     std::uint32_t bytes, port::Tag tag)
    requires port::DirectWrite<P>
  {
    if (stride.contiguous()) return write(peer, from, user + at, bytes, tag);
    for_blocks(stride, at, bytes, [&](std::uint64_t place, std::uint32_t done, std::uint32_t count) {
      write(peer, from + done, user + place, count, tag);
    });
  }

  /// Combines `bytes` of the stage at `low` (the lower ranks' operand) into those at `into`.
  void combine(const Operation& operation, port::StageOffset low, port::StageOffset into, std::uint32_t bytes) {
    const std::span<std::byte> stage = port_.stage();
    operation(stage.data() + low, stage.data() + into, bytes);
    port_.compute(operation.cycles((bytes + 15) / 16));
  }
  /// Combines `count` contiguous operands of `bytes` each from `first` on, lower ranks first, into the
  /// last of them: by one call of the operator's row kernel, or, where it has none, by a call for each pair.
  void combine_row(const Operation& operation, port::StageOffset first, std::uint32_t count, std::uint32_t bytes) {
    if (operation.combine_row == nullptr) {
      for (std::uint32_t i = 1; i < count; ++i)
        combine(operation, first + (i - 1) * bytes, first + i * bytes, bytes);
      return;
    }
    operation.combine_row(port_.stage().data() + first, count, bytes / operation.element_bytes);
    port_.compute(operation.cycles(std::int64_t{(bytes + 15) / 16} * (count - 1)));
  }

 private:
  template <class Address>
  [[nodiscard]] static bool congruent(Address user, port::StageOffset at) {
    return P::kCopyAlignment == 1 || (low_bits(user) - at) % P::kCopyAlignment == 0;
  }
  /// A part that fits into the bounce area, where it lies congruent to `user`.
  template <class Address>
  static std::uint32_t bounce_skew(Address user) {
    return low_bits(user) % P::kCopyAlignment;
  }
  static constexpr std::uint32_t kBouncePart = kBounceBytes - 16;

  void shift(port::StageOffset from, port::StageOffset to, std::uint32_t bytes) {
    std::memcpy(port_.stage().data() + to, port_.stage().data() + from, bytes);
    port_.compute(cost::shift(bytes));
  }

  template <class Copy>
  void load_by(Copy copy, ConstUserAddress from, port::StageOffset to, std::uint32_t bytes, port::Tag tag) {
    if (congruent(from, to)) return copy(from, to, bytes, tag);
    for (std::uint32_t done = 0; done < bytes;) {
      const std::uint32_t part = std::min(kBouncePart, bytes - done);
      const port::StageOffset bounce = shape_.bounce() + bounce_skew(from + done);
      copy(from + done, bounce, part, kBounceTag);
      port_.wait(port::mask_of(kBounceTag));
      shift(bounce, to + done, part);
      done += part;
    }
  }
  template <class Copy>
  void store_by(Copy copy, port::StageOffset from, UserAddress to, std::uint32_t bytes, port::Tag tag) {
    if (congruent(to, from)) return copy(from, to, bytes, tag);
    for (std::uint32_t done = 0; done < bytes;) {
      const std::uint32_t part = std::min(kBouncePart, bytes - done);
      const port::StageOffset bounce = shape_.bounce() + bounce_skew(to + done);
      shift(from + done, bounce, part);
      copy(bounce, to + done, part, kBounceTag);
      port_.wait(port::mask_of(kBounceTag));
      done += part;
    }
  }

  /// Calls visit(place in user memory, bytes before it, bytes) for every part of a block in [at, at + bytes).
  template <class Visit>
  static void for_blocks(const Stride& stride, std::uint64_t at, std::uint32_t bytes, Visit visit) {
    for (std::uint32_t done = 0; done < bytes;) {
      const std::uint64_t block = (at + done) / stride.block_bytes;
      const auto within = static_cast<std::uint32_t>((at + done) % stride.block_bytes);
      const std::uint32_t count = std::min(stride.block_bytes - within, bytes - done);
      visit(block * stride.stride_bytes + within, done, count);
      done += count;
    }
  }
  template <class Address>
  static bool takes_lists(Address user, const Stride& stride, std::uint64_t at, port::StageOffset stage,
                          std::uint32_t bytes) {
    const std::uint64_t odd = stride.block_bytes | stride.stride_bytes | at | stage | bytes | low_bits(user);
    return odd % 16 == 0;
  }
  // A list's element is the same whether it is read or written.
  static std::uint64_t writable(std::uint64_t address) { return address; }
  static std::byte* writable(const std::byte* address) { return const_cast<std::byte*>(address); }
  template <class Address>
  static auto pieces_of(Address user, const Stride& stride, std::uint64_t at, std::uint32_t bytes) {
    std::vector<typename P::UserPiece> pieces;
    for_blocks(stride, at, bytes, [&](std::uint64_t place, std::uint32_t, std::uint32_t count) {
      pieces.push_back({writable(user + place), count});
    });
    return pieces;
  }

  P& port_;
  Shape shape_;
};

}  // namespace corewise::coll

// Operands: a rank's data as the algorithms take them, bytes in one piece. Data that lie so are used where they
// are; others go through memory of this rank's. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "preload/accelerating/calls.hpp"
#include "preload/accelerating/types.hpp"
#include "shm/views.hpp"

namespace corewise::preload::accelerating {

/// Memory for the time of a call. Where there is none the process ends: the other ranks are in the call already.
class Scratch {
 public:
  std::byte* take(std::uint64_t bytes) {
    memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    return memory_.get();
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
};

inline std::byte* address(const void* at) {
  return const_cast<std::byte*>(static_cast<const std::byte*>(at));
}

/// Items that a plan lays out on their way to a stage and out of one (shm/views.hpp).
class Viewed {
 public:
  Viewed() = default;
  Viewed(const Viewed&) = delete;
  Viewed& operator=(const Viewed&) = delete;
  ~Viewed() {
    if (views_ != nullptr) [[unlikely]]
      views_->drop();
  }
  /// Where they are seen; null where there is no room for more views.
  std::byte* begin(shm::Views& views, const Items& items, const kernels::PackPlan& plan) {
    plan_ = &plan;
    items_ = address(items.at);
    count_ = items.count;
    std::byte* const at = views.add({this, &Viewed::read, &Viewed::write});
    if (at != nullptr) views_ = &views;
    return at;
  }

 private:
  static void read(void* context, std::uint64_t from, std::byte* to, std::uint64_t bytes) {
    const Viewed& me = *static_cast<const Viewed*>(context);
    me.plan_->pack(me.items_, me.count_, static_cast<std::int64_t>(from), to, bytes, kernels::PackedBuffer::shared);
  }
  static void write(void* context, std::uint64_t from, const std::byte* data, std::uint64_t bytes) {
    const Viewed& me = *static_cast<const Viewed*>(context);
    me.plan_->unpack(me.items_, me.count_, static_cast<std::int64_t>(from), data, bytes);
  }

  shm::Views* views_ = nullptr;
  const kernels::PackPlan* plan_ = nullptr;
  std::byte* items_ = nullptr;
  std::int64_t count_ = 0;
};

/// Data of at least so many bytes are viewed. Shorter ones may go as messages that need them in one piece.
inline constexpr std::int64_t kLeastViewed = 4096;

/// How a call's algorithm takes what is not plain.
struct Through {
  MPI_Comm comm;
  shm::Views* views;          ///< null: in a copy
  bool copies_plain = false;  ///< and so does what is plain
};

/// Where data that are not plain are seen; null where they are to be copied. `block`: the shortest part of them
/// that a message may carry.
inline std::byte* view_of(const Items& items, const Type& type, const Through& through, std::int64_t block,
                          Viewed& viewed) {
  if (through.views == nullptr || type.derived == nullptr || block * type.size < kLeastViewed) return nullptr;
  const kernels::PackPlan* const plan = type.derived->plan_for_many(items.datatype);
  return plan != nullptr ? viewed.begin(*through.views, items, *plan) : nullptr;
}

/// Items in one piece: where they are, where they are seen, or in memory of this rank's.
class OnePiece {
 public:
  /// `block`: see view_of; all of them, if that is not given.
  OnePiece(const Items& items, const Type& type, const Through& through, std::int64_t block)
      : at_(address(items.at)) {
    if ((type.plain && !through.copies_plain) || items.count * type.size == 0) return;
    at_ = view_of(items, type, through, block < 0 ? items.count : block, viewed_);
    if (at_ != nullptr) return;
    at_ = scratch_.take(static_cast<std::uint64_t>(items.count * type.size));
    copied_ = true;
  }
  [[nodiscard]] std::byte* at() const { return at_; }
  /// Whether at() is other memory than the items'.
  [[nodiscard]] bool is_copied() const { return copied_; }

 private:
  std::byte* at_;
  bool copied_ = false;
  Scratch scratch_;
  Viewed viewed_;
};

/// Data to be read: items packed where they are not plain.
class Source : public OnePiece {
 public:
  Source(const Items& items, const Type& type, const Through& through, std::int64_t block = -1)
      : OnePiece(items, type, through, block) {
    if (is_copied()) code = pack(items.at, items.count, items.datatype, type, at(), through.comm);
  }

  int code = MPI_SUCCESS;
};

/// Data to be written: unpacked by finish() where they are not plain.
class Target : public OnePiece {
 public:
  Target(const Items& items, const Type& type, const Through& through, std::int64_t block = -1)
      : OnePiece(items, type, through, block), items_(items), type_(type), comm_(through.comm) {}
  int finish() {
    if (!is_copied()) return MPI_SUCCESS;
    return unpack(at(), address(items_.at), items_.count, items_.datatype, type_, comm_);
  }

 private:
  Items items_;
  const Type& type_;
  MPI_Comm comm_;
};

/// Items that are not plain as an operator takes them, each an extent after the last one: in a copy, since the
/// bytes between the data are the program's.
class Operand {
 public:
  Operand(const Items& items, const Type& type, MPI_Comm comm) : items_(items), type_(type), comm_(comm) {
    copy_ = scratch_.take(static_cast<std::uint64_t>(items.count * type.extent));
  }
  [[nodiscard]] std::byte* at() const { return copy_; }
  /// The items' data to the copy, and back.
  int read() { return move(items_.at, copy_); }
  int finish() { return move(copy_, address(items_.at)); }

 private:
  int move(const void* from, std::byte* to) {
    Scratch scratch;
    std::byte* const packed = scratch.take(static_cast<std::uint64_t>(items_.count * type_.size));
    const int code = pack(from, items_.count, items_.datatype, type_, packed, comm_);
    return code != MPI_SUCCESS ? code : unpack(packed, to, items_.count, items_.datatype, type_, comm_);
  }

  Items items_;
  const Type& type_;
  MPI_Comm comm_;
  std::byte* copy_;
  Scratch scratch_;
};

}  // namespace corewise::preload::accelerating

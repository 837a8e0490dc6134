// Operands: a rank's data as the algorithms take them, bytes in one piece. Data that lie so are used where they
// are; others go through memory of this rank's. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "preload/accelerating/calls.hpp"
#include "preload/accelerating/types.hpp"

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

/// Data to be read: items packed where they are not plain.
class Source {
 public:
  Source(const Items& items, const Type& type, MPI_Comm comm) : at_(address(items.at)) {
    if (type.plain || items.count * type.size == 0) return;
    std::byte* const packed = scratch_.take(static_cast<std::uint64_t>(items.count * type.size));
    code = pack(items.at, items.count, items.datatype, type, packed, comm);
    at_ = packed;
  }
  [[nodiscard]] const std::byte* at() const { return at_; }

  int code = MPI_SUCCESS;

 private:
  std::byte* at_;
  Scratch scratch_;
};

/// Data to be written: unpacked by finish() where they are not plain.
class Target {
 public:
  Target(const Items& items, const Type& type, MPI_Comm comm)
      : items_(items), type_(type), comm_(comm), at_(address(items.at)) {
    if (type.plain || items.count * type.size == 0) return;
    at_ = scratch_.take(static_cast<std::uint64_t>(items.count * type.size));
    through_ = true;
  }
  [[nodiscard]] std::byte* at() const { return at_; }
  /// Whether at() is other memory than the items'.
  [[nodiscard]] bool is_elsewhere() const { return through_; }
  int finish() {
    if (!through_) return MPI_SUCCESS;
    return unpack(at_, address(items_.at), items_.count, items_.datatype, type_, comm_);
  }

 private:
  Items items_;
  Type type_;
  MPI_Comm comm_;
  std::byte* at_;
  bool through_ = false;
  Scratch scratch_;
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
  Type type_;
  MPI_Comm comm_;
  std::byte* copy_;
  Scratch scratch_;
};

}  // namespace corewise::preload::accelerating

// Operands: a rank's data as the algorithms take them, bytes in one piece. Data that lie so are used where they
// are; others go through memory of this rank's. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "preload/accelerating/calls.hpp"
#include "preload/accelerating/types.hpp"

namespace corewise::preload::accelerating {

/// Memory for the time of a call. Where there is none the process ends: the other ranks are in the call already.
class Scratch {
 public:
  std::byte* take(std::uint64_t bytes) {
    memory_ = std::make_unique<std::byte[]>(bytes);
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

/// Items as an operator takes them, each an extent after the last one: for types whose items are not plain they are
/// a copy, since the bytes between the data are the program's.
class Operand {
 public:
  /// `bytes` are count times the extent.
  Operand(const Items& items, const Type& type, MPI_Comm comm) : items_(items), type_(type), comm_(comm) {}

  const std::byte* read() {
    if (type_.plain || items_.count == 0) return address(items_.at);
    std::byte* const copy = spread();
    Scratch packed;
    std::byte* const row = packed.take(packed_bytes());
    code = pack(items_.at, items_.count, items_.datatype, type_, row, comm_);
    if (code == MPI_SUCCESS) code = unpack(row, copy, items_.count, items_.datatype, type_, comm_);
    return copy;
  }
  std::byte* write() { return type_.plain || items_.count == 0 ? address(items_.at) : spread(); }
  /// What was written goes to the items.
  int finish() {
    if (type_.plain || items_.count == 0) return MPI_SUCCESS;
    Scratch packed;
    std::byte* const row = packed.take(packed_bytes());
    int done = pack(spread_, items_.count, items_.datatype, type_, row, comm_);
    if (done == MPI_SUCCESS) done = unpack(row, address(items_.at), items_.count, items_.datatype, type_, comm_);
    return done;
  }

  int code = MPI_SUCCESS;

 private:
  [[nodiscard]] std::uint64_t packed_bytes() const { return static_cast<std::uint64_t>(items_.count * type_.size); }
  std::byte* spread() {
    spread_ = scratch_.take(static_cast<std::uint64_t>(items_.count * type_.extent));
    return spread_;
  }

  Items items_;
  Type type_;
  MPI_Comm comm_;
  std::byte* spread_ = nullptr;
  Scratch scratch_;
};

}  // namespace corewise::preload::accelerating

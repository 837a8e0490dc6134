// Types: what a datatype and an operator are to a call. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "coll/call.hpp"
#include "preload/accelerating/derived.hpp"
#include "preload/data.hpp"
#include "preload/handles.hpp"

namespace corewise::preload::accelerating {

/// Predefined types with names that a thread has met. They are never freed, so an entry stays for the thread's
/// life.
class KnownTypes {
 public:
  /// Null for a type that is not known.
  [[nodiscard]] const Type* find(std::uint64_t handle) const {
    for (std::size_t slot = slot_of<kSlots>(handle); entries_[slot].type.named; slot = (slot + 1) % kSlots)
      if (entries_[slot].handle == handle) return &entries_[slot].type;
    return nullptr;
  }
  /// `type` has a name; once half of the slots are taken no more are kept.
  void remember(std::uint64_t handle, const Type& type);

 private:
  static constexpr std::size_t kSlots = 64;
  struct Entry {
    std::uint64_t handle;
    Type type;
  };
  std::array<Entry, kSlots> entries_{};
  std::size_t used_ = 0;
};
extern constinit thread_local KnownTypes known_types __attribute__((tls_model("initial-exec")));

/// A datatype as a call reads it.
class ReadType {
 public:
  ReadType() = default;
  ReadType(const ReadType&) = delete;
  ReadType& operator=(const ReadType&) = delete;

  /// False where MPI refuses to answer: it is to judge the call.
  bool read(MPI_Datatype datatype) {
    type_ = known_types.find(handle_key(datatype));
    return type_ != nullptr || ask(datatype);
  }
  /// Of no data.
  void be_nothing() { type_ = &kNothing; }
  /// What keeps a derived type as it was read.
  [[nodiscard]] const Held& held() const { return held_; }

  const Type& operator*() const { return *type_; }
  const Type* operator->() const { return type_; }

 private:
  static constexpr Type kNothing{{}, true, false, nullptr, nullptr};

  bool ask(MPI_Datatype datatype);
  /// False where there is none.
  bool keep(Derived* derived);

  const Type* type_ = &kNothing;
  Type other_;  ///< of one that nobody keeps
  Held held_;
};

/// A type that is kept beyond its reading.
struct KeptType : Type {
  /// False where MPI refuses to answer.
  bool read(MPI_Datatype datatype) {
    ReadType read;
    if (!read.read(datatype)) return false;
    Type::operator=(*read);
    held = read.held();
    return true;
  }
  Held held;
};

/// What a thread found out about an operator and a type, both predefined.
struct KnownOperation {
  std::uint64_t op = 0, datatype = 0;
  coll::Operation operation;
  bool allowed = false;
};
extern constinit thread_local std::array<KnownOperation, 16> known_operations
    __attribute__((tls_model("initial-exec")));

/// What a reduction needs of an operator and a datatype.
class Reduction {
 public:
  /// Of a reduction that is known: a predefined operator on a predefined type that it allows (by kernels/reduce),
  /// or the program's own operator on items side by side (by MPI_Reduce_local). Arguments are equal on all ranks,
  /// so that is, too.
  Reduction(MPI_Op op, MPI_Datatype datatype, const Type& type) : op_(op), datatype_(datatype) {
    const std::uint64_t op_key = handle_key(op);
    const std::uint64_t type_key = handle_key(datatype);
    KnownOperation& entry = known_operations[slot_of<16>(op_key * 31 + type_key)];
    if (entry.op != op_key || entry.datatype != type_key) {
      find_out(type, entry);
    } else if (entry.allowed) {
      operation_ = &entry.operation;
    }
  }
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  [[nodiscard]] bool is_known() const { return operation_ != nullptr; }
  [[nodiscard]] const coll::Operation& operation() const { return *operation_; }

 private:
  /// An operator on a type that `entry` does not know; it does then, where both are predefined.
  void find_out(const Type& type, KnownOperation& entry);
  /// Of the program's own operator.
  void be_own(const Type& type);
  static void combine(void* context, const std::byte* in, std::byte* inout, std::size_t count);

  MPI_Op op_;
  MPI_Datatype datatype_;
  const coll::Operation* operation_ = nullptr;  ///< a thread's of a predefined one, or:
  std::optional<coll::Operation> own_;
};

/// What processes can tell each other of an error code: MPICH's codes are a process's own.
[[gnu::cold]] int error_class(int code);

/// Items of a type to bytes side by side, and back; an MPI error code, of which no error handler has heard.
int pack(const void* items, std::int64_t count, MPI_Datatype datatype, const Type& type, std::byte* to,
         MPI_Comm comm);
int unpack(const std::byte* from, void* items, std::int64_t count, MPI_Datatype datatype, const Type& type,
           MPI_Comm comm);

}  // namespace corewise::preload::accelerating

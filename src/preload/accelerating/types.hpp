// Types: what a datatype and an operator are to a call. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "coll/call.hpp"
#include "preload/data.hpp"

namespace corewise::preload::accelerating {

/// How a datatype lies in memory.
struct Type : Bounds {
  bool plain = false;  ///< any number of items is one run of bytes, in the order of the data
  bool named = false;  ///< it is predefined
};

/// False where MPI refuses to answer: it is to judge the call.
bool read_type(MPI_Datatype datatype, Type& type);

/// What a reduction needs of an operator and a datatype.
class Reduction {
 public:
  /// Of a reduction that is known: a predefined operator on a predefined type that it allows (by kernels/reduce),
  /// or the program's own operator on items side by side (by MPI_Reduce_local). Arguments are equal on all ranks,
  /// so that is, too.
  Reduction(MPI_Op op, MPI_Datatype datatype, const Type& type);
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  [[nodiscard]] bool is_known() const { return operation_ != nullptr; }
  [[nodiscard]] const coll::Operation& operation() const { return *operation_; }

 private:
  /// Of the program's own operator.
  void be_own(const Type& type);
  static void combine(void* context, const std::byte* in, std::byte* inout, std::size_t count);

  MPI_Op op_;
  MPI_Datatype datatype_;
  const coll::Operation* operation_ = nullptr;  ///< a thread's of a predefined one, or:
  std::optional<coll::Operation> own_;
};

/// Items of a type to bytes side by side, and back; an MPI error code.
int pack(const void* items, std::int64_t count, MPI_Datatype datatype, const Type& type, std::byte* to,
         MPI_Comm comm);
int unpack(const std::byte* from, void* items, std::int64_t count, MPI_Datatype datatype, const Type& type,
           MPI_Comm comm);

}  // namespace corewise::preload::accelerating

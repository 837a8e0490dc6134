// Operator: what a reduction does to two operands: one of MPI's on a predefined type (room kernels), or a function
// of the program. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/reduce/reduce.hpp"
#include "simmpi/objects/type.hpp"

namespace corewise::simmpi {

struct Operator {
  std::optional<kernels::Operator> known;
  MPI_User_function* function = nullptr;
  bool commutes = true;
};

/// Null for MPI_OP_NULL and what is no handle.
Operator* operator_of(MPI_Op handle);
MPI_Op handle_of(Operator& made);
/// Whether it may be applied to the type.
bool applies(const Operator& operation, const Type& type);
/// inout = in OP inout, for `count` items; `in` is the operand of the lower rank.
void combine(const Operator& operation, Type& type, std::int64_t count, const void* in, void* inout);

/// Room for `count` items of a type, addressed as a user's buffer is.
class Items {
 public:
  Items(Type& type, std::int64_t count)
      : type_(&type), count_(count), bytes_(static_cast<std::size_t>(span(type, count))) {}

  [[nodiscard]] void* at() { return bytes_.data() - type_->shape.true_lb - lowest(); }
  void fill_from(const void* items) { copy_items(items, count_, *type_, at(), count_, *type_); }
  void copy_to(void* items) { copy_items(at(), count_, *type_, items, count_, *type_); }

 private:
  [[nodiscard]] std::int64_t lowest() const {
    return type_->shape.extent < 0 ? type_->shape.extent * (count_ > 0 ? count_ - 1 : 0) : 0;
  }
  static std::int64_t span(const Type& type, std::int64_t count) {
    const std::int64_t extent = type.shape.extent < 0 ? -type.shape.extent : type.shape.extent;
    return count == 0 ? 0 : (count - 1) * extent + type.shape.true_extent;
  }

  Type* type_;
  std::int64_t count_;
  std::vector<std::byte> bytes_;
};

}  // namespace corewise::simmpi

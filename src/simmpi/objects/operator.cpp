// The table of MPI's operators, in the order of their handles. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/objects/operator.hpp"

#include <array>

namespace corewise::simmpi {
namespace {

Operator known(kernels::Operator operation) {
  return {operation, nullptr, true};
}

using K = kernels::Operator;

std::array<Operator, 14> g_known = {known(K::sum),         known(K::product),          known(K::minimum),
                                    known(K::maximum),     known(K::logical_and),      known(K::logical_or),
                                    known(K::logical_xor), known(K::bitwise_and),      known(K::bitwise_or),
                                    known(K::bitwise_xor), known(K::minimum_location), known(K::maximum_location),
                                    known(K::replace),     known(K::no_operation)};

}  // namespace

Operator* operator_of(MPI_Op handle) {
  const auto number = reinterpret_cast<std::intptr_t>(handle);
  if (number == 0) return nullptr;
  if (number >= kPredefinedHandles) return reinterpret_cast<Operator*>(handle);
  return number <= static_cast<std::intptr_t>(g_known.size()) ? &g_known[static_cast<std::size_t>(number - 1)]
                                                              : nullptr;
}

MPI_Op handle_of(Operator& made) {
  return reinterpret_cast<MPI_Op>(&made);
}

bool applies(const Operator& operation, const Type& type) {
  if (operation.function != nullptr) return true;
  return type.element && kernels::allowed(*operation.known, type.kind) &&
         kernels::combine_for(*operation.known, *type.element) != nullptr;
}

void combine(const Operator& operation, Type& type, std::int64_t count, const void* in, void* inout) {
  if (count == 0) return;
  if (operation.function != nullptr) {
    int length = static_cast<int>(count);
    MPI_Datatype handle = handle_of(type);
    operation.function(const_cast<void*>(in), inout, &length, &handle);
    return;
  }
  kernels::combine_for(*operation.known, *type.element)(
      static_cast<const std::byte*>(in), static_cast<std::byte*>(inout), static_cast<std::size_t>(count));
}

}  // namespace corewise::simmpi

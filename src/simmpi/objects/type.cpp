// The predefined types, and the bytes of items. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/objects/type.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace corewise::simmpi {
namespace {

using kernels::Element;
using kernels::TypeClass;

struct Named {
  MPI_Datatype handle;
  const char* name;
  Element element;
  TypeClass kind;
  std::int64_t first;      ///< bytes; of a pair, of its value
  std::int64_t second_at;  ///< of a pair
  std::int64_t second;     ///< of a pair, 0 for all others
};

template <class C>
constexpr Named row(MPI_Datatype handle, const char* name, Element element, TypeClass kind) {
  return {handle, name, element, kind, sizeof(C), 0, 0};
}

template <class Value>
struct Pair {
  Value value;
  int index;
};

template <class Value>
constexpr Named pair(MPI_Datatype handle, const char* name, Element element) {
  return {handle, name, element, TypeClass::pair, sizeof(Value), offsetof(Pair<Value>, index), sizeof(int)};
}

#define NAMED(type) type, #type  // a handle and how MPI_Type_get_name calls it

const Named kNamed[] = {
    row<char>(NAMED(MPI_CHAR), Element::int8, TypeClass::c_integer),
    row<signed char>(NAMED(MPI_SIGNED_CHAR), Element::int8, TypeClass::c_integer),
    row<unsigned char>(NAMED(MPI_UNSIGNED_CHAR), Element::uint8, TypeClass::c_integer),
    row<char>(NAMED(MPI_BYTE), Element::byte8, TypeClass::byte),
    row<wchar_t>(NAMED(MPI_WCHAR), Element::int32, TypeClass::c_integer),
    row<short>(NAMED(MPI_SHORT), Element::int16, TypeClass::c_integer),
    row<unsigned short>(NAMED(MPI_UNSIGNED_SHORT), Element::uint16, TypeClass::c_integer),
    row<int>(NAMED(MPI_INT), Element::int32, TypeClass::c_integer),
    row<unsigned>(NAMED(MPI_UNSIGNED), Element::uint32, TypeClass::c_integer),
    row<long>(NAMED(MPI_LONG), Element::int64, TypeClass::c_integer),
    row<unsigned long>(NAMED(MPI_UNSIGNED_LONG), Element::uint64, TypeClass::c_integer),
    row<long long>(NAMED(MPI_LONG_LONG), Element::int64, TypeClass::c_integer),
    row<unsigned long long>(NAMED(MPI_UNSIGNED_LONG_LONG), Element::uint64, TypeClass::c_integer),
    row<float>(NAMED(MPI_FLOAT), Element::float32, TypeClass::floating_point),
    row<double>(NAMED(MPI_DOUBLE), Element::float64, TypeClass::floating_point),
    row<long double>(NAMED(MPI_LONG_DOUBLE), Element::long_double, TypeClass::floating_point),
    row<bool>(NAMED(MPI_C_BOOL), Element::bool8, TypeClass::logical),
    row<std::int8_t>(NAMED(MPI_INT8_T), Element::int8, TypeClass::c_integer),
    row<std::int16_t>(NAMED(MPI_INT16_T), Element::int16, TypeClass::c_integer),
    row<std::int32_t>(NAMED(MPI_INT32_T), Element::int32, TypeClass::c_integer),
    row<std::int64_t>(NAMED(MPI_INT64_T), Element::int64, TypeClass::c_integer),
    row<std::uint8_t>(NAMED(MPI_UINT8_T), Element::uint8, TypeClass::c_integer),
    row<std::uint16_t>(NAMED(MPI_UINT16_T), Element::uint16, TypeClass::c_integer),
    row<std::uint32_t>(NAMED(MPI_UINT32_T), Element::uint32, TypeClass::c_integer),
    row<std::uint64_t>(NAMED(MPI_UINT64_T), Element::uint64, TypeClass::c_integer),
    row<MPI_Aint>(NAMED(MPI_AINT), Element::int64, TypeClass::multi_language),
    row<MPI_Count>(NAMED(MPI_COUNT), Element::int64, TypeClass::multi_language),
    row<MPI_Offset>(NAMED(MPI_OFFSET), Element::int64, TypeClass::multi_language),
    row<float[2]>(NAMED(MPI_C_FLOAT_COMPLEX), Element::complex64, TypeClass::complex),
    row<double[2]>(NAMED(MPI_C_DOUBLE_COMPLEX), Element::complex128, TypeClass::complex),
    row<long double[2]>(NAMED(MPI_C_LONG_DOUBLE_COMPLEX), Element::complex_long_double, TypeClass::complex),
    row<char>(NAMED(MPI_PACKED), Element::byte8, TypeClass::byte),
    pair<float>(NAMED(MPI_FLOAT_INT), Element::float32_int32),
    pair<double>(NAMED(MPI_DOUBLE_INT), Element::float64_int32),
    pair<long>(NAMED(MPI_LONG_INT), Element::int64_int32),
    pair<int>(NAMED(MPI_2INT), Element::int32_int32),
    pair<short>(NAMED(MPI_SHORT_INT), Element::int16_int32),
    pair<long double>(NAMED(MPI_LONG_DOUBLE_INT), Element::long_double_int32),
    row<bool>(NAMED(MPI_CXX_BOOL), Element::bool8, TypeClass::logical),
    row<float[2]>(NAMED(MPI_CXX_FLOAT_COMPLEX), Element::complex64, TypeClass::complex),
    row<double[2]>(NAMED(MPI_CXX_DOUBLE_COMPLEX), Element::complex128, TypeClass::complex),
    row<long double[2]>(NAMED(MPI_CXX_LONG_DOUBLE_COMPLEX), Element::complex_long_double, TypeClass::complex),
};

#undef NAMED

std::vector<Type> make_predefined() {
  std::vector<Type> types(std::size(kNamed));
  for (const Named& named : kNamed) {
    Type& type = types[static_cast<std::size_t>(reinterpret_cast<std::intptr_t>(named.handle) - 1)];
    const auto extent = static_cast<std::int64_t>(kernels::element_bytes(named.element));
    const auto shape = named.second == 0 ? kernels::basic(named.first)
                                         : kernels::basic_pair(named.first, named.second_at, named.second, extent);
    type.shape = shape.value();
    type.signature = {{named.first, 1}};
    if (named.second != 0) type.signature.emplace_back(named.second, 1);
    type.name = named.name;
    type.committed = true;
    type.element = named.element;
    type.kind = named.kind;
  }
  return types;
}

std::vector<Type>& predefined() {
  static std::vector<Type> types = make_predefined();
  return types;
}

}  // namespace

const kernels::PackPlan& Type::plan() {
  if (!plan_) plan_ = std::make_unique<kernels::PackPlan>(kernels::PackPlan::compile(shape));
  return *plan_;
}

bool Type::contiguous() {
  if (contiguous_ < 0) contiguous_ = plan().contiguous() ? 1 : 0;
  return contiguous_ == 1;
}

Type* type_of(MPI_Datatype handle) {
  const auto number = reinterpret_cast<std::intptr_t>(handle);
  if (number == 0) return nullptr;
  if (number >= kPredefinedHandles) return reinterpret_cast<Type*>(handle);
  std::vector<Type>& types = predefined();
  return number <= static_cast<std::intptr_t>(types.size()) ? &types[static_cast<std::size_t>(number - 1)]
                                                            : nullptr;
}

MPI_Datatype handle_of(Type& type) {
  if (!type.predefined()) return reinterpret_cast<MPI_Datatype>(&type);
  return reinterpret_cast<MPI_Datatype>(&type - predefined().data() + 1);
}

void release(Type& type) {
  if (type.predefined() || --type.references > 0) return;
  for (const MPI_Datatype part : type.construction.types) release(*type_of(part));
  delete &type;
}

Type& byte_type() {
  static Type& type = *type_of(MPI_BYTE);
  return type;
}

const std::byte* first_byte(const void* items, const Type& type) {
  return static_cast<const std::byte*>(items) + type.shape.true_lb;
}

std::byte* first_byte(void* items, const Type& type) {
  return static_cast<std::byte*>(items) + type.shape.true_lb;
}

void pack(const void* items, std::int64_t count, Type& type, std::byte* packed, std::int64_t bytes) {
  if (bytes == 0) return;
  if (type.contiguous()) {
    std::memcpy(packed, first_byte(items, type), static_cast<std::size_t>(bytes));
  } else {
    type.plan().pack(items, count, 0, packed, static_cast<std::size_t>(bytes));
  }
}

void unpack(void* items, std::int64_t count, Type& type, const std::byte* packed, std::int64_t bytes) {
  if (bytes == 0) return;
  if (type.contiguous()) {
    std::memmove(first_byte(items, type), packed, static_cast<std::size_t>(bytes));
  } else {
    type.plan().unpack(items, count, 0, packed, static_cast<std::size_t>(bytes));
  }
}

void copy_items(const void* from, std::int64_t from_count, Type& from_type, void* to, std::int64_t to_count,
                Type& to_type) {
  const std::int64_t bytes = std::min(from_type.bytes(from_count), to_type.bytes(to_count));
  if (from_type.contiguous() && from_count > 0) {
    unpack(to, to_count, to_type, first_byte(from, from_type), bytes);
    return;
  }
  std::vector<std::byte> packed(static_cast<std::size_t>(bytes));
  pack(from, from_count, from_type, packed.data(), bytes);
  unpack(to, to_count, to_type, packed.data(), bytes);
}

std::int64_t elements_in(const Type& type, std::int64_t bytes) {
  std::int64_t per_item = 0;
  for (const auto& [size, count] : type.signature) per_item += count;
  if (type.shape.size == 0) return 0;
  std::int64_t found = bytes / type.shape.size * per_item;
  std::int64_t left = bytes % type.shape.size;
  for (const auto& [size, count] : type.signature) {
    if (left == 0) break;
    const std::int64_t whole = size == 0 ? count : std::min(count, left / size);
    found += whole;
    left -= whole * size;
    if (whole < count && left > 0) return -1;
  }
  return found;
}

}  // namespace corewise::simmpi

// The tables behind reduce.hpp: names, extents, classes, and the operators that each class allows.
// Source: MPI-4.1, section 6.9.2; for MINLOC and MAXLOC section 6.9.4; for REPLACE and NO_OP section 12.3.4, where
// any predefined type will do. SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "kernels/reduce/elements.hpp"
#include "kernels/reduce/reduce.hpp"

namespace corewise::kernels {
namespace {

using Classes = std::uint32_t;

constexpr Classes bit(TypeClass type_class) {
  return Classes{1} << static_cast<unsigned>(type_class);
}

constexpr Classes kIntegers =
    bit(TypeClass::c_integer) | bit(TypeClass::fortran_integer) | bit(TypeClass::multi_language);
constexpr Classes kUnsigned = bit(TypeClass::c_integer);
constexpr Classes kFloating = bit(TypeClass::floating_point);
constexpr Classes kComplex = bit(TypeClass::complex);
constexpr Classes kLogical = bit(TypeClass::logical);
constexpr Classes kByte = bit(TypeClass::byte);
constexpr Classes kPair = bit(TypeClass::pair);
constexpr Classes kAll = kIntegers | kFloating | kComplex | kLogical | kByte | kPair;

struct OperatorRow {
  Operator operation;
  std::string_view name;
  bool commutative;
  Classes allowed;
};

constexpr std::array kOperators = {
    OperatorRow{Operator::sum, "sum", true, kIntegers | kFloating | kComplex},
    OperatorRow{Operator::product, "product", true, kIntegers | kFloating | kComplex},
    OperatorRow{Operator::minimum, "minimum", true, kIntegers | kFloating},
    OperatorRow{Operator::maximum, "maximum", true, kIntegers | kFloating},
    OperatorRow{Operator::logical_and, "logical_and", true, bit(TypeClass::c_integer) | kLogical},
    OperatorRow{Operator::logical_or, "logical_or", true, bit(TypeClass::c_integer) | kLogical},
    OperatorRow{Operator::logical_xor, "logical_xor", true, bit(TypeClass::c_integer) | kLogical},
    OperatorRow{Operator::bitwise_and, "bitwise_and", true, kIntegers | kByte},
    OperatorRow{Operator::bitwise_or, "bitwise_or", true, kIntegers | kByte},
    OperatorRow{Operator::bitwise_xor, "bitwise_xor", true, kIntegers | kByte},
    OperatorRow{Operator::minimum_location, "minimum_location", true, kPair},
    OperatorRow{Operator::maximum_location, "maximum_location", true, kPair},
    OperatorRow{Operator::replace, "replace", false, kAll},
    OperatorRow{Operator::no_operation, "no_operation", false, kAll},
};

struct ElementRow {
  Element element;
  std::string_view name;
  std::size_t bytes;
  Classes classes;
};

constexpr std::array kElements = {
    ElementRow{Element::int8, "int8", 1, kIntegers},
    ElementRow{Element::uint8, "uint8", 1, kUnsigned},
    ElementRow{Element::int16, "int16", 2, kIntegers},
    ElementRow{Element::uint16, "uint16", 2, kUnsigned},
    ElementRow{Element::int32, "int32", 4, kIntegers},
    ElementRow{Element::uint32, "uint32", 4, kUnsigned},
    ElementRow{Element::int64, "int64", 8, kIntegers},
    ElementRow{Element::uint64, "uint64", 8, kUnsigned},
    ElementRow{Element::float16, "float16", sizeof(Half), kFloating},
    ElementRow{Element::float32, "float32", sizeof(float), kFloating},
    ElementRow{Element::float64, "float64", sizeof(double), kFloating},
    ElementRow{Element::long_double, "long_double", sizeof(long double), kFloating},
    ElementRow{Element::float128, "float128", kQuadBytes, kFloating},
    ElementRow{Element::complex32, "complex32", sizeof(Complex<Half>), kComplex},
    ElementRow{Element::complex64, "complex64", sizeof(Complex<float>), kComplex},
    ElementRow{Element::complex128, "complex128", sizeof(Complex<double>), kComplex},
    ElementRow{Element::complex_long_double, "complex_long_double", sizeof(Complex<long double>), kComplex},
    ElementRow{Element::complex256, "complex256", 2 * kQuadBytes, kComplex},
    ElementRow{Element::bool8, "bool8", 1, kLogical},
    ElementRow{Element::logical8, "logical8", 1, kLogical},
    ElementRow{Element::logical16, "logical16", 2, kLogical},
    ElementRow{Element::logical32, "logical32", 4, kLogical},
    ElementRow{Element::logical64, "logical64", 8, kLogical},
    ElementRow{Element::byte8, "byte8", 1, kByte},
    ElementRow{Element::float32_int32, "float32_int32", sizeof(Pair<float, std::int32_t>), kPair},
    ElementRow{Element::float64_int32, "float64_int32", sizeof(Pair<double, std::int32_t>), kPair},
    ElementRow{Element::int64_int32, "int64_int32", sizeof(Pair<std::int64_t, std::int32_t>), kPair},
    ElementRow{Element::int32_int32, "int32_int32", sizeof(Pair<std::int32_t, std::int32_t>), kPair},
    ElementRow{Element::int16_int32, "int16_int32", sizeof(Pair<std::int16_t, std::int32_t>), kPair},
    ElementRow{Element::long_double_int32, "long_double_int32", sizeof(Pair<long double, std::int32_t>), kPair},
    ElementRow{Element::float32_float32, "float32_float32", sizeof(Pair<float, float>), kPair},
    ElementRow{Element::float64_float64, "float64_float64", sizeof(Pair<double, double>), kPair},
    ElementRow{Element::int64_int64, "int64_int64", sizeof(Pair<std::int64_t, std::int64_t>), kPair},
};

constexpr std::array kTypeClasses = {
    TypeClass::c_integer,      TypeClass::fortran_integer,
    TypeClass::floating_point, TypeClass::logical,
    TypeClass::complex,        TypeClass::byte,
    TypeClass::multi_language, TypeClass::pair,
};

constexpr auto kOperatorList = [] {
  std::array<Operator, kOperators.size()> list{};
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = kOperators[i].operation;
  return list;
}();

constexpr auto kElementList = [] {
  std::array<Element, kElements.size()> list{};
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = kElements[i].element;
  return list;
}();

/// The rows stand in the order of the enumerators, so an enumerator is its row's number.
constexpr bool in_order() {
  for (std::size_t i = 0; i < kOperatorList.size(); ++i) {
    if (static_cast<std::size_t>(kOperatorList[i]) != i) return false;
  }
  for (std::size_t i = 0; i < kElementList.size(); ++i) {
    if (static_cast<std::size_t>(kElementList[i]) != i) return false;
  }
  return true;
}
static_assert(in_order());

const OperatorRow& row(Operator operation) {
  return kOperators[static_cast<std::size_t>(operation)];
}

const ElementRow& row(Element element) {
  return kElements[static_cast<std::size_t>(element)];
}

}  // namespace

bool allowed(Operator operation, TypeClass type_class) {
  return (row(operation).allowed & bit(type_class)) != 0;
}

bool has_class(Element element, TypeClass type_class) {
  return (row(element).classes & bit(type_class)) != 0;
}

std::size_t element_bytes(Element element) {
  return row(element).bytes;
}

bool commutative(Operator operation) {
  return row(operation).commutative;
}

std::string_view name(Operator operation) {
  return row(operation).name;
}

std::string_view name(Element element) {
  return row(element).name;
}

std::optional<Operator> operator_named(std::string_view text) {
  for (const OperatorRow& candidate : kOperators) {
    if (candidate.name == text) return candidate.operation;
  }
  return std::nullopt;
}

std::optional<Element> element_named(std::string_view text) {
  for (const ElementRow& candidate : kElements) {
    if (candidate.name == text) return candidate.element;
  }
  return std::nullopt;
}

std::span<const Operator> operators() {
  return kOperatorList;
}

std::span<const Element> elements() {
  return kElementList;
}

std::span<const TypeClass> type_classes() {
  return kTypeClasses;
}

}  // namespace corewise::kernels

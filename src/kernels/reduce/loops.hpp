// The loops of the reduction kernels, written once for any instruction set, and what MPI allows on each group of
// elements: private to the room. One loop per operator and element, short enough for the compiler to put it into
// vector registers.
//
// Contract: a source file of one instruction set selects it for the compiler, includes nothing after that but this
// header, once, and hands out `vector_kernels`. Everything here has internal linkage, so that no code of that
// instruction set can be linked into what runs elsewhere. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/reduce/elements.hpp"
#include "kernels/reduce/kernels.hpp"
#include "kernels/reduce/operations.hpp"

/// No iteration needs what another one wrote.
#if defined(__clang__)
#define COREWISE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define COREWISE_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace corewise::kernels {
namespace {

/// `to` may be one of the operands itself: an iteration touches no bytes but its own elements'.
template <class Operation, class T>
void combine_into(const std::byte* low, const std::byte* high, std::byte* to, std::size_t count) {
  COREWISE_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i * sizeof(T);
    store(to + at, Operation::apply(load<T>(low + at), load<T>(high + at)));
  }
}

template <class Operation, class T>
void combine(const std::byte* in, std::byte* inout, std::size_t count) {
  combine_into<Operation, T>(in, inout, inout, count);
}

template <class Operation, class T>
void combine_into_both(const std::byte* low, const std::byte* high, std::byte* to, std::byte* too,
                       std::size_t count) {
  COREWISE_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i * sizeof(T);
    const T result = Operation::apply(load<T>(low + at), load<T>(high + at));
    store(to + at, result);
    store(too + at, result);
  }
}

/// Element by element over all operands, so that what is combined stays in a register.
template <class Operation, class T>
void combine_row(std::byte* operands, std::size_t rows, std::size_t count) {
  if (rows == 0) return;
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* here = operands + i * sizeof(T);
    T value = load<T>(here);
    for (std::size_t row = 1; row < rows; ++row) {
      here += count * sizeof(T);
      value = Operation::apply(value, load<T>(here));
    }
    if (rows > 1) store(here, value);
  }
}

template <class Operation, class T>
constexpr ReductionKernels kernels_of() {
  return {combine<Operation, T>, combine_row<Operation, T>, combine_into<Operation, T>,
          combine_into_both<Operation, T>};
}

// What MPI-4.1, section 6.9.2, allows on each group. --------------------------------------------------------------

template <class T>
ReductionKernels of_bytes(Operator operation) {
  if (operation == Operator::bitwise_and) return kernels_of<BitwiseAnd, T>();
  if (operation == Operator::bitwise_or) return kernels_of<BitwiseOr, T>();
  if (operation == Operator::bitwise_xor) return kernels_of<BitwiseXor, T>();
  return {};
}

template <class T>
ReductionKernels of_logicals(Operator operation) {
  if (operation == Operator::logical_and) return kernels_of<LogicalAnd, T>();
  if (operation == Operator::logical_or) return kernels_of<LogicalOr, T>();
  if (operation == Operator::logical_xor) return kernels_of<LogicalXor, T>();
  return {};
}

template <class T>
ReductionKernels of_complex(Operator operation) {
  if (operation == Operator::sum) return kernels_of<Sum, T>();
  if (operation == Operator::product) return kernels_of<Product, T>();
  return {};
}

template <class T>
ReductionKernels of_reals(Operator operation) {
  if (operation == Operator::minimum) return kernels_of<Minimum, T>();
  if (operation == Operator::maximum) return kernels_of<Maximum, T>();
  return of_complex<T>(operation);
}

template <class T>
ReductionKernels of_integers(Operator operation) {
  if (const ReductionKernels found = of_reals<T>(operation); found.combine != nullptr) return found;
  if (const ReductionKernels found = of_logicals<T>(operation); found.combine != nullptr) return found;
  return of_bytes<T>(operation);
}

void keep(const std::byte* /*in*/, std::byte* /*inout*/, std::size_t /*count*/) {}
void keep_row(std::byte* /*operands*/, std::size_t /*rows*/, std::size_t /*count*/) {}

/// What every T has for one-sided communication.
template <class T>
ReductionKernels one_sided(Operator operation) {
  if (operation == Operator::replace) return kernels_of<Replace, T>();
  if (operation != Operator::no_operation) return {};
  return {keep, keep_row, combine_into<Keep, T>, combine_into_both<Keep, T>};
}

/// A kernel of the group, or one that every T has.
template <class T, class Group>
ReductionKernels of_element(Group group, Operator operation) {
  const ReductionKernels found = one_sided<T>(operation);
  return found.combine != nullptr ? found : group(operation);
}

/// Integers, logicals and bytes.
ReductionKernels word_kernel(Operator operation, Element element) {
  switch (element) {
    case Element::int8:
      return of_element<std::int8_t>(of_integers<std::int8_t>, operation);
    case Element::uint8:
      return of_element<std::uint8_t>(of_integers<std::uint8_t>, operation);
    case Element::int16:
      return of_element<std::int16_t>(of_integers<std::int16_t>, operation);
    case Element::uint16:
      return of_element<std::uint16_t>(of_integers<std::uint16_t>, operation);
    case Element::int32:
      return of_element<std::int32_t>(of_integers<std::int32_t>, operation);
    case Element::uint32:
      return of_element<std::uint32_t>(of_integers<std::uint32_t>, operation);
    case Element::int64:
      return of_element<std::int64_t>(of_integers<std::int64_t>, operation);
    case Element::uint64:
      return of_element<std::uint64_t>(of_integers<std::uint64_t>, operation);
    case Element::bool8:
    case Element::logical8:
      return of_element<std::uint8_t>(of_logicals<std::uint8_t>, operation);
    case Element::logical16:
      return of_element<std::uint16_t>(of_logicals<std::uint16_t>, operation);
    case Element::logical32:
      return of_element<std::uint32_t>(of_logicals<std::uint32_t>, operation);
    case Element::logical64:
      return of_element<std::uint64_t>(of_logicals<std::uint64_t>, operation);
    case Element::byte8:
      return of_element<std::uint8_t>(of_bytes<std::uint8_t>, operation);
    default:
      return {};
  }
}

/// Real and complex numbers that vectors hold.
ReductionKernels plain_real_kernel(Operator operation, Element element) {
  switch (element) {
    case Element::float32:
      return of_element<float>(of_reals<float>, operation);
    case Element::float64:
      return of_element<double>(of_reals<double>, operation);
    case Element::complex64:
      return of_element<Complex<float>>(of_complex<Complex<float>>, operation);
    case Element::complex128:
      return of_element<Complex<double>>(of_complex<Complex<double>>, operation);
    default:
      return {};
  }
}

/// The kernels of elements that fit into vectors.
ReductionKernels vector_kernels(Operator operation, Element element) {
  if (const ReductionKernels found = word_kernel(operation, element); found.combine != nullptr) return found;
  return plain_real_kernel(operation, element);
}

}  // namespace
}  // namespace corewise::kernels

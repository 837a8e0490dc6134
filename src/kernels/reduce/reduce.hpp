// Reductions: every predefined operator of MPI on every kind of machine element that a predefined type can be.
//
// Contract: a kernel computes inout[i] = in[i] OP inout[i]; `in` is the operand of the lower rank, as for a user
// function of MPI (MPI-4.1, section 6.9.5). Any address will do, the two blocks must not overlap, a count of 0
// touches nothing. Kernels never fail, allocate or block. Only bytes of values are written: the gap inside a pair
// and the bytes that pad it to its extent keep what they held (size and extent differ even for predefined types).
// Bytes that are part of a value but mean nothing (six of the sixteen of an x87 long double) become 0, so that
// equal values are equal bytes.
//
// Other places: an out-of-place kernel computes to[i] = in[i] OP other[i], where `to` is neither operand or exactly
// one of them; one with two targets writes the same bytes to two places that do not overlap. They leave the bytes
// that the kernel in place leaves, and read nothing but the operands. In the gaps of `to` its own bytes stay.
//
// Instruction sets: each has its kernels in a file of its own; results do not depend on which is used. (Of two
// operands that are both NaN the result is one that is NaN, no more is said.)
//
// Many operands at once: a row kernel combines contiguous blocks, lower ranks first, into the last of
// them, which then holds the bytes that pairwise kernels leave there, called from the first two on. It reads the
// others and writes nothing to them.
//
// Results depend on the two operands and their order only. Integers wrap. Minimum and maximum take `in` where it is
// strictly better, else `inout` (that settles NaN and the two zeros). A logical result is 0 or 1, anything but 0 is
// true. Complex products are the schoolbook formula, without the standard's recovery of infinities. Half precision
// is computed in single precision and rounded once per part.
// Source: MPI-4.1, sections 6.9.2 (classes and operators), 6.9.4 (MINLOC, MAXLOC), 12.3.4 (REPLACE, NO_OP).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace corewise::kernels {

enum class Operator : std::uint8_t {
  sum,
  product,
  minimum,
  maximum,
  logical_and,
  logical_or,
  logical_xor,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  minimum_location,  ///< of two equal values the lower index
  maximum_location,  ///< of two equal values the lower index
  replace,           ///< inout becomes in; one-sided communication only
  no_operation,      ///< inout stays; one-sided communication only
};

/// The kinds of element, by layout. A predefined type of MPI is one of them on a given host: MPI_LONG is int64
/// where long has 64 bits, MPI_INTEGER is int32 or int64 as the Fortran compiler has it.
enum class Element : std::uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,  ///< MPI_REAL2: IEEE binary16
  float32,
  float64,
  long_double,          ///< as this host's C has it
  float128,             ///< MPI_REAL16: IEEE binary128
  complex32,            ///< MPI_COMPLEX4: two float16
  complex64,            ///< two float32
  complex128,           ///< two float64
  complex_long_double,  ///< two long_double
  complex256,           ///< MPI_COMPLEX32: two float128
  bool8,                ///< MPI_C_BOOL, MPI_CXX_BOOL
  logical8,             ///< Fortran LOGICAL of 1 byte
  logical16,
  logical32,
  logical64,
  byte8,              ///< MPI_BYTE
  float32_int32,      ///< MPI_FLOAT_INT
  float64_int32,      ///< MPI_DOUBLE_INT: 12 bytes in 16
  int64_int32,        ///< MPI_LONG_INT where long has 64 bits: 12 bytes in 16
  int32_int32,        ///< MPI_2INT; MPI_2INTEGER; MPI_LONG_INT where long has 32 bits
  int16_int32,        ///< MPI_SHORT_INT: 6 bytes in 8, the gap in the middle
  long_double_int32,  ///< MPI_LONG_DOUBLE_INT
  float32_float32,    ///< MPI_2REAL: the index is a real
  float64_float64,    ///< MPI_2DOUBLE_PRECISION
  int64_int64,        ///< MPI_2INTEGER where INTEGER has 64 bits
};

/// The groups of predefined types for which MPI-4.1, section 6.9.2, says what an operator allows.
enum class TypeClass : std::uint8_t {
  c_integer,
  fortran_integer,
  floating_point,
  logical,
  complex,
  byte,
  multi_language,  ///< MPI_AINT, MPI_COUNT, MPI_OFFSET
  pair,            ///< value and index, for MINLOC and MAXLOC
};

/// inout[i] = in[i] OP inout[i] for `count` elements.
using Combine = void (*)(const std::byte* in, std::byte* inout, std::size_t count);

/// `rows` blocks of `count` elements each, one after the other from `operands` on: the last becomes
/// ((first OP second) OP ...) OP last. One block, or none, stays as it is.
using CombineRow = void (*)(std::byte* operands, std::size_t rows, std::size_t count);

/// to[i] = in[i] OP other[i] for `count` elements.
using CombineInto = void (*)(const std::byte* in, const std::byte* other, std::byte* to, std::size_t count);

/// The same, also to `too`.
using CombineIntoBoth = void (*)(const std::byte* in, const std::byte* other, std::byte* to, std::byte* too,
                                 std::size_t count);

/// All kernels of an operator on an element, or none.
struct ReductionKernels {
  Combine combine = nullptr;
  CombineRow row = nullptr;
  CombineInto into = nullptr;
  CombineIntoBoth into_both = nullptr;
};

/// By the best instruction set of this processor. All null where MPI allows the operator on no type of that kind
/// (or the host has no such arithmetic: float128 and complex256 on some). Where two classes share a layout (a
/// Fortran INTEGER is an int32 too) the kernels are there if one of them allows it; `allowed` knows the difference.
[[nodiscard]] ReductionKernels reduction_kernels(Operator operation, Element element);

/// By a named set; all null for one that this processor lacks.
[[nodiscard]] ReductionKernels reduction_kernels(Operator operation, Element element, std::string_view set);

/// The sets of this processor, the best first; the last is "base", which every processor has.
[[nodiscard]] std::vector<std::string_view> reduction_sets();

/// Members of reduction_kernels.
[[nodiscard]] Combine combine_for(Operator operation, Element element);
[[nodiscard]] CombineRow combine_row_for(Operator operation, Element element);

/// Whether MPI-4.1 allows the operator on predefined types of the class.
[[nodiscard]] bool allowed(Operator operation, TypeClass type_class);

/// Whether predefined types of the class can have the layout.
[[nodiscard]] bool has_class(Element element, TypeClass type_class);

/// Extent in bytes: the distance from one element to the next. 0 for an element this host has no type for.
[[nodiscard]] std::size_t element_bytes(Element element);

/// True for all but replace and no_operation.
[[nodiscard]] bool commutative(Operator operation);

/// The enumerator's name and back.
[[nodiscard]] std::string_view name(Operator operation);
[[nodiscard]] std::string_view name(Element element);
[[nodiscard]] std::optional<Operator> operator_named(std::string_view text);
[[nodiscard]] std::optional<Element> element_named(std::string_view text);

/// All of them, in the order of their declaration.
[[nodiscard]] std::span<const Operator> operators();
[[nodiscard]] std::span<const Element> elements();
[[nodiscard]] std::span<const TypeClass> type_classes();

}  // namespace corewise::kernels

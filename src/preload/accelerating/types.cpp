// Predefined types and operators by the kernels' names; see types.hpp. SPDX-License-Identifier: BSD-3-Clause
#include "preload/accelerating/types.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>

#include "kernels/reduce/reduce.hpp"
#include "preload/accelerating/quiet.hpp"

namespace corewise::preload::accelerating {
namespace {

using kernels::Element;
using kernels::Operator;
using kernels::TypeClass;

// ---- predefined types ----

/// What a predefined type is, but for its length.
enum class Sort : std::uint8_t { integer, natural, real, complex, logical, c_bool, byte, address, pair };

struct Named {
  MPI_Datatype handle;
  Sort sort;
  bool fortran = false;
};

std::span<const Named> named_types() {
  static const Named types[] = {
      {MPI_SIGNED_CHAR, Sort::integer},
      {MPI_SHORT, Sort::integer},
      {MPI_INT, Sort::integer},
      {MPI_LONG, Sort::integer},
      {MPI_LONG_LONG, Sort::integer},
      {MPI_INT8_T, Sort::integer},
      {MPI_INT16_T, Sort::integer},
      {MPI_INT32_T, Sort::integer},
      {MPI_INT64_T, Sort::integer},
      {MPI_UNSIGNED_CHAR, Sort::natural},
      {MPI_UNSIGNED_SHORT, Sort::natural},
      {MPI_UNSIGNED, Sort::natural},
      {MPI_UNSIGNED_LONG, Sort::natural},
      {MPI_UNSIGNED_LONG_LONG, Sort::natural},
      {MPI_UINT8_T, Sort::natural},
      {MPI_UINT16_T, Sort::natural},
      {MPI_UINT32_T, Sort::natural},
      {MPI_UINT64_T, Sort::natural},
      {MPI_INTEGER, Sort::integer, true},
      {MPI_FLOAT, Sort::real},
      {MPI_DOUBLE, Sort::real},
      {MPI_LONG_DOUBLE, Sort::real},
      {MPI_REAL, Sort::real, true},
      {MPI_DOUBLE_PRECISION, Sort::real, true},
      {MPI_C_FLOAT_COMPLEX, Sort::complex},
      {MPI_C_DOUBLE_COMPLEX, Sort::complex},
      {MPI_C_LONG_DOUBLE_COMPLEX, Sort::complex},
      {MPI_COMPLEX, Sort::complex, true},
      {MPI_DOUBLE_COMPLEX, Sort::complex, true},
      {MPI_LOGICAL, Sort::logical, true},
      {MPI_C_BOOL, Sort::c_bool},
      {MPI_BYTE, Sort::byte},
      {MPI_AINT, Sort::address},
      {MPI_COUNT, Sort::address},
      {MPI_OFFSET, Sort::address},
      {MPI_FLOAT_INT, Sort::pair},
      {MPI_DOUBLE_INT, Sort::pair},
      {MPI_LONG_INT, Sort::pair},
      {MPI_2INT, Sort::pair},
      {MPI_SHORT_INT, Sort::pair},
      {MPI_LONG_DOUBLE_INT, Sort::pair},
  };
  return types;
}

Element of_width(std::int64_t bytes, Element one, Element two, Element four, Element eight) {
  return bytes == 1 ? one : bytes == 2 ? two : bytes == 4 ? four : eight;
}

std::optional<Element> pair_element(MPI_Datatype handle) {
  if (handle == MPI_FLOAT_INT) return Element::float32_int32;
  if (handle == MPI_DOUBLE_INT) return Element::float64_int32;
  if (handle == MPI_LONG_INT) return sizeof(long) == 8 ? Element::int64_int32 : Element::int32_int32;
  if (handle == MPI_2INT) return Element::int32_int32;
  if (handle == MPI_SHORT_INT) return Element::int16_int32;
  if (handle == MPI_LONG_DOUBLE_INT) return Element::long_double_int32;
  return std::nullopt;
}

std::optional<Element> element_of(const Named& named, std::int64_t size) {
  switch (named.sort) {
    case Sort::integer:
    case Sort::address:
      return of_width(size, Element::int8, Element::int16, Element::int32, Element::int64);
    case Sort::natural:
      return of_width(size, Element::uint8, Element::uint16, Element::uint32, Element::uint64);
    case Sort::logical:
      return of_width(size, Element::logical8, Element::logical16, Element::logical32, Element::logical64);
    case Sort::real:
      return size == 4 ? Element::float32 : size == 8 ? Element::float64 : Element::long_double;
    case Sort::complex:
      return size == 8 ? Element::complex64 : size == 16 ? Element::complex128 : Element::complex_long_double;
    case Sort::c_bool:
      return Element::bool8;
    case Sort::byte:
      return Element::byte8;
    case Sort::pair:
      return pair_element(named.handle);
  }
  return std::nullopt;
}

TypeClass class_of(const Named& named) {
  switch (named.sort) {
    case Sort::integer:
    case Sort::natural:
      return named.fortran ? TypeClass::fortran_integer : TypeClass::c_integer;
    case Sort::real:
      return TypeClass::floating_point;
    case Sort::complex:
      return TypeClass::complex;
    case Sort::logical:
    case Sort::c_bool:
      return TypeClass::logical;
    case Sort::byte:
      return TypeClass::byte;
    case Sort::address:
      return TypeClass::multi_language;
    case Sort::pair:
      return TypeClass::pair;
  }
  return TypeClass::byte;
}

// ---- predefined operators ----

struct NamedOperator {
  MPI_Op handle;
  Operator operation;
};

std::span<const NamedOperator> named_operators() {
  static const NamedOperator operators[] = {
      {MPI_SUM, Operator::sum},
      {MPI_MIN, Operator::minimum},
      {MPI_MAX, Operator::maximum},
      {MPI_PROD, Operator::product},
      {MPI_LAND, Operator::logical_and},
      {MPI_LOR, Operator::logical_or},
      {MPI_LXOR, Operator::logical_xor},
      {MPI_BAND, Operator::bitwise_and},
      {MPI_BOR, Operator::bitwise_or},
      {MPI_BXOR, Operator::bitwise_xor},
      {MPI_MINLOC, Operator::minimum_location},
      {MPI_MAXLOC, Operator::maximum_location},
  };
  return operators;
}

/// The kernels of a predefined operator on a predefined type; none where MPI does not allow it, or nobody knows.
kernels::ReductionKernels kernels_of(Operator operation, MPI_Datatype datatype, const Type& type) {
  const auto types = named_types();
  const auto named = std::ranges::find(types, datatype, &Named::handle);
  if (named == types.end()) return {};
  const std::optional<Element> element = element_of(*named, type.size);
  if (!element || !kernels::allowed(operation, class_of(*named))) return {};
  if (kernels::element_bytes(*element) != static_cast<std::size_t>(type.extent)) return {};
  return kernels::reduction_kernels(operation, *element);
}

}  // namespace

constinit thread_local KnownTypes known_types __attribute__((tls_model("initial-exec"))){};
constinit thread_local std::array<KnownOperation, 16> known_operations
    __attribute__((tls_model("initial-exec"))) = {};

void KnownTypes::remember(std::uint64_t handle, const Type& type) {
  if (used_ == kSlots / 2) return;
  ++used_;
  std::size_t slot = slot_of<kSlots>(handle);
  while (entries_[slot].type.named) slot = (slot + 1) % kSlots;
  entries_[slot] = {handle, type};
}

bool ReadType::ask(MPI_Datatype datatype) {
  const std::uint64_t handle = handle_key(datatype);
  other_ = {};
  type_ = &other_;
  held_ = Held();
  if (datatype == MPI_DATATYPE_NULL) return false;
  if (keep(known_derived(datatype, handle))) return true;
  if (!read_bounds(datatype, other_)) return false;
  Envelope envelope;
  read_envelope(datatype, envelope);
  other_.named = is_predefined(envelope.combiner);
  if (!other_.named) {
    keep(meet_derived(datatype, handle, other_));
    return true;
  }
  other_.plain = other_.size == other_.extent && other_.lb == 0 && other_.true_lb == 0;
  // Fortran's types of a precision end with the last session, and their handles may mean others then.
  if (envelope.combiner == MPI_COMBINER_NAMED) known_types.remember(handle, other_);
  return true;
}

bool ReadType::keep(Derived* derived) {
  if (derived == nullptr) return false;
  held_ = Held(derived);
  type_ = &derived->type();
  return true;
}

void Reduction::find_out(const Type& type, KnownOperation& entry) {
  if (op_ == MPI_OP_NULL || op_ == MPI_REPLACE || op_ == MPI_NO_OP || type.extent <= 0) return;
  const auto operators = named_operators();
  const auto named = std::ranges::find(operators, op_, &NamedOperator::handle);
  if (named == operators.end()) {
    be_own(type);
    return;
  }
  if (!type.named) return;
  const kernels::ReductionKernels kernels = kernels_of(named->operation, datatype_, type);
  entry = {handle_key(op_), handle_key(datatype_), {}, kernels.combine != nullptr};
  entry.operation.combine = kernels.combine;
  entry.operation.combine_row = kernels.row;
  entry.operation.combine_into = kernels.into;
  entry.operation.combine_into_both = kernels.into_both;
  entry.operation.element_bytes = static_cast<std::uint32_t>(type.extent);
  if (entry.allowed) operation_ = &entry.operation;
}

void Reduction::be_own(const Type& type) {
  constexpr std::int64_t kLongest = std::numeric_limits<std::int32_t>::max();
  int commutes = 0;
  if (CW_NEXT(MPI_Op_commutative)(op_, &commutes) != MPI_SUCCESS) return;
  if (type.true_lb < 0 || type.true_lb + type.true_extent > type.extent || type.extent > kLongest) return;
  coll::Operation& own = own_.emplace();
  own.element_bytes = static_cast<std::uint32_t>(type.extent);
  own.user = &Reduction::combine;
  own.context = this;
  own.commutative = commutes != 0;
  operation_ = &own;
}

void Reduction::combine(void* context, const std::byte* in, std::byte* inout, std::size_t count) {
  const Reduction& me = *static_cast<const Reduction*>(context);
  CW_NEXT(MPI_Reduce_local)(in, inout, static_cast<int>(count), me.datatype_, me.op_);
}

namespace {

/// Bytes that one call of MPI_Pack takes: their number must fit into an int.
constexpr std::int64_t kMostPacked = std::numeric_limits<int>::max();

/// 0: one item's do not.
std::int64_t items_at_a_time(const Type& type) {
  return kMostPacked / std::max<std::int64_t>(1, type.size);
}

/// Null: the MPI packs. It may not take one item that is too long, nor, as MPICH 4.0 does not, MPI_BOTTOM.
const kernels::PackPlan* plan_of(const Type& type, const void* items, MPI_Datatype datatype) {
  if (type.plan != nullptr || type.derived == nullptr) return type.plan;
  return items == nullptr || type.size > kMostPacked ? type.derived->plan_at_once(datatype) : nullptr;
}

}  // namespace

int error_class(int code) {
  int found = MPI_ERR_OTHER;
  return CW_NEXT(MPI_Error_class)(code, &found) == MPI_SUCCESS ? found : MPI_ERR_OTHER;
}

int pack(const void* items, std::int64_t count, MPI_Datatype datatype, const Type& type, std::byte* to,
         MPI_Comm comm) {
  if (const kernels::PackPlan* const plan = plan_of(type, items, datatype)) {
    plan->pack(items, count, 0, to, static_cast<std::size_t>(count * type.size));
    return MPI_SUCCESS;
  }
  const std::int64_t step = items_at_a_time(type);
  if (step == 0 && count > 0) return MPI_ERR_COUNT;
  const ErrorsReturn quiet(comm);
  for (std::int64_t done = 0; done < count; done += step) {
    const std::int64_t part = std::min(step, count - done);
    int position = 0;
    const int code =
        CW_NEXT(MPI_Pack)(static_cast<const std::byte*>(items) + done * type.extent, static_cast<int>(part),
                          datatype, to + done * type.size, static_cast<int>(part * type.size), &position, comm);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int unpack(const std::byte* from, void* items, std::int64_t count, MPI_Datatype datatype, const Type& type,
           MPI_Comm comm) {
  if (const kernels::PackPlan* const plan = plan_of(type, items, datatype)) {
    plan->unpack(items, count, 0, from, static_cast<std::size_t>(count * type.size));
    return MPI_SUCCESS;
  }
  const std::int64_t step = items_at_a_time(type);
  if (step == 0 && count > 0) return MPI_ERR_COUNT;
  const ErrorsReturn quiet(comm);
  for (std::int64_t done = 0; done < count; done += step) {
    const std::int64_t part = std::min(step, count - done);
    int position = 0;
    const int code = CW_NEXT(MPI_Unpack)(from + done * type.size, static_cast<int>(part * type.size), &position,
                                         static_cast<std::byte*>(items) + done * type.extent,
                                         static_cast<int>(part), datatype, comm);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

}  // namespace corewise::preload::accelerating

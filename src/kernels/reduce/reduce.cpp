// The kernels: one loop per operator and element, short enough for the compiler to put it into vector registers.
// Contract in reduce.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/reduce/reduce.hpp"

#include <type_traits>

#include "kernels/reduce/elements.hpp"

namespace corewise::kernels {
namespace {

// The arithmetic of one pair of operands; `low` is the operand of the lower rank. --------------------------------

/// Unsigned and at least as wide as int, so that sums and products wrap and nothing is promoted to a signed type.
template <class T>
struct WrappingOf {
  using type = std::make_unsigned_t<T>;
};
template <class T>
  requires(sizeof(T) < sizeof(unsigned))
struct WrappingOf<T> {
  using type = unsigned;
};

struct Sum {
  template <class T>
  static T apply(T low, T high) {
    if constexpr (std::is_same_v<T, Half>) {
      return to_half(to_float(low) + to_float(high));
    } else if constexpr (is_complex<T>) {
      return {apply(low.real, high.real), apply(low.imaginary, high.imaginary)};
    } else if constexpr (std::is_integral_v<T>) {
      using Wide = typename WrappingOf<T>::type;
      return static_cast<T>(static_cast<Wide>(low) + static_cast<Wide>(high));
    } else {
      return low + high;
    }
  }
};

struct Product {
  template <class Part>
  static Complex<Part> times(Complex<Part> low, Complex<Part> high) {
    return {low.real * high.real - low.imaginary * high.imaginary,
            low.real * high.imaginary + low.imaginary * high.real};
  }

  template <class T>
  static T apply(T low, T high) {
    if constexpr (std::is_same_v<T, Half>) {
      return to_half(to_float(low) * to_float(high));
    } else if constexpr (std::is_same_v<T, Complex<Half>>) {
      const Complex<float> wide = times<float>({to_float(low.real), to_float(low.imaginary)},
                                               {to_float(high.real), to_float(high.imaginary)});
      return {to_half(wide.real), to_half(wide.imaginary)};
    } else if constexpr (is_complex<T>) {
      return times(low, high);
    } else if constexpr (std::is_integral_v<T>) {
      using Wide = typename WrappingOf<T>::type;
      return static_cast<T>(static_cast<Wide>(low) * static_cast<Wide>(high));
    } else {
      return low * high;
    }
  }
};

template <class T>
bool less(T left, T right) {
  if constexpr (std::is_same_v<T, Half>) {
    return to_float(left) < to_float(right);
  } else {
    return left < right;
  }
}

struct Minimum {
  template <class T>
  static T apply(T low, T high) {
    return less(low, high) ? low : high;
  }
};

struct Maximum {
  template <class T>
  static T apply(T low, T high) {
    return less(high, low) ? low : high;
  }
};

struct LogicalAnd {
  template <class T>
  static T apply(T low, T high) {
    return static_cast<T>((low != 0) & (high != 0));
  }
};

struct LogicalOr {
  template <class T>
  static T apply(T low, T high) {
    return static_cast<T>((low != 0) | (high != 0));
  }
};

struct LogicalXor {
  template <class T>
  static T apply(T low, T high) {
    return static_cast<T>((low != 0) != (high != 0));
  }
};

struct BitwiseAnd {
  template <class T>
  static T apply(T low, T high) {
    return static_cast<T>(low & high);
  }
};

struct BitwiseOr {
  template <class T>
  static T apply(T low, T high) {
    return static_cast<T>(low | high);
  }
};

struct BitwiseXor {
  template <class T>
  static T apply(T low, T high) {
    return static_cast<T>(low ^ high);
  }
};

/// MPI-4.1, section 6.9.4: equal values have the lower index. Where neither value is better and they are not equal
/// either (NaN), the operand of the higher rank stays.
template <class T, bool lower_is_better>
T located(const T& low, const T& high) {
  if (low.value == high.value) return {high.value, low.index < high.index ? low.index : high.index};
  return (lower_is_better ? low.value < high.value : high.value < low.value) ? low : high;
}

struct MinimumLocation {
  template <class T>
  static T apply(T low, T high) {
    return located<T, true>(low, high);
  }
};

struct MaximumLocation {
  template <class T>
  static T apply(T low, T high) {
    return located<T, false>(low, high);
  }
};

struct Replace {
  template <class T>
  static T apply(T low, T /*high*/) {
    return low;
  }
};

// The loops. ------------------------------------------------------------------------------------------------------

template <class Operation, class T>
void combine(const std::byte* __restrict__ in, std::byte* __restrict__ inout, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* const here = inout + i * sizeof(T);
    store(here, Operation::apply(load<T>(in + i * sizeof(T)), load<T>(here)));
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

void keep(const std::byte* /*in*/, std::byte* /*inout*/, std::size_t /*count*/) {}
void keep_row(std::byte* /*operands*/, std::size_t /*rows*/, std::size_t /*count*/) {}

struct Kernels {
  Combine pair = nullptr;
  CombineRow row = nullptr;
};

template <class Operation, class T>
constexpr Kernels kernels_of() {
  return {combine<Operation, T>, combine_row<Operation, T>};
}

// What MPI-4.1, section 6.9.2, allows on each group.
// ----------------------------------------------------------------

template <class T>
Kernels of_bytes(Operator operation) {
  if (operation == Operator::bitwise_and) return kernels_of<BitwiseAnd, T>();
  if (operation == Operator::bitwise_or) return kernels_of<BitwiseOr, T>();
  if (operation == Operator::bitwise_xor) return kernels_of<BitwiseXor, T>();
  return {};
}

template <class T>
Kernels of_logicals(Operator operation) {
  if (operation == Operator::logical_and) return kernels_of<LogicalAnd, T>();
  if (operation == Operator::logical_or) return kernels_of<LogicalOr, T>();
  if (operation == Operator::logical_xor) return kernels_of<LogicalXor, T>();
  return {};
}

template <class T>
Kernels of_complex(Operator operation) {
  if (operation == Operator::sum) return kernels_of<Sum, T>();
  if (operation == Operator::product) return kernels_of<Product, T>();
  return {};
}

template <class T>
Kernels of_reals(Operator operation) {
  if (operation == Operator::minimum) return kernels_of<Minimum, T>();
  if (operation == Operator::maximum) return kernels_of<Maximum, T>();
  return of_complex<T>(operation);
}

template <class T>
Kernels of_integers(Operator operation) {
  if (const Kernels found = of_reals<T>(operation); found.pair != nullptr) return found;
  if (const Kernels found = of_logicals<T>(operation); found.pair != nullptr) return found;
  return of_bytes<T>(operation);
}

template <class Value, class Index>
Kernels of_pairs(Operator operation) {
  if (operation == Operator::minimum_location) return kernels_of<MinimumLocation, Pair<Value, Index>>();
  if (operation == Operator::maximum_location) return kernels_of<MaximumLocation, Pair<Value, Index>>();
  return operation == Operator::replace ? kernels_of<Replace, Pair<Value, Index>>() : Kernels{};
}

/// A kernel of the group, or the replacement of a T.
template <class T, class Group>
Kernels with_replace(Group group, Operator operation) {
  return operation == Operator::replace ? kernels_of<Replace, T>() : group(operation);
}

Kernels of_quads(Operator operation) {
  if constexpr (std::is_void_v<Quad>) {
    return {};
  } else {
    return with_replace<Quad>(of_reals<Quad>, operation);
  }
}

template <class Part>
Kernels of_complex_quads(Operator operation) {
  if constexpr (std::is_void_v<Part>) {
    return {};
  } else {
    return with_replace<Complex<Part>>(of_complex<Complex<Part>>, operation);
  }
}

/// Integers, logicals and bytes.
Kernels word_kernel(Operator operation, Element element) {
  switch (element) {
    case Element::int8:
      return with_replace<std::int8_t>(of_integers<std::int8_t>, operation);
    case Element::uint8:
      return with_replace<std::uint8_t>(of_integers<std::uint8_t>, operation);
    case Element::int16:
      return with_replace<std::int16_t>(of_integers<std::int16_t>, operation);
    case Element::uint16:
      return with_replace<std::uint16_t>(of_integers<std::uint16_t>, operation);
    case Element::int32:
      return with_replace<std::int32_t>(of_integers<std::int32_t>, operation);
    case Element::uint32:
      return with_replace<std::uint32_t>(of_integers<std::uint32_t>, operation);
    case Element::int64:
      return with_replace<std::int64_t>(of_integers<std::int64_t>, operation);
    case Element::uint64:
      return with_replace<std::uint64_t>(of_integers<std::uint64_t>, operation);
    case Element::bool8:
    case Element::logical8:
      return with_replace<std::uint8_t>(of_logicals<std::uint8_t>, operation);
    case Element::logical16:
      return with_replace<std::uint16_t>(of_logicals<std::uint16_t>, operation);
    case Element::logical32:
      return with_replace<std::uint32_t>(of_logicals<std::uint32_t>, operation);
    case Element::logical64:
      return with_replace<std::uint64_t>(of_logicals<std::uint64_t>, operation);
    case Element::byte8:
      return with_replace<std::uint8_t>(of_bytes<std::uint8_t>, operation);
    default:
      return {};
  }
}

/// Real and complex numbers.
Kernels real_kernel(Operator operation, Element element) {
  switch (element) {
    case Element::float16:
      return with_replace<Half>(of_reals<Half>, operation);
    case Element::float32:
      return with_replace<float>(of_reals<float>, operation);
    case Element::float64:
      return with_replace<double>(of_reals<double>, operation);
    case Element::long_double:
      return with_replace<long double>(of_reals<long double>, operation);
    case Element::float128:
      return of_quads(operation);
    case Element::complex32:
      return with_replace<Complex<Half>>(of_complex<Complex<Half>>, operation);
    case Element::complex64:
      return with_replace<Complex<float>>(of_complex<Complex<float>>, operation);
    case Element::complex128:
      return with_replace<Complex<double>>(of_complex<Complex<double>>, operation);
    case Element::complex_long_double:
      return with_replace<Complex<long double>>(of_complex<Complex<long double>>, operation);
    case Element::complex256:
      return of_complex_quads<Quad>(operation);
    default:
      return {};
  }
}

/// Values with their locations.
Kernels pair_kernel(Operator operation, Element element) {
  switch (element) {
    case Element::float32_int32:
      return of_pairs<float, std::int32_t>(operation);
    case Element::float64_int32:
      return of_pairs<double, std::int32_t>(operation);
    case Element::int64_int32:
      return of_pairs<std::int64_t, std::int32_t>(operation);
    case Element::int32_int32:
      return of_pairs<std::int32_t, std::int32_t>(operation);
    case Element::int16_int32:
      return of_pairs<std::int16_t, std::int32_t>(operation);
    case Element::long_double_int32:
      return of_pairs<long double, std::int32_t>(operation);
    case Element::float32_float32:
      return of_pairs<float, float>(operation);
    case Element::float64_float64:
      return of_pairs<double, double>(operation);
    case Element::int64_int64:
      return of_pairs<std::int64_t, std::int64_t>(operation);
    default:
      return {};
  }
}

Kernels kernel(Operator operation, Element element) {
  for (const auto& kernels : {word_kernel, real_kernel, pair_kernel}) {
    if (const Kernels found = kernels(operation, element); found.pair != nullptr) return found;
  }
  return {};
}

Kernels kernels_for(Operator operation, Element element) {
  if (element_bytes(element) == 0) return {};
  return operation == Operator::no_operation ? Kernels{keep, keep_row} : kernel(operation, element);
}

}  // namespace

Combine combine_for(Operator operation, Element element) {
  return kernels_for(operation, element).pair;
}

CombineRow combine_row_for(Operator operation, Element element) {
  return kernels_for(operation, element).row;
}

}  // namespace corewise::kernels

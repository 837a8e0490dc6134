// The arithmetic of one pair of operands, an operator each; `low` is the operand of the lower rank. Private to the
// room; internal linkage: see loops.hpp. Contract in reduce.hpp. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

#include "kernels/reduce/elements.hpp"

namespace corewise::kernels {
namespace {

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

struct Keep {
  template <class T>
  static T apply(T /*low*/, T high) {
    return high;
  }
};

}  // namespace
}  // namespace corewise::kernels

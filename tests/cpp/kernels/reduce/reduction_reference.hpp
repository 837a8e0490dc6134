// A reference for reductions that shares nothing with the kernels: it knows an element as a list of parts, decodes
// their bytes itself and computes with integers of 64 bits or long doubles. Values of floating point are small
// integers, so that every result is exact. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/rng.hpp"
#include "kernels/reduce/reduce.hpp"

namespace corewise::kernels {

using Bytes = std::vector<std::byte>;

enum class Form { signed_integer, unsigned_integer, logical, byte, ieee, long_double };

struct Part {
  Form form;
  std::size_t offset;
  std::size_t bytes;
};

struct Shape {
  Element element;
  std::size_t extent;
  std::vector<Part> parts;
  enum class Kind { number, complex, pair } kind = Kind::number;
};

inline constexpr std::size_t kLong = sizeof(long double);

inline std::vector<Shape> shapes() {
  const auto one = [](Element element, Form form, std::size_t bytes) {
    return Shape{element, bytes, {{form, 0, bytes}}, Shape::Kind::number};
  };
  const auto complex = [](Element element, Form form, std::size_t bytes) {
    return Shape{element, 2 * bytes, {{form, 0, bytes}, {form, bytes, bytes}}, Shape::Kind::complex};
  };
  const auto pair = [](Element element, std::size_t extent, Part value, Part index) {
    return Shape{element, extent, {value, index}, Shape::Kind::pair};
  };
  const auto index4 = [](std::size_t offset) { return Part{Form::signed_integer, offset, 4}; };
  return {
      one(Element::int8, Form::signed_integer, 1),
      one(Element::uint8, Form::unsigned_integer, 1),
      one(Element::int16, Form::signed_integer, 2),
      one(Element::uint16, Form::unsigned_integer, 2),
      one(Element::int32, Form::signed_integer, 4),
      one(Element::uint32, Form::unsigned_integer, 4),
      one(Element::int64, Form::signed_integer, 8),
      one(Element::uint64, Form::unsigned_integer, 8),
      one(Element::float16, Form::ieee, 2),
      one(Element::float32, Form::ieee, 4),
      one(Element::float64, Form::ieee, 8),
      one(Element::long_double, Form::long_double, kLong),
      one(Element::float128, Form::ieee, 16),
      complex(Element::complex32, Form::ieee, 2),
      complex(Element::complex64, Form::ieee, 4),
      complex(Element::complex128, Form::ieee, 8),
      complex(Element::complex_long_double, Form::long_double, kLong),
      complex(Element::complex256, Form::ieee, 16),
      one(Element::bool8, Form::logical, 1),
      one(Element::logical8, Form::logical, 1),
      one(Element::logical16, Form::logical, 2),
      one(Element::logical32, Form::logical, 4),
      one(Element::logical64, Form::logical, 8),
      one(Element::byte8, Form::byte, 1),
      pair(Element::float32_int32, 8, {Form::ieee, 0, 4}, index4(4)),
      pair(Element::float64_int32, 16, {Form::ieee, 0, 8}, index4(8)),
      pair(Element::int64_int32, 16, {Form::signed_integer, 0, 8}, index4(8)),
      pair(Element::int32_int32, 8, {Form::signed_integer, 0, 4}, index4(4)),
      pair(Element::int16_int32, 8, {Form::signed_integer, 0, 2}, index4(4)),
      pair(Element::long_double_int32, kLong + alignof(long double), {Form::long_double, 0, kLong}, index4(kLong)),
      pair(Element::float32_float32, 8, {Form::ieee, 0, 4}, {Form::ieee, 4, 4}),
      pair(Element::float64_float64, 16, {Form::ieee, 0, 8}, {Form::ieee, 8, 8}),
      pair(Element::int64_int64, 16, {Form::signed_integer, 0, 8}, {Form::signed_integer, 8, 8}),
  };
}

inline bool here(Element element) {
  return element_bytes(element) != 0;  // quads are not on every host
}

// The reference's own encoding.
// ------------------------------------------------------------------------------------

/// Little-endian integers and IEEE formats, from the bits; this test's hosts are little-endian.
inline std::uint64_t read_bits(const std::byte* at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(at[i]);
  return value;
}

inline void write_bits(std::byte* at, std::size_t bytes, std::uint64_t value) {
  for (std::size_t i = 0; i < bytes; ++i) at[i] = static_cast<std::byte>(value >> (8 * i) & 0xff);
}

struct Format {
  int exponent_bits;
  int fraction_bits;
};

inline Format format_of(std::size_t bytes) {
  return bytes == 2 ? Format{5, 10} : bytes == 4 ? Format{8, 23} : bytes == 8 ? Format{11, 52} : Format{15, 112};
}

/// The upper eight bytes of a quad hold every small integer; of the others all bytes count.
inline std::size_t upper(std::size_t bytes) {
  return bytes == 16 ? 8 : 0;
}

inline int kept_fraction(std::size_t bytes) {
  return bytes == 16 ? 48 : format_of(bytes).fraction_bits;
}

inline long double read_ieee(const std::byte* at, std::size_t bytes) {
  const std::size_t width = bytes - upper(bytes);
  const std::uint64_t bits = read_bits(at + upper(bytes), width);
  const int fraction_bits = kept_fraction(bytes);
  const Format format = format_of(bytes);
  const auto fraction = static_cast<long double>(bits & ((std::uint64_t{1} << fraction_bits) - 1));
  const int exponent = static_cast<int>(bits >> fraction_bits & ((1U << format.exponent_bits) - 1));
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const long double size =
      exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                    : std::ldexp(fraction + std::ldexp(1.0L, fraction_bits), exponent - bias - fraction_bits);
  return bits >> (8 * width - 1) != 0 ? -size : size;
}

/// Zero or an integer that the format holds exactly.
inline void write_ieee(std::byte* at, std::size_t bytes, long double value) {
  const std::size_t width = bytes - upper(bytes);
  const int fraction_bits = kept_fraction(bytes);
  std::uint64_t bits = 0;
  if (value != 0) {
    int exponent = 0;
    const long double mantissa = std::frexp(std::fabs(value), &exponent);  // [0.5, 1)
    const int bias = (1 << (format_of(bytes).exponent_bits - 1)) - 1;
    const auto whole = static_cast<std::uint64_t>(std::ldexp(mantissa, fraction_bits + 1));
    bits = static_cast<std::uint64_t>(exponent - 1 + bias) << fraction_bits |
           (whole & ((std::uint64_t{1} << fraction_bits) - 1));
  }
  if (std::signbit(value)) bits |= std::uint64_t{1} << (8 * width - 1);
  std::memset(at, 0, bytes);
  write_bits(at + upper(bytes), width, bits);
}

inline long double read_float(const std::byte* at, const Part& part) {
  if (part.form == Form::ieee) return read_ieee(at + part.offset, part.bytes);
  long double value = 0;
  std::memcpy(&value, at + part.offset, sizeof value);
  return value;
}

inline void write_float(std::byte* at, const Part& part, long double value) {
  if (part.form == Form::ieee) return write_ieee(at + part.offset, part.bytes, value);
  std::memset(at + part.offset, 0, part.bytes);
  std::memcpy(at + part.offset, &value, LDBL_MANT_DIG == 64 ? 10 : sizeof value);
}

inline bool is_float(const Part& part) {
  return part.form == Form::ieee || part.form == Form::long_double;
}

/// Sign-extended where the part is signed.
inline std::uint64_t read_integer(const std::byte* at, const Part& part) {
  const std::uint64_t bits = read_bits(at + part.offset, part.bytes);
  if (part.form != Form::signed_integer || part.bytes == 8) return bits;
  const std::uint64_t sign = std::uint64_t{1} << (8 * part.bytes - 1);
  return (bits ^ sign) - sign;
}

inline bool integer_less(std::uint64_t left, std::uint64_t right, const Part& part) {
  if (part.form != Form::signed_integer) return left < right;
  return static_cast<std::int64_t>(left) < static_cast<std::int64_t>(right);
}

// The reference's own rules.
// ---------------------------------------------------------------------------------------

/// MPI-4.1, section 6.9.2, told once more, by form.
inline bool mpi_allows(Operator operation, const Shape& shape) {
  if (operation == Operator::replace || operation == Operator::no_operation) return true;
  const bool location = operation == Operator::minimum_location || operation == Operator::maximum_location;
  if (shape.kind == Shape::Kind::pair || location) return shape.kind == Shape::Kind::pair && location;
  const bool arithmetic = operation == Operator::sum || operation == Operator::product;
  const bool order = operation == Operator::minimum || operation == Operator::maximum;
  const bool logical =
      operation == Operator::logical_and || operation == Operator::logical_or || operation == Operator::logical_xor;
  if (shape.kind == Shape::Kind::complex) return arithmetic;
  switch (shape.parts[0].form) {
    case Form::signed_integer:
    case Form::unsigned_integer:
      return true;
    case Form::ieee:
    case Form::long_double:
      return arithmetic || order;
    case Form::logical:
      return logical;
    case Form::byte:
      return !arithmetic && !order && !logical;
  }
  return false;
}

inline std::uint64_t integer_result(Operator operation, std::uint64_t low, std::uint64_t high, const Part& part) {
  switch (operation) {
    case Operator::sum:
      return low + high;
    case Operator::product:
      return low * high;
    case Operator::minimum:
      return integer_less(high, low, part) ? high : low;
    case Operator::maximum:
      return integer_less(high, low, part) ? low : high;
    case Operator::logical_and:
      return low != 0 && high != 0 ? 1 : 0;
    case Operator::logical_or:
      return low != 0 || high != 0 ? 1 : 0;
    case Operator::logical_xor:
      return (low != 0) == (high != 0) ? 0 : 1;
    case Operator::bitwise_and:
      return low & high;
    case Operator::bitwise_or:
      return low | high;
    case Operator::bitwise_xor:
      return low ^ high;
    default:
      return low;
  }
}

inline long double float_result(Operator operation, long double low, long double high) {
  switch (operation) {
    case Operator::sum:
      return low + high;
    case Operator::product:
      return low * high;
    case Operator::minimum:
      return std::fmin(low, high);
    case Operator::maximum:
      return std::fmax(low, high);
    default:
      return low;
  }
}

/// Writes low OP high over `to`, part by part; other bytes of `to` stay.
inline void reference(Operator operation, const Shape& shape, const std::byte* low, const std::byte* high,
                      std::byte* to) {
  const auto copy_part = [&](const Part& part, const std::byte* from) {
    if (is_float(part)) return write_float(to, part, read_float(from, part));
    write_bits(to + part.offset, part.bytes, read_integer(from, part));
  };
  if (operation == Operator::no_operation) return;
  if (operation == Operator::replace) {
    for (const Part& part : shape.parts) copy_part(part, low);
    return;
  }
  const Part& first = shape.parts[0];
  if (shape.kind == Shape::Kind::pair) {
    const auto below = [](const Part& part, const std::byte* left, const std::byte* right) {
      if (is_float(part)) return read_float(left, part) < read_float(right, part);
      return integer_less(read_integer(left, part), read_integer(right, part), part);
    };
    const bool smaller = operation == Operator::minimum_location;
    const bool low_wins = below(first, smaller ? low : high, smaller ? high : low);
    const bool high_wins = below(first, smaller ? high : low, smaller ? low : high);
    const bool low_index = low_wins || (!high_wins && below(shape.parts[1], low, high));
    const Bytes value(low_wins ? low : high, (low_wins ? low : high) + shape.extent);
    const Bytes index(low_index ? low : high, (low_index ? low : high) + shape.extent);
    copy_part(first, value.data());
    copy_part(shape.parts[1], index.data());
    return;
  }
  if (shape.kind == Shape::Kind::complex) {
    const Part& second = shape.parts[1];
    const long double a = read_float(low, first);
    const long double b = read_float(low, second);
    const long double c = read_float(high, first);
    const long double d = read_float(high, second);
    const bool sum = operation == Operator::sum;
    write_float(to, first, sum ? a + c : a * c - b * d);
    write_float(to, second, sum ? b + d : a * d + b * c);
    return;
  }
  if (is_float(first)) {
    write_float(to, first, float_result(operation, read_float(low, first), read_float(high, first)));
  } else {
    const std::uint64_t result =
        integer_result(operation, read_integer(low, first), read_integer(high, first), first);
    write_bits(to + first.offset, first.bytes, result);
  }
}

/// Noise everywhere (gaps and padding too), then values: small integers for floating point (no 0: a product with
/// its sign is another test's matter), a few bits or all for integers, few values for pairs so that ties are
/// common.
inline void fill(Bytes& block, std::size_t start, std::size_t count, const Shape& shape, Rng& random) {
  for (std::byte& byte : block) byte = static_cast<std::byte>(random.next() & 0xff);
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* at = block.data() + start + i * shape.extent;
    for (const Part& part : shape.parts) {
      const auto few = static_cast<int>(random.next() % 3) - 1;
      const auto small = static_cast<int>(random.next() % 30) + 1;
      const bool pair = shape.kind == Shape::Kind::pair;
      if (is_float(part)) {
        write_float(at, part, pair ? 2 + few : random.next() % 2 == 0 ? small : -small);
        if (part.form == Form::long_double && LDBL_MANT_DIG == 64) at[part.offset + 12] = std::byte{0x77};
      } else if (pair || random.next() % 4 == 0) {
        write_bits(at + part.offset, part.bytes, static_cast<std::uint64_t>(few));
      }
    }
  }
}

}  // namespace corewise::kernels

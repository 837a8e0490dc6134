// Every operator on every element against a reference that shares nothing with the kernels: it knows an element as
// a list of parts, decodes their bytes itself and computes with integers of 64 bits or long doubles. Values of
// floating point are small integers, so that every result is exact; rounding has tests of its own.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/rng.hpp"
#include "kernels/reduce/reduce.hpp"

namespace corewise::kernels {
namespace {

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

constexpr std::size_t kLong = sizeof(long double);

std::vector<Shape> shapes() {
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

bool here(Element element) {
  return element_bytes(element) != 0;  // quads are not on every host
}

// The reference's own encoding.
// ------------------------------------------------------------------------------------

/// Little-endian integers and IEEE formats, from the bits; this test's hosts are little-endian.
std::uint64_t read_bits(const std::byte* at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(at[i]);
  return value;
}

void write_bits(std::byte* at, std::size_t bytes, std::uint64_t value) {
  for (std::size_t i = 0; i < bytes; ++i) at[i] = static_cast<std::byte>(value >> (8 * i) & 0xff);
}

struct Format {
  int exponent_bits;
  int fraction_bits;
};

Format format_of(std::size_t bytes) {
  return bytes == 2 ? Format{5, 10} : bytes == 4 ? Format{8, 23} : bytes == 8 ? Format{11, 52} : Format{15, 112};
}

/// The upper eight bytes of a quad hold every small integer; of the others all bytes count.
std::size_t upper(std::size_t bytes) {
  return bytes == 16 ? 8 : 0;
}

int kept_fraction(std::size_t bytes) {
  return bytes == 16 ? 48 : format_of(bytes).fraction_bits;
}

long double read_ieee(const std::byte* at, std::size_t bytes) {
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
void write_ieee(std::byte* at, std::size_t bytes, long double value) {
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

long double read_float(const std::byte* at, const Part& part) {
  if (part.form == Form::ieee) return read_ieee(at + part.offset, part.bytes);
  long double value = 0;
  std::memcpy(&value, at + part.offset, sizeof value);
  return value;
}

void write_float(std::byte* at, const Part& part, long double value) {
  if (part.form == Form::ieee) return write_ieee(at + part.offset, part.bytes, value);
  std::memset(at + part.offset, 0, part.bytes);
  std::memcpy(at + part.offset, &value, LDBL_MANT_DIG == 64 ? 10 : sizeof value);
}

bool is_float(const Part& part) {
  return part.form == Form::ieee || part.form == Form::long_double;
}

/// Sign-extended where the part is signed.
std::uint64_t read_integer(const std::byte* at, const Part& part) {
  const std::uint64_t bits = read_bits(at + part.offset, part.bytes);
  if (part.form != Form::signed_integer || part.bytes == 8) return bits;
  const std::uint64_t sign = std::uint64_t{1} << (8 * part.bytes - 1);
  return (bits ^ sign) - sign;
}

bool integer_less(std::uint64_t left, std::uint64_t right, const Part& part) {
  if (part.form != Form::signed_integer) return left < right;
  return static_cast<std::int64_t>(left) < static_cast<std::int64_t>(right);
}

// The reference's own rules.
// ---------------------------------------------------------------------------------------

/// MPI-4.1, section 6.9.2, told once more, by form.
bool mpi_allows(Operator operation, const Shape& shape) {
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

std::uint64_t integer_result(Operator operation, std::uint64_t low, std::uint64_t high, const Part& part) {
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

long double float_result(Operator operation, long double low, long double high) {
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
void reference(Operator operation, const Shape& shape, const std::byte* low, const std::byte* high, std::byte* to) {
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
void fill(Bytes& block, std::size_t start, std::size_t count, const Shape& shape, Rng& random) {
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

void check(Operator operation, const Shape& shape, std::size_t count, std::size_t in_start, std::size_t inout_start,
           Rng& random) {
  Bytes in(in_start + count * shape.extent + 5);
  Bytes inout(inout_start + count * shape.extent + 5);
  fill(in, in_start, count, shape, random);
  fill(inout, inout_start, count, shape, random);
  const Bytes in_before = in;
  Bytes wanted = inout;
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes high(inout.begin() + static_cast<std::ptrdiff_t>(inout_start + i * shape.extent),
                     inout.begin() + static_cast<std::ptrdiff_t>(inout_start + (i + 1) * shape.extent));
    reference(operation, shape, in.data() + in_start + i * shape.extent, high.data(),
              wanted.data() + inout_start + i * shape.extent);
  }
  combine_for(operation, shape.element)(in.data() + in_start, inout.data() + inout_start, count);
  EXPECT_EQ(in, in_before);
  EXPECT_EQ(inout, wanted) << name(operation) << " of " << count << ' ' << name(shape.element) << " at +"
                           << in_start << ", +" << inout_start;
}

TEST(Reduce, EveryOperatorOnEveryElement) {
  for (const Shape& shape : shapes()) {
    if (!here(shape.element)) continue;
    for (const Operator operation : operators()) {
      if (!mpi_allows(operation, shape)) continue;
      ASSERT_NE(combine_for(operation, shape.element), nullptr) << name(operation) << ' ' << name(shape.element);
      Rng random(17);
      for (const std::size_t count : {0U, 1U, 2U, 3U, 7U, 16U, 33U, 101U}) {
        for (const std::size_t start : {0U, 1U, 3U, 8U}) check(operation, shape, count, start, 11 - start, random);
      }
    }
  }
}

template <class T>
T combined(Operator operation, Element element, T low, T high) {
  combine_for(operation, element)(reinterpret_cast<const std::byte*>(&low), reinterpret_cast<std::byte*>(&high), 1);
  return high;
}

/// Blocks side by side: the row kernel leaves in the last what pairwise calls in order leave there, and all other
/// bytes as they were.
void check_row(Operator operation, const Shape& shape, std::size_t rows, std::size_t count, std::size_t start,
               Rng& random) {
  const std::size_t each = count * shape.extent;
  Bytes operands(start + rows * each + 5);
  fill(operands, start, rows * count, shape, random);
  Bytes pairwise = operands;
  Bytes wanted = operands;
  for (std::size_t row = 1; row < rows; ++row) {
    std::byte* here = pairwise.data() + start + row * each;
    combine_for(operation, shape.element)(here - each, here, count);
    if (row == rows - 1) std::copy_n(here, each, wanted.data() + start + row * each);
  }
  combine_row_for(operation, shape.element)(operands.data() + start, rows, count);
  EXPECT_EQ(operands, wanted) << name(operation) << " of " << rows << " x " << count << ' ' << name(shape.element)
                              << " at +" << start;
}

TEST(Reduce, ARowIsThePairsInOrder) {
  for (const Shape& shape : shapes()) {
    for (const Operator operation : operators()) {
      const bool there = combine_for(operation, shape.element) != nullptr;
      ASSERT_EQ(combine_row_for(operation, shape.element) != nullptr, there)
          << name(operation) << ' ' << name(shape.element);
      if (!there) continue;
      Rng random(23);
      for (const std::size_t rows : {0U, 1U, 2U, 3U, 8U}) {
        for (const std::size_t count : {0U, 1U, 3U, 17U})
          check_row(operation, shape, rows, count, rows % 4, random);
      }
    }
  }
}

/// What is no sum of small integers: the order of rounding is that of the pairs too.
TEST(Reduce, ARowRoundsAsThePairsDo) {
  const std::vector<float> drawn = {1e8F, 1.0F, -1e8F, 0.3F, -0.7F};
  std::vector<float> row = drawn;
  combine_row_for(Operator::sum, Element::float32)(reinterpret_cast<std::byte*>(row.data()), row.size(), 1);
  float sum = drawn[0];
  for (std::size_t i = 1; i < drawn.size(); ++i) sum = combined(Operator::sum, Element::float32, sum, drawn[i]);
  EXPECT_EQ(row.back(), sum);
  EXPECT_TRUE(std::equal(drawn.begin(), drawn.end() - 1, row.begin()));
  std::vector<float> backwards(drawn.rbegin(), drawn.rend());
  combine_row_for(Operator::sum, Element::float32)(reinterpret_cast<std::byte*>(backwards.data()), backwards.size(),
                                                   1);
  EXPECT_NE(backwards.back(), sum);
}

TEST(Reduce, RefusesWhatMpiForbids) {
  int refused = 0;
  for (const Shape& shape : shapes()) {
    for (const Operator operation : operators()) {
      if (mpi_allows(operation, shape)) continue;
      EXPECT_EQ(combine_for(operation, shape.element), nullptr) << name(operation) << ' ' << name(shape.element);
      ++refused;
    }
  }
  EXPECT_EQ(refused, 8 * 2 + 5 * 8 + 5 * 10 + 5 * 9 + 9 + 9 * 10);
}

TEST(Reduce, TypeClassesAsInTheStandard) {
  // MPI-4.1, section 6.9.2: a Fortran INTEGER has no logical operator, although it looks like an int.
  EXPECT_TRUE(allowed(Operator::logical_and, TypeClass::c_integer));
  EXPECT_FALSE(allowed(Operator::logical_and, TypeClass::fortran_integer));
  EXPECT_FALSE(allowed(Operator::logical_xor, TypeClass::multi_language));
  EXPECT_TRUE(allowed(Operator::bitwise_or, TypeClass::fortran_integer));
  EXPECT_TRUE(allowed(Operator::maximum, TypeClass::multi_language));
  EXPECT_FALSE(allowed(Operator::maximum, TypeClass::complex));
  EXPECT_FALSE(allowed(Operator::sum, TypeClass::byte));
  EXPECT_TRUE(has_class(Element::int32, TypeClass::fortran_integer));
  EXPECT_FALSE(has_class(Element::uint32, TypeClass::fortran_integer));
}

TEST(Reduce, AKernelIsThereWhereOneClassAllowsIt) {
  for (const Element element : elements()) {
    for (const Operator operation : operators()) {
      bool wanted = false;
      for (const TypeClass type_class : type_classes()) {
        wanted = wanted || (has_class(element, type_class) && allowed(operation, type_class));
      }
      EXPECT_EQ(combine_for(operation, element) != nullptr, wanted && here(element))
          << name(operation) << ' ' << name(element);
    }
  }
}

TEST(Reduce, ExtentsAreThoseOfMpi) {
  for (const Shape& shape : shapes()) {
    if (!here(shape.element)) continue;
    EXPECT_EQ(element_bytes(shape.element), shape.extent) << name(shape.element);
  }
  EXPECT_EQ(shapes().size(), elements().size());
}

TEST(Reduce, NamesLeadBack) {
  for (const Operator operation : operators()) EXPECT_EQ(operator_named(name(operation)), operation);
  for (const Element element : elements()) EXPECT_EQ(element_named(name(element)), element);
  EXPECT_EQ(name(Operator::minimum_location), "minimum_location");
  EXPECT_EQ(name(Element::complex_long_double), "complex_long_double");
  EXPECT_FALSE(operator_named("plus").has_value());
  EXPECT_FALSE(element_named("").has_value());
}

TEST(Reduce, AllButTheOneSidedCommute) {
  for (const Operator operation : operators()) {
    const bool one_sided = operation == Operator::replace || operation == Operator::no_operation;
    EXPECT_EQ(commutative(operation), !one_sided) << name(operation);
  }
}

TEST(Reduce, IntegersWrap) {
  using Limits = std::numeric_limits<std::int32_t>;
  EXPECT_EQ(combined<std::int32_t>(Operator::sum, Element::int32, Limits::max(), 1), Limits::min());
  EXPECT_EQ(combined<std::uint16_t>(Operator::product, Element::uint16, 65535, 65535), 1);
  EXPECT_EQ(combined<std::int8_t>(Operator::product, Element::int8, -128, -1), -128);
}

TEST(Reduce, NanAndZerosAreSettledByTheOrder) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(combined(Operator::minimum, Element::float64, nan, 1.0), 1.0);
  EXPECT_TRUE(std::isnan(combined(Operator::maximum, Element::float64, 1.0, nan)));
  EXPECT_TRUE(std::signbit(combined(Operator::minimum, Element::float64, 0.0, -0.0)));
  EXPECT_FALSE(std::signbit(combined(Operator::maximum, Element::float64, -0.0, 0.0)));
}

// Half precision: no hardware does it here, so its rounding is checked against exact arithmetic in doubles.
// ----------

double half_value(std::uint16_t bits) {
  const auto at = reinterpret_cast<const std::byte*>(&bits);
  return static_cast<double>(read_ieee(at, 2));
}

/// The nearest half, ties to even, as a double.
double rounded_to_half(double exact) {
  if (exact == 0) return exact;
  const int exponent = std::max(std::ilogb(exact), -14);
  const double unit = std::ldexp(1.0, exponent - 10);
  const double near = std::nearbyint(exact / unit) * unit;
  return std::fabs(near) > 65504 ? std::copysign(std::numeric_limits<double>::infinity(), near) : near;
}

double half_or_infinity(std::uint16_t bits) {
  if ((bits & 0x7fff) == 0x7c00) return (bits & 0x8000) != 0 ? -HUGE_VAL : HUGE_VAL;
  return half_value(bits);
}

TEST(Reduce, EveryHalfSurvivesAddingMinusZero) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const auto sum = combined<std::uint16_t>(Operator::sum, Element::float16, half, 0x8000);
    const bool nan = (bits & 0x7fff) > 0x7c00;
    ASSERT_EQ(sum, nan ? half | 0x200 : half);
  }
}

TEST(Reduce, HalvesRoundOnceToTheNearest) {
  Rng random(5);
  for (int round = 0; round < 200000; ++round) {
    const auto low = static_cast<std::uint16_t>(random.next() & 0xffff);
    auto high = static_cast<std::uint16_t>(random.next() & 0xffff);
    if (round % 2 == 0) high = static_cast<std::uint16_t>((low & 0x7c00) ^ (high & 0x87ff));  // of like size
    if ((low & 0x7c00) == 0x7c00 || (high & 0x7c00) == 0x7c00) continue;
    const double a = half_value(low);
    const double b = half_value(high);
    ASSERT_EQ(half_or_infinity(combined(Operator::sum, Element::float16, low, high)), rounded_to_half(a + b));
    ASSERT_EQ(half_or_infinity(combined(Operator::product, Element::float16, low, high)), rounded_to_half(a * b));
  }
}

}  // namespace
}  // namespace corewise::kernels

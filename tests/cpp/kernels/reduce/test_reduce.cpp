// Every operator on every element by every instruction set, in place, against a slow reference
// (reduction_reference.hpp); rounding has tests of its own. SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/rng.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/reduce/reduction_reference.hpp"

namespace corewise::kernels {
namespace {

void check(Operator operation, const Shape& shape, std::size_t count, std::size_t in_start, std::size_t inout_start,
           std::string_view set, Rng& random) {
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
  reduction_kernels(operation, shape.element, set).combine(in.data() + in_start, inout.data() + inout_start, count);
  EXPECT_EQ(in, in_before);
  EXPECT_EQ(inout, wanted) << name(operation) << " of " << count << ' ' << name(shape.element) << " at +"
                           << in_start << ", +" << inout_start << " by " << set;
}

class EverySet : public ::testing::TestWithParam<std::string_view> {};

std::string name_of(const ::testing::TestParamInfo<std::string_view>& set) {
  return std::string(set.param);
}

INSTANTIATE_TEST_CASE_P(Reduce, EverySet, ::testing::ValuesIn(reduction_sets()), name_of);

TEST_P(EverySet, EveryOperatorOnEveryElement) {
  for (const Shape& shape : shapes()) {
    if (!here(shape.element)) continue;
    for (const Operator operation : operators()) {
      if (!mpi_allows(operation, shape)) continue;
      ASSERT_NE(combine_for(operation, shape.element), nullptr) << name(operation) << ' ' << name(shape.element);
      Rng random(17);
      for (const std::size_t count : {0U, 1U, 2U, 3U, 7U, 16U, 33U, 101U}) {
        for (const std::size_t start : {0U, 1U, 3U, 8U})
          check(operation, shape, count, start, 11 - start, GetParam(), random);
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

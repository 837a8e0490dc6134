// Transposes: each kernel against the definition, for every small shape, at every place of its line, with strides
// that are whole lines and others, with padding that must stay and pages that must not be touched.
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/transpose/transpose.hpp"
#include "kernels/walled.hpp"

namespace corewise::kernels {
namespace {

const Complex untouched{-1e300, 7};

Complex value(std::size_t row, std::size_t column) {
  return {static_cast<double>(row * 1000 + column), -0.5 - static_cast<double>(column)};
}

std::vector<const TransposeKernel*> available_kernels() {
  std::vector<const TransposeKernel*> kernels;
  for (const TransposeKernel& kernel : transpose_kernels())
    if (kernel.available()) kernels.push_back(&kernel);
  return kernels;
}

/// A matrix that begins so many elements behind a line, and a target likewise.
bool transposes(const TransposeKernel& kernel, std::size_t rows, std::size_t columns, std::size_t padding,
                std::size_t place) {
  const std::size_t from_stride = columns + padding, to_stride = rows + padding;
  std::vector<Complex> from(rows * from_stride + place + 4), to(columns * to_stride + place + 4, untouched);
  const auto line = [place](std::vector<Complex>& block) {
    return block.data() + ((-std::bit_cast<std::uintptr_t>(block.data()) & 63) / sizeof(Complex) + place) % 4;
  };
  Complex* const source = line(from);
  Complex* const target = line(to);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) source[r * from_stride + c] = value(r, c);
  kernel.run({target, to_stride, source, from_stride, rows, columns});
  std::size_t written = 0;
  for (const Complex& each : to) written += each != untouched ? 1 : 0;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c)
      if (target[c * to_stride + r] != value(r, c)) return false;
  return written == rows * columns;
}

TEST(Transpose, EveryKernelMovesEverySmallShapeAndNothingElse) {
  for (const TransposeKernel* kernel : available_kernels())
    for (std::size_t rows = 0; rows <= 13; ++rows)
      for (std::size_t columns = 0; columns <= 13; ++columns)
        for (const std::size_t padding : {0UL, 1UL, 3UL, 4UL})
          for (std::size_t place = 0; place < 4; ++place)
            ASSERT_TRUE(transposes(*kernel, rows, columns, padding, place))
                << kernel->name << " " << rows << "x" << columns << " padding " << padding << " place " << place;
}

TEST(Transpose, EveryKernelMovesLargerShapes) {
  // More columns than a band, a power of two, prime sides, and a few rows or columns as the second pass of an FFT
  // has.
  const std::vector<std::tuple<std::size_t, std::size_t, std::size_t>> shapes = {
      {36, 1040, 0}, {256, 256, 0}, {256, 70, 0}, {512, 9, 256}, {256, 256, 4},
      {127, 541, 0}, {512, 8, 4},   {8, 512, 4},  {5, 1025, 3}};
  for (const TransposeKernel* kernel : available_kernels())
    for (const auto& [rows, columns, padding] : shapes)
      for (const std::size_t place : {0UL, 1UL})
        ASSERT_TRUE(transposes(*kernel, rows, columns, padding, place))
            << kernel->name << " " << rows << "x" << columns;
}

TEST(Transpose, KeepsEveryBit) {
  const double quiet = std::numeric_limits<double>::quiet_NaN();
  for (const TransposeKernel* kernel : available_kernels()) {
    std::vector<Complex> from(16, {-0.0, quiet}), to(16, {quiet, quiet});
    kernel->run({to.data(), 4, from.data(), 4, 4, 4});
    for (const Complex& each : to) {
      EXPECT_TRUE(std::signbit(each.real()) && each.real() == 0) << kernel->name;
      EXPECT_TRUE(std::isnan(each.imag())) << kernel->name;
    }
  }
}

TEST(Transpose, TouchesNothingBehindItsMatrices) {
  for (const TransposeKernel* kernel : available_kernels())
    for (const std::size_t rows : {1UL, 4UL, 7UL, 16UL})
      for (const std::size_t columns : {1UL, 4UL, 9UL, 16UL}) {
        const Walled from(1), to(1);  // 256 elements: up to the wall behind them
        auto* const source = reinterpret_cast<Complex*>(from.end()) - rows * columns;
        auto* const target = reinterpret_cast<Complex*>(to.end()) - rows * columns;
        for (std::size_t i = 0; i < rows * columns; ++i) source[i] = value(i / columns, i % columns);
        kernel->run({target, rows, source, columns, rows, columns});
        EXPECT_EQ(target[rows * columns - 1], value(rows - 1, columns - 1)) << kernel->name;
      }
}

TEST(Transpose, TheChosenOneIsAvailableAndWritesAsWanted) {
  for (const bool streams : {false, true}) {
    const TransposeKernel& chosen = chosen_transpose(streams);
    EXPECT_TRUE(chosen.available());
    EXPECT_TRUE(!chosen.streams || streams);
  }
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    EXPECT_TRUE(chosen_transpose(true).streams);
    EXPECT_TRUE(chosen_transpose(false).name.starts_with("avx"));
  }
#endif
  std::vector<Complex> from = {{1, 2}, {3, 4}}, to(2);
  transpose({to.data(), 1, from.data(), 2, 1, 2}, true);
  EXPECT_EQ(to, from);
}

TEST(Transpose, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const TransposeKernel& kernel : transpose_kernels()) {
    EXPECT_TRUE(names.insert(kernel.name).second);
    EXPECT_EQ(find_transpose_kernel(kernel.name), &kernel);
  }
  EXPECT_EQ(find_transpose_kernel("none"), nullptr);
}

}  // namespace
}  // namespace corewise::kernels

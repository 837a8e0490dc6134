// The table of transposes, and the choice among them.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/transpose/transpose.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>

#include "kernels/transpose/kernels.hpp"

namespace corewise::kernels {
namespace {

bool always() {
  return true;
}

#if defined(__x86_64__)
#define COREWISE_ON_X86(function) function
#define COREWISE_ON_ARM(function) nullptr
bool with_avx2() {
  return __builtin_cpu_supports("avx2") != 0;
}
bool with_avx512() {
  return __builtin_cpu_supports("avx512f") != 0;
}
bool with_neon() {
  return false;
}
#else
#define COREWISE_ON_X86(function) nullptr
bool with_avx2() {
  return false;
}
bool with_avx512() {
  return false;
}
#if defined(__aarch64__)
#define COREWISE_ON_ARM(function) function
constexpr auto with_neon = always;
#else
#define COREWISE_ON_ARM(function) nullptr
bool with_neon() {
  return false;
}
#endif
#endif

constexpr TransposeKernel kernel_table[] = {
    {"naive", "any", "row by row", false, always, transpose_naive},
    {"blocked", "any", "by blocks of 32x32 (paper 004)", false, always, transpose_blocked},
    {"blocked_read_allocate", "any", "by blocks, the target read first (paper 004)", false, always,
     transpose_blocked_read_allocate},
    {"avx2", "AVX2", "4x4 in registers", false, with_avx2, COREWISE_ON_X86(transpose_avx2)},
    {"avx2_nt", "AVX2", "4x4 in registers, past the caches", true, with_avx2, COREWISE_ON_X86(transpose_avx2_nt)},
    {"avx512", "AVX-512F", "4x4 in registers", false, with_avx512, COREWISE_ON_X86(transpose_avx512)},
    {"avx512_nt", "AVX-512F", "4x4 in registers, past the caches", true, with_avx512,
     COREWISE_ON_X86(transpose_avx512_nt)},
    {"neon", "NEON", "4x4, an element a register", false, with_neon, COREWISE_ON_ARM(transpose_neon)},
};

/// The first of these that this processor has.
const TransposeKernel& first_of(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const TransposeKernel* kernel = find_transpose_kernel(name); kernel->available()) return *kernel;
  return kernel_table[0];
}

}  // namespace

std::span<const TransposeKernel> transpose_kernels() {
  return kernel_table;
}

const TransposeKernel* find_transpose_kernel(std::string_view name) {
  const auto* found = std::ranges::find(kernel_table, name, &TransposeKernel::name);
  return found != std::end(kernel_table) ? found : nullptr;
}

const TransposeKernel& chosen_transpose(bool streams) {
  static const std::array<const TransposeKernel*, 2> chosen = {
      &first_of({"avx512", "avx2", "neon", "blocked"}), &first_of({"avx512_nt", "avx2_nt", "neon", "blocked"})};
  return *chosen[streams ? 1 : 0];
}

void transpose(const Transposition& matrix, bool streams) {
  chosen_transpose(streams).run(matrix);
}

}  // namespace corewise::kernels

// The table of copy kernels, and the choice among them.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/copy.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>

#include "kernels/copy_kernels.hpp"

namespace corewise::kernels {
namespace {

void copy_memcpy(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

bool always() {
  return true;
}

bool never() {
  return false;
}

#if defined(__x86_64__)
#define COREWISE_ON_X86(function) function
#define COREWISE_ON_ARM(function) nullptr
bool on_x86() {
  return true;
}
bool with_avx2() {
  return __builtin_cpu_supports("avx2") != 0;
}
bool with_avx512() {
  return __builtin_cpu_supports("avx512f") != 0;
}
constexpr auto with_neon = never;
#elif defined(__aarch64__)
#define COREWISE_ON_X86(function) nullptr
#define COREWISE_ON_ARM(function) function
constexpr auto on_x86 = never;
constexpr auto with_avx2 = never;
constexpr auto with_avx512 = never;
constexpr auto with_neon = always;
#else
#define COREWISE_ON_X86(function) nullptr
#define COREWISE_ON_ARM(function) nullptr
constexpr auto on_x86 = never;
constexpr auto with_avx2 = never;
constexpr auto with_avx512 = never;
constexpr auto with_neon = never;
#endif

#define COREWISE_COPY_ROWS(name, instructions, available, on)                                                  \
  {#name, instructions, "through the caches", false, available, on(copy_##name)},                              \
      {#name "_prefetch",         instructions, "through the caches, the source prefetched", false, available, \
       on(copy_##name##_prefetch)},                                                                            \
      {#name "_backward",                                                                                      \
       instructions,                                                                                           \
       "through the caches, from the end to the beginning",                                                    \
       false,                                                                                                  \
       available,                                                                                              \
       on(copy_##name##_backward)},                                                                            \
      {#name "_nt", instructions, "past the caches", true, available, on(copy_##name##_nt)},                   \
      {#name "_nt_prefetch",         instructions, "past the caches, the source prefetched", true, available,  \
       on(copy_##name##_nt_prefetch)},                                                                         \
      {#name "_nt_pages4",         instructions, "past the caches, lines of 4 pages in turn", true, available, \
       on(copy_##name##_nt_pages4)},                                                                           \
  {                                                                                                            \
    #name "_nt_pages16", instructions, "past the caches, lines of 16 pages in turn", true, available,          \
        on(copy_##name##_nt_pages16)                                                                           \
  }

constexpr CopyKernel kernel_table[] = {
    {"memcpy", "any", "the C library's", false, always, copy_memcpy},
    {"naive", "any", "word by word (paper 004)", false, always, copy_naive},
    {"read_allocate", "any", "word by word, the target read first (paper 004)", false, always, copy_read_allocate},
    {"four_stream", "any", "both halves at once, the target read first (paper 004)", false, always,
     copy_four_stream},
    {"rep_movsb", "x86-64", "the string instruction", false, on_x86, COREWISE_ON_X86(copy_rep_movsb)},
    COREWISE_COPY_ROWS(avx2, "AVX2", with_avx2, COREWISE_ON_X86),
    COREWISE_COPY_ROWS(avx512, "AVX-512F", with_avx512, COREWISE_ON_X86),
    COREWISE_COPY_ROWS(neon, "NEON", with_neon, COREWISE_ON_ARM),
};

/// A tuning as `copy` reads it: by audience, alignment, and the position of the size's highest bit.
using Functions = std::array<std::array<std::array<CopyFunction, 64>, 4>, 3>;

constexpr Functions memcpy_only() {
  Functions functions{};
  for (auto& audience : functions)
    for (auto& alignment : audience) alignment.fill(copy_memcpy);
  return functions;
}

constinit const Functions initial_functions = memcpy_only();

/// Those that were in use once stay: a thread may be in one of them.
struct InUse {
  CopyTuning tuning;
  Functions functions;
  const InUse* before = nullptr;
};

constinit std::atomic<const InUse*> in_use{nullptr};
constinit std::atomic<const Functions*> functions_in_use{&initial_functions};

std::size_t tuned_from(const CopyTuning& tuning) {
  for (std::size_t bit = 0; bit < 64; ++bit)
    for (const auto& audience : tuning.rows)
      for (const CopyTuning::Row& row : audience)
        if (row[bit + 1] != &kernel_table[0]) return std::size_t{1} << bit;
  return static_cast<std::size_t>(-1);
}

Functions functions_of(const CopyTuning& tuning) {
  Functions functions = initial_functions;
  for (std::size_t audience = 0; audience < audience_names.size(); ++audience)
    for (std::size_t alignment = 0; alignment < alignment_names.size(); ++alignment)
      for (std::size_t bit = 0; bit < 64; ++bit)
        functions[audience][alignment][bit] = tuning.rows[audience][alignment][bit + 1]->run;
  return functions;
}

}  // namespace

constinit std::atomic<std::size_t> copy_tuned_from{static_cast<std::size_t>(-1)};

std::span<const CopyKernel> copy_kernels() {
  return kernel_table;
}

const CopyKernel* find_copy_kernel(std::string_view name) {
  const auto* found = std::ranges::find(kernel_table, name, &CopyKernel::name);
  return found != std::end(kernel_table) ? found : nullptr;
}

CopyAlignment copy_alignment(const void* to, const void* from) {
  const std::uintptr_t distance = reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
  if (((distance - 1) & 4095) < 1023) return CopyAlignment::aliasing;
  return (distance & 63) == 0 ? CopyAlignment::same : CopyAlignment::shifted;
}

CopyTuning::CopyTuning() {
  for (auto& audience : rows)
    for (Row& row : audience) row.fill(&kernel_table[0]);
}

void set_copy_tuning(const CopyTuning& tuning) {
  auto next = std::make_unique<InUse>(InUse{tuning, functions_of(tuning)});
  next->before = in_use.load(std::memory_order_relaxed);
  while (!in_use.compare_exchange_weak(next->before, next.get(), std::memory_order_acq_rel)) {
  }
  functions_in_use.store(&next.release()->functions, std::memory_order_release);
  copy_tuned_from.store(tuned_from(tuning), std::memory_order_relaxed);
}

const CopyTuning& copy_tuning() {
  static const CopyTuning initial;
  const InUse* tuning = in_use.load(std::memory_order_acquire);
  return tuning != nullptr ? tuning->tuning : initial;
}

const CopyKernel& chosen_copy(const void* to, const void* from, std::size_t bytes, Audience audience) {
  const auto& rows = copy_tuning().rows[static_cast<std::size_t>(audience)];
  return *rows[static_cast<std::size_t>(copy_alignment(to, from))][std::bit_width(bytes)];
}

void copy_chosen(void* to, const void* from, std::size_t bytes, Audience audience) {
  const Functions& functions = *functions_in_use.load(std::memory_order_acquire);
  const auto& rows = functions[static_cast<std::size_t>(audience)];
  rows[static_cast<std::size_t>(copy_alignment(to, from))][63 - std::countl_zero(bytes | 1)](to, from, bytes);
}

}  // namespace corewise::kernels

// The table of copy kernels, and the choice among them.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/copy/copy.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <mutex>

#include "kernels/copy/kernels.hpp"

namespace corewise::kernels {
namespace {

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
    {"memcpy", "any", "the C library's", false, always, std::memcpy},
    {"naive", "any", "word by word (paper 004)", false, always, copy_naive},
    {"read_allocate", "any", "word by word, the target read first (paper 004)", false, always, copy_read_allocate},
    {"four_stream", "any", "both halves at once, the target read first (paper 004)", false, always,
     copy_four_stream},
    {"rep_movsb", "x86-64", "the string instruction", false, on_x86, COREWISE_ON_X86(copy_rep_movsb)},
    COREWISE_COPY_ROWS(avx2, "AVX2", with_avx2, COREWISE_ON_X86),
    COREWISE_COPY_ROWS(avx512, "AVX-512F", with_avx512, COREWISE_ON_X86),
    COREWISE_COPY_ROWS(neon, "NEON", with_neon, COREWISE_ON_ARM),
};

#define COREWISE_BOUNDS_ROW(name, available, on) \
  {available, on(bound_##name##_read), on(bound_##name##_write), on(bound_##name##_write_nt)}
/// The widest vectors first.
constexpr CopyBounds bounds_table[] = {
    COREWISE_BOUNDS_ROW(avx512, with_avx512, COREWISE_ON_X86),
    COREWISE_BOUNDS_ROW(avx2, with_avx2, COREWISE_ON_X86),
    COREWISE_BOUNDS_ROW(neon, with_neon, COREWISE_ON_ARM),
};

/// Where memcpy may be the string instruction, which is slow by a factor of 10 where the two addresses alias. glibc
/// begins to use it at 2 KB or later.
constexpr std::size_t first_trapped_bit = 11;

/// What stands in for memcpy there until there is a tuning; memcpy where the processor has no such kernel.
const CopyKernel& untrapped() {
#if defined(__x86_64__)
  if (with_avx2()) return *find_copy_kernel("avx2");
#endif
  return kernel_table[0];
}

void* copy_untuned(void* to, const void* from, std::size_t bytes) {
  if (copy_alignment(to, from) != CopyAlignment::aliasing) return std::memcpy(to, from, bytes);
  static const CopyFunction run = untrapped().run;
  return run(to, from, bytes);
}

constexpr detail::CopyEntries untuned_entries() {
  detail::CopyEntries entries{};
  for (auto& audience : entries) {
    for (std::size_t bit = 0; bit < audience.size(); ++bit)
      audience[bit] = bit < first_trapped_bit ? std::memcpy : copy_untuned;
  }
  return entries;
}

/// By alignment and the position of the size's highest bit.
using Functions = std::array<std::array<CopyFunction, 64>, alignment_names.size()>;

/// Those that were in use once stay: a thread may be in one of them.
struct InUse {
  CopyTuning tuning;
  std::array<Functions, audience_names.size()> functions;
  const InUse* before = nullptr;
};

constinit std::atomic<const InUse*> in_use{nullptr};

/// The entry of sizes whose kernel depends on the alignment.
template <std::size_t audience>
void* copy_by_alignment(void* to, const void* from, std::size_t bytes) {
  const Functions& functions = in_use.load(std::memory_order_acquire)->functions[audience];
  const auto alignment = static_cast<std::size_t>(copy_alignment(to, from));
  return functions[alignment][static_cast<std::size_t>(63 - std::countl_zero(bytes))](to, from, bytes);
}

constexpr std::array<CopyFunction, audience_names.size()> by_alignment = {
    copy_by_alignment<0>, copy_by_alignment<1>, copy_by_alignment<2>};

std::unique_ptr<InUse> compiled(const CopyTuning& tuning) {
  auto made = std::make_unique<InUse>();
  made->tuning = tuning;
  for (std::size_t audience = 0; audience < audience_names.size(); ++audience)
    for (std::size_t alignment = 0; alignment < alignment_names.size(); ++alignment)
      for (std::size_t bit = 0; bit < 64; ++bit)
        made->functions[audience][alignment][bit] = tuning.rows[audience][alignment][bit + 1]->run;
  return made;
}

/// What `copy` calls for sizes of an octave: their kernel, or what looks at the alignment where that decides.
CopyFunction entry_of(const InUse& tuning, std::size_t audience, std::size_t bit) {
  const auto& functions = tuning.functions[audience];
  const bool one_for_all =
      std::ranges::all_of(functions, [&](const auto& row) { return row[bit] == functions[0][bit]; });
  return one_for_all ? functions[0][bit] : by_alignment[audience];
}

}  // namespace

namespace detail {
alignas(64) constinit CopyEntries copy_entries = untuned_entries();
}

std::span<const CopyKernel> copy_kernels() {
  return kernel_table;
}

const CopyBounds* copy_bounds() {
  const auto* found = std::ranges::find_if(bounds_table, [](const CopyBounds& each) { return each.available(); });
  return found != std::end(bounds_table) ? found : nullptr;
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

CopyTuning CopyTuning::untuned() {
  CopyTuning tuning;
  for (auto& audience : tuning.rows) {
    Row& row = audience[static_cast<std::size_t>(CopyAlignment::aliasing)];
    std::fill(row.begin() + first_trapped_bit + 1, row.end(), &untrapped());
  }
  return tuning;
}

void set_copy_tuning(const CopyTuning& tuning) {
  // One after the other, so that the entries are those of the tuning in use.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  std::unique_ptr<InUse> next = compiled(tuning);
  next->before = in_use.load(std::memory_order_relaxed);
  const InUse& used = *next.release();
  in_use.store(&used, std::memory_order_release);
  for (std::size_t audience = 0; audience < audience_names.size(); ++audience)
    for (std::size_t bit = 0; bit < 64; ++bit)
      std::atomic_ref(detail::copy_entries[audience][bit])
          .store(entry_of(used, audience, bit), std::memory_order_release);
}

const CopyTuning& copy_tuning() {
  static const CopyTuning initial = CopyTuning::untuned();
  const InUse* tuning = in_use.load(std::memory_order_acquire);
  return tuning != nullptr ? tuning->tuning : initial;
}

const CopyKernel& chosen_copy(const void* to, const void* from, std::size_t bytes, Audience audience) {
  const auto& rows = copy_tuning().rows[static_cast<std::size_t>(audience)];
  return *rows[static_cast<std::size_t>(copy_alignment(to, from))][std::bit_width(bytes)];
}

}  // namespace corewise::kernels

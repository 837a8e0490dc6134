// Copies of contiguous bytes: every kernel under its own name, and the choice among them.
//
// Contract: a kernel copies `bytes` bytes from `from` to `to`, as memcpy does: any address and any length will do,
// 0 included, the two blocks must not overlap, nothing outside them is read or written. Kernels never fail,
// allocate or block, and what they wrote is visible to whoever sees a later release store of the same thread: those
// that write past the caches end with a fence. A kernel whose instruction set the processor lacks must not be
// called (`available`).
//
// Nothing here knows what is fast, but for one trap: `copy` uses the library's memcpy until it is given a tuning,
// except where the target begins shortly after the source modulo 4 KB. There glibc's string instruction has been
// seen to copy 3 GB/s instead of 50 to 100 (glibc 2.36 on AMD Zen 3 and Zen 4), and a loop of AVX2 as many as
// elsewhere. A tuning is measured on the machine (calibrate.hpp) or read from a file that was
// (docs/formats/copy-tuning.md). Source of `naive`, `read_allocate` and `four_stream`: paper 004, section 3.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace corewise::kernels {

/// As memcpy: returns `to`.
using CopyFunction = void* (*)(void* to, const void* from, std::size_t bytes);

struct CopyKernel {
  std::string_view name;
  std::string_view instructions;  ///< what the processor must have; "any" where nothing
  std::string_view what;          ///< in a line
  bool streams;                   ///< writes past the caches: not for a reader that comes soon
  bool (*available)();            ///< on this processor
  CopyFunction run;               ///< null where the build is for another architecture
};

/// All kernels of all architectures, in the order in which they are shown; those of other architectures are
/// not available. `memcpy` is the first.
std::span<const CopyKernel> copy_kernels();

/// The kernel of that name, null where there is none.
const CopyKernel* find_copy_kernel(std::string_view name);

/// What no copy can do without, each alone, with the widest vectors: loads of the source, stores to the target
/// through the caches, and past them. They have a kernel's form, but copy nothing. A copy takes as long as the
/// loads, and as long as the quicker of the stores, at least.
struct CopyBounds {
  bool (*available)();
  CopyFunction read;
  CopyFunction write;
  CopyFunction write_past;
};

/// Those of this processor; null where the build has no vectors for it.
const CopyBounds* copy_bounds();

/// Who reads the target next.
enum class Audience : std::uint8_t {
  self,             ///< this core, soon
  other_core_soon,  ///< another core: a message
  nobody_soon,      ///< nobody before it has left the caches
};
inline constexpr std::array<std::string_view, 3> audience_names = {"self", "other", "nobody"};

/// How the two addresses lie to each other, which decides what a processor can do at its best.
enum class CopyAlignment : std::uint8_t {
  same,      ///< both at the same place of their 64-byte lines
  shifted,   ///< at different places of their lines
  aliasing,  ///< the target begins less than 1 KB after the source, modulo 4 KB: loads look like they read the
             ///< stores before them
};
inline constexpr std::array<std::string_view, 3> alignment_names = {"same", "shifted", "aliasing"};

CopyAlignment copy_alignment(const void* to, const void* from);

/// Which kernel copies what: for each audience and alignment, one kernel per octave of sizes [2^k, 2^(k+1)).
struct CopyTuning {
  static constexpr std::size_t octaves = 64;  ///< by std::bit_width of the size
  using Row = std::array<const CopyKernel*, octaves + 1>;
  std::array<std::array<Row, alignment_names.size()>, audience_names.size()> rows;

  /// memcpy throughout.
  CopyTuning();
  /// What is in use at the start: memcpy but for the trap.
  static CopyTuning untuned();
  bool operator==(const CopyTuning&) const = default;
};

/// One line: "self.same=memcpy,avx512@2048,memcpy@16384;self.shifted=memcpy;..." Sizes are bytes, powers of two,
/// rising; a kernel serves from its size on; what is left out is memcpy.
std::string format_copy_tuning(const CopyTuning& tuning);

/// None for a text that is not of this form, or names a kernel that is unknown or not available here; `why` says in
/// a few words what is wrong.
std::optional<CopyTuning> parse_copy_tuning(std::string_view text, std::string* why = nullptr);

/// Makes `copy` use it from now on, in all threads. A tuning that has once been set is kept for the life of the
/// process: another thread may be reading it.
void set_copy_tuning(const CopyTuning& tuning);

/// The tuning in use.
const CopyTuning& copy_tuning();

/// Up to here `copy` is inline, whatever the tuning says: a call would cost more than the bytes.
inline constexpr std::size_t copy_inline_limit = 128;

/// The kernel that `copy` runs for a size above `copy_inline_limit`.
const CopyKernel& chosen_copy(const void* to, const void* from, std::size_t bytes, Audience audience);

namespace detail {

/// A tuning as `copy` reads it: by audience and the position of the size's highest bit. Where the kernel depends on
/// the alignment, too, the function here is one that looks at it. Each entry is changed by itself: every kernel
/// copies rightly, whatever the others are. One line of memory is touched per copy, as by a call of memcpy: a copy
/// that just fills the first cache feels a second one.
using CopyEntries = std::array<std::array<CopyFunction, 64>, audience_names.size()>;
[[gnu::visibility("hidden")]] alignas(64) extern CopyEntries copy_entries;

inline std::atomic_ref<CopyFunction> copy_entry(Audience audience, std::size_t bytes) {
  return std::atomic_ref<CopyFunction>(
      copy_entries[static_cast<std::size_t>(audience)][static_cast<std::size_t>(63 - std::countl_zero(bytes))]);
}

/// Meant to stay a word: no load is made of two.
template <class Word>
inline void copy_word(unsigned char* to, const unsigned char* from) {
  Word word;
  std::memcpy(&word, from, sizeof(Word));
  __asm__("" : "+r"(word));
  std::memcpy(to, &word, sizeof(Word));
}

/// From the end: where another core looks at the first cache line until it has a flag, the others are there before
/// it.
template <class Word, std::size_t... Place>
inline void copy_words(unsigned char* to, const unsigned char* from, std::index_sequence<Place...>) {
  constexpr std::size_t end = sizeof...(Place) * sizeof(Word);
  (copy_word<Word>(to + end - (Place + 1) * sizeof(Word), from + end - (Place + 1) * sizeof(Word)), ...);
}

/// `Pairs` words up to the end, and as many from the beginning on: they overlap or meet.
template <class Word, std::size_t Pairs>
inline void copy_from_both_ends(void* to, const void* from, std::size_t bytes) {
  const std::size_t last = bytes - Pairs * sizeof(Word);
  auto* target = static_cast<unsigned char*>(to);
  const auto* source = static_cast<const unsigned char*>(from);
  copy_words<Word>(target + last, source + last, std::make_index_sequence<Pairs>());
  copy_words<Word>(target, source, std::make_index_sequence<Pairs>());
}

}  // namespace detail

/// Copies `kMost` bytes at most, inline, by loads of 8 bytes or less. A wider one that takes what two stores have
/// just written waits until both have left the store buffer, where they may stand behind a line that another core
/// has.
template <std::size_t kMost = copy_inline_limit>
inline void copy_short(void* to, const void* from, std::size_t bytes) {
  static_assert(kMost <= copy_inline_limit);
  if (kMost > 64 && bytes > 64) return detail::copy_from_both_ends<std::uint64_t, 8>(to, from, bytes);
  if (kMost > 32 && bytes > 32) return detail::copy_from_both_ends<std::uint64_t, 4>(to, from, bytes);
  if (kMost > 16 && bytes > 16) return detail::copy_from_both_ends<std::uint64_t, 2>(to, from, bytes);
  if (bytes >= 8) return detail::copy_from_both_ends<std::uint64_t, 1>(to, from, bytes);
  if (bytes >= 4) return detail::copy_from_both_ends<std::uint32_t, 1>(to, from, bytes);
  if (bytes >= 2) return detail::copy_from_both_ends<std::uint16_t, 1>(to, from, bytes);
  if (bytes == 1) *static_cast<unsigned char*>(to) = *static_cast<const unsigned char*>(from);
}

/// Copies by the kernel that the tuning has for this size, alignment and audience.
inline void copy(void* to, const void* from, std::size_t bytes, Audience audience) {
  if (bytes > copy_inline_limit) [[likely]] {
    detail::copy_entry(audience, bytes).load(std::memory_order_acquire)(to, from, bytes);
    return;
  }
  copy_short(to, from, bytes);
}

}  // namespace corewise::kernels

// Addresses: the local store's and the effective address space's, laid out as in the CBE architecture: every SPE
// has an area of 512 KB with its local store first and its problem-state registers at 256 KB; main memory of each
// chip has a range of its own. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace corewise::cell {

using LsAddress = std::uint32_t;
using EffectiveAddress = std::uint64_t;

inline constexpr std::uint32_t kLocalStoreBytes = 256 * 1024;
inline constexpr std::uint32_t kLineBytes = 128;  ///< a bus request, an atomic line
inline constexpr std::uint32_t kMaxDmaBytes = 16 * 1024;
inline constexpr std::uint32_t kMaxListElements = 2048;
inline constexpr std::uint32_t kTags = 32;
inline constexpr int kSpesPerChip = 8;
inline constexpr int kMaxChips = 2;

inline constexpr EffectiveAddress kSpeBase = 0x10000000000;
inline constexpr EffectiveAddress kSpeStride = 0x80000;
inline constexpr EffectiveAddress kProblemState = 0x40000;
/// Offsets in the problem-state area (CBEA, problem state memory map).
inline constexpr std::uint32_t kOutMbox = 0x04004;
inline constexpr std::uint32_t kInMbox = 0x0400C;
inline constexpr std::uint32_t kMboxStat = 0x04014;
inline constexpr std::uint32_t kSignal1 = 0x1400C;
inline constexpr std::uint32_t kSignal2 = 0x1C00C;

inline constexpr EffectiveAddress kMemoryBase = 0x100000000;
inline constexpr EffectiveAddress kMemoryStride = 0x100000000;
/// Behind the chips' memories: memory whose pages lie in the chips' memories by turns, as an operating system that
/// interleaves maps it. Its bytes have a storage of their own; where a line is, for its timing, locate() says.
inline constexpr EffectiveAddress kInterleavedBase = kMemoryBase + kMaxChips * kMemoryStride;
inline constexpr std::uint64_t kPageBytes = 4096;
/// Where in a chip's memory the interleaved pages are.
inline constexpr std::uint64_t kInterleavedOffset = kMemoryStride / 2;

/// Where the local store of an SPE (0 .. 15) begins.
constexpr EffectiveAddress ls_address(int spe) {
  return kSpeBase + static_cast<EffectiveAddress>(spe) * kSpeStride;
}
/// A problem-state register of an SPE.
constexpr EffectiveAddress register_address(int spe, std::uint32_t offset) {
  return ls_address(spe) + kProblemState + offset;
}

/// What an effective address names.
struct Location {
  enum class Kind : std::uint8_t { none, memory, local_store, registers };
  Kind kind = Kind::none;
  int index = 0;             ///< the memory's or the SPE's
  std::uint64_t offset = 0;  ///< in bytes from the start of that memory, local store or problem-state area
};

/// In memory whose pages lie in the chips' memories by turns.
constexpr bool is_interleaved(EffectiveAddress ea) {
  return ea >= kInterleavedBase && ea < kInterleavedBase + kMemoryStride;
}

constexpr Location locate(EffectiveAddress ea) {
  if (ea >= kSpeBase) {
    const EffectiveAddress spe = (ea - kSpeBase) / kSpeStride;
    const EffectiveAddress offset = (ea - kSpeBase) % kSpeStride;
    if (spe >= kSpesPerChip * kMaxChips) return {};
    if (offset < kLocalStoreBytes) return {Location::Kind::local_store, static_cast<int>(spe), offset};
    return {Location::Kind::registers, static_cast<int>(spe), offset - kProblemState};
  }
  if (is_interleaved(ea)) {
    const std::uint64_t page = (ea - kInterleavedBase) / kPageBytes;
    return {Location::Kind::memory, static_cast<int>(page % kMaxChips),
            kInterleavedOffset + page / kMaxChips * kPageBytes + ea % kPageBytes};
  }
  if (ea < kMemoryBase || ea >= kMemoryBase + kMaxChips * kMemoryStride) return {};
  return {Location::Kind::memory, static_cast<int>((ea - kMemoryBase) / kMemoryStride),
          (ea - kMemoryBase) % kMemoryStride};
}

}  // namespace corewise::cell

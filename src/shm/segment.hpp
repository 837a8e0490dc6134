// Segment: how a job lies in a block of shared memory: the words that all ranks share, then each rank's part on
// pages of its own (so that the rank that touches it first has it in its own memory): control lines of 16 bytes,
// each padded so that no two share a cache line, control lines of 128 bytes, the stage. Stages may lie elsewhere:
// a process has one for all the jobs in which it is a rank, as long as it is in one call at a time. Lines that may
// lie together (port::Layout) are padded together, and parts that have no stage then begin on no pages.
//
// A view; the block (zeroed before the first rank begins) must outlive it. Offsets only: every process may have the
// block elsewhere. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "port/types.hpp"

namespace corewise::shm {

/// Two cache lines of x86, which fetches them in pairs.
inline constexpr std::size_t kPaddingBytes = 128;
inline constexpr std::size_t kPageBytes = 4096;

/// A control line as it lies in memory.
template <std::uint32_t kLineBytes>
struct alignas(kLineBytes) LineStorage {
  port::Sequence sequence;
  std::byte payload[kLineBytes - sizeof(port::Sequence)];
};
static_assert(sizeof(LineStorage<16>) == 16 && sizeof(LineStorage<128>) == kPaddingBytes);

class Segment {
 public:
  /// Bytes that a job takes in a block that begins `after_page` bytes after a page's begin; never 0.
  static std::size_t bytes(int ranks, const port::Layout& layout, std::size_t after_page = 0);
  /// Lays a job out over `block`: ranks' parts begin on pages wherever the block begins. Fails where the block is
  /// too small or not on a multiple of kPaddingBytes, or `ranks` is less than 1.
  static Result<Segment> over(std::span<std::byte> block, int ranks, const port::Layout& layout);

  /// The same without stages: stage r is at stages[r], layout.stage_bytes long. `stages` must outlive the segment.
  static std::size_t bytes_of_lines(int ranks, const port::Layout& layout, std::size_t after_page = 0) {
    return bytes(ranks, without_stage(layout), after_page);
  }
  static Result<Segment> of_lines(std::span<std::byte> block, std::span<std::byte* const> stages,
                                  const port::Layout& layout);

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] const port::Layout& layout() const { return layout_; }

  [[nodiscard]] LineStorage<16>& line(int rank, port::Line16 line) const {
    return *reinterpret_cast<LineStorage<16>*>(part(rank) + (std::size_t{line.index} << shift16_));
  }
  [[nodiscard]] LineStorage<128>& line(int rank, port::Line128 line) const {
    return reinterpret_cast<LineStorage<128>*>(part(rank) + lines128_at_)[line.index];
  }
  [[nodiscard]] std::byte* stage(int rank) const {
    return stages_ == nullptr ? part(rank) + stage_at_ : stages_[rank];
  }
  [[nodiscard]] std::uint32_t* word(std::uint32_t index) const {
    return reinterpret_cast<std::uint32_t*>(base_ + index * kPaddingBytes);
  }

 private:
  Segment(std::byte* base, int ranks, const port::Layout& layout);
  static port::Layout without_stage(port::Layout layout) {
    layout.stage_bytes = 0;
    return layout;
  }
  [[nodiscard]] std::byte* part(int rank) const { return parts_ + static_cast<std::size_t>(rank) * part_bytes_; }

  std::byte* base_;
  std::byte* parts_;
  std::size_t part_bytes_;
  std::uint32_t shift16_;  ///< from a line of 16 bytes to the next one, as a power of two
  std::size_t lines128_at_;
  std::size_t stage_at_;
  int ranks_;
  port::Layout layout_;
  std::byte* const* stages_ = nullptr;
};

}  // namespace corewise::shm

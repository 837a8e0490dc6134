// The sizes and the checks of a segment. SPDX-License-Identifier: BSD-3-Clause
#include "shm/segment.hpp"

#include <algorithm>
#include <bit>
#include <string>

namespace corewise::shm {
namespace {

std::size_t round_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}
/// Where parts begin: on pages, but for small ones.
std::size_t alignment(const port::Layout& layout) {
  return layout.lines16_together > 1 && layout.stage_bytes == 0 ? kPaddingBytes : kPageBytes;
}
/// Up to the first part.
std::size_t words_bytes(const port::Layout& layout, std::size_t after_page) {
  return round_up(after_page + layout.atomic_words * kPaddingBytes, alignment(layout)) - after_page;
}
std::size_t after_page(const std::byte* base) {
  return reinterpret_cast<std::uintptr_t>(base) % kPageBytes;
}
std::size_t lines16_bytes(const port::Layout& layout) {
  return round_up(layout.lines16 * kPaddingBytes / layout.lines16_together, kPaddingBytes);
}
std::size_t lines_bytes(const port::Layout& layout) {
  return lines16_bytes(layout) + layout.lines128 * kPaddingBytes;
}
std::size_t part_bytes(const port::Layout& layout) {
  return round_up(lines_bytes(layout) + layout.stage_bytes, alignment(layout));
}

}  // namespace

std::size_t Segment::bytes(int ranks, const port::Layout& layout, std::size_t after_page) {
  // A lone rank's barrier needs no line; a block of no bytes would be no block.
  return std::max(kPageBytes,
                  words_bytes(layout, after_page) + static_cast<std::size_t>(ranks) * part_bytes(layout));
}

Segment::Segment(std::byte* base, int ranks, const port::Layout& layout)
    : base_(base),
      parts_(base + words_bytes(layout, after_page(base))),
      part_bytes_(part_bytes(layout)),
      shift16_(static_cast<std::uint32_t>(std::countr_zero(kPaddingBytes / layout.lines16_together))),
      lines128_at_(lines16_bytes(layout)),
      stage_at_(lines_bytes(layout)),
      ranks_(ranks),
      layout_(layout) {}

Result<Segment> Segment::over(std::span<std::byte> block, int ranks, const port::Layout& layout) {
  if (ranks < 1) return bad_field("segment", "ranks", std::to_string(ranks), "1 or more");
  const std::uint32_t together = layout.lines16_together;
  if (!std::has_single_bit(together) || together > kPaddingBytes / port::Line16::kBytes) {
    return bad_field("segment", "lines16_together", std::to_string(together), "1, 2, 4, 8");
  }
  if (reinterpret_cast<std::uintptr_t>(block.data()) % kPaddingBytes != 0) {
    return bad_field("segment", "block", "an address not aligned", "multiples of " + std::to_string(kPaddingBytes));
  }
  const std::size_t needed = bytes(ranks, layout, after_page(block.data()));
  if (block.size() < needed) {
    return bad_field("segment", "block", std::to_string(block.size()) + " bytes",
                     std::to_string(needed) + " bytes or more");
  }
  return Segment(block.data(), ranks, layout);
}

Result<Segment> Segment::of_lines(std::span<std::byte> block, std::span<std::byte* const> stages,
                                  const port::Layout& layout) {
  Result<Segment> lines = over(block, static_cast<int>(stages.size()), without_stage(layout));
  if (!lines.ok()) return lines;
  Segment segment = lines.value();
  segment.layout_ = layout;
  segment.stages_ = stages.data();
  return segment;
}

}  // namespace corewise::shm

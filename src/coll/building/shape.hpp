// Shape: what the collectives take of a port, and where: buffers in the stage, arrays of control lines that have an
// entry per peer (paper 001, section 4: the metadata array), tags. Equal on all ranks.
//
// The lines of 16 bytes, in this order: the closing barrier's steps; then arrays of one entry per rank, entry i
// being written by rank i only: the barriers' own metadata, announcements, acknowledgements, acknowledgements of
// eager messages; then the eager slots. The lines of 128 bytes are eager slots.
//
// Tags: a line has one writer, which must always use the same tag for it; so the tag is a function of the reader.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "port/types.hpp"

namespace corewise::coll {

/// Bytes of the stage kept for copies whose two places are not congruent.
inline constexpr std::uint32_t kBounceBytes = 256;
/// The closing barrier's partners and number.
inline constexpr std::uint32_t kClosingBarrierBytes = 160;
inline constexpr int kMostRanks = 256;
/// Lines of the closing barrier, which has at most seven steps on so many ranks. The eighth line is the one by
/// which rank 0 releases all at once by a DMA list; more ranks have more lines, and no lists.
inline constexpr std::uint32_t kClosingLines = 8;
inline constexpr std::uint32_t kReleaseLine = kClosingLines - 1;
inline constexpr int kMostRanksWithLists = 64;

struct Shape {
  int ranks = 1;
  std::uint32_t buffer_bytes = 16 * 1024;  ///< of each buffer; a multiple of 128; all together at least 512
  int buffers = 2;                         ///< 1 .. 4
  std::uint32_t eager_slots = 0;           ///< messages that a peer may be behind in reading; 0 or a power of two
  bool eager_lines128 = false;             ///< slots of 128 bytes beside those of 16
  std::uint32_t atomic_words = 0;          ///< 2 for the barrier by atomic increments

  friend bool operator==(const Shape&, const Shape&) = default;

  /// The paper's: two buffers of 16 KB, entries of 16 bytes.
  static constexpr Shape paper(int ranks) {
    Shape shape;
    shape.ranks = ranks;
    return shape;
  }
  /// With eager slots: two for each peer, of 16 and of 128 bytes; two buffers of 14 KB fit beside them.
  static constexpr Shape eager(int ranks) {
    Shape shape;
    shape.ranks = ranks;
    shape.buffer_bytes = 14 * 1024;
    shape.eager_slots = 2;
    shape.eager_lines128 = true;
    return shape;
  }

  [[nodiscard]] constexpr std::uint32_t peers() const { return static_cast<std::uint32_t>(ranks); }
  /// Where arrays of lines begin.
  [[nodiscard]] constexpr std::uint32_t barrier_lines() const {
    return ranks <= kMostRanksWithLists ? kClosingLines : 2 * kClosingLines;
  }
  [[nodiscard]] constexpr std::uint32_t announcements() const { return barrier_lines() + peers(); }
  [[nodiscard]] constexpr std::uint32_t acknowledgements() const { return announcements() + peers(); }
  [[nodiscard]] constexpr std::uint32_t eager_acknowledgements() const { return acknowledgements() + peers(); }
  [[nodiscard]] constexpr std::uint32_t eager_lines() const {
    return eager_acknowledgements() + (eager_slots > 0 ? peers() : 0);
  }
  /// Where the bytes for incongruent copies are, after the buffers.
  [[nodiscard]] constexpr std::uint32_t bounce() const {
    return buffer_bytes * static_cast<std::uint32_t>(buffers);
  }

  [[nodiscard]] constexpr port::Layout layout() const {
    const std::uint32_t slots = peers() * eager_slots;
    return {bounce() + kBounceBytes, eager_lines() + slots, eager_lines128 ? slots : 0, atomic_words};
  }
  /// What a Rank keeps beside the layout, which counts against a local store's budget too: a number per peer told
  /// and heard in each of three arrays, four per peer with eager slots, the closing barrier.
  [[nodiscard]] constexpr std::uint32_t counter_bytes() const {
    const std::uint32_t numbers = eager_slots > 0 ? 6 + 4 : 6;
    return peers() * numbers * static_cast<std::uint32_t>(sizeof(port::Sequence)) + kClosingBarrierBytes;
  }
  /// The longest element of an operator that every reduction has room for: no algorithm cuts the buffers into more
  /// than four areas. One that eager messages carry needs no area.
  [[nodiscard]] constexpr std::uint32_t most_element_bytes() const {
    return bounce() / 4 / port::kStageAlignment * port::kStageAlignment;
  }
  /// The longest eager message: what a line of 128 and a line of 16 bytes carry beside their numbers.
  [[nodiscard]] constexpr std::uint32_t eager_bytes() const {
    if (eager_slots == 0) return 0;
    return port::Line16::kPayloadBytes + (eager_lines128 ? port::Line128::kPayloadBytes : 0);
  }
};

/// Announcements, acknowledgements, the barriers' own metadata, and eager lines of 128 bytes for this reader.
constexpr port::Tag metadata_tag(int peer) {
  return static_cast<port::Tag>(peer) % 16;
}
/// Eager lines of 16 bytes for this reader. Those to readers 0 to 9 may share a tag with the closing barrier, those
/// to readers 10 to 15 with the list, the bounce area and the buffers' copies (below). That is right: a tag only
/// adds order, a line's tag stays the same, and who waits for copies waits for such lines too, which complete by
/// themselves. It costs those six readers' writers a little where an eager message follows a copy at once.
constexpr port::Tag second_tag(int peer) {
  return 16 + static_cast<port::Tag>(peer) % 16;
}
/// Copies into and out of buffer `buffer` (0 .. 3). The closing barrier has tags from 16 on.
constexpr port::Tag buffer_tag(int buffer) {
  return 28 + static_cast<port::Tag>(buffer);
}
inline constexpr port::Tag kReleaseTag = 26;
inline constexpr port::Tag kBounceTag = 27;
inline constexpr port::Tag kClosingTag = 16;

}  // namespace corewise::coll

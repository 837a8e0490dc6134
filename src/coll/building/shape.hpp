// Shape: what the collectives take of a port, and where: buffers in the stage, arrays of control lines that have an
// entry per peer (paper 001, section 4: the metadata array), tags. Equal on all ranks.
//
// The lines of 16 bytes, in this order: the closing barrier's steps; then arrays of one entry per rank, entry i
// being written by rank i only: the barriers' own metadata, announcements, acknowledgements, acknowledgements of
// eager messages; then the eager slots. The lines of 128 bytes are eager slots, then runs of eager messages.
//
// With lines for partners alone (building/partners.hpp) a rank has entries for those only. The entries of all
// arrays for one partner, and its eager slots, lie together: one rank writes them all.
//
// Tags: a line has one writer, which must always use the same tag for it; so the tag is a function of the reader.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
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

/// Between whom there are control lines.
enum class Lines : std::uint8_t {
  all,      ///< every two ranks: quadratic in the ranks
  partners  ///< building/partners.hpp
};
/// Arrays of 16-byte lines with an entry per peer, beside the eager slots.
inline constexpr std::uint32_t kArrays = 4;

/// The most partners that any of so many ranks has: two for each power of two below, but one for half of an even
/// power; and those of the fold where the number is no power of two.
constexpr std::uint32_t partner_entries(int ranks) {
  if (ranks < 2) return 0;
  const auto others = static_cast<unsigned>(ranks) - 1;
  const auto steps = static_cast<std::uint32_t>(std::bit_width(others));
  const std::uint32_t most = std::has_single_bit(static_cast<unsigned>(ranks)) ? 2 * steps - 1 : 3 * steps - 1;
  return std::min<std::uint32_t>(most, others);
}

struct Shape {
  int ranks = 1;
  std::uint32_t buffer_bytes = 16 * 1024;  ///< of each buffer; a multiple of 128; all together at least 512
  int buffers = 2;                         ///< 1 .. 4
  std::uint32_t eager_slots = 0;           ///< messages that a peer may be behind in reading; 0 or a power of two
  std::uint32_t eager_lines128 = 0;        ///< lines of 128 bytes of a slot, beside that of 16
  std::uint32_t eager_run_bytes = 0;       ///< of a run (port::LineRuns) for a longer message; a multiple of 128
  std::uint32_t atomic_words = 0;          ///< 2 for the barrier by atomic increments
  Lines lines = Lines::all;

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
    shape.eager_lines128 = 1;
    return shape;
  }

  [[nodiscard]] constexpr bool all_pairs() const { return lines == Lines::all; }
  /// Entries of an array.
  [[nodiscard]] constexpr std::uint32_t peers() const {
    return all_pairs() ? static_cast<std::uint32_t>(ranks) : partner_entries(ranks);
  }
  /// Lines of 16 bytes from an entry to the next one.
  [[nodiscard]] constexpr std::uint32_t entry_step() const { return all_pairs() ? 1 : bundle(); }
  /// The same of eager slots.
  [[nodiscard]] constexpr std::uint32_t slots_step() const { return all_pairs() ? eager_slots : bundle(); }
  /// Where arrays of lines begin.
  [[nodiscard]] constexpr std::uint32_t barrier_lines() const {
    return ranks <= kMostRanksWithLists ? kClosingLines : 2 * kClosingLines;
  }
  [[nodiscard]] constexpr std::uint32_t announcements() const { return barrier_lines() + array_step(); }
  [[nodiscard]] constexpr std::uint32_t acknowledgements() const { return announcements() + array_step(); }
  [[nodiscard]] constexpr std::uint32_t eager_acknowledgements() const { return acknowledgements() + array_step(); }
  [[nodiscard]] constexpr std::uint32_t eager_lines() const {
    return eager_acknowledgements() + (eager_slots > 0 ? array_step() : 0);
  }
  /// Where the bytes for incongruent copies are, after the buffers.
  [[nodiscard]] constexpr std::uint32_t bounce() const {
    return buffer_bytes * static_cast<std::uint32_t>(buffers);
  }

  /// Runs for each peer: so many long messages it may be behind. More are not needed: a reader acknowledges when
  /// half of the slots are read, and in an exchange all but the last are.
  [[nodiscard]] constexpr std::uint32_t eager_runs() const {
    return eager_run_bytes > 0 ? std::min(eager_slots, std::max(2U, eager_slots / 2)) : 0;
  }
  /// Lines of 128 bytes of a run, and the first of all.
  [[nodiscard]] constexpr std::uint32_t run_lines() const { return eager_run_bytes / port::Line128::kBytes; }
  [[nodiscard]] constexpr std::uint32_t first_run() const { return peers() * eager_slots * eager_lines128; }

  [[nodiscard]] constexpr port::Layout layout() const {
    const std::uint32_t slots = peers() * eager_slots;
    const std::uint32_t lines128 = first_run() + peers() * eager_runs() * run_lines();
    const std::uint32_t lines16 = all_pairs() ? eager_lines() + slots : barrier_lines() + peers() * bundle();
    return {bounce() + kBounceBytes, lines16, lines128, atomic_words, all_pairs() ? 1 : kTogether};
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
  /// What the lines of a slot carry beside their numbers.
  [[nodiscard]] constexpr std::uint32_t eager_slot_bytes() const {
    if (eager_slots == 0) return 0;
    return port::Line16::kPayloadBytes + eager_lines128 * port::Line128::kPayloadBytes;
  }
  /// The longest eager message.
  [[nodiscard]] constexpr std::uint32_t eager_bytes() const {
    return std::max(eager_slot_bytes(), eager_run_bytes);
  }
  /// Trees keep to partners: with lines for those alone none has a greater degree than 2.
  [[nodiscard]] constexpr int tree_degree(int wanted) const { return all_pairs() ? wanted : std::min(wanted, 2); }

 private:
  /// So many lines of one writer lie together: a line of 128 bytes.
  static constexpr std::uint32_t kTogether = port::Line128::kBytes / port::Line16::kBytes;

  /// The lines of 16 bytes that one partner writes, and what fills them up.
  [[nodiscard]] constexpr std::uint32_t bundle() const {
    return (kArrays + eager_slots + kTogether - 1) / kTogether * kTogether;
  }
  /// From an array's first line to that of the next one.
  [[nodiscard]] constexpr std::uint32_t array_step() const { return all_pairs() ? peers() : 1; }
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

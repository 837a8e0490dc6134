// The table of packing: is a message with a non-contiguous type packed by us, or left to the MPI?
//
// What decides: an MPI's engine is slow where contiguous runs are short, and good where they are long. Where each
// begins depends on the MPI, the processor, the size of the message, and on whether the data lie close together. So
// it is a table, measured and shipped (docs/formats/packing-tuning.md): messages of up to so many bytes are packed
// where their mean run lies in one of some ranges. Paper 004, section 4 found one such crossing, at 2 KB.
//
// Contract: pure functions, nothing fails but reading a text.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corewise::kernels {

/// What is to be done: a message sent, or received, each side of which decides for itself; MPI_Pack, MPI_Unpack.
enum class PackingUse : std::uint8_t { send, receive, pack, unpack };
inline constexpr std::array<std::string_view, 4> kPackingUses = {"send", "receive", "pack", "unpack"};

/// How close together the data lie: `sparse` where a block has a page, or little of a line, for itself.
enum class PackingLines : std::uint8_t { dense, sparse };

/// Dense: a line of 64 bytes that holds data holds at least `kDenseLine` of it, and a page of 4096 bytes more than
/// `kDensePage` lines.
inline constexpr double kDenseLine = 0.25, kDensePage = 4;

/// Mean lengths of runs, in bytes: from `least` to `most`, both included.
struct PackingRuns {
  std::int64_t least = 0;
  std::int64_t most = 0;
  bool operator==(const PackingRuns&) const = default;
};

/// Messages of up to `bytes` are packed where their mean run is in one of `runs`, which rise and do not touch.
struct PackingRow {
  std::int64_t bytes = 0;
  std::vector<PackingRuns> runs;
  bool operator==(const PackingRow&) const = default;
};

/// Rows by rising bytes, by use and closeness. Messages larger than the last row, and uses without a row, are left
/// to the MPI.
struct PackingTable {
  using Rows = std::vector<PackingRow>;
  std::array<std::array<Rows, 2>, kPackingUses.size()> rows;
  bool operator==(const PackingTable&) const = default;
};

/// What is asked about a message.
struct PackedMessage {
  std::int64_t bytes = 0;  ///< of data
  double mean_run = 0;     ///< bytes
  double line_density = 1;
  double pages_per_line = 0;
};

PackingLines packing_lines(const PackedMessage& message);
/// Whether the rows of a use pack a message.
bool packed_by_us(const PackingTable& table, PackingUse use, const PackedMessage& message);

/// The row that decides about a message, as `explain` shows it, e.g. "send: up to 32768 B, runs of at most 512 B,
/// or 4096 to 8192 B".
std::string packing_reason(const PackingTable& table, PackingUse use, const PackedMessage& message);

/// Reads a table in one line, without spaces: "send=512:0,32768:512+4096-8192;send.sparse=32768:64;pack=...".
/// Each row is BYTES:RANGES; a range is LEAST-MOST, or MOST alone for one from nothing on; 0 is no range. Uses may
/// be missing. Nothing for anything else: unknown or repeated names, numbers that are none or negative, bytes or
/// ranges that do not rise.
std::optional<PackingTable> parse_packing_table(std::string_view text);

}  // namespace corewise::kernels

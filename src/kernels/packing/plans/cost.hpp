// The cost model of packing: is a message with a non-contiguous type packed by us, or left to the MPI?
//
// What decides: an MPI's engine is slow where contiguous runs are short, and good where they are long; from some
// length on it moves the runs themselves and saves a copy, until its fragments are worth less again. Where each of
// that begins and ends depends on the MPI, the host, the size of the message, the direction, and on whether the
// data lie close together. So it is a table, measured and not assumed: messages of up to so many bytes are packed
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

/// What is to be done with the packed bytes. `send`, `receive`: a message whose other side is contiguous; `both`:
/// a side of one whose other side has gaps too.
enum class PackingUse : std::uint8_t { send, receive, both, pack, unpack };
inline constexpr std::array<std::string_view, 5> kPackingUses = {"send", "receive", "both", "pack", "unpack"};

/// What one side of a message knows of the other's memory.
enum class OtherSide : std::uint8_t { unknown, contiguous, strided };

/// How close together the data lie: `sparse` where a block has a page, or a fraction of a line, for itself.
enum class PackingLines : std::uint8_t { dense, sparse };

/// Dense: a line of 64 bytes that holds data holds at least `kDenseLine` of it, and a page of 4096 bytes more than
/// `kDensePage` lines.
inline constexpr double kDenseLine = 0.25, kDensePage = 4;
PackingLines packing_lines(double line_density, double pages_per_line);

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
/// to the MPI; sparse messages are decided as dense ones where a use has no rows for them.
struct PackingCosts {
  using Rows = std::vector<PackingRow>;
  std::array<std::array<Rows, 2>, kPackingUses.size()> rows;
  std::int64_t rotate = 0;       ///< bytes over which buffers of sent messages take turns; 0: the same one again
  std::int64_t rotate_from = 0;  ///< bytes of the smallest message whose buffers do

  const Rows& of(PackingUse use, PackingLines lines) const {
    const auto& both = rows[static_cast<std::size_t>(use)];
    return both[1].empty() ? both[0] : both[static_cast<std::size_t>(lines)];
  }
  bool operator==(const PackingCosts&) const = default;
};

/// What is asked about a message.
struct PackedMessage {
  std::int64_t bytes = 0;  ///< of data
  double mean_run = 0;     ///< bytes
  PackingLines lines = PackingLines::dense;
};

/// Whether the rows of a use pack a message.
bool packed_by_us(const PackingCosts& costs, PackingUse use, const PackedMessage& message);

/// Whether a side of a message, `send` or `receive`, packs it. Where the other side is not known, it does where
/// that is right with either.
bool side_packs(const PackingCosts& costs, PackingUse side, OtherSide other, const PackedMessage& message);

/// The row that decides about a message, as `explain` shows it, e.g. "send: up to 32768 B, runs of at most 512 B,
/// or 4096 to 8192 B".
std::string packing_reason(const PackingCosts& costs, PackingUse use, const PackedMessage& message);

/// One line, no spaces: "send=512:0,32768:512+4096-8192;send.sparse=32768:64;receive=...;rotate=1048576:4096". Each
/// row is BYTES:RANGES, `rotate` is BYTES:FROM; a range is LEAST-MOST, or MOST alone for one from nothing on; 0 is
/// no range.
std::string packing_text(const PackingCosts& costs);

/// Reads what `packing_text` writes; uses may be missing. Nothing for anything else: unknown or repeated names,
/// numbers that are none or negative, bytes or ranges that do not rise, sparse rows of a use without others.
std::optional<PackingCosts> parse_packing_costs(std::string_view text);

/// One measurement: how long the MPI and we take for the same message, in any unit.
struct PackingSample {
  std::int64_t bytes = 0;
  std::int64_t run = 0;
  double theirs = 0;
  double ours = 0;
};

/// Rows out of measurements: for every size the ranges of neighbouring runs at which theirs is at least `gain`
/// times ours. The shortest measured run stands for shorter ones, the largest size for larger ones up to
/// `most_bytes`.
std::vector<PackingRow> packing_rows(const std::vector<PackingSample>& samples, double gain,
                                     std::int64_t most_bytes);

}  // namespace corewise::kernels

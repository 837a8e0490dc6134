// The cost model of packing: is a message with a non-contiguous type packed by us, or left to the MPI?
//
// What decides: an MPI's engine is slow where contiguous runs are short, and good where they are long; from some
// length on it moves the runs themselves and saves a copy. That length depends on the MPI, the host, the size of
// the message and the direction, so it is a table, measured and not assumed: up to so many bytes, what has mean
// runs of up to so many bytes is packed. Paper 004, section 4 found such a crossing at 2 KB.
//
// Contract: pure functions, nothing fails but reading a text. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corewise::kernels {

/// What is to be done with the packed bytes.
enum class PackingUse : std::uint8_t { send, receive, pack, unpack };
inline constexpr std::array<std::string_view, 4> kPackingUses = {"send", "receive", "pack", "unpack"};

/// Messages of up to `bytes` are packed where their mean run is at most `run` bytes.
struct PackingCrossing {
  std::int64_t bytes = 0;
  std::int64_t run = 0;
  bool operator==(const PackingCrossing&) const = default;
};

/// By use: crossings by rising bytes. Messages larger than the last, and uses without a row, are left to the MPI.
struct PackingCosts {
  std::array<std::vector<PackingCrossing>, kPackingUses.size()> crossings;
  bool operator==(const PackingCosts&) const = default;
};

/// Whether a message of `bytes` data bytes in runs of `mean_run` bytes is packed by us.
bool packed_by_us(const PackingCosts& costs, PackingUse use, std::int64_t bytes, double mean_run);

/// The row that decides about a message, as `explain` shows it, e.g. "send: up to 32768 B, runs of at most 512 B".
std::string packing_reason(const PackingCosts& costs, PackingUse use, std::int64_t bytes);

/// One line, no spaces: "send=512:0,32768:512;receive=32768:256;pack=...;unpack=...", each BYTES:RUN.
std::string packing_text(const PackingCosts& costs);

/// Reads what `packing_text` writes; uses may be missing. Nothing for anything else: unknown or repeated uses,
/// numbers that are none or negative, bytes that do not rise.
std::optional<PackingCosts> parse_packing_costs(std::string_view text);

/// One measurement: how long the MPI and we take for the same message, in any unit.
struct PackingSample {
  std::int64_t bytes = 0;
  std::int64_t run = 0;
  double theirs = 0;
  double ours = 0;
};

/// Crossings out of measurements: for every size the length of runs up to which packing all messages gains most, by
/// the product of theirs / (gain * ours). The largest size stands for all larger ones up to `most_bytes`.
std::vector<PackingCrossing> crossings_of(const std::vector<PackingSample>& samples, double gain,
                                          std::int64_t most_bytes);

}  // namespace corewise::kernels

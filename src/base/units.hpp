// Quantities as people write them: a number with its unit, "100 ns", "64 KiB", "25.6 GB/s".
//
// Contract: a quantity without a unit is refused, and so are signs, exponents and unknown units; blanks between
// number and unit are optional; units are spelt exactly as listed here. KB = 1000 bytes, KiB = 1024 bytes. A failed
// parse is one `bad_field` message built from `source` and `field`. What format_* writes, parse_* reads back.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace corewise {

/// Units ps, ns, us, ms, s. Result in nanoseconds, zero allowed.
Result<double> parse_time_ns(std::string_view text, std::string_view source = {}, std::string_view field = "time");

/// Units B, KB, MB, GB, TB, KiB, MiB, GiB, TiB. A fraction is legal when the result is a whole number of bytes.
Result<std::uint64_t> parse_size_bytes(std::string_view text, std::string_view source = {},
                                       std::string_view field = "size");

/// The units of a size followed by "/s". Result in 1e9 bytes per second, that is bytes per nanosecond.
Result<double> parse_bandwidth_gb_per_s(std::string_view text, std::string_view source = {},
                                        std::string_view field = "bandwidth");

/// In the largest unit that leaves a number of at least one: 1500 -> "1.5 us".
std::string format_time(double time_ns);

/// In the largest binary unit that divides it: 65536 -> "64 KiB", 1000 -> "1000 B".
std::string format_size(std::uint64_t size_bytes);

/// In the largest decimal unit that leaves a number of at least one: 25.6 -> "25.6 GB/s".
std::string format_bandwidth(double bandwidth_gb_per_s);

}  // namespace corewise

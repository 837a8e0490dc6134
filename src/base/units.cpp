// Reads and writes quantities (units.hpp). Numbers are read as digits and a power of ten, never through a binary
// fraction, so that "1.1 KB" is exactly 1100 bytes and the same text gives the same value everywhere.
// SPDX-License-Identifier: BSD-3-Clause
#include "base/units.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <span>

namespace corewise {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t scale;  ///< in picoseconds or bytes
};

constexpr std::array<Unit, 5> kTimeUnits{
    {{"ps", 1}, {"ns", 1'000}, {"us", 1'000'000}, {"ms", 1'000'000'000}, {"s", 1'000'000'000'000}}};

constexpr std::array<Unit, 9> kSizeUnits{{{"B", 1},
                                          {"KB", 1'000},
                                          {"MB", 1'000'000},
                                          {"GB", 1'000'000'000},
                                          {"TB", 1'000'000'000'000},
                                          {"KiB", std::uint64_t{1} << 10},
                                          {"MiB", std::uint64_t{1} << 20},
                                          {"GiB", std::uint64_t{1} << 30},
                                          {"TiB", std::uint64_t{1} << 40}}};

constexpr std::string_view kTimeAllowed = "a time with its unit (ps, ns, us, ms, s), such as '100 ns'";
constexpr std::string_view kSizeAllowed =
    "a whole number of bytes with its unit (B, KB, MB, GB, TB = powers of 1000; KiB, MiB, GiB, TiB = powers of "
    "1024), such as '64 KiB'";
constexpr std::string_view kBandwidthAllowed =
    "a bandwidth with its unit (a size unit and '/s'), such as '25.6 GB/s'";

/// digits / 10^decimals of `scale`.
struct Quantity {
  std::uint64_t digits = 0;
  int decimals = 0;
  std::uint64_t scale = 1;
};

constexpr int kMaxDigits = 18;  // 18 digits fit 64 bits; times 2^40 they fit 128

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes "12" or "12.5" off the front of `text`.
std::optional<Quantity> take_number(std::string_view& text) {
  Quantity number;
  int digits = 0;
  bool fraction = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '.' && !fraction && digits > 0) {
      fraction = true;
      continue;
    }
    if (!is_digit(text[at])) break;
    if (++digits > kMaxDigits) return std::nullopt;
    number.digits = number.digits * 10 + static_cast<std::uint64_t>(text[at] - '0');
    number.decimals += fraction ? 1 : 0;
  }
  if (digits == 0 || !is_digit(text[at - 1])) return std::nullopt;
  text.remove_prefix(at);
  return number;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<Quantity> parse(std::string_view text, std::span<const Unit> units, std::string_view suffix) {
  text = trim(text);
  auto quantity = take_number(text);
  if (!quantity) return std::nullopt;
  text = trim(text);
  if (!text.ends_with(suffix)) return std::nullopt;
  text.remove_suffix(suffix.size());
  for (const Unit& unit : units) {
    if (text != unit.name) continue;
    quantity->scale = unit.scale;
    return quantity;
  }
  return std::nullopt;
}

double power_of_ten(int exponent) {
  double power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

/// In units of `base`, one rounding per operation.
double value_in(const Quantity& quantity, double base) {
  const double number = static_cast<double>(quantity.digits) / power_of_ten(quantity.decimals);
  const auto scale = static_cast<double>(quantity.scale);
  return scale >= base ? number * (scale / base) : number / (base / scale);
}

std::optional<std::uint64_t> whole_value(const Quantity& quantity) {
  using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(quantity.digits) * quantity.scale;
  for (int i = 0; i < quantity.decimals; ++i) {
    if (product % 10 != 0) return std::nullopt;
    product /= 10;
  }
  if (product > std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
  return static_cast<std::uint64_t>(product);
}

Status refusal(std::string_view text, std::string_view source, std::string_view field, std::string_view allowed) {
  return bad_field(source, field, "'" + std::string(text) + "'", allowed);
}

/// Shortest decimal digits that read back as the same number, without an exponent.
std::string shortest(double value) {
  std::array<char, 400> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  return {buffer.data(), end.ptr};
}

struct Step {
  std::string_view name;
  double scale;
};

std::string format_scaled(double value, std::span<const Step> largest_first) {
  for (const Step& step : largest_first) {
    if (value >= step.scale) return shortest(value / step.scale).append(" ").append(step.name);
  }
  const Step& smallest = largest_first.back();
  return shortest(value / smallest.scale).append(" ").append(smallest.name);
}

}  // namespace

Result<double> parse_time_ns(std::string_view text, std::string_view source, std::string_view field) {
  const auto quantity = parse(text, kTimeUnits, "");
  if (!quantity) return refusal(text, source, field, kTimeAllowed);
  return value_in(*quantity, 1e3);
}

Result<std::uint64_t> parse_size_bytes(std::string_view text, std::string_view source, std::string_view field) {
  const auto quantity = parse(text, kSizeUnits, "");
  const auto bytes = quantity ? whole_value(*quantity) : std::nullopt;
  if (!bytes) return refusal(text, source, field, kSizeAllowed);
  return *bytes;
}

Result<double> parse_bandwidth_gb_per_s(std::string_view text, std::string_view source, std::string_view field) {
  const auto quantity = parse(text, kSizeUnits, "/s");
  if (!quantity) return refusal(text, source, field, kBandwidthAllowed);
  return value_in(*quantity, 1e9);
}

std::string format_time(double time_ns) {
  static constexpr std::array<Step, 5> steps{{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"ps", 1e-3}}};
  return time_ns == 0 ? "0 ns" : format_scaled(time_ns, steps);
}

std::string format_size(std::uint64_t size_bytes) {
  static constexpr std::array<std::string_view, 5> names{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < names.size() && size_bytes != 0 && size_bytes % 1024 == 0) {
    size_bytes /= 1024;
    ++unit;
  }
  return std::to_string(size_bytes).append(" ").append(names[unit]);
}

std::string format_bandwidth(double bandwidth_gb_per_s) {
  static constexpr std::array<Step, 5> steps{
      {{"TB/s", 1e3}, {"GB/s", 1}, {"MB/s", 1e-3}, {"KB/s", 1e-6}, {"B/s", 1e-9}}};
  return bandwidth_gb_per_s == 0 ? "0 GB/s" : format_scaled(bandwidth_gb_per_s, steps);
}

}  // namespace corewise

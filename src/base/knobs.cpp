// Reading knobs from the environment: the only place that calls getenv.
// SPDX-License-Identifier: BSD-3-Clause
#include "base/knobs.hpp"

#include <cctype>
#include <charconv>
#include <cstdlib>

#include "base/units.hpp"

namespace corewise {
namespace {

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

struct Range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// "MIN..MAX" in bytes, as the table of knobs writes it.
Range parse_range(std::string_view text) {
  Range range;
  const std::size_t dots = text.find("..");
  std::from_chars(text.data(), text.data() + dots, range.low);
  std::from_chars(text.data() + dots + 2, text.data() + text.size(), range.high);
  return range;
}

}  // namespace

std::string environment_name(const Knob& knob) {
  std::string name = "COREWISE_";
  for (const char c : knob.name) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::string_view knob_text(const Knob& knob) {
  const char* value = std::getenv(environment_name(knob).c_str());
  return value != nullptr ? std::string_view(value) : knob.default_value;
}

std::string_view launcher_text(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? std::string_view(value) : std::string_view{};
}

Status read_choice(const Knob& knob, int& choice) {
  const std::string_view value = knob_text(knob);
  std::string_view rest = knob.allowed;
  for (int index = 0; !rest.empty(); ++index) {
    const std::size_t bar = rest.find('|');
    if (rest.substr(0, bar) == value) {
      choice = index;
      return {};
    }
    rest = bar == std::string_view::npos ? std::string_view{} : rest.substr(bar + 1);
  }
  return bad_field("environment", environment_name(knob), quoted(value), knob.allowed);
}

Status read_size(const Knob& knob, std::uint64_t& bytes) {
  const std::string_view value = knob_text(knob);
  const std::string name = environment_name(knob);
  const Result<std::uint64_t> parsed = parse_size_bytes(value, "environment", name);
  if (!parsed.ok()) return parsed.status();
  const Range range = parse_range(knob.allowed);
  if (parsed.value() < range.low || parsed.value() > range.high)
    return bad_field("environment", name, quoted(value), format_size(range.low) + " to " + format_size(range.high));
  bytes = parsed.value();
  return {};
}

}  // namespace corewise

// The command line of the programs in apps/: a table of options, each with a reader for its value, and the
// usage text made from the same table.
//
// Parsing depends on nothing but the arguments and decides the same on every rank, so that all ranks agree on an
// error without a message. Nothing here prints or exits.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace arguments {

constexpr int kStatusFailed = 1;  ///< the program ran and its check failed
constexpr int kStatusUsage = 2;   ///< what the user gave is wrong

struct Option {
  std::string_view name;     ///< with its dashes
  std::string_view value;    ///< placeholder of the value, empty for a flag
  std::string_view allowed;  ///< what it means and which values it takes: usage text and error message
  std::function<bool(std::string_view)> set;  ///< false: the value is not allowed
};

/// Reads all of `text` as one number in [lowest, highest]; leaves `out` alone otherwise.
template <class Number>
bool read_number(std::string_view text, Number lowest, Number highest, Number& out) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  if (!(number >= lowest && number <= highest)) return false;  // so that NaN is refused too
  out = number;
  return true;
}

/// Reads integers in [lowest, highest] with `separator` between them, e.g. 8x8x8 or 0,2,1.
inline std::optional<std::vector<int>> read_list(std::string_view text, char separator, int lowest, int highest) {
  std::vector<int> numbers;
  for (;;) {
    const std::size_t end = text.find(separator);
    int number = 0;
    if (!read_number(text.substr(0, end), lowest, highest, number)) return std::nullopt;
    numbers.push_back(number);
    if (end == std::string_view::npos) return numbers;
    text.remove_prefix(end + 1);
  }
}

inline std::string names_of(std::span<const Option> options) {
  std::string names;
  for (const Option& option : options) names.append(names.empty() ? "" : ", ").append(option.name);
  return names;
}

inline std::string usage(std::string_view program, std::span<const Option> options) {
  std::string text = "usage: " + std::string(program) + " [options]\n";
  for (const Option& option : options) {
    text.append("  ").append(option.name).append(option.value.empty() ? "" : " ").append(option.value);
    text.append("\n      ").append(option.allowed).append("\n");
  }
  return text;
}

/// Sets what `--name value`, `--name=value` and `--flag` say, left to right; the first error, if any.
inline std::optional<std::string> parse(std::span<const Option> options, std::span<char* const> words) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string_view word = words[at];
    const std::size_t equals = word.find('=');
    const std::string name(word.substr(0, equals));
    const auto option =
        std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.name == name; });
    if (option == options.end()) return "unknown option '" + name + "', known are " + names_of(options);
    const bool attached = equals != std::string_view::npos;
    if (option->value.empty() && attached) return name + ": takes no value";
    std::string_view value = attached ? word.substr(equals + 1) : "";
    if (!option->value.empty() && !attached) {
      if (++at == words.size()) return name + ": a value is missing; allowed: " + std::string(option->allowed);
      value = words[at];
    }
    if (!option->set(value)) {
      return name + ": found '" + std::string(value) + "'; allowed: " + std::string(option->allowed);
    }
  }
  return std::nullopt;
}

}  // namespace arguments

// The one-line form of a copy tuning.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <charconv>

#include "kernels/copy/copy.hpp"

namespace corewise::kernels {
namespace {

/// What stands before `mark`, and `text` goes on behind it; all of it where there is none.
std::string_view take(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return taken;
}

template <std::size_t N>
std::optional<std::size_t> index_of(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

std::string quoted(std::string_view text) {
  std::string marked;
  return marked.append("'").append(text).append("'");
}

/// The octave in which a step begins: 0 without a size.
std::optional<std::size_t> octave_of(std::string_view size, std::string& why) {
  if (size.empty()) return 0;
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), bytes);
  if (error != std::errc{} || end != size.data() + size.size() || !std::has_single_bit(bytes)) {
    why = "found size " + quoted(size) + ", allowed: a power of two, in bytes";
    return std::nullopt;
  }
  return static_cast<std::size_t>(std::bit_width(bytes));
}

const CopyKernel* kernel_here(std::string_view name, std::string& why) {
  const CopyKernel* kernel = find_copy_kernel(name);
  if (kernel == nullptr) {
    why = "found copy kernel " + quoted(name) + ", allowed:";
    for (const CopyKernel& known : copy_kernels()) why.append(" ").append(known.name);
    return nullptr;
  }
  if (!kernel->available()) {
    why = "found copy kernel " + quoted(name) + ", which needs " + std::string(kernel->instructions) +
          ", allowed: kernels that this processor can run";
    return nullptr;
  }
  return kernel;
}

bool parse_row(std::string_view steps, CopyTuning::Row& row, std::string& why) {
  std::size_t last = 0;
  for (bool first = true; first || !steps.empty(); first = false) {
    std::string_view step = take(steps, ',');
    const bool sized = step.find('@') != std::string_view::npos;
    const CopyKernel* kernel = kernel_here(take(step, '@'), why);
    if (kernel == nullptr) return false;
    if (sized && step.empty()) {
      why = "found nothing behind '@', allowed: a power of two, in bytes";
      return false;
    }
    const std::optional<std::size_t> octave = octave_of(step, why);
    if (!octave) return false;
    if (first ? *octave != 0 : *octave <= last) {
      why = "found sizes that do not rise, allowed: KERNEL,KERNEL@BYTES,... with rising sizes";
      return false;
    }
    last = *octave;
    std::fill(row.begin() + static_cast<std::ptrdiff_t>(last), row.end(), kernel);
  }
  return true;
}

bool parse_field(std::string_view field, CopyTuning& tuning, std::string& why) {
  std::string_view steps = field;
  std::string_view place = take(steps, '=');
  const std::string_view named = place;
  const std::optional<std::size_t> audience = index_of(audience_names, take(place, '.'));
  const std::optional<std::size_t> alignment = index_of(alignment_names, place);
  if (!audience || !alignment) {
    why = "found " + quoted(named) + ", allowed: self, other or nobody, then .same, .shifted or .aliasing";
    return false;
  }
  return parse_row(steps, tuning.rows[*audience][*alignment], why);
}

std::string format_row(const CopyTuning::Row& row) {
  std::string text;
  const CopyKernel* last = nullptr;
  for (std::size_t octave = 0; octave < row.size(); ++octave) {
    if (row[octave] == last) continue;
    last = row[octave];
    if (octave > 0) text += ",";
    text += last->name;
    if (octave > 0) text.append("@").append(std::to_string(std::uint64_t{1} << (octave - 1)));
  }
  return text;
}

}  // namespace

std::string format_copy_tuning(const CopyTuning& tuning) {
  std::string text;
  for (std::size_t audience = 0; audience < audience_names.size(); ++audience) {
    for (std::size_t alignment = 0; alignment < alignment_names.size(); ++alignment) {
      if (!text.empty()) text += ";";
      text.append(audience_names[audience]).append(".").append(alignment_names[alignment]).append("=");
      text += format_row(tuning.rows[audience][alignment]);
    }
  }
  return text;
}

std::optional<CopyTuning> parse_copy_tuning(std::string_view text, std::string* why) {
  CopyTuning tuning;
  std::string reason;
  while (!text.empty()) {
    if (parse_field(take(text, ';'), tuning, reason)) continue;
    if (why != nullptr) *why = reason;
    return std::nullopt;
  }
  return tuning;
}

}  // namespace corewise::kernels

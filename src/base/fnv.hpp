// FNV-1a, 64 bits: a number that tells texts apart where nobody tries to make two alike.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

namespace corewise {

/// Of no text.
inline constexpr std::uint64_t kFnvStart = 0xcbf29ce484222325;

/// `from`: the number of a text that this one continues.
constexpr std::uint64_t fnv(std::string_view text, std::uint64_t from = kFnvStart) {
  for (const char each : text) from = (from ^ static_cast<unsigned char>(each)) * 0x100000001b3;
  return from;
}

}  // namespace corewise

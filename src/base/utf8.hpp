// UTF-8 (RFC 3629): which bytes are it, and text of which nothing else is left.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace corewise {

/// Bytes of the character that begins at `at`: its shortest form, no surrogate, none past U+10FFFF. 0: it is none.
inline std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t index) {
    return index < text.size() ? static_cast<unsigned char>(text[index]) : 0U;
  };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const unsigned least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(at + 1) < least || byte(at + 1) > most) return 0;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  for (std::size_t next = at + 2; next < at + length; ++next) {
    if ((byte(next) & 0xC0) != 0x80) return 0;
  }
  return length;
}

inline bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

/// The text, with U+FFFD for each byte that is no part of a character.
inline std::string as_utf8(std::string text) {
  if (is_utf8(text)) return text;
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) {
      made.append("\xEF\xBF\xBD");
      ++at;
    } else {
      made.append(text, at, length);
      at += length;
    }
  }
  return made;
}

}  // namespace corewise

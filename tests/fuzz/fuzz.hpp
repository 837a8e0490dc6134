// What targets of the fuzzer share: how bytes come in, and how a broken promise is told.
//
// Contract: a target is a function in corewise::fuzz that takes any bytes and returns; a promise that does not hold
// ends the process with a sentence on standard error. A target prints nothing else and keeps nothing between calls.
// A target is named like its file in targets/, its folder in corpus/ and its row in CMakeLists.txt.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace corewise::fuzz {

using Bytes = std::span<const std::uint8_t>;

void datatypes(Bytes bytes);
void debug_info(Bytes bytes);
void machine_document(Bytes bytes);
void pattern_file(Bytes bytes);
void rank_file(Bytes bytes);
void run_folder(Bytes bytes);
void short_texts(Bytes bytes);
void simrun_request(Bytes bytes);

inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what.c_str());
  std::abort();
}

inline std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What comes before the first `end`, and what comes after it.
inline std::pair<std::string_view, std::string_view> cut(std::string_view text, char end) {
  const std::size_t at = text.find(end);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace corewise::fuzz

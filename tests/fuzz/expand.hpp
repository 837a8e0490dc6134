// Rank files of the fuzzer, short: most of a rank file's first 12 KiB is zeros. The short form is 1024 bytes of the
// header, 64 of the crash's stack, 64 of the table of sites, then the blocks as they are.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "fuzz.hpp"
#include "trace/format.hpp"

namespace corewise::fuzz {

struct ShortPart {
  std::size_t offset;  ///< in the rank file
  std::size_t bytes;
};

inline constexpr ShortPart kShortParts[] = {
    {0, 1024}, {trace::kCrashStack, 64}, {trace::kHeaderBytes, 64}, {trace::kFirstBlock, SIZE_MAX}};

/// The rank file of a short form. A form without blocks gives a file that is cut where the form is.
inline std::vector<std::byte> expand(Bytes form) {
  std::vector<std::byte> file;
  for (const ShortPart& part : kShortParts) {
    const std::size_t bytes = std::min(part.bytes, form.size());
    if (bytes == 0) break;
    file.resize(part.offset + bytes);
    std::memcpy(file.data() + part.offset, form.data(), bytes);
    form = form.subspan(bytes);
  }
  return file;
}

}  // namespace corewise::fuzz

// Where the packed stream of a type may be cut without cutting an element of a predefined type in two.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <numeric>
#include <span>

namespace corewise::preload::packing {

/// A part of a structure: `bytes` of the stream of one item. Every multiple of `grain`, counted from where the part
/// begins, is where an element of it begins, or its end; 0: no such number is known.
struct StreamPart {
  std::int64_t bytes = 0;
  std::int64_t grain = 0;
};

/// The grain of any number of items with these parts, which follow one another in the stream; 0 where there is
/// none.
inline std::int64_t grain_of(std::span<const StreamPart> parts) {
  constexpr std::int64_t kMost = 128;  // larger ones would leave too much of a fragment unused
  std::int64_t size = 0, grain = 1;
  for (const StreamPart& part : parts) size += part.bytes;
  std::int64_t begin = 0;
  for (const StreamPart& part : parts) {
    if (part.bytes == 0) continue;
    if (part.grain == 0 || begin % part.grain != 0 || size % part.grain != 0) return 0;
    grain = std::lcm(grain, part.grain);
    if (grain > kMost) return 0;
    begin += part.bytes;
  }
  return grain;
}

}  // namespace corewise::preload::packing

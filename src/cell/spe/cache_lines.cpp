// Shapes, and which line gives way. SPDX-License-Identifier: BSD-3-Clause
#include "cell/spe/cache_lines.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace corewise::cell {

Status SoftwareCacheShape::check() const {
  if (line_bytes < kLineBytes || line_bytes > kMaxDmaBytes || !std::has_single_bit(line_bytes)) {
    return bad_field("software cache", "line_bytes", std::to_string(line_bytes), "powers of two, 128 to 16384");
  }
  if (sets < 1 || sets > kLocalStoreBytes || !std::has_single_bit(sets)) {
    return bad_field("software cache", "sets", std::to_string(sets), "powers of two");
  }
  const std::uint32_t most = kLocalStoreBytes / line_bytes / sets;
  if (ways < 1 || ways > most) {
    return bad_field("software cache", "ways", std::to_string(ways),
                     most == 0 ? "fewer sets" : "1.." + std::to_string(most));
  }
  for (const auto& [name, cycles] :
       {std::pair{"look_up_cycles", look_up_cycles}, std::pair{"miss_cycles", miss_cycles},
        std::pair{"copy_quadword_cycles", copy_quadword_cycles}}) {
    if (cycles < 0) return bad_field("software cache", name, std::to_string(cycles), "0 or more");
  }
  return {};
}

std::optional<std::uint32_t> CacheLines::look(EffectiveAddress line) const {
  const std::uint32_t first = first_of_set(line);
  for (std::uint32_t index = first; index < first + shape_.ways; ++index) {
    if (ways_[index].used != 0 && ways_[index].line == line) return index;
  }
  return std::nullopt;
}

CacheLines::Found CacheLines::use(EffectiveAddress line, bool write) {
  Found found;
  if (const auto there = look(line)) {
    found = {*there, true, std::nullopt};
    ++statistics_.hits;
  } else {
    const auto first = ways_.begin() + first_of_set(line);
    const auto oldest =
        std::min_element(first, first + shape_.ways, [](const Way& a, const Way& b) { return a.used < b.used; });
    found.index = static_cast<std::uint32_t>(oldest - ways_.begin());
    if (oldest->written) found.write_back = oldest->line;
    statistics_.write_backs += oldest->written ? 1 : 0;
    ++statistics_.misses;
    *oldest = {line, 0, false};
  }
  Way& way = ways_[found.index];
  way.used = ++now_;
  way.written |= write;
  return found;
}

}  // namespace corewise::cell

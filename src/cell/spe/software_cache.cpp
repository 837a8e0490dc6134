// Look-ups, misses, write-backs. SPDX-License-Identifier: BSD-3-Clause
#include "cell/spe/software_cache.hpp"

#include <algorithm>
#include <bit>
#include <string>

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
  if (look_up_cycles < 0 || miss_cycles < 0) {
    return bad_field("software cache", look_up_cycles < 0 ? "look_up_cycles" : "miss_cycles",
                     std::to_string(std::min(look_up_cycles, miss_cycles)), "0 or more");
  }
  return {};
}

SoftwareCache::SoftwareCache(Spu& spu, LsAddress at, const SoftwareCacheShape& shape)
    : spu_(spu), at_(at), shape_(shape) {
  Status status = shape.check();
  if (status.ok() && (at % shape.line_bytes != 0 || at > kLocalStoreBytes - shape.bytes())) {
    status = bad_field("software cache", "at", std::to_string(at),
                       "multiples of a line up to " + std::to_string(kLocalStoreBytes - shape.bytes()));
  }
  if (!status.ok()) spu.engine().fail(std::move(status));
  ways_.resize(std::size_t{shape.sets} * shape.ways);
}

LsAddress SoftwareCache::find(EffectiveAddress ea, std::uint32_t bytes, bool write, const Where& where) {
  spu_.spu_cycles(shape_.look_up_cycles);
  const auto offset = static_cast<std::uint32_t>(ea % shape_.line_bytes);
  if (offset + bytes > shape_.line_bytes) {
    spu_.engine().fail(bad_field("software cache", "address", std::to_string(ea), "values inside a line"));
  }
  const EffectiveAddress line = ea - offset;
  const auto set = static_cast<std::uint32_t>(line / shape_.line_bytes % shape_.sets);
  std::uint32_t index = set * shape_.ways;
  const std::uint32_t end = index + shape_.ways;
  while (index < end && ways_[index].line != line) ++index;
  if (index < end) {
    ++statistics_.hits;
  } else {
    ++statistics_.misses;
    index = bring(set, line, where);
  }
  ways_[index].used = ++now_;
  ways_[index].dirty |= write;
  return place(index) + offset;
}

/// In the place of the line used longest ago, an empty one first.
std::uint32_t SoftwareCache::bring(std::uint32_t set, EffectiveAddress line, const Where& where) {
  spu_.spu_cycles(shape_.miss_cycles);
  const auto first = ways_.begin() + set * shape_.ways;
  const auto victim =
      std::min_element(first, first + shape_.ways, [](const Way& a, const Way& b) { return a.used < b.used; });
  const auto index = static_cast<std::uint32_t>(victim - ways_.begin());
  if (victim->dirty) write_back(index, where);
  // Fenced: the same bytes of local store leave first.
  spu_.mfc_getf(place(index), line, shape_.line_bytes, kTag, 0, 0, where);
  wait(where);
  *victim = {line, 0, false};
  return index;
}

void SoftwareCache::write_back(std::uint32_t index, const Where& where) {
  spu_.mfc_put(place(index), ways_[index].line, shape_.line_bytes, kTag, 0, 0, where);
  ways_[index].dirty = false;
  ++statistics_.write_backs;
}

void SoftwareCache::wait(const Where& where) {
  const std::uint32_t mask = spu_.mfc_read_tag_mask();
  spu_.mfc_write_tag_mask(1U << kTag);
  spu_.mfc_read_tag_status_all(where);
  spu_.mfc_write_tag_mask(mask);
}

void SoftwareCache::flush(const Where& where) {
  for (std::uint32_t index = 0; index < ways_.size(); ++index) {
    if (ways_[index].dirty) write_back(index, where);
  }
  wait(where);
}

void SoftwareCache::invalidate() {
  std::fill(ways_.begin(), ways_.end(), Way{});
}

}  // namespace corewise::cell

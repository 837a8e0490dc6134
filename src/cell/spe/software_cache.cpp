// Look-ups, misses, write-backs. SPDX-License-Identifier: BSD-3-Clause
#include "cell/spe/software_cache.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace corewise::cell {
namespace {

/// A wrong shape or place ends the run.
const SoftwareCacheShape& checked(Spu& spu, LsAddress at, const SoftwareCacheShape& shape) {
  Status status = shape.check();
  if (status.ok() && (at % shape.line_bytes != 0 || at > kLocalStoreBytes - shape.bytes())) {
    status = bad_field("software cache", "at", std::to_string(at),
                       "multiples of a line up to " + std::to_string(kLocalStoreBytes - shape.bytes()));
  }
  if (!status.ok()) spu.engine().fail(std::move(status));
  return shape;
}

}  // namespace

SoftwareCache::SoftwareCache(Spu& spu, LsAddress at, const SoftwareCacheShape& shape)
    : spu_(spu), at_(at), shape_(shape), lines_(checked(spu, at, shape)) {}

LsAddress SoftwareCache::find(EffectiveAddress ea, std::uint32_t bytes, bool write, const Where& where) {
  spu_.spu_cycles(shape_.look_up_cycles);
  const auto offset = static_cast<std::uint32_t>(ea % shape_.line_bytes);
  if (offset + bytes > shape_.line_bytes) {
    spu_.engine().fail(bad_field("software cache", "address", std::to_string(ea), "values inside a line"));
  }
  const EffectiveAddress line = ea - offset;
  const CacheLines::Found found = lines_.use(line, write);
  if (!found.hit) {
    spu_.spu_cycles(shape_.miss_cycles);
    if (found.write_back) put(found.index, *found.write_back, where);
    // Fenced: the same bytes of local store leave first.
    spu_.mfc_getf(place(found.index), line, shape_.line_bytes, kTag, 0, 0, where);
    wait(where);
  }
  return place(found.index) + offset;
}

std::uint32_t SoftwareCache::part(EffectiveAddress at, std::size_t bytes) const {
  const auto left = shape_.line_bytes - static_cast<std::uint32_t>(at % shape_.line_bytes);
  return static_cast<std::uint32_t>(std::min<std::size_t>(left, bytes));
}

void SoftwareCache::read(EffectiveAddress from, std::span<std::byte> to, const Where& where) {
  while (!to.empty()) {
    const std::uint32_t bytes = part(from, to.size());
    const LsAddress at = find(from, bytes, false, where);
    std::memcpy(to.data(), spu_.ls(at, bytes, where).data(), bytes);
    spu_.spu_cycles(shape_.copy_quadword_cycles * ((bytes + 15) / 16));
    to = to.subspan(bytes);
    from += bytes;
  }
}

void SoftwareCache::write(std::span<const std::byte> from, EffectiveAddress to, const Where& where) {
  while (!from.empty()) {
    const std::uint32_t bytes = part(to, from.size());
    const LsAddress at = find(to, bytes, true, where);
    std::memcpy(spu_.ls(at, bytes, where).data(), from.data(), bytes);
    spu_.spu_cycles(shape_.copy_quadword_cycles * ((bytes + 15) / 16));
    from = from.subspan(bytes);
    to += bytes;
  }
}

template <class Visit>
void SoftwareCache::for_cached(EffectiveAddress at, std::size_t bytes, Visit visit) const {
  for (std::size_t done = 0; done < bytes;) {
    const EffectiveAddress line = (at + done) / shape_.line_bytes * shape_.line_bytes;
    const std::uint32_t count = part(at + done, bytes - done);
    if (const auto index = lines_.look(line)) {
      visit(spu_.ls(place(*index) + static_cast<LsAddress>(at + done - line), count), done);
    }
    done += count;
  }
}

void SoftwareCache::peek(EffectiveAddress from, std::span<std::byte> to) const {
  for_cached(from, to.size(), [&](std::span<const std::byte> cached, std::size_t at) {
    std::memcpy(to.data() + at, cached.data(), cached.size());
  });
}

void SoftwareCache::poke(std::span<const std::byte> from, EffectiveAddress to) {
  for_cached(to, from.size(), [&](std::span<std::byte> cached, std::size_t at) {
    std::memcpy(cached.data(), from.data() + at, cached.size());
  });
}

void SoftwareCache::put(std::uint32_t index, EffectiveAddress line, const Where& where) {
  spu_.mfc_put(place(index), line, shape_.line_bytes, kTag, 0, 0, where);
}

void SoftwareCache::wait(const Where& where) {
  const std::uint32_t mask = spu_.mfc_read_tag_mask();
  spu_.mfc_write_tag_mask(1U << kTag);
  spu_.mfc_read_tag_status_all(where);
  spu_.mfc_write_tag_mask(mask);
}

void SoftwareCache::flush(const Where& where) {
  lines_.clean([&](std::uint32_t index, EffectiveAddress line) { put(index, line, where); });
  wait(where);
}

void SoftwareCache::invalidate() {
  lines_.clear();
}

}  // namespace corewise::cell

// Places, look-ups and their time. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/main_memory.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "sim/networks/network.hpp"

namespace corewise::simmpi {
namespace {

/// Of a local store. What is left is for code, stack and message buffers.
constexpr std::uint32_t kMostCacheBytes = 192 * 1024;

std::uintptr_t address(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at);
}

/// A count of bytes, in words for people.
std::string bytes_text(std::uint64_t bytes) {
  return std::to_string(bytes) + " bytes";
}

}  // namespace

Result<cell::SoftwareCacheShape> cache_shape(const Settings& settings) {
  cell::SoftwareCacheShape shape;
  shape.line_bytes = 0;
  if (settings.cache_line_bytes == 0) return shape;
  const struct {
    const char* name;
    double value;
    std::uint32_t& into;
  } numbers[] = {{"cache_line_bytes", settings.cache_line_bytes, shape.line_bytes},
                 {"cache_sets", settings.cache_sets, shape.sets},
                 {"cache_ways", settings.cache_ways, shape.ways}};
  for (const auto& [name, value, into] : numbers) {
    if (value != std::floor(value)) return bad_field("", name, std::to_string(value), "whole numbers");
    into = static_cast<std::uint32_t>(value);
  }
  if (Status status = shape.check(); !status.ok()) return status;
  if (shape.bytes() <= kMostCacheBytes) return shape;
  return bad_field("", "cache_ways", std::to_string(shape.ways),
                   "so many that the cache takes at most " + bytes_text(kMostCacheBytes) +
                       " of a local store, not " + std::to_string(shape.bytes()));
}

MainMemory::MainMemory(const cell::SoftwareCacheShape& shape, const cell::SoftwareCacheCosts& costs)
    : shape_(shape),
      hit_(sim::nearest_tick(costs.hit_ns)),
      miss_(sim::nearest_tick(costs.miss_ns)),
      dirty_miss_(sim::nearest_tick(costs.dirty_miss_ns)),
      lines_(shape),
      next_(cell::kMemoryBase) {}

MainMemory::Placed::const_iterator MainMemory::last_before(std::uintptr_t end) const {
  const auto after = placed_.lower_bound(end);
  return after == placed_.begin() ? placed_.end() : std::prev(after);
}

Status MainMemory::place(const void* start, std::uint64_t bytes) {
  if (bytes == 0) return {};
  const auto before = last_before(address(start) + bytes);
  if (before != placed_.end() && before->first + before->second.bytes > address(start)) {
    return bad_field("", "start", "data that lie in main memory already", "other data than those");
  }
  placed_[address(start)] = {bytes, next_};
  next_ += (bytes + shape_.line_bytes - 1) / shape_.line_bytes * shape_.line_bytes;
  return {};
}

Status MainMemory::remove(const void* start) {
  if (placed_.erase(address(start)) > 0) return {};
  return bad_field("", "start", "an address", "where data begin that were placed in main memory");
}

Result<sim::Time> MainMemory::touch(const void* start, std::uint64_t bytes, bool write) {
  if (bytes == 0 || placed_.empty()) return sim::Time{0};
  const auto found = last_before(address(start) + bytes);
  if (found == placed_.end() || found->first + found->second.bytes <= address(start)) return sim::Time{0};
  const Data& data = found->second;
  if (address(start) < found->first || address(start) + bytes > found->first + data.bytes) {
    return bad_field("", "bytes", bytes_text(bytes) + ", of which a part lies in main memory",
                     "none or all of them in one piece of " + bytes_text(data.bytes));
  }
  sim::Time cost = 0;
  const cell::EffectiveAddress first = data.at + (address(start) - found->first);
  for (cell::EffectiveAddress at = first / shape_.line_bytes * shape_.line_bytes; at < first + bytes;
       at += shape_.line_bytes) {
    const cell::CacheLines::Found line = lines_.use(at, write);
    cost += line.hit ? hit_ : line.write_back ? dirty_miss_ : miss_;
  }
  spent_ += cost;
  return cost;
}

}  // namespace corewise::simmpi

// Which code is there, and what bringing it takes. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/overlays.hpp"

#include <algorithm>
#include <string>

#include "sim/networks/network.hpp"

namespace corewise::simmpi {

Overlays::Overlays(const Settings& settings)
    : area_bytes_(static_cast<std::uint64_t>(settings.overlay_bytes)),
      load_ns_(settings.overlay_ns),
      bytes_per_ns_(settings.overlay_gb_per_s) {}

Result<sim::Time> Overlays::use(const void* code, std::uint64_t bytes) {
  const auto found = std::ranges::find(there_, code, &Code::address);
  if (found != there_.end()) {
    if (found->bytes != bytes)
      return bad_field("", "bytes", std::to_string(bytes),
                       std::to_string(found->bytes) + ", as this code had before");
    there_.splice(there_.begin(), there_, found);
    return sim::Time{0};
  }
  if (bytes > area_bytes_)
    return bad_field("", "bytes", std::to_string(bytes),
                     "at most the " + std::to_string(area_bytes_) + " of overlay_bytes");
  while (used_bytes_ + bytes > area_bytes_) {
    used_bytes_ -= there_.back().bytes;
    there_.pop_back();
  }
  there_.push_front({code, bytes});
  used_bytes_ += bytes;
  ++loads_;
  loaded_bytes_ += bytes;
  const sim::Time cost = sim::nearest_tick(load_ns_ + static_cast<double>(bytes) / bytes_per_ns_);
  spent_ += cost;
  return cost;
}

}  // namespace corewise::simmpi

// Packets of a ring bus in a timeline.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/ring_bus_recorder.hpp"

#include <utility>

namespace corewise::sim {

RingBusRecorder::RingBusRecorder(Timeline& timeline, const RingBusSpec& spec, std::vector<std::string> stops,
                                 const std::string& prefix)
    : timeline_(timeline), stops_(std::move(stops)), kinds_(stops_.size() * stops_.size(), kUnknown) {
  for (int ring = 0; ring < 2 * spec.rings_per_direction; ++ring) {
    const char* way = ring < spec.rings_per_direction ? " clockwise" : " counter-clockwise";
    tracks_.push_back(timeline.track("rings", prefix + "ring " + std::to_string(ring) + way));
  }
}

void RingBusRecorder::on_start(int ring, const Packet& packet, Time start, Time end) {
  const auto source = static_cast<std::size_t>(packet.source);
  const auto destination = static_cast<std::size_t>(packet.destination);
  Timeline::Kind& kind = kinds_[source * stops_.size() + destination];
  if (kind == kUnknown) kind = timeline_.kind(stops_[source] + " to " + stops_[destination], "bytes");
  timeline_.slice(tracks_[static_cast<std::size_t>(ring)], kind, start, end, packet.bytes);
}

}  // namespace corewise::sim

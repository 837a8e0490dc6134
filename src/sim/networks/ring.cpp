// Messages of a ring machine as packets on a RingBus.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/networks/ring.hpp"

#include <algorithm>
#include <cmath>

namespace corewise::sim {
namespace {

using machine::LinkId;
using machine::Machine;
using machine::UnitId;

constexpr int kMostStops = 64;
constexpr int kMostLanes = 4;
constexpr double kBeatRounding = 1e-3;  ///< of a beat: machine files round their hop latencies

/// Cycles for which a packet holds a stop: one hop is one cycle.
int beats_of(const Machine& machine, const NetworkParameters& parameters) {
  const machine::Link& link = machine.links.front();
  const double bytes_per_cycle = link.bandwidth_gb_per_s / link.lanes * link.latency_ns;
  const double beats = std::ceil(static_cast<double>(parameters.packet_bytes) / bytes_per_cycle - kBeatRounding);
  return static_cast<int>(std::clamp(beats, 1.0, 1e6));
}

RingBusSpec spec_of(const Machine& machine, const NetworkParameters& parameters) {
  const machine::Link& link = machine.links.front();
  RingBusSpec spec;
  spec.stops = static_cast<int>(machine.stops.size());
  spec.rings_per_direction = link.lanes;
  spec.cycle_ticks = std::llround(link.latency_ns * static_cast<double>(kTicksPerNs));
  spec.packet_beats = beats_of(machine, parameters);
  // The rings take turns where that costs none of them its bandwidth, as on the Cell.
  const int rings = 2 * link.lanes;
  spec.start_period = spec.packet_beats % rings == 0 ? rings : 1;
  return spec;
}

bool ties_are_split(const Machine& machine) {
  const int stops = static_cast<int>(machine.stops.size());
  for (UnitId from = 0; from < static_cast<UnitId>(machine.units.size()); ++from) {
    for (UnitId to = 0; to < static_cast<UnitId>(machine.units.size()); ++to) {
      if (2 * machine.hops(from, to) == stops && machine.routes(from, to).size() != 2) return false;
    }
  }
  return true;
}

}  // namespace

bool RingNetwork::fits(const Machine& machine, const NetworkParameters& parameters) {
  const int stops = static_cast<int>(machine.stops.size());
  if (machine.kind != "ring" || stops > kMostStops || machine.links.front().lanes > kMostLanes) return false;
  if (machine.links.front().latency_ns * static_cast<double>(kTicksPerNs) < 1) return false;
  return beats_of(machine, parameters) >= stops / 2 + 2 && ties_are_split(machine);
}

RingNetwork::RingNetwork(Engine& engine, const Machine& machine, const NetworkParameters& parameters)
    : Network(engine, machine),
      parameters_(parameters),
      bus_(engine, spec_of(machine, parameters)),
      queued_(machine.links.size()),
      most_queued_(machine.links.size()) {
  if (engine.timeline() == nullptr) return;
  recorder_ = std::make_unique<RingBusRecorder>(*engine.timeline(), bus_.spec(), machine.stops);
  bus_.observe(recorder_.get());
}

std::int64_t RingNetwork::packets_of(std::uint64_t bytes) const {
  const auto size = static_cast<std::uint64_t>(parameters_.packet_bytes);
  return static_cast<std::int64_t>((bytes + size - 1) / size);
}

LinkId RingNetwork::first_link(int from, int to) const {
  const int stops = bus_.spec().stops;
  const int clockwise = (to - from + stops) % stops;
  return 2 * clockwise <= stops ? from : stops + from;
}

Time RingNetwork::alone(UnitId from, UnitId to, std::uint64_t bytes) const {
  const int start = stop_of(from);
  const int end = stop_of(to);
  if (start == end) return 0;
  const auto cycles = packets_of(bytes) * bus_.spec().packet_beats + bus_.hops(start, end);
  return cycles * bus_.spec().cycle_ticks;
}

RingNetwork::Index RingNetwork::new_message(const Message& message) {
  if (free_messages_.empty()) {
    messages_.push_back(message);
    return static_cast<Index>(messages_.size()) - 1;
  }
  const Index index = free_messages_.back();
  free_messages_.pop_back();
  messages_[static_cast<std::size_t>(index)] = message;
  return index;
}

void RingNetwork::send(UnitId from, UnitId to, std::uint64_t bytes, const Handler& delivered) {
  count_sent(from, bytes);
  const int stop = stop_of(from);
  const int destination = stop_of(to);
  const LinkId link = stop == destination ? -1 : first_link(stop, destination);
  const std::int64_t packets = packets_of(bytes);
  const Time expected = engine_.now() + alone(from, to, bytes);
  const Index index = new_message({delivered, bytes, packets, expected, from, to, link});
  const Handler done{&message_done, this, static_cast<std::uint64_t>(index)};
  if (link < 0 || bytes == 0) {
    engine_.after(expected - engine_.now(), done);
    return;
  }
  std::int64_t& queued = queued_[static_cast<std::size_t>(link)];
  queued += packets;
  most_queued_[static_cast<std::size_t>(link)] = std::max(most_queued_[static_cast<std::size_t>(link)], queued);
  const auto size = static_cast<std::uint64_t>(parameters_.packet_bytes);
  Packet packet;
  packet.source = stop;
  packet.destination = destination;
  packet.bytes = static_cast<std::uint32_t>(std::min(bytes, size));
  packet.bytes_to_follow = bytes - packet.bytes;
  packet.ready = engine_.now();
  packet.delivered = done;
  bus_.send(packet);
}

void RingNetwork::message_done(void* self, std::uint64_t index) {
  auto& network = *static_cast<RingNetwork*>(self);
  const Message message = network.messages_[index];
  network.free_messages_.push_back(static_cast<Index>(index));
  if (message.first_link >= 0) network.queued_[static_cast<std::size_t>(message.first_link)] -= message.packets;
  const Time waited = network.engine_.now() - message.expected;
  network.count_received(message.from, message.to, message.bytes, std::max<Time>(0, waited));
  message.delivered();
}

std::vector<LinkStatistics> RingNetwork::link_statistics() const {
  const int stops = bus_.spec().stops;
  std::vector<LinkStatistics> statistics(machine_.links.size());
  for (std::size_t l = 0; l < statistics.size(); ++l) {
    LinkStatistics& link = statistics[l];
    const bool clockwise = static_cast<int>(l) < stops;
    for (int ring = 0; ring < bus_.rings(); ++ring) {
      if (bus_.upwards(ring) != clockwise) continue;
      const RingLinkLoad load = bus_.link_load(ring, static_cast<int>(l) % stops);
      link.bytes += load.bytes;
      link.packets += load.packets;
      link.busy += load.busy_ticks / bus_.spec().rings_per_direction;
    }
    link.largest_queue = most_queued_[l];
  }
  return statistics;
}

}  // namespace corewise::sim

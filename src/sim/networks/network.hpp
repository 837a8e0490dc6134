// Network: what carries messages between the units of a machine in simulated time. One interface, three components
// behind it: rings with arbitration (network_ring), meshes and hierarchies of shared links by packets with virtual
// cut-through (network_cut_through), and whole messages that share links max-min fairly (network_flow).
//
// Contract. A tick is one picosecond; the engine and the machine outlive the network. `send` is called from
// programs or handlers; `delivered` is called once, in an event of the time of delivery, never from inside `send`.
// Messages of no byte take the latency alone; between units of one stop nothing is shared and no time passes.
// Nothing is lost or duplicated. The same sends give the same times. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "machine/machine.hpp"
#include "sim/engine.hpp"
#include "sim/statistics.hpp"

namespace corewise::sim {

/// Ticks of every network here.
inline constexpr double kPicosecondInNs = 0.001;
inline constexpr Time kTicksPerNs = 1000;

/// The nearest tick.
inline Time nearest_tick(double ns) {
  return static_cast<Time>(std::llround(ns * kTicksPerNs));
}

/// How finely messages are simulated.
enum class Granularity {
  flow,    ///< whole messages; links are shared max-min fairly along the machine's routes
  packet,  ///< packets; rings arbitrate, meshes and hierarchies cut through with finite buffers
};

/// "flow", "packet".
std::string_view name_of(Granularity granularity);

/// What the [simulation] table may say about a network of packets (docs/simulating/networks.md).
struct NetworkParameters {
  std::int64_t packet_bytes = 128;  ///< the longest packet
  std::int64_t buffer_packets = 4;  ///< room of one input buffer

  /// Refuses a name it does not know and a value out of range, naming file and field. For a machine whose table
  /// belongs to another model ("cell") the defaults.
  static Result<NetworkParameters> from(const machine::Machine& machine);
};

class Network {
 public:
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  /// Sends a message now; existing units.
  virtual void send(machine::UnitId from, machine::UnitId to, std::uint64_t bytes, const Handler& delivered) = 0;
  /// What the same message takes while nobody else sends.
  [[nodiscard]] virtual Time alone(machine::UnitId from, machine::UnitId to, std::uint64_t bytes) const = 0;
  /// Per link and per unit of the machine, up to now().
  [[nodiscard]] virtual std::vector<LinkStatistics> link_statistics() const = 0;
  [[nodiscard]] const std::vector<UnitStatistics>& unit_statistics() const { return units_; }
  /// Messages sent and not yet delivered.
  [[nodiscard]] std::uint64_t in_flight() const { return in_flight_; }

 protected:
  Network(Engine& engine, const machine::Machine& machine);

  void count_sent(machine::UnitId from, std::uint64_t bytes) {
    UnitStatistics& unit = units_[static_cast<std::size_t>(from)];
    unit.sent_bytes += bytes;
    ++unit.sent_messages;
    ++in_flight_;
  }
  /// `waiting`: delivery minus what the message would have taken alone.
  void count_received(machine::UnitId from, machine::UnitId to, std::uint64_t bytes, Time waiting) {
    UnitStatistics& unit = units_[static_cast<std::size_t>(to)];
    unit.received_bytes += bytes;
    ++unit.received_messages;
    units_[static_cast<std::size_t>(from)].waiting += waiting;
    --in_flight_;
  }

  Engine& engine_;
  const machine::Machine& machine_;

 private:
  std::vector<UnitStatistics> units_;
  std::uint64_t in_flight_ = 0;
};

/// The network of a machine: by packets a RingBus for one ring, virtual cut-through for everything else. The
/// engine's tick must be a picosecond (kPicosecondInNs). Refuses what NetworkParameters::from refuses.
Result<std::unique_ptr<Network>> make_network(Engine& engine, const machine::Machine& machine,
                                              Granularity granularity);

}  // namespace corewise::sim

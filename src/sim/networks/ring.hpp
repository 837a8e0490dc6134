// RingNetwork: a machine's ring as a RingBus, the bus with arbitration that the Cell has. One hop is one bus cycle;
// a packet holds each stop of its way for as long as its bytes take. Each stop sends and receives one packet at a
// time, so a unit that exchanges with two neighbours at once shares its one port, which the flow model does not
// see.
//
// Messages of one stop take turns packet by packet. The last packet of a message may be shorter but holds the ring
// as long as a whole one, as on the real bus. A message of no byte takes its hops and nothing of the bus.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/networks/network.hpp"
#include "sim/ring_bus.hpp"
#include "sim/ring_bus_recorder.hpp"

namespace corewise::sim {

class RingNetwork final : public Network {
 public:
  /// True where the machine is one ring whose packets are longer than half the ring and two stops, as the bus's
  /// trains must be, whose half-way ties are split, and that has at most 64 stops and 4 rings per direction.
  static bool fits(const machine::Machine& machine, const NetworkParameters& parameters);

  /// Requires fits().
  RingNetwork(Engine& engine, const machine::Machine& machine, const NetworkParameters& parameters);

  void send(machine::UnitId from, machine::UnitId to, std::uint64_t bytes, const Handler& delivered) override;
  /// A lower bound: the start slots of the rings may add a few cycles.
  [[nodiscard]] Time alone(machine::UnitId from, machine::UnitId to, std::uint64_t bytes) const override;
  /// `busy` is the mean over the parallel rings of a link.
  [[nodiscard]] std::vector<LinkStatistics> link_statistics() const override;

 private:
  using Index = std::int32_t;

  struct Message {
    Handler delivered;
    std::uint64_t bytes = 0;
    std::int64_t packets = 0;
    Time expected = 0;
    machine::UnitId from = 0;
    machine::UnitId to = 0;
    machine::LinkId first_link = -1;  ///< -1 within a stop
  };

  static void message_done(void* self, std::uint64_t message);

  [[nodiscard]] int stop_of(machine::UnitId unit) const {
    return machine_.units[static_cast<std::size_t>(unit)].stop;
  }
  [[nodiscard]] std::int64_t packets_of(std::uint64_t bytes) const;
  /// The link by which the way begins (clockwise where both are equally short).
  [[nodiscard]] machine::LinkId first_link(int from, int to) const;
  Index new_message(const Message& message);

  NetworkParameters parameters_;
  RingBus bus_;
  std::unique_ptr<RingBusRecorder> recorder_;  ///< where the engine has a timeline
  std::vector<Message> messages_;
  std::vector<Index> free_messages_;
  std::vector<std::int64_t> queued_, most_queued_;  ///< packets of messages under way, per first link
};

}  // namespace corewise::sim

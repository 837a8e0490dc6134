// Forwarding: the PPEs of Cells as the servers that they are for messages to other parts of the machine. An SPE
// cannot reach a network device, so data go from the SPE to its PPE, over the network to the other PPE, and on to
// the other SPE (paper 003, section 2.3).
//
// Model. Every Cell, the innermost part of the machine, has one PPE. A message of b bytes that crosses the setting
// `forward_level` takes each of its two PPEs forward_ns + b / forward_gb_per_s. A PPE does one message at a time,
// what leaves and what comes in, in the order in which messages reach it. What leaves waits until the PPE is free,
// and enters the network as its turn begins. What comes in reaches the PPE as the network delivers it. The PPE
// works on it while the data come in: it is done with it then, or its work's time after it was done with the
// message before. Control messages pass beside this: the work on them counts as part of the work on the message
// that they are about. So the work is a part of the latency and of the bandwidth that the machine has for the
// level, and only waiting for others comes on top: a message alone takes what it takes without this.
//
// Contract. The engine and the network outlive it; `delivered` is called once, in an event of the time of delivery.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "machine/machine.hpp"
#include "sim/engine.hpp"
#include "sim/networks/network.hpp"
#include "simmpi/settings.hpp"

namespace corewise::simmpi {

/// One Cell's PPE and what it did.
struct Ppe {
  std::string cell;        ///< the Cell's name, with the parts around it
  sim::Time free = 0;      ///< when it is done with what it has
  std::uint64_t left = 0;  ///< messages
  std::uint64_t came = 0;
  sim::Time busy = 0;
  sim::Time waiting = 0;  ///< of messages for it
};

class Forwarding {
 public:
  /// Refuses settings whose work does not fit into a lonely message's time. `level` is one that the machine has.
  static Status check(const Settings& settings, const machine::Machine& machine, const sim::Network& network);

  Forwarding(sim::Engine& engine, sim::Network& network, const machine::Machine& machine, const Settings& settings);
  Forwarding(const Forwarding&) = delete;
  Forwarding& operator=(const Forwarding&) = delete;

  /// Sends a message now, over PPEs where it crosses the level; says when it enters the network.
  sim::Time send(machine::UnitId from, machine::UnitId to, std::uint64_t bytes, const sim::Handler& delivered);
  [[nodiscard]] const std::vector<Ppe>& ppes() const { return ppes_; }

 private:
  struct Passage {
    sim::Handler delivered;
    std::uint64_t bytes = 0;
    machine::UnitId from = 0;
    machine::UnitId to = 0;
  };

  static void leave(void* self, std::uint64_t index);
  static void come_in(void* self, std::uint64_t index);
  static void pass_on(void* self, std::uint64_t index);

  [[nodiscard]] Ppe& ppe(machine::UnitId unit) {
    return ppes_[static_cast<std::size_t>(cell_of_unit_[static_cast<std::size_t>(unit)])];
  }
  [[nodiscard]] bool crosses(machine::UnitId from, machine::UnitId to) const {
    return part_of_unit_[static_cast<std::size_t>(from)] != part_of_unit_[static_cast<std::size_t>(to)];
  }
  [[nodiscard]] sim::Time work(std::uint64_t bytes) const;

  sim::Engine& engine_;
  sim::Network& network_;
  Settings settings_;
  std::vector<Ppe> ppes_;
  std::vector<int> cell_of_unit_;
  std::vector<int> part_of_unit_;  ///< of the level
  std::vector<Passage> passages_;
  std::vector<std::uint64_t> free_;  ///< of these, those that are over
};

}  // namespace corewise::simmpi

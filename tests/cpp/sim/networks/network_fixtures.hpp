// What the network tests share: machines with round numbers, and a run of messages that start at given times.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "machine/machine.hpp"
#include "sim/networks/network.hpp"

namespace corewise::sim {

inline machine::Machine machine_of(const Result<machine::Machine>& result) {
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? result.value() : machine::Machine{};
}

/// An interconnect table in JSON, and the [simulation] table's.
inline machine::Machine machine_from(const std::string& interconnect, const std::string& simulation = "{}") {
  return machine_of(
      machine::from_json(R"({"format": "corewise-machine", "version": 1, "name": "m", "simulation": )" +
                             simulation + R"(, "interconnect": )" + interconnect + "}",
                         "m.toml"));
}

inline machine::Machine mesh_of(const std::string& dims, const std::string& torus = "[false, false]",
                                const std::string& simulation = "{}") {
  return machine_from(R"({"kind": "mesh", "dims": )" + dims + R"(, "torus": )" + torus +
                          R"(, "link_bandwidth": "10 GB/s", "hop_latency": "5 ns"})",
                      simulation);
}

/// 16 bytes per ns and ring, one hop per ns.
inline machine::Machine ring_of(int stops, int rings, const std::string& ties = "split",
                                const std::string& simulation = "{}") {
  std::string names;
  for (int s = 0; s < stops; ++s) names += (s == 0 ? "\"s" : ", \"s") + std::to_string(s) + "\"";
  return machine_from(R"({"kind": "ring", "stops": [)" + names + R"(], "units": [)" + names +
                          R"(], "rings_per_direction": )" + std::to_string(rings) +
                          R"(, "ring_bandwidth": "16 GB/s", "hop_latency": "1 ns", "ties": ")" + ties + "\"}",
                      simulation);
}

/// Two packages of two cores: core links 10 GB/s and 5 ns, package links 10 GB/s up, 20 GB/s down and 100 ns.
inline machine::Machine small_tree() {
  return machine_from(R"({"kind": "tree", "level": [
      {"name": "package", "count": 2, "up_bandwidth": "10 GB/s", "down_bandwidth": "20 GB/s", "hop_latency": "100 ns"},
      {"name": "core", "count": 2, "up_bandwidth": "10 GB/s", "down_bandwidth": "10 GB/s", "hop_latency": "5 ns"}]})");
}

/// A message that starts at `start`; `end` is filled by the run (-1: never delivered).
struct Sent {
  machine::UnitId from = 0;
  machine::UnitId to = 0;
  std::uint64_t bytes = 0;
  Time start = 0;
  Time end = -1;
  int deliveries = 0;
};

/// Sends messages and notes their ends. `network` is kept for its statistics.
class Load {
 public:
  Load(machine::Machine on, Granularity granularity, std::vector<Sent> messages)
      : machine(std::move(on)), sent(std::move(messages)) {
    auto made = make_network(engine, machine, granularity);
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (!made.ok()) return;
    network = std::move(made).value();
    run();
  }

  machine::Machine machine;
  Engine engine{kPicosecondInNs};
  std::unique_ptr<Network> network;
  std::vector<Sent> sent;

 private:
  void run() {
    for (std::size_t i = 0; i < sent.size(); ++i) engine.at(sent[i].start, {&send_one, this, i});
    const Status status = engine.run();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(network->in_flight(), 0U);
    for (const Sent& one : sent) EXPECT_EQ(one.deliveries, 1) << one.from << " to " << one.to;
  }
  static void send_one(void* self, std::uint64_t index) {
    auto& load = *static_cast<Load*>(self);
    const Sent& one = load.sent[index];
    load.network->send(one.from, one.to, one.bytes, {&note_end, self, index});
  }
  static void note_end(void* self, std::uint64_t index) {
    auto& load = *static_cast<Load*>(self);
    load.sent[index].end = load.engine.now();
    ++load.sent[index].deliveries;
  }
};

/// Random messages between all units; many start together.
inline std::vector<Sent> random_load(const machine::Machine& machine, std::uint64_t seed, int messages,
                                     std::uint64_t most_bytes, std::uint64_t last_start) {
  Rng rng(seed);
  const auto units = machine.units.size();
  std::vector<Sent> sent;
  for (int i = 0; i < messages; ++i) {
    Sent one;
    one.from = static_cast<int>(rng.below(units));
    one.to = static_cast<int>(rng.below(units));
    one.bytes = rng.below(most_bytes + 1);
    one.start = static_cast<Time>(rng.below(4) == 0 ? rng.below(last_start + 1) : last_start * rng.below(3) / 2);
    sent.push_back(one);
  }
  return sent;
}

inline std::vector<Sent> all_to_all(const machine::Machine& machine, std::uint64_t bytes) {
  std::vector<Sent> sent;
  const auto units = static_cast<int>(machine.units.size());
  for (int from = 0; from < units; ++from) {
    for (int step = 1; step < units; ++step) sent.push_back({from, (from + step) % units, bytes});
  }
  return sent;
}

inline std::size_t link_index(const machine::Machine& machine, const std::string& name) {
  for (std::size_t l = 0; l < machine.links.size(); ++l) {
    if (machine.links[l].name == name) return l;
  }
  ADD_FAILURE() << "no link " << name;
  return 0;
}

/// Bytes per link and per unit against the sum over the messages and their routes: nothing is lost or made. Ties
/// are left out of the exact comparison of links: their split is the network's.
inline void expect_conservation(const machine::Machine& machine, const Load& load) {
  std::vector<std::uint64_t> on_link(machine.links.size()), sent(machine.units.size()), received(sent.size());
  std::uint64_t hop_bytes = 0;
  bool tied = false;
  for (const Sent& one : load.sent) {
    sent[static_cast<std::size_t>(one.from)] += one.bytes;
    received[static_cast<std::size_t>(one.to)] += one.bytes;
    const auto routes = machine.routes(one.from, one.to);
    tied = tied || routes.size() > 1;
    hop_bytes += one.bytes * routes.front().links.size();
    for (const machine::LinkId link : routes.front().links) on_link[static_cast<std::size_t>(link)] += one.bytes;
  }
  const auto links = load.network->link_statistics();
  std::uint64_t counted = 0;
  for (std::size_t l = 0; l < links.size(); ++l) {
    counted += links[l].bytes;
    if (!tied) {
      EXPECT_EQ(links[l].bytes, on_link[l]) << machine.links[l].name;
    }
  }
  EXPECT_EQ(counted, hop_bytes);
  for (std::size_t u = 0; u < sent.size(); ++u) {
    EXPECT_EQ(load.network->unit_statistics()[u].sent_bytes, sent[u]);
    EXPECT_EQ(load.network->unit_statistics()[u].received_bytes, received[u]);
  }
}

}  // namespace corewise::sim

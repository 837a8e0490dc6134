// What all networks share: names, the parameters of a machine file, and who serves which machine.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/networks/network.hpp"

#include <cmath>
#include <cstdio>
#include <string>

#include "sim/networks/cut_through.hpp"
#include "sim/networks/flow.hpp"
#include "sim/networks/ring.hpp"

namespace corewise::sim {
namespace {

struct Row {
  std::string_view name;
  std::int64_t NetworkParameters::* field;
  std::int64_t least;
  std::int64_t most;
};

constexpr Row kRows[] = {
    {"packet_bytes", &NetworkParameters::packet_bytes, 1, 1 << 20},
    {"buffer_packets", &NetworkParameters::buffer_packets, 1, 1 << 16},
};

const Row* row_named(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::string text_of(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

Status set(NetworkParameters& parameters, const machine::Parameter& given, const std::string& source) {
  const std::string field = "simulation." + given.name;
  const Row* row = row_named(given.name);
  if (row == nullptr) return bad_field(source, field, "an unknown name", "packet_bytes, buffer_packets");
  const bool inside =
      given.value >= static_cast<double>(row->least) && given.value <= static_cast<double>(row->most);
  if (!inside || given.value != std::floor(given.value)) {
    return bad_field(source, field, text_of(given.value),
                     "a whole number from " + std::to_string(row->least) + " to " + std::to_string(row->most));
  }
  parameters.*row->field = static_cast<std::int64_t>(given.value);
  return {};
}

}  // namespace

std::string_view name_of(Granularity granularity) {
  return granularity == Granularity::flow ? "flow" : "packet";
}

Result<NetworkParameters> NetworkParameters::from(const machine::Machine& machine) {
  NetworkParameters parameters;
  if (machine.model == "cell") return parameters;
  if (!machine.model.empty()) {
    return bad_field(machine.source, "simulation.model", "'" + machine.model + "'", "cell, or no model");
  }
  for (const machine::Parameter& given : machine.parameters) {
    if (Status status = set(parameters, given, machine.source); !status.ok()) return status;
  }
  return parameters;
}

Network::Network(Engine& engine, const machine::Machine& machine)
    : engine_(engine), machine_(machine), units_(machine.units.size()) {}

Result<std::unique_ptr<Network>> make_network(Engine& engine, const machine::Machine& machine,
                                              Granularity granularity) {
  const auto parameters = NetworkParameters::from(machine);
  if (!parameters.ok()) return parameters.status();
  std::unique_ptr<Network> network;
  if (granularity == Granularity::flow) {
    network = std::make_unique<FlowNetwork>(engine, machine);
  } else if (RingNetwork::fits(machine, parameters.value())) {
    network = std::make_unique<RingNetwork>(engine, machine, parameters.value());
  } else {
    network = std::make_unique<CutThroughNetwork>(engine, machine, parameters.value());
  }
  return network;
}

}  // namespace corewise::sim

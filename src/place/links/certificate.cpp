// Certificate: text that is digested, and the JSON document. See certificate.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/links/certificate.hpp"

#include <cstdio>
#include <utility>
#include <vector>

#include "base/fnv.hpp"

namespace corewise::place {

namespace {

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

std::string list(const std::vector<int>& values) {
  std::string text = "[";
  for (const int value : values) text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  return text + "]";
}

template <class Items, class Item>
std::string lists(const Items& items, const Item& item) {
  std::string text = "[";
  for (const auto& each : items) text += (text.size() > 1 ? ",\n    " : "\n    ") + list(item(each));
  return text + "]";
}

/// What the proof is about.
std::string limits_text(const Limits& limits) {
  using Pair = std::pair<int, machine::UnitId>;
  std::string text = "  \"fixed\": " + lists(limits.rules().fixed, [](const Pair& each) {
                       return std::vector<int>{each.first, each.second};
                     });
  text += ",\n  \"kept_free\": " + list(limits.rules().kept_free);
  text += ",\n  \"cores\": " + lists(limits.any() ? limits.cores() : std::vector<std::vector<machine::UnitId>>(),
                                     [](const auto& core) { return core; });
  return text + ",\n";
}

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

std::string machine_text(const machine::Machine& machine) {
  std::string text;
  for (const machine::Unit& unit : machine.units) text.append("u").append(std::to_string(unit.stop)).append(";");
  for (const machine::Link& link : machine.links) {
    text.append("l").append(std::to_string(link.from)).append(",").append(std::to_string(link.to));
    text.append(",").append(number(link.bandwidth_gb_per_s)).append(";");
  }
  for (const auto& alternatives : machine.route_table) {
    for (const machine::Route& route : alternatives) {
      text.append("r");
      for (const int link : route.links) text.append(std::to_string(link)).append(",");
      text.append(";");
    }
    text.append("|");
  }
  return text;
}

std::string workload_text(const Workload& work) {
  std::string text;
  text.append("n").append(std::to_string(work.ranks)).append(";");
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    text.append("w").append(number(work.weight(phase))).append(";");
    for (const Traffic& entry : work.phases[phase]) {
      text.append("m").append(std::to_string(entry.from)).append(",").append(std::to_string(entry.to));
      text.append(",").append(std::to_string(entry.bytes)).append(";");
    }
  }
  return text;
}

std::string certificate_json(std::uint64_t machine_digest, const Workload& work,
                             const machine::Placement& placement, double cost_ns, const BranchAndBound& search,
                             const ClosedTree& tree) {
  std::string text = "{\n  \"format\": \"corewise-certificate\",\n";
  text += "  \"version\": 3,\n" + limits_text(search.limits());
  text += "  \"machine_digest\": \"" + hexadecimal(machine_digest) + "\",\n";
  text += "  \"pattern_digest\": \"" + hexadecimal(fnv(workload_text(work))) + "\",\n";
  text += "  \"objective\": \"bottleneck\",\n";
  text += "  \"unit_of_rank\": " + list(placement.unit_of_rank) + ",\n";
  text += "  \"cost_ns\": " + number(cost_ns) + ",\n";
  text += "  \"bound_ns\": " + number(tree.bound_ns) + ",\n";
  text += "  \"order\": " + list(search.order()) + ",\n";
  text += "  \"unit_symmetries\": " + lists(search.unit_symmetries(), [](const auto& p) { return p; }) + ",\n";
  text += "  \"rank_symmetries\": " +
          lists(search.rank_symmetries().generators, [](const auto& g) { return g.second; }) + ",\n";
  text += "  \"cuts\": " + lists(search.cuts(), [](const Cut& cut) { return cut.stops; }) + ",\n";
  text += "  \"chain\": " + list(search.chain()) + ",\n";
  text += "  \"split\": " + std::to_string(tree.split) + ",\n";
  text += "  \"tree\": \"" + tree.letters + "\"\n}\n";
  return text;
}

}  // namespace corewise::place

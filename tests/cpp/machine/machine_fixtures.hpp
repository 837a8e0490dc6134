// What the machine tests share: the bundled machines as documents, and small questions to a machine.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace corewise::machine {

inline std::string read_document(const std::string& name) {
  const std::string path = std::string(COREWISE_MACHINE_DOCUMENTS) + "/" + name + ".json";
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The machine, checked; an empty one (and a failed test) when it cannot be had.
inline Machine expect_machine(const Result<Machine>& result) {
  EXPECT_TRUE(result.ok()) << result.status().message();
  if (!result.ok()) return {};
  const Status status = check(result.value());
  EXPECT_TRUE(status.ok()) << status.message();
  return result.value();
}

inline Machine bundled(const std::string& name) {
  return expect_machine(from_json(read_document(name), name + ".toml"));
}

inline UnitId unit_named(const Machine& machine, const std::string& name) {
  for (std::size_t u = 0; u < machine.units.size(); ++u) {
    if (machine.units[u].name == name) return static_cast<UnitId>(u);
  }
  ADD_FAILURE() << "no unit " << name;
  return 0;
}

/// Link names of every alternative.
inline std::vector<std::vector<std::string>> route_names(const Machine& machine, UnitId from, UnitId to) {
  std::vector<std::vector<std::string>> names;
  for (const Route& route : machine.routes(from, to)) {
    names.emplace_back();
    for (const LinkId link : route.links) names.back().push_back(machine.links[link].name);
  }
  return names;
}

inline const Link& link_named(const Machine& machine, const std::string& name) {
  for (const Link& link : machine.links) {
    if (link.name == name) return link;
  }
  ADD_FAILURE() << "no link " << name;
  return machine.links.front();
}

using Names = std::vector<std::string>;
using Alternatives = std::vector<Names>;

}  // namespace corewise::machine

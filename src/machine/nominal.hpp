// Nominal speeds, for machines whose source states a shape but no speeds (synthetic texts, hwloc). Round figures of
// the right order for a server of the 2020s, measured on nothing: they set how the levels relate (a hop between
// packages is dearer than one between caches), not what any node does. A probe's machine file replaces them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <string_view>

#include "machine/fabric.hpp"

namespace corewise::machine {

struct NominalLevel {
  std::string_view name;       ///< as in stop names
  std::string_view synthetic;  ///< as in synthetic texts
  LinkSpeed link;              ///< up to the enclosing level, and down again
};

/// Tree levels, outermost first: the order in which they may nest.
inline constexpr std::array<NominalLevel, 7> kNominalLevels{{{"package", "pack", {50, 60}},
                                                             {"die", "die", {60, 30}},
                                                             {"numa", "numa", {60, 30}},
                                                             {"l3", "l3", {60, 30}},
                                                             {"l2", "l2", {40, 10}},
                                                             {"core", "core", {30, 20}},
                                                             {"pu", "pu", {20, 5}}}};

inline constexpr LinkSpeed kNominalRing{25.6, 1};
inline constexpr LinkSpeed kNominalMesh{32, 2};
inline constexpr LinkSpeed kNominalPort{30, 20};

/// `name` is one of kNominalLevels.
constexpr LinkSpeed nominal_link(std::string_view name) {
  for (const NominalLevel& level : kNominalLevels) {
    if (level.name == name) return level.link;
  }
  return {};
}

}  // namespace corewise::machine

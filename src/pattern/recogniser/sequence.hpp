// Names the phases of a pattern in their order. Phases in which every rank sends at most one message and receives
// at most one are steps; consecutive steps with no pair in common whose sum is exactly one template are named as
// that one (the log2(ranks) exchanges of recursive doubling, the axes of a halo). Then what repeats is folded, also
// inside what repeats: "100 x (3D halo 4x2x2, ...; recursive doubling of 16 ...)".
//
// Trees there and back are kept apart: the order of the two says which came first.
// Pure and deterministic. At most 400 different runs of steps are tried, and repeats of at most 256 phases are
// seen. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pattern/pattern.hpp"

namespace corewise::pattern {

struct Step {
  int times = 1;
  std::string label;          ///< of a single template; empty when `parts` repeat
  double degree = 0;          ///< of its worst component; 0 without a name
  std::size_t first = 0;      ///< number of its first phase
  std::size_t phases = 0;     ///< phases covered by all its times
  std::vector<Step> parts{};  ///< what is repeated

  friend bool operator==(const Step&, const Step&) = default;
};

/// Phases that move no bytes between ranks are left out.
std::vector<Step> name_phases(const Pattern& pattern);

/// "3D halo 4x2x2, periodic, faces; 2 x (A; B)". "none" for no steps.
std::string sequence_text(const std::vector<Step>& steps);

}  // namespace corewise::pattern

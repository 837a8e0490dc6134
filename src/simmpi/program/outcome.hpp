// What a run leaves behind: a JSON document, and the timeline's events as they are in memory.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "base/status.hpp"
#include "sim/timeline.hpp"
#include "simmpi/world.hpp"

namespace corewise::simmpi {

/// Writes the result of a run to `path`. `wall_s`: what the simulation took.
Status write_outcome(const std::string& path, World& world, const Status& outcome, double wall_s,
                     const sim::Timeline* timeline);
/// Writes why there was no run.
Status write_refusal(const std::string& path, const Status& why);
/// Writes the events, one after the other.
Status write_events(const std::string& path, const sim::Timeline& timeline);

}  // namespace corewise::simmpi

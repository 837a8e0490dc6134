// RunRequest: what `corewise simrun` asks of the program that runs simulated ranks: a JSON document.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "simmpi/recording/recording.hpp"
#include "simmpi/world.hpp"

namespace corewise::simmpi {

struct RunRequest {
  machine::Machine machine;
  machine::Placement placement;
  WorldOptions options;
  std::string program;
  std::vector<std::string> arguments;
  std::string result;    ///< file that the result is written to
  std::string timeline;  ///< file of the timeline's events; empty: none is recorded
  std::size_t most_events = 0;
  RecordingOptions recording;  ///< no folder: nothing is recorded
};

Result<RunRequest> read_request(const std::string& path);

}  // namespace corewise::simmpi

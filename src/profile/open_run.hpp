// A profile's folder with all its rank files open, by world: what every reading of a run begins with.
//
// Contract: fails when the folder cannot be read, when it holds no rank file, and when not one of them is readable
// (with the first one's error). What is wrong with single files stands in `problems`, one sentence each.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "trace/reader.hpp"

namespace corewise::profile {

struct OpenRank {
  std::string file;  ///< without the folder
  std::unique_ptr<trace::Reader> reader;
};

struct OpenWorld {
  std::string name;             ///< launches.hpp
  std::vector<OpenRank> ranks;  ///< by rank; at least one

  [[nodiscard]] std::vector<const trace::Reader*> readers() const;
};

struct OpenRun {
  std::vector<OpenWorld> worlds;  ///< the main one first
  std::vector<std::string> problems;
};

Result<OpenRun> open_run(const std::string& directory);

}  // namespace corewise::profile

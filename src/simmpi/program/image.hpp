// Image: a rank's own copy of the program. The shared object is copied per rank and loaded under its own name, so
// each copy has its own globals, statics and thread-local variables, all at their own addresses: a message may lie
// in a global, a switch of ranks copies nothing, and pages that nobody writes cost what they cost once. Libraries
// that the program needs (libc among them) are there once: their state (rand, strtok, open files) is common.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "simmpi/recording/rank_recorder.hpp"

namespace corewise::simmpi {

/// The program of one rank; stays loaded until the process ends.
struct Image {
  int (*main)(int, char**, char**) = nullptr;
  std::vector<std::string> words;  ///< argv
  std::vector<char*> pointers;     ///< argv, with its null at the end
  Mapping mapping;
};

/// Loads a copy of `program` for each rank. Refuses a file that is no shared object made for simulated ranks.
Result<std::vector<std::unique_ptr<Image>>> load_images(const std::string& program,
                                                        const std::vector<std::string>& arguments, int ranks);

}  // namespace corewise::simmpi

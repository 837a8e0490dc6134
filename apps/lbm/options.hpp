// What the user of lbm can choose.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <string>

#include "lattice.hpp"

namespace lbm {

struct Options {
  Vector size = {48, 48, 48};
  int steps = 20;
  double tau = 0.8;
  Vector dims{};  ///< zeros: chosen by MPI
  bool check = false;
  bool help = false;
  std::string count_file;
};

/// Sets `options` from the words after the program's name; the first error, if any.
std::optional<std::string> parse(std::span<char* const> words, Options& options);
std::string usage();

}  // namespace lbm

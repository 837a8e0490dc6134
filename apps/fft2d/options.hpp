// The command line of fft2d.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "transform.hpp"

namespace fft2d {

struct Options {
  Problem problem{256, 256};
  std::string form = "shared";
  int threads = 1;  ///< that compute, of a rank
  bool bind = true;
  Settings settings;
  double link_latency_us = 0, link_ns_per_byte = 0;
  std::uint64_t seed = 1;
  int repeat = 5;
  bool check = false, turns = false, help = false;
  std::string write, timeline;
};

/// The first error, if any; the same on every rank.
std::optional<std::string> read_options(std::span<char* const> words, Options& options);

std::string usage_text();

}  // namespace fft2d

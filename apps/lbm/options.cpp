// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <array>
#include <limits>
#include <vector>

#include "../common/arguments.hpp"

namespace lbm {

namespace {

// So that the largest message, five populations for each cell of a face, can be counted by an int.
constexpr int kLongestAxis = 16384;
// So that all cells can be counted by an int where rank 0 gathers them.
constexpr long long kMostCells = std::numeric_limits<int>::max();

bool read_extents(std::string_view text, Vector& out) {
  const auto numbers = arguments::read_list(text, 'x', 1, kLongestAxis);
  if (!numbers || numbers->size() != kAxes) return false;
  if (1LL * (*numbers)[0] * (*numbers)[1] * (*numbers)[2] > kMostCells) return false;
  out = {(*numbers)[0], (*numbers)[1], (*numbers)[2]};
  return true;
}

bool read_tau(std::string_view text, double& out) {
  double tau = 0;
  if (!arguments::read_number(text, 0.5, 2.0, tau) || tau == 0.5) return false;
  out = tau;
  return true;
}

std::vector<arguments::Option> table(Options& o) {
  return {
      {"--size", "NXxNYxNZ", "cells of the box, each 1 to 16384, at most 2147483647 together (default 48x48x48)",
       [&](std::string_view text) { return read_extents(text, o.size); }},
      {"--steps", "N", "time steps, 0 or more (default 20)",
       [&](std::string_view text) {
         return arguments::read_number(text, 0, std::numeric_limits<int>::max(), o.steps);
       }},
      {"--tau", "T", "relaxation time, above 0.5, at most 2; viscosity is (T - 0.5)/3 (default 0.8)",
       [&](std::string_view text) { return read_tau(text, o.tau); }},
      {"--dims", "PXxPYxPZ",
       "ranks along each axis, each 1 or more, together the ranks of the run (default: chosen)",
       [&](std::string_view text) { return read_extents(text, o.dims); }},
      {"--check", "", "compare with a serial reference and with the theory; exit status 1 if the result is wrong",
       [&](std::string_view) { return o.check = true; }},
      {"--count-file", "FILE", "write bytes and messages sent between ranks as CSV, a file that can be created",
       [&](std::string_view text) { return !(o.count_file = text).empty(); }},
      {"--help", "", "print this text", [&](std::string_view) { return o.help = true; }},
  };
}

}  // namespace

std::optional<std::string> parse(std::span<char* const> words, Options& options) {
  return arguments::parse(table(options), words);
}

std::string usage() {
  Options defaults;
  return arguments::usage("mpiexec -n RANKS lbm", table(defaults));
}

}  // namespace lbm

// sweep3d: deterministic particle transport by discrete ordinates on a 3D grid, solved by wavefronts over a 2D grid
// of ranks: the program that paper 003 (Dursun, Barker, Kerbyson et al.) records, written from its description.
//
// mpiexec -n 6 sweep3d --size 30x30x40 --iterations 4 --check
//
// With --modified one rank of each group sends for all of it, as in the paper's section 4.2.1.
// A progress line per iteration, then one with the result. With --check rank 0 solves the whole problem alone:
// every cell must be the same to the last bit, and what the source emits must leave or be absorbed. Exit status of
// every rank: 0, 1 when the check fails, 2 when the arguments are wrong. SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../common/arguments.hpp"
#include "../common/traffic.hpp"
#include "sweeper.hpp"

namespace {

using namespace sweep3d;

constexpr int kMostCells = 4096;

struct Options {
  Extents size{30, 30, 40};
  int iterations = 4;
  Blocking blocking;
  int group = 8;
  bool modified = false;
  std::string count_file;
  bool check = false;
  bool help = false;
};

bool read_size(std::string_view text, Extents& out) {
  const auto numbers = arguments::read_list(text, 'x', 1, kMostCells);
  if (!numbers || numbers->size() != 3) return false;
  out = {(*numbers)[0], (*numbers)[1], (*numbers)[2]};
  return true;
}

bool read_directions(std::string_view text, int& out) {
  int number = 0;
  if (!arguments::read_number(text, 1, 6, number) || 6 % number != 0) return false;
  out = number;
  return true;
}

std::vector<arguments::Option> table(Options& o) {
  return {
      {"--size", "XxYxZ", "cells, each 1 to 4096 (default 30x30x40); x and y at least as many as ranks in them",
       [&](std::string_view text) { return read_size(text, o.size); }},
      {"--iterations", "N", "source iterations, 1 to 100000 (default 4)",
       [&](std::string_view text) { return arguments::read_number(text, 1, 100000, o.iterations); }},
      {"--planes", "N", "planes of z in a message, 1 to 4096 (default 10)",
       [&](std::string_view text) { return arguments::read_number(text, 1, kMostCells, o.blocking.planes); }},
      {"--directions", "N", "directions in a message: 1, 2, 3 or 6 (default 3)",
       [&](std::string_view text) { return read_directions(text, o.blocking.directions); }},
      {"--modified", "", "the first rank of each group gathers and forwards what leaves the group",
       [&](std::string_view) { return o.modified = true; }},
      {"--group", "N", "with --modified: ranks of a group, 1 to 4096; 8 are the SPEs of a Cell (default 8)",
       [&](std::string_view text) { return arguments::read_number(text, 1, kMostCells, o.group); }},
      {"--count-file", "FILE", "write bytes and messages of every pair of ranks there",
       [&](std::string_view text) {
         o.count_file = text;
         return !text.empty();
       }},
      {"--check", "", "compare with a serial sweep", [&](std::string_view) { return o.check = true; }},
      {"--help", "", "print this", [&](std::string_view) { return o.help = true; }},
  };
}

/// The ranks' grid in x and y; the error where it does not fit the cells.
std::optional<std::string> make_grid(const Extents& size, MPI_Comm& grid) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int dims[2] = {0, 0};
  MPI_Dims_create(ranks, 2, dims);
  if (dims[0] > size.x || dims[1] > size.y) {
    return "--size: found " + std::to_string(size.x) + "x" + std::to_string(size.y) + " cells in x and y for " +
           std::to_string(dims[0]) + "x" + std::to_string(dims[1]) + " ranks; allowed: a cell for each at least";
  }
  const int open[2] = {0, 0};
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, open, 0, &grid);
  return std::nullopt;
}

/// Rank 0: the sum of the flux in the order of cells, which no number of ranks changes.
double sum_of(const std::vector<double>& flux) {
  double sum = 0;
  for (const double value : flux) sum += value;
  return sum;
}

/// Rank 0: cells that differ from the serial sweep, and whether particles balance.
bool check(const Options& options, const Material& material, const std::vector<double>& flux, double leakage) {
  double serial_leakage = 0;
  const std::vector<double> serial = solve_serially(options.size, material, options.iterations, serial_leakage);
  std::size_t different = 0;
  for (std::size_t cell = 0; cell < flux.size(); ++cell) different += flux[cell] != serial[cell] ? 1 : 0;
  // The flux that has scattered is the one before; in the limit of many iterations both are the same.
  std::vector<double> before(flux.size());
  double unused = 0;
  if (options.iterations > 1) before = solve_serially(options.size, material, options.iterations - 1, unused);
  const double volume = std::pow(material.width, 3);
  const double born =
      volume * (material.source * static_cast<double>(flux.size()) + material.scattering * sum_of(before));
  const double gone = volume * material.total * sum_of(flux) + leakage;
  const double off = std::abs(gone - born) / born;
  std::printf("check different_cells=%zu balance_error=%.3g\n", different, off);
  return different == 0 && off < 1e-12 * std::cbrt(static_cast<double>(flux.size())) * 10;
}

bool run(const Options& options, MPI_Comm grid, Traffic& traffic) {
  const Material material;
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(grid, &rank);
  MPI_Comm_size(grid, &ranks);
  Sweeper sweeper(grid, options.size, material, options.blocking, traffic);
  const double begin = MPI_Wtime();
  for (int iteration = 1; iteration <= options.iterations; ++iteration) {
    const double change = sweeper.iterate();
    if (rank == 0) std::printf("iteration %d of %d: change %.6e\n", iteration, options.iterations, change);
  }
  const double took_s = MPI_Wtime() - begin;
  const double leakage = sweeper.leakage();
  const long long solved = sweeper.solved();
  const std::vector<double> flux = sweeper.gather();
  int good = 1;
  if (rank == 0) {
    std::printf("sweep3d ranks=%d cells=%zu solved=%lld flux_sum=%.17g time_s=%.9f\n", ranks, flux.size(), solved,
                sum_of(flux), took_s);
    good = !options.check || check(options, material, flux, leakage) ? 1 : 0;
  }
  MPI_Bcast(&good, 1, MPI_INT, 0, grid);
  return good != 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const std::vector<arguments::Option> known = table(options);
  std::optional<std::string> problem =
      arguments::parse(known, std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm grid = MPI_COMM_NULL;
  if (!problem && !options.help) problem = make_grid(options.size, grid);
  if (!problem && options.modified && !options.help) problem = Courier::misfit(grid, options.group);
  if (options.modified) options.blocking.group = options.group;
  bool good = true;
  if (rank == 0 && problem) std::fprintf(stderr, "sweep3d: %s\n", problem->c_str());
  if (rank == 0 && options.help) std::fputs(arguments::usage("sweep3d", known).c_str(), stdout);
  if (!problem && !options.help) {
    Traffic traffic(options.count_file);
    good = traffic.good();
    good = good && run(options, grid, traffic);
    traffic.write();
    good = good && traffic.good();
    MPI_Comm_free(&grid);
  }
  MPI_Finalize();
  if (problem) return arguments::kStatusUsage;
  return good ? 0 : arguments::kStatusFailed;
}

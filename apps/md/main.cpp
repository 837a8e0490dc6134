// md: molecular dynamics of Lennard-Jones atoms, by velocity Verlet and link cells over a 3D grid of ranks: the
// pattern of the program that paper 003 (Dursun, Barker, Kerbyson et al.) records, written from its description.
//
// mpiexec -n 8 md --cells 6x6x6 --steps 100 --check
//
// Progress lines with energies, then one with the result. With --check rank 0 follows all pairs of atoms alone;
// positions must agree, and energy and momentum stay. Exit status of every rank: 0, 1 when the check fails, 2 when
// the arguments are wrong. SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../common/arguments.hpp"
#include "../common/traffic.hpp"
#include "reference.hpp"
#include "simulation.hpp"

namespace {

using namespace md;

constexpr int kFewestCells = 3;  // an edge of two cut-offs, so that an atom meets one image of another
constexpr int kMostCells = 512;
constexpr int kMostChecked = 200;  // steps; a rounding error grows by a factor of e in about half a unit of time
constexpr double kPositionTolerance = 1e-9;
constexpr double kDriftTolerance = 125;       // of the kinetic energy, times the square of the step: 0.002 at 0.004
constexpr double kMomentumTolerance = 1e-11;  // per atom

struct Options {
  Counts cells{6, 6, 6};
  Counts dims{};
  int steps = 100;
  int every = 10;
  double step = 0.004;
  std::string count_file;
  bool check = false;
  bool help = false;
};

bool read_counts(std::string_view text, int lowest, Counts& out) {
  const auto numbers = arguments::read_list(text, 'x', lowest, kMostCells);
  if (!numbers || numbers->size() != kAxes) return false;
  out = {(*numbers)[0], (*numbers)[1], (*numbers)[2]};
  return true;
}

std::vector<arguments::Option> table(Options& o) {
  return {
      {"--cells", "XxYxZ", "lattice cells of four atoms, each 3 to 512 (default 6x6x6)",
       [&](std::string_view text) { return read_counts(text, kFewestCells, o.cells); }},
      {"--dims", "XxYxZ", "ranks along each axis, together the ranks of the run (default: chosen)",
       [&](std::string_view text) { return read_counts(text, 1, o.dims); }},
      {"--steps", "N", "time steps, 1 to 1000000; with --check at most 200 (default 100)",
       [&](std::string_view text) { return arguments::read_number(text, 1, 1000000, o.steps); }},
      {"--step", "T", "length of a step in reduced units, above 0 to 0.01 (default 0.004)",
       [&](std::string_view text) { return arguments::read_number(text, 1e-6, 0.01, o.step); }},
      {"--every", "N", "steps from one progress line to the next, 1 to 1000000 (default 10)",
       [&](std::string_view text) { return arguments::read_number(text, 1, 1000000, o.every); }},
      {"--count-file", "FILE", "write bytes and messages of every pair of ranks there",
       [&](std::string_view text) {
         o.count_file = text;
         return !text.empty();
       }},
      {"--check", "", "compare with all pairs on one rank", [&](std::string_view) { return o.check = true; }},
      {"--help", "", "print this", [&](std::string_view) { return o.help = true; }},
  };
}

std::string text_of(const Counts& counts) {
  return std::to_string(counts[0]) + "x" + std::to_string(counts[1]) + "x" + std::to_string(counts[2]);
}

/// Chooses the grid of ranks where none was given: the longest edge gets most. The error where it does not fit.
std::optional<std::string> fit(Options& options) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Counts& dims = options.dims;
  if (dims == Counts{}) {
    Counts descending{};
    MPI_Dims_create(ranks, static_cast<int>(kAxes), descending.data());
    for (const int many : descending) {
      std::size_t longest = kAxes;
      for (std::size_t axis = 0; axis < kAxes; ++axis) {
        if (dims[axis] == 0 && (longest == kAxes || options.cells[axis] > options.cells[longest])) longest = axis;
      }
      dims[longest] = many;
    }
  }
  if (dims[0] * dims[1] * dims[2] != ranks) {
    return "--dims: found " + text_of(dims) + "; allowed: three numbers whose product is " + std::to_string(ranks) +
           ", the ranks of the run";
  }
  const Vector edges = box_edges(options.cells);
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    if (edges[axis] / dims[axis] < kCutoff) {
      return "--cells: found " + text_of(options.cells) + " for " + text_of(dims) +
             " ranks; allowed: an edge of 2.5 for each rank, that is 1.5 cells";
    }
  }
  if (options.check && options.steps > kMostChecked) {
    return "--steps: found " + std::to_string(options.steps) + "; allowed: 1 to 200 with --check";
  }
  return std::nullopt;
}

/// Rank 0: whether places, energy and momentum are right.
bool check(const Options& options, const std::vector<Vector>& positions, const Energies& first,
           const Energies& last) {
  const Reference reference = solve_serially(options.cells, options.step, options.steps);
  const double error = farthest(positions, reference, options.cells);
  const double drift = std::abs(last.total() - first.total()) / last.kinetic;
  const double off = std::abs(last.total() - reference.energy) / std::abs(reference.energy);
  double momentum = 0;
  for (const double component : last.momentum) momentum = std::max(momentum, std::abs(component));
  momentum /= static_cast<double>(positions.size());
  const bool right = error <= kPositionTolerance && off <= kPositionTolerance &&
                     drift <= kDriftTolerance * options.step * options.step && momentum <= kMomentumTolerance;
  std::printf("check position_error=%.3g energy_error=%.3g drift=%.3g momentum=%.3g %s\n", error, off, drift,
              momentum, right ? "passed" : "failed");
  return right;
}

bool run(const Options& options, Traffic& traffic) {
  Exchange exchange(options.dims, box_edges(options.cells), traffic);
  const std::int64_t atoms = atoms_in(options.cells);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(exchange.communicator(), &rank);
  MPI_Comm_size(exchange.communicator(), &ranks);
  const double begin = MPI_Wtime();
  Simulation simulation(exchange, options.cells, options.step);
  const Energies first = simulation.energies();
  Energies last = first;
  for (int number = 1; number <= options.steps; ++number) {
    simulation.advance();
    if (number % options.every != 0 && number != options.steps) continue;
    last = simulation.energies();
    if (rank == 0) {
      std::printf("step %d of %d: potential %.9g kinetic %.9g total %.9g\n", number, options.steps, last.potential,
                  last.kinetic, last.total());
    }
  }
  const double took_s = MPI_Wtime() - begin;
  const std::vector<Vector> positions = simulation.gather(atoms);
  int good = 1;
  if (rank == 0) {
    std::printf("md ranks=%d dims=%s atoms=%lld steps=%d energy=%.17g time_s=%.9f\n", ranks,
                text_of(options.dims).c_str(), static_cast<long long>(atoms), options.steps, last.total(), took_s);
    good = !options.check || check(options, positions, first, last) ? 1 : 0;
  }
  MPI_Bcast(&good, 1, MPI_INT, 0, exchange.communicator());
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
  if (!problem && !options.help) problem = fit(options);
  bool good = true;
  if (rank == 0 && problem) std::fprintf(stderr, "md: %s\n", problem->c_str());
  if (rank == 0 && options.help) std::fputs(arguments::usage("md", known).c_str(), stdout);
  if (!problem && !options.help) {
    Traffic traffic(options.count_file);
    good = traffic.good();
    good = good && run(options, traffic);
    traffic.write();
    good = good && traffic.good();
  }
  MPI_Finalize();
  if (problem) return arguments::kStatusUsage;
  return good ? 0 : arguments::kStatusFailed;
}

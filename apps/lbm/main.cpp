// lbm: the decay of a Taylor-Green vortex by the lattice-Boltzmann method, on any number of MPI ranks.
//
// mpiexec -n 8 lbm --size 48x48x48 --steps 100 --check
//
// Prints one line from rank 0. Exit status of every rank: 0, 1 when --check found the result wrong, 2 when the
// arguments are.
// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>

#include <cmath>
#include <cstdio>

#include "../common/arguments.hpp"
#include "../common/traffic.hpp"
#include "decomposition.hpp"
#include "diagnosis.hpp"
#include "flow.hpp"
#include "options.hpp"
#include "reference.hpp"

namespace {

using namespace lbm;

// Largest difference of a population to the reference; populations are about 0.03 to 0.3.
constexpr double kReferenceTolerance = 1e-14;
// Relative to all mass, and for momentum to all mass moving at the vortex's speed.
constexpr double kConservationTolerance = 1e-12;
// The error of the velocity goes with the square of the cell size. In units of k^2 it was at most 0.14 (boxes of
// 8x8 to 64x64, tau from 0.51 to 2, 1 to 1000 steps); with fewer cells to a wave there is no such law.
constexpr double kTheoryTolerance = 0.2;
constexpr int kFewestCellsOfAWave = 8;
// What is left of the kinetic energy when the noise begins to show in the viscosity measured from it.
constexpr double kMeasurableDecay = 1e-6;

struct Outcome {
  Totals first;
  Totals last;
  double seconds = 0;
  double reference_error = 0;  ///< rank 0 only, with --check
};

/// Says it once; returns `status` for the caller to leave with.
int report_error(int rank, int status, const std::string& error) {
  if (rank == 0) std::fprintf(stderr, "lbm: %s\n", error.c_str());
  return status;
}

double largest_seconds(MPI_Comm communicator, double seconds) {
  double largest = 0;
  MPI_Allreduce(&seconds, &largest, 1, MPI_DOUBLE, MPI_MAX, communicator);
  return largest;
}

Outcome simulate(const Decomposition& decomposition, const Options& options, Traffic& traffic) {
  const TaylorGreen vortex(options.size, options.tau);
  Flow flow(decomposition, vortex, options.tau, traffic);
  Outcome outcome;
  outcome.first = totals(decomposition, flow, vortex, 0);
  MPI_Barrier(decomposition.communicator());
  const double start = MPI_Wtime();
  for (int step = 0; step < options.steps; ++step) flow.step();
  outcome.seconds = largest_seconds(decomposition.communicator(), MPI_Wtime() - start);
  outcome.last = totals(decomposition, flow, vortex, options.steps);
  if (options.check) {
    std::vector<Cell> expected;
    if (decomposition.rank() == 0) expected = reference(vortex, options.size, options.tau, options.steps);
    outcome.reference_error = difference_to_reference(decomposition, flow, options.size, expected);
  }
  return outcome;
}

double mass_error(const Outcome& o) {
  return std::abs(o.last.mass / o.first.mass - 1);
}

double momentum_error(const Outcome& o) {
  double squared = 0;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const double change = o.last.momentum[axis] - o.first.momentum[axis];
    squared += change * change;
  }
  return std::sqrt(squared) / (o.first.mass * TaylorGreen::kAmplitude);
}

/// Of the velocity field, relative to its start.
double theory_error(const Outcome& o) {
  return std::sqrt(o.last.difference_squared / o.first.exact_speed_squared);
}

bool has_theory(const Options& options) {
  return options.size[0] >= kFewestCellsOfAWave && options.size[1] >= kFewestCellsOfAWave;
}

double wave_number_squared(const Options& options) {
  return TaylorGreen(options.size, options.tau).wave_number_squared();
}

double decay(const Outcome& o) {
  return o.last.speed_squared / o.first.speed_squared;
}

/// From the decay of the kinetic energy, which is exp(-2 nu k^2 t).
double measured_viscosity(const Outcome& o, const Options& options) {
  return -std::log(decay(o)) / (2 * wave_number_squared(options) * options.steps);
}

// Each error has to be shown small: NaN, which compares false, must not pass.
bool is_right(const Outcome& o, const Options& options) {
  return o.reference_error <= kReferenceTolerance && mass_error(o) <= kConservationTolerance &&
         momentum_error(o) <= kConservationTolerance &&
         (!has_theory(options) || theory_error(o) <= kTheoryTolerance * wave_number_squared(options));
}

void print_summary(const Decomposition& decomposition, const Options& options, const Outcome& o, bool right) {
  const Vector& dims = decomposition.dims();
  const double updates = static_cast<double>(volume(options.size)) * options.steps;
  std::printf("lbm ranks=%d dims=%dx%dx%d size=%dx%dx%d steps=%d tau=%g mlups=%.3f", decomposition.ranks(), dims[0],
              dims[1], dims[2], options.size[0], options.size[1], options.size[2], options.steps, options.tau,
              o.seconds > 0 ? updates / o.seconds * 1e-6 : 0.0);
  std::printf(" mass_error=%.2e momentum_error=%.2e", mass_error(o), momentum_error(o));
  if (has_theory(options)) std::printf(" theory_error=%.2e", theory_error(o));
  if (has_theory(options) && options.steps > 0 && decay(o) > kMeasurableDecay) {
    std::printf(" viscosity=%.6f viscosity_expected=%.6f", measured_viscosity(o, options), viscosity(options.tau));
  }
  if (options.check) std::printf(" max_error=%.2e check=%s", o.reference_error, right ? "passed" : "failed");
  std::printf("\n");
}

/// Rank 0 of the communicator alone knows the reference; all must leave with the same status.
bool agree(const Decomposition& decomposition, bool right) {
  int answer = right ? 1 : 0;
  MPI_Bcast(&answer, 1, MPI_INT, 0, decomposition.communicator());
  return answer != 0;
}

int run(std::span<char* const> words) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Options options;
  if (const auto error = parse(words, options)) return report_error(rank, arguments::kStatusUsage, *error);
  if (options.help) {
    if (rank == 0) std::fputs(usage().c_str(), stdout);
    return 0;
  }
  const Vector dims = options.dims == Vector{} ? choose_dims(ranks, options.size) : options.dims;
  if (const auto error = misfit(ranks, dims, options.size))
    return report_error(rank, arguments::kStatusUsage, *error);
  Traffic traffic(options.count_file);
  if (!traffic.good())
    return report_error(rank, arguments::kStatusUsage, "--count-file: cannot create '" + options.count_file + "'");

  const Decomposition decomposition(dims, options.size);
  const Outcome outcome = simulate(decomposition, options, traffic);
  traffic.write();
  const bool right = agree(decomposition, is_right(outcome, options));
  if (decomposition.rank() == 0) print_summary(decomposition, options, outcome, right);
  if (!traffic.good()) {
    return report_error(rank, arguments::kStatusFailed, "--count-file: cannot write '" + options.count_file + "'");
  }
  return options.check && !right ? arguments::kStatusFailed : 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = run({argv + 1, static_cast<std::size_t>(argc - 1)});
  MPI_Finalize();
  return status;
}

// fft2d: a two-dimensional transform of complex doubles over ranks and threads, in the forms of Boyer and Chase
// ("Insomnia", section 8) and in one that leaves passes out.
//
// mpiexec -n 2 fft2d --size 2048x2048 --form dataflow --threads 2 --check
//
// Rank 0 prints one line: `fft2d form=... median_ms=... hidden=... check=...`; with --turns a line for each run.
// Exit status of every rank: 0, 1 when a check or a run fails, 2 when the arguments are wrong.
// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "../common/arguments.hpp"
#include "engine.hpp"
#include "input.hpp"
#include "options.hpp"
#include "report.hpp"
#include "transform.hpp"

namespace fft2d {
namespace {

int rank_of(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

/// The processors of this rank's threads: the ranks of a node share those that they may all use, in turn.
std::vector<int> processors_of(const Options& options) {
  cpu_set_t allowed;
  if (!options.bind || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return {};
  std::vector<int> all;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) all.push_back(cpu);
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int same[2] = {all.front(), -all.front()};
  MPI_Allreduce(MPI_IN_PLACE, same, 2, MPI_INT, MPI_MIN, node);
  const bool launcher_bound = same[0] != -same[1];  // each has its own already
  const int first = launcher_bound ? 0 : rank_of(node) * options.threads;
  MPI_Comm_free(&node);
  std::rotate(all.begin(), all.begin() + first % static_cast<int>(all.size()), all.end());
  return all;
}

void fill(Transform& transform, const Options& options) {
  const std::size_t first =
      transform.rows().begin(static_cast<std::size_t>(rank_of(MPI_COMM_WORLD))) * options.problem.columns;
  Complex* const values = transform.input();
  for (std::size_t i = 0; i < transform.input_elements(); ++i) values[i] = element(options.seed, first + i);
}

/// Milliseconds of the slowest rank. The input is made anew: a run uses it up.
double timed_run(Transform& transform, const Options& options) {
  fill(transform, options);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  transform.run();
  double ms = (MPI_Wtime() - begin) * 1e3;
  MPI_Allreduce(MPI_IN_PLACE, &ms, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return ms;
}

/// Whether rank 0 has read another line, other than `end`: not every launcher passes the end of its input on. The
/// others sleep until then: they would take a core from whoever's turn it is.
bool next_turn() {
  std::string words;
  int more = 1;
  if (rank_of(MPI_COMM_WORLD) == 0) more = std::getline(std::cin, words) && words != "end" ? 1 : 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return more == 1;
}

void take_turns(Transform& transform, const Options& options) {
  const bool first = rank_of(MPI_COMM_WORLD) == 0;
  if (first) std::printf("ready\n");
  for (std::fflush(stdout); next_turn(); std::fflush(stdout)) {
    const double ms = timed_run(transform, options);
    if (first) std::printf("turn ms=%.4f\n", ms);
  }
}

int run(const Options& options) {
  const std::unique_ptr<Transform> transform =
      make_transform(options.form, options.problem, options.settings, MPI_COMM_WORLD);
  Report report(options, Engine::library());
  fill(*transform, options);
  transform->run();
  if (!options.write.empty() && !write_result(*transform, options.write)) return arguments::kStatusFailed;
  if (options.check) report.checked(check(*transform, options));
  if (options.turns) {
    take_turns(*transform, options);
    return report.passed() ? 0 : arguments::kStatusFailed;
  }
  for (int i = 0; i < options.repeat; ++i) report.timed(timed_run(*transform, options));
  if (!options.timeline.empty() && !write_timeline(*transform, options.timeline)) return arguments::kStatusFailed;
  report.print(*transform);
  return report.passed() ? 0 : arguments::kStatusFailed;
}

}  // namespace

int started(std::span<char* const> words) {
  Options options;
  const bool first = rank_of(MPI_COMM_WORLD) == 0;
  if (const auto error = read_options(words, options)) {
    if (first) std::fprintf(stderr, "fft2d: %s\n", error->c_str());
    return arguments::kStatusUsage;
  }
  if (options.help) {
    if (first) std::fputs(usage_text().c_str(), stdout);
    return 0;
  }
  options.settings.knobs.processors = processors_of(options);
  try {
    return run(options);
  } catch (const std::invalid_argument& error) {
    if (first) std::fprintf(stderr, "fft2d: %s\n", error.what());
    return arguments::kStatusUsage;
  }
}

}  // namespace fft2d

int main(int count, char** words) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &level);
  const int status = fft2d::started({words + 1, static_cast<std::size_t>(count - 1)});
  MPI_Finalize();
  return status;
}

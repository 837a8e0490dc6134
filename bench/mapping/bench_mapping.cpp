// bench/mapping: runs the contestants interleaved over random patterns, checks that they agree, prints rows.
// Times are CPU times of the thread.
// SPDX-License-Identifier: BSD-3-Clause
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "contestants.hpp"

namespace {

using corewise::pattern::Matrix;

struct Contestant {
  std::function<int(const Matrix&)> least_load;
  std::vector<double> times_us;
};

Matrix random_pattern(corewise::Rng& rng) {
  std::map<std::pair<int, int>, std::uint64_t> bytes;
  for (int from = 0; from < 8; ++from) {
    for (int k = 0; k < 3; ++k) {
      const int to = static_cast<int>(rng.below(8));
      if (to != from) bytes[{from, to}] = 1 + rng.below(10);
    }
  }
  Matrix matrix{8, {}};
  for (const auto& [pair, weight] : bytes) matrix.entries.push_back({pair.first, pair.second, weight, 1});
  return matrix;
}

/// CPU time of this thread: neighbours on a shared host stretch wall time, and the longest run most.
double cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

int timed(Contestant& contestant, const Matrix& matrix) {
  const double begin_us = cpu_us();
  const int least = contestant.least_load(matrix);
  contestant.times_us.push_back(cpu_us() - begin_us);
  return least;
}

/// All contestants on one pattern, the first one rotating; false where they disagree.
bool run_pattern(std::array<Contestant, 4>& contestants, const Matrix& matrix, std::size_t turn) {
  std::array<int, 4> least{};
  for (std::size_t k = 0; k < contestants.size(); ++k) {
    const std::size_t who = (k + turn) % contestants.size();
    least[who] = timed(contestants[who], matrix);
  }
  return std::count(least.begin(), least.end(), least[0]) == static_cast<std::ptrdiff_t>(least.size());
}

double quantile(std::vector<double> sample, double fraction) {
  std::sort(sample.begin(), sample.end());
  return sample[static_cast<std::size_t>(fraction * static_cast<double>(sample.size() - 1))];
}

void print_row(const char* id, const char* what, const Contestant& ours, const char* rival,
               const Contestant& theirs, const char* separator) {
  std::vector<double> ratios;
  for (std::size_t k = 0; k < ours.times_us.size(); ++k) ratios.push_back(theirs.times_us[k] / ours.times_us[k]);
  const double median_us = quantile(ours.times_us, 0.5);
  const double spread = (quantile(ours.times_us, 0.75) - quantile(ours.times_us, 0.25)) / median_us;
  std::printf(
      "  {\"id\": \"%s\", \"what\": \"%s\", \"unit\": \"us\", \"ours\": %.3f, \"rival\": \"%s\", \"theirs\": %.3f, "
      "\"floor\": null, \"ratio\": %.3f, \"spread\": %.3f, \"n\": %zu}%s\n",
      id, what, median_us, rival, quantile(theirs.times_us, 0.5), quantile(ratios, 0.5), spread,
      ours.times_us.size(), separator);
}

/// The number after `name`, or the default; 0 where it is no positive number.
unsigned long long option(int argc, char** argv, const std::string& name, unsigned long long otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (name == argv[i]) return std::strtoull(argv[i + 1], nullptr, 10);
  }
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned long long patterns = option(argc, argv, "--patterns", 1000);
  const unsigned long long seed = option(argc, argv, "--seed", 1);
  if (patterns == 0) {
    std::fprintf(stderr, "bench_mapping: --patterns: found 0 or no number, allowed: 1 and more\n");
    return 2;
  }
  const corewise::bench::CorewiseSearch ours;
  const corewise::bench::PlainEnumeration plain;
  std::array<Contestant, 4> contestants{{
      {[&](const Matrix& matrix) { return ours.least_load(matrix, false); }, {}},
      {[&](const Matrix& matrix) { return ours.least_load(matrix, true); }, {}},
      {[&](const Matrix& matrix) { return plain.least_load(matrix, false); }, {}},
      {[&](const Matrix& matrix) { return plain.least_load(matrix, true); }, {}},
  }};
  corewise::Rng rng(seed);
  for (unsigned long long k = 0; k < patterns; ++k) {
    if (run_pattern(contestants, random_pattern(rng), static_cast<std::size_t>(k))) continue;
    std::fprintf(stderr, "bench_mapping: contestants disagree on pattern %llu of seed %llu\n", k, seed);
    return 1;
  }
  const char* all = "plain C, all 40320 placements";
  const char* reduced = "plain C, 2520 placements, symmetry by hand";
  std::printf("[\n");
  print_row("mapping.ring8.best.all", "best placement of 8 ranks with proof", contestants[0], all, contestants[2],
            ",");
  print_row("mapping.ring8.best.reduced", "best placement of 8 ranks with proof", contestants[0], reduced,
            contestants[3], ",");
  print_row("mapping.ring8.best_and_worst.all", "best and worst placement of 8 ranks", contestants[1], all,
            contestants[2], ",");
  print_row("mapping.ring8.best_and_worst.reduced", "best and worst placement of 8 ranks", contestants[1], reduced,
            contestants[3], "");
  std::printf("]\n");
  return 0;
}

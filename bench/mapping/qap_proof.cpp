// Time to a proven least weighted distance: the instances of Nugent, Vollmann and Ruml (1968), whose flows stand
// with the tests. Prints rows as bench_mapping does; no rival installs here, so `theirs` is null. Fails where a
// proof is missing or its cost is not the published one.
//
// Usage: bench_qap [repetitions]
// SPDX-License-Identifier: BSD-3-Clause
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "distance_instances.hpp"
#include "place/distance/search.hpp"

namespace {

using namespace corewise;
using place::testing::Nugent;

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

bool print_row(const char* name, const Nugent& instance, int repetitions, const char* separator) {
  const place::PairTraffic traffic = place::traffic_of(instance.matrix()).value();
  const place::Distances distances = instance.distances();
  place::DistanceOptions options;
  options.method = place::Method::branch_and_bound;
  options.nodes = 100'000'000;
  std::vector<double> times_ms;
  std::uint64_t bounds = 0;
  bool is_right = true;
  for (int k = 0; k < repetitions; ++k) {
    const double begin_ms = cpu_ms();
    const auto found = place::search_distance(traffic, distances, options);
    times_ms.push_back(cpu_ms() - begin_ms);
    is_right = is_right && found.ok() && found.value().proven_optimal && found.value().cost == instance.optimum;
    if (found.ok()) bounds = found.value().evaluated;
  }
  std::sort(times_ms.begin(), times_ms.end());
  const double median_ms = times_ms[times_ms.size() / 2];
  const double spread = (times_ms[times_ms.size() * 3 / 4] - times_ms[times_ms.size() / 4]) / median_ms;
  std::printf(
      "  {\"id\": \"proof/%s\", \"what\": \"least weighted distance of %s (%d) with proof, %llu bounds\", "
      "\"unit\": \"ms\", \"ours\": %.3f, \"rival\": null, \"theirs\": null, \"floor\": null, \"ratio\": null, "
      "\"spread\": %.3f, \"n\": %d}%s\n",
      name, name, instance.optimum, static_cast<unsigned long long>(bounds), median_ms, spread, repetitions,
      separator);
  return is_right;
}

}  // namespace

int main(int count, char** arguments) {
  const int repetitions = std::max(1, count > 1 ? std::atoi(arguments[1]) : 9);
  std::printf("[\n");
  bool is_right = print_row("nug12", place::testing::nug12, repetitions, ",");
  is_right = print_row("nug14", place::testing::nug14, repetitions, ",") && is_right;
  is_right = print_row("nug15", place::testing::nug15, repetitions, ",") && is_right;
  is_right = print_row("nug16b", place::testing::nug16b, repetitions, "") && is_right;
  std::printf("]\n");
  return is_right ? 0 : 1;
}

// corewise as a contestant: maps a problem (corewise/bench/mapping/problems.py writes it) with place::multilevel.
// Prints the CPU time of graph, tree and mapping in seconds, then the unit of every rank.
//
// Usage: bench_multilevel PROBLEM EFFORT SEED
// SPDX-License-Identifier: BSD-3-Clause
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "place/distance/multilevel.hpp"

namespace {

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

int fail(const std::string& what) {
  std::fprintf(stderr, "bench_multilevel: %s\n", what.c_str());
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  using namespace corewise;
  if (count != 4) return fail("usage: bench_multilevel PROBLEM EFFORT SEED");
  std::ifstream file(arguments[1]);
  pattern::Matrix matrix;
  std::string hierarchy;
  std::string distances;
  std::size_t pairs = 0;
  if (!(file >> matrix.ranks >> hierarchy >> distances >> pairs)) return fail("not a problem");
  for (std::size_t k = 0; k < pairs; ++k) {
    pattern::Message message;
    if (!(file >> message.from >> message.to >> message.bytes)) return fail("not a problem");
    matrix.entries.push_back(message);
  }
  place::MultilevelOptions options;
  options.effort = std::atoi(arguments[2]);
  options.seed = static_cast<std::uint64_t>(std::atoll(arguments[3]));
  const double begin_s = cpu_s();
  const auto traffic = place::traffic_of(matrix);
  if (!traffic.ok()) return fail(traffic.status().message());
  const auto tree = place::Tree::from_text(hierarchy, distances);
  if (!tree.ok()) return fail(tree.status().message());
  const auto mapped = place::multilevel(traffic.value(), tree.value(), options);
  if (!mapped.ok()) return fail(mapped.status().message());
  std::printf("%.9f\n", cpu_s() - begin_s);
  for (const int unit : mapped.value().placement.unit_of_rank) std::printf("%d\n", unit);
  return 0;
}

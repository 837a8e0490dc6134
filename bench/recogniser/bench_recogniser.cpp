// How long naming a matrix takes, a row per family and numbering, against the limit of one second on 4096 ranks.
// Rows as elsewhere in bench/: ours is the median time in seconds, rival the limit, ratio limit over ours (over 1:
// within it), spread the interquartile range of ours over its median, floor null. A row whose family is not found
// ends the run with an error: a fast wrong name is worth nothing.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "pattern/recogniser/structure.hpp"
#include "pattern/recogniser/superpose.hpp"

namespace cp = corewise::pattern;

namespace {

constexpr double limit_s = 1.0;

struct Case {
  std::string family;
  cp::Parameters parameters;
  std::vector<std::string> accepted;  ///< other families that are the same matrix
};

std::vector<Case> cases() {
  return {{"ring", {}, {}},
          {"halo_1d", {{"periodic", "no"}}, {}},
          {"halo_2d", {}, {}},
          {"halo_2d", {{"periodic", "no"}, {"stencil", "faces+edges"}}, {}},
          {"halo_3d", {}, {}},
          {"halo_3d", {{"stencil", "faces+edges+corners"}}, {}},
          {"halo_3d", {{"periodic", "no"}, {"stencil", "faces+edges+corners"}}, {}},
          {"wavefront", {{"octants", "1"}}, {}},
          {"hypercube", {}, {"recursive_doubling"}},
          {"dissemination", {}, {}},
          {"binomial_tree", {{"root", "1000"}}, {}},
          {"k_ary_tree", {{"direction", "to_root"}}, {}},
          {"manager_worker", {{"manager", "77"}}, {}},
          {"transpose", {{"groups", "rows"}}, {}},
          {"transpose", {{"groups", "both"}}, {}},
          {"random", {{"degree", "6"}}, {}}};
}

bool found(const cp::Naming& naming, const Case& one) {
  if (one.family == "random") return naming.random_sparse;
  if (naming.components.size() != 1 || naming.components.front().match.degree < 1) return false;
  const std::string& family = naming.components.front().match.family;
  // The transposes' rows and columns are each other's relabelling, as are halos of the same shape.
  return family == one.family || std::count(one.accepted.begin(), one.accepted.end(), family) > 0;
}

double seconds(const cp::Matrix& matrix, const Case& one) {
  const auto start = std::chrono::steady_clock::now();
  const cp::Naming naming = cp::name_one(matrix);
  const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!found(naming, one)) {
    std::fprintf(stderr, "bench_recogniser: %s is named %s\n", one.family.c_str(), cp::headline(naming).c_str());
    std::exit(1);
  }
  return taken;
}

void row(const std::string& what, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  const double spread = (times[times.size() * 3 / 4] - times[times.size() / 4]) / median;
  std::printf(
      "{\"id\": \"recogniser\", \"what\": \"%s\", \"unit\": \"s\", \"ours\": %.4f, \"rival\": \"limit\", "
      "\"theirs\": %.1f, \"floor\": null, \"ratio\": %.2f, \"spread\": %.2f, \"n\": %zu}\n",
      what.c_str(), median, limit_s, limit_s / median, spread, times.size());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 4096;
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 5;
  if (ranks < 8 || repeats < 1) {
    std::fprintf(stderr, "usage: bench_recogniser [RANKS [REPEATS]], RANKS from 8, REPEATS from 1\n");
    return 2;
  }
  for (const Case& one : cases()) {
    cp::Parameters parameters = one.parameters;
    parameters.push_back({"ranks", std::to_string(ranks)});
    const auto made = cp::generate(one.family, parameters);
    if (!made.ok()) {
      std::fprintf(stderr, "bench_recogniser: %s\n", made.status().message().c_str());
      return 2;
    }
    std::string name = one.family;
    for (const auto& parameter : one.parameters) name += " " + parameter.value;
    for (const bool relabelled : {false, true}) {
      std::vector<double> times;
      for (int repeat = 0; repeat < repeats; ++repeat) {
        cp::Matrix matrix = cp::sum(made.value());
        if (relabelled) {
          std::vector<int> order(static_cast<std::size_t>(ranks));
          std::iota(order.begin(), order.end(), 0);
          corewise::Rng rng(static_cast<std::uint64_t>(repeat) + 1);
          rng.shuffle(std::span(order));
          matrix = cp::renumbered(matrix, order);
        }
        times.push_back(seconds(matrix, one));
      }
      row(name + " of " + std::to_string(ranks) + (relabelled ? ", ranks relabelled" : ", ranks as they are"),
          std::move(times));
    }
  }
  return 0;
}

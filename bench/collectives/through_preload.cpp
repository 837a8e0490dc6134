// One run among the ranks of MPI_COMM_WORLD with the accelerate library in LD_PRELOAD: every collective as the
// program gets it, through the library, beside the MPI's own procedure behind it.
//
// Usage: through_preload ROUNDS FIRST BUDGET_US [mapped] [gaps:RUN] CASE..., a case being COLLECTIVE:BYTES (of a
// block, where ranks send or receive several); with `mapped`, buffers are of MPI_Alloc_mem; with `gaps`, data that
// are moved and not combined lie in runs of so many bytes, with gaps as long, and have a derived datatype. Rounds
// are numbered from FIRST on. Prints per case and round: "round <collective> <bytes> <number> <ours ns> <mpi ns>
// <floor ns>". Two ranks with mapped buffers have a floor beside them (mapped_floor.hpp); the others' is 0.
//
// In a round all are measured one after the other, another one first in the next round, and buffers lie at other
// places within a page. A measurement is as many times as fit into the budget: the ranks line up, and each times a
// call, or from nothing to kBackToBackBytes so many calls in a row that the clock's steps do not matter, sources
// written anew before each; the slowest rank counts; the median. Ranks line up by the program's barrier and by
// the MPI's in turn, the same for both; the medians of the two halves are taken together. Roots go round, and
// what goes from lower to higher ranks runs on the world and on the world reversed in turn: no rank can run ahead.
// Results are checked. SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "mapped_floor.hpp"
#include "measured.hpp"
#include "operands.hpp"
#include "procedures.hpp"
#include "world.hpp"

namespace corewise::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kBackToBackBytes = 1024;
constexpr int kBackToBack = 20;
constexpr int kLeastSamples = 6;
constexpr int kMostSamples = 2000;
/// Where buffers lie in the rounds: as an allocator gives them, and at worse places.
constexpr std::array<Offsets, 8> kOffsets = {
    {{0, 0}, {64, 0}, {16, 16}, {8, 24}, {0, 2048}, {1032, 64}, {24, 8}, {2048, 4088}}};

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Bench {
 public:
  Bench(int rounds, int first, double budget_ns, From from, std::uint64_t run)
      : rounds_(rounds), first_(first), budget_ns_(budget_ns), from_(from), run_(run) {
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_, &reversed_);
    for (int i = 0; i < 64; ++i) {  // until both communicators are set up
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Barrier(reversed_);
    }
  }
  ~Bench() { MPI_Comm_free(&reversed_); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void run(const Collective& collective, std::uint64_t bytes) {
    Operands on(bytes, collective.block_for_each ? ranks_ : 1, from_, run_);
    on.lie(kOffsets[0]);
    const int in_a_row = bytes <= kBackToBackBytes ? kBackToBack : 1;
    const int samples = samples_within_budget(collective, on, in_a_row);
    const std::unique_ptr<MappedFloor> floor = floor_of(collective, bytes);
    const int contestants = floor != nullptr ? 3 : 2;
    for (int round = first_; round < first_ + rounds_; ++round) {
      on.lie(kOffsets[static_cast<std::size_t>(round) % kOffsets.size()]);
      if (floor != nullptr) floor->on.lie(kOffsets[static_cast<std::size_t>(round) % kOffsets.size()]);
      double ns[3] = {};
      for (int turn = 0; turn < contestants; ++turn) {
        const int who = (round + turn) % contestants;
        ns[who] = who < 2 ? measure(collective, on, who == 0 ? ours_ : theirs_, in_a_row, samples)
                          : measure(collective, *floor, in_a_row, samples);
      }
      if (rank_ != 0) continue;
      std::printf("round %s %llu %d %.2f %.2f %.2f\n", std::string(collective.name).c_str(),
                  static_cast<unsigned long long>(bytes), round, ns[0], ns[1], ns[2]);
    }
  }

 private:
  [[nodiscard]] std::unique_ptr<MappedFloor> floor_of(const Collective& collective, std::uint64_t bytes) const {
    if (from_ != From::mpi || run_ > 0 || ranks_ != 2 || !MappedFloor::has(collective.name, bytes)) return nullptr;
    return std::make_unique<MappedFloor>(bytes, collective.block_for_each ? ranks_ : 1);
  }

  /// An even number, the same on all ranks; warms both up.
  int samples_within_budget(const Collective& collective, Operands& on, int in_a_row) {
    const auto start = Clock::now();
    for (const Procedures* by : {&ours_, &theirs_}) measure(collective, on, *by, in_a_row, kLeastSamples);
    const double each_ns = ns_since(start) / (2 * kLeastSamples);
    int samples = std::clamp(static_cast<int>(budget_ns_ / each_ns), kLeastSamples, kMostSamples) / 2 * 2;
    theirs_.bcast(&samples, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return samples;
  }

  double measure(const Collective& collective, Operands& on, const Procedures& by, int in_a_row, int samples) {
    return measure(collective, on, in_a_row, samples,
                   [&](int turn) { collective.run(call(collective, by, turn), on); });
  }
  double measure(const Collective& collective, MappedFloor& floor, int in_a_row, int samples) {
    return measure(collective, floor.on, in_a_row, samples,
                   [&](int turn) { floor.run(collective.name, call(collective, ours_, turn)); });
  }
  template <class Run>
  double measure(const Collective& collective, Operands& on, int in_a_row, int samples, Run run) {
    std::vector<double> ns(static_cast<std::size_t>(samples)), slowest(ns.size());
    for (int sample = 0; sample < samples; ++sample) {
      const int number = sample * in_a_row;
      on.write(number);
      (sample % 2 == 0 ? ours_ : theirs_).barrier(MPI_COMM_WORLD);
      const auto start = Clock::now();
      run(sample / 2);
      for (int next = 1; next < in_a_row; ++next) {
        on.write(number + next);
        run(sample / 2 + next);
      }
      ns[static_cast<std::size_t>(sample)] = ns_since(start) / in_a_row;
      check(collective, on, call(collective, ours_, sample / 2 + in_a_row - 1), number + in_a_row - 1);
    }
    theirs_.allreduce(ns.data(), slowest.data(), samples, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    std::vector<double> halves[2];
    for (std::size_t sample = 0; sample < slowest.size(); ++sample) halves[sample % 2].push_back(slowest[sample]);
    return (median(halves[0]) + median(halves[1])) / 2;
  }

  [[nodiscard]] Call call(const Collective& collective, const Procedures& by, int turn) const {
    const bool back = collective.ordered && turn % 2 != 0;
    return {by, back ? reversed_ : MPI_COMM_WORLD, turn % ranks_, back ? ranks_ - 1 - rank_ : rank_, ranks_};
  }

  void check(const Collective& collective, const Operands& on, const Call& call, int number) const {
    const Arrival arrival = collective.arrival(call);
    for (int block = 0; block < arrival.blocks; ++block) {
      Sum sum = arrival.sum;
      if (arrival.in_turn) sum = {sum.first + block, sum.last + block, sum.block};
      // Values are those of the world's ranks.
      if (call.comm == reversed_) sum = {ranks_ - sum.last, ranks_ - sum.first, sum.block};
      if (!on.holds(block, sum, number)) give_up(std::string(collective.name) + ": wrong data");
    }
  }

  int rounds_, first_;
  double budget_ns_;
  From from_;
  std::uint64_t run_;
  const int rank_ = world_rank();
  const int ranks_ = world_size();
  const Procedures ours_ = of_the_program();
  const Procedures theirs_ = of_the_mpi();
  MPI_Comm reversed_ = MPI_COMM_NULL;
};

const Collective& named(const std::string& name) {
  for (const Collective& each : kMeasured)
    if (each.name == name) return each;
  give_up("no such collective: " + name);
}

}  // namespace
}  // namespace corewise::bench

int main(int argc, char** argv) {
  using namespace corewise::bench;
  MPI_Init(&argc, &argv);
  if (argc < 5) give_up("usage: through_preload ROUNDS FIRST BUDGET_US [mapped] [gaps:RUN] CASE...");
  if (!replaced()) {  // on no rank; a launcher may lose what a rank says that aborts
    std::fprintf(stderr, "no library stands before the MPI's collectives\n");
    MPI_Finalize();
    return 1;
  }
  {
    int index = 4;
    const bool mapped = std::string(argv[index]) == "mapped";
    if (mapped) ++index;
    const std::string word = index < argc ? argv[index] : "";
    const bool gaps = word.starts_with("gaps:");
    if (gaps) ++index;
    Bench bench(std::atoi(argv[1]), std::atoi(argv[2]), std::atof(argv[3]) * 1000,
                mapped ? From::mpi : From::program, gaps ? std::strtoull(word.c_str() + 5, nullptr, 10) : 0);
    for (; index < argc; ++index) {
      const std::string text = argv[index];
      const std::size_t colon = std::min(text.find(':'), text.size());
      bench.run(named(text.substr(0, colon)),
                std::strtoull(text.c_str() + std::min(colon + 1, text.size()), nullptr, 10));
    }
  }
  MPI_Finalize();
  return 0;
}

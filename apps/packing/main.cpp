// packing: what it costs to send non-contiguous data, by every way that MPI and C offer. The
// experiment of Boyer and Chase ("Insomnia", section 4): Irecv, Send, Wait on both of two ranks, with the sent
// message packed, the received one unpacked, or both; MPI_Pack and MPI_Unpack alone; and a message between items
// in memory that both map.
//
// mpiexec -n 2 packing --set constant --directions send,receive,both --ways contiguous,datatype,loop,mpi-pack
//
// Rank 0 prints a line per case, direction and way: `time case=... direction=... way=... bytes=... n=...
// median_ns=...`; then `machine seconds=... foreign=... latency_ns=A,B`: the share of the processors' time that
// other programs took meanwhile, and what a word took from core to core before and after, because virtual
// processors may move apart. Exit status of every rank: 0, 1 when data are wrong, 2 when the arguments are.
// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "../common/arguments.hpp"
#include "layouts.hpp"
#include "step.hpp"

namespace {

constexpr std::array<std::string_view, 7> kSets{"constant", "elements", "columns", "applications",
                                                "grid",     "sparse",   "mapped"};
constexpr std::array<std::string_view, 6> kDirections{"send", "receive", "both", "pack", "unpack", "mapped"};
constexpr std::array<std::string_view, 10> kWays{"contiguous", "datatype",        "mpi-pack", "loop",
                                                 "assignment", "memcpy-prefetch", "memcpy",   "manual",
                                                 "straight",   "halves"};

struct Options {
  std::vector<std::string> sets{"constant"};
  std::vector<std::string> directions{"both"};
  std::vector<std::string> ways{"contiguous", "datatype", "mpi-pack", "loop"};
  std::vector<std::string> only;
  std::vector<int> cpus;
  double budget_ms = 4;
  bool quick = false, list = false, check = false, help = false;
};

/// Names with commas between them, each of those allowed.
template <class Names>
bool read_names(std::string_view text, const Names& allowed, std::vector<std::string>& out) {
  std::vector<std::string> names;
  for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = text.find(',', begin);
    names.emplace_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (std::find(allowed.begin(), allowed.end(), names.back()) == allowed.end()) return false;
  }
  out = std::move(names);
  return true;
}

bool read_cases(std::string_view text, std::vector<std::string>& out) {
  std::vector<std::string> known;
  for (const std::string_view set : kSets) {
    std::ranges::copy(case_names(std::string(set), false), std::back_inserter(known));
  }
  return read_names(text, known, out);
}

bool read_cpus(std::string_view text, std::vector<int>& out) {
  const auto cpus = arguments::read_list(text, ',', 0, CPU_SETSIZE - 1);
  if (!cpus || cpus->size() != 2) return false;
  out = *cpus;
  return true;
}

std::vector<arguments::Option> table(Options& o) {
  return {
      {"--set", "A,B",
       "constant (32 KB by element size), elements (1024 by size), columns, applications, grid (bytes by element "
       "size), sparse (the same, an element a page), mapped (constant and elements from 64 B on, fft2)",
       [&o](std::string_view text) { return read_names(text, kSets, o.sets); }},
      {"--cases", "A,B", "only these cases, e.g. constant/64,mg_x/34",
       [&o](std::string_view text) { return read_cases(text, o.only); }},
      {"--directions", "A,B", "send, receive, both, pack, unpack, mapped (both, in memory that both ranks map)",
       [&o](std::string_view text) { return read_names(text, kDirections, o.directions); }},
      {"--ways", "A,B",
       "contiguous, datatype, mpi-pack, loop, assignment, memcpy, memcpy-prefetch, manual; in bench/pack straight, "
       "halves",
       [&o](std::string_view text) { return read_names(text, kWays, o.ways); }},
      {"--cpus", "A,B", "processors of the two ranks; without it they run where the launcher puts them",
       [&o](std::string_view text) { return read_cpus(text, o.cpus); }},
      {"--budget", "MS", "about so long for each way of a case, 0 (one step) to 10000 (default 4)",
       [&o](std::string_view text) { return arguments::read_number(text, 0.0, 10000.0, o.budget_ms); }},
      {"--quick", "", "fewer cases", [&o](std::string_view) { return o.quick = true; }},
      {"--list", "", "print the names of the cases, and do nothing else",
       [&o](std::string_view) { return o.list = true; }},
      {"--check", "", "before it is timed, look at every byte that each way moves",
       [&o](std::string_view) { return o.check = true; }},
      {"--help", "", "this text", [&o](std::string_view) { return o.help = true; }},
  };
}

Direction direction_of(const std::string& name) {
  return static_cast<Direction>(std::find(kDirections.begin(), kDirections.end(), name) - kDirections.begin());
}

/// The ways of a case: those that it has, among those that were asked for; the engines alone have no message.
std::vector<std::string> ways_of(const Case& c, const std::vector<std::string>& wanted, Direction direction,
                                 const Bench& bench) {
  const bool alone = direction == Direction::pack || direction == Direction::unpack;
  std::vector<std::string> ways;
  std::ranges::copy_if(wanted, std::back_inserter(ways), [&](const std::string& way) {
    if (way == "contiguous" || way == "datatype") return !alone;
    if (way == "straight" || way == "halves") return direction == Direction::mapped && bench.has_straight();
    return way == "mpi-pack" || std::ranges::any_of(c.hands, [&](const Hand& hand) { return hand.name == way; });
  });
  return ways;
}

/// Processor time since boot that was not idle, in seconds over all processors; 0 where the system does not say.
double busy_seconds() {
  std::ifstream file("/proc/stat");
  std::string line, word;
  std::getline(file, line);
  std::istringstream fields(line);
  fields >> word;
  double busy = 0, value = 0;
  constexpr int kIdle = 3, kWaiting = 4, kGuest = 8;
  for (int i = 0; i < kGuest && fields >> value; ++i) busy += i == kIdle || i == kWaiting ? 0 : value;
  return busy / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * t.tv_usec; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// What others did between its construction and `print`.
class Machine {
 public:
  void print(int rank, std::int64_t before_ns, std::int64_t after_ns) const {
    const double mine = own_seconds() - own_;
    double ours = 0;
    MPI_Reduce(&mine, &ours, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank != 0) return;
    const double wall = MPI_Wtime() - wall_;
    const double processors = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
    const double foreign = std::max(0.0, busy_seconds() - busy_ - ours) / (wall * processors);
    std::printf("machine seconds=%.3f foreign=%.4f latency_ns=%lld,%lld\n", wall, foreign,
                static_cast<long long>(before_ns), static_cast<long long>(after_ns));
  }

 private:
  double busy_ = busy_seconds(), own_ = own_seconds(), wall_ = MPI_Wtime();
};

void print_times(const Case& c, const std::string& direction, const std::string& way,
                 std::vector<std::int64_t> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  std::printf("time case=%s direction=%s way=%s bytes=%zu n=%zu median_ns=%lld\n", c.name.c_str(),
              direction.c_str(), way.c_str(), c.bytes, times.size(), static_cast<long long>(*middle));
}

bool run_case(const std::string& name, const Options& o, Meeting& meeting) {
  Case c = make_case(name);
  bool good = true;
  {
    std::optional<Bench> made;
    for (const std::string& named : o.directions) {
      const Direction direction = direction_of(named);
      const bool mapped = direction == Direction::mapped;
      if (!made || made->mapped() != mapped) made.emplace(c, meeting, mapped);
      Bench& bench = *made;
      const std::vector<std::string> ways = ways_of(c, o.ways, direction, bench);
      for (const std::string& way : ways) {
        if (!o.check || bench.correct(way, direction)) continue;
        good = false;
        if (meeting.rank() == 0) {
          std::printf("wrong case=%s direction=%s way=%s\n", c.name.c_str(), named.c_str(), way.c_str());
        }
      }
      const auto times = bench.measure(ways, direction, static_cast<std::int64_t>(1e6 * o.budget_ms));
      for (std::size_t i = 0; meeting.rank() == 0 && i < ways.size(); ++i) {
        print_times(c, named, ways[i], times[i]);
      }
    }
  }
  free_types(c);
  return good;
}

std::vector<std::string> wanted_cases(const Options& o) {
  if (!o.only.empty()) return o.only;
  std::vector<std::string> names;
  for (const std::string& set : o.sets) std::ranges::copy(case_names(set, o.quick), std::back_inserter(names));
  return names;
}

bool run_all(const Options& o) {
  Meeting meeting;
  const Machine machine;
  const std::int64_t before_ns = meeting.latency_ns();
  bool good = true;
  for (const std::string& name : wanted_cases(o)) good = run_case(name, o, meeting) && good;
  machine.print(meeting.rank(), before_ns, meeting.latency_ns());
  return good;
}

void bind_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  sched_setaffinity(0, sizeof(set), &set);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Options options;
  const std::vector<arguments::Option> known = table(options);
  const auto error = arguments::parse(known, std::span(argv + 1, static_cast<std::size_t>(argc - 1)));
  int status = 0;
  if (error || options.help) {
    status = error ? arguments::kStatusUsage : 0;
    if (rank == 0 && error) std::fprintf(stderr, "packing: %s\n", error->c_str());
    if (rank == 0 && options.help) std::printf("%s", arguments::usage("packing", known).c_str());
  } else if (ranks != 2) {
    status = arguments::kStatusUsage;
    if (rank == 0) std::fprintf(stderr, "packing: found %d ranks; allowed: 2 (mpiexec -n 2)\n", ranks);
  } else if (options.list) {
    for (const std::string& name : wanted_cases(options))
      if (rank == 0) std::printf("case %s\n", name.c_str());
  } else {
    if (!options.cpus.empty()) bind_to(options.cpus[static_cast<std::size_t>(rank)]);
    status = run_all(options) ? 0 : arguments::kStatusFailed;
  }
  std::fflush(stdout);
  MPI_Finalize();
  return status;
}

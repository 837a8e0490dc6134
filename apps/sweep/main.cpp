// sweep: the communication of Sweep3D without its computation, the worst case for a tool that records messages
// (Dursun, Barker, Kerbyson et al., "An MPI performance monitoring interface for Cell based compute nodes",
// section 4.1).
//
// Ranks form a grid of columns and rows. A sweep starts in one corner: every rank receives from its two upstream
// neighbours and sends to its two downstream ones; the four corners take turns, so that all directions carry the
// same. A case is a number of events (sends and receives of the busiest rank, at least) and a message size; each
// case runs --repeat times.
//
// mpiexec -n 6 sweep --cases 1200x4800,36000x4800 --repeat 5
//
// First, with --null N: the thread CPU time of a send of 8 bytes to MPI_PROC_NULL, the cheapest call there is, over
// N of them. Then rank 0 prints a line per case: time per event of the fastest and of the median repetition, and
// percentiles of the single calls of all ranks, which are timed in a repetition of their own; then what MPI_Init
// and MPI_Finalize took. Exit status of every rank: 0, 1 when a message is wrong, 2 when the arguments are.
// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../common/arguments.hpp"

namespace {

struct Case {
  int events;
  int bytes;
};

struct Options {
  std::vector<Case> cases{{36000, 4800}};
  int repeat = 5;
  int null_calls = 0;
  bool help = false;
};

bool read_cases(std::string_view text, std::vector<Case>& out) {
  std::vector<Case> cases;
  for (;;) {
    const std::size_t end = text.find(',');
    const auto pair = arguments::read_list(text.substr(0, end), 'x', 1, 1 << 30);
    if (!pair || pair->size() != 2) return false;
    cases.push_back({(*pair)[0], (*pair)[1]});
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  out = std::move(cases);
  return true;
}

std::vector<arguments::Option> table(Options& o) {
  return {
      {"--cases", "EVENTSxBYTES,...", "cases to run, each number 1 to 1073741824 (default 36000x4800)",
       [&](std::string_view text) { return read_cases(text, o.cases); }},
      {"--repeat", "N", "repetitions of each case, 1 to 1000 (default 5)",
       [&](std::string_view text) { return arguments::read_number(text, 1, 1000, o.repeat); }},
      {"--null", "N", "time N sends to MPI_PROC_NULL first, 0 to 1073741824 (default 0)",
       [&](std::string_view text) { return arguments::read_number(text, 0, 1 << 30, o.null_calls); }},
      {"--help", "", "print this", [&](std::string_view) { return o.help = true; }},
  };
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double thread_cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Seconds of one call, the least of `repeat` turns: what other processes do in between does not count.
double time_null_sends(int calls, int repeat) {
  double best = std::numeric_limits<double>::max();
  double value = 0;
  for (int turn = 0; turn < repeat; ++turn) {
    const double begin = thread_cpu_s();
    for (int i = 0; i < calls; ++i) MPI_Send(&value, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    best = std::min(best, (thread_cpu_s() - begin) / calls);
  }
  return best;
}

/// This rank's neighbours in the grid, MPI_PROC_NULL beyond its edge.
struct Neighbours {
  int west, east, north, south;
};

struct Stream {
  std::array<int, 2> up;    ///< received from
  std::array<int, 2> down;  ///< sent to
};

class Grid {
 public:
  Grid() {
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    std::array<int, 2> dims{};
    MPI_Dims_create(ranks_, 2, dims.data());
    const std::array<int, 2> open{};
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims.data(), open.data(), 0, &comm_);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Cart_shift(comm_, 1, 1, &around_.west, &around_.east);
    MPI_Cart_shift(comm_, 0, 1, &around_.north, &around_.south);
  }
  ~Grid() { MPI_Comm_free(&comm_); }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }

  /// Neighbours upstream and downstream of the sweep that starts in corner 0 to 3.
  [[nodiscard]] Stream stream(int corner) const {
    const bool to_east = corner % 2 == 0;
    const bool to_south = corner / 2 == 0;
    return {{to_east ? around_.west : around_.east, to_south ? around_.north : around_.south},
            {to_east ? around_.east : around_.west, to_south ? around_.south : around_.north}};
  }

  /// Sends and receives of the busiest rank in four sweeps.
  [[nodiscard]] int events_per_round() const {
    int mine = 0;
    for (int corner = 0; corner < 4; ++corner) {
      const Stream peers = stream(corner);
      for (const int peer : peers.up) mine += peer == MPI_PROC_NULL ? 0 : 1;
      for (const int peer : peers.down) mine += peer == MPI_PROC_NULL ? 0 : 1;
    }
    int most = 0;
    MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, comm_);
    return most;
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  Neighbours around_{};
  int ranks_ = 0;
  int rank_ = 0;
};

/// Runs the sweeps of one case. A message holds the number of its sweep at both ends.
class Sweeper {
 public:
  Sweeper(const Grid& grid, Case wanted)
      : grid_(grid), message_(static_cast<std::size_t>(wanted.bytes)), rounds_(rounds_of(grid, wanted.events)) {}

  /// Seconds of the slowest rank.
  double run() {
    MPI_Barrier(grid_.comm());
    const double begin = now_s();
    sweeps([](auto call) { call(); });
    return slowest(now_s() - begin);
  }

  /// Appends the seconds of every single call.
  void time_calls(std::vector<double>& seconds) {
    MPI_Barrier(grid_.comm());
    sweeps([&](auto call) {
      const double begin = now_s();
      call();
      seconds.push_back(now_s() - begin);
    });
  }

  [[nodiscard]] long wrong() const { return wrong_; }
  [[nodiscard]] int events() const { return rounds_ * grid_.events_per_round(); }

 private:
  static int rounds_of(const Grid& grid, int events) {
    const int each = grid.events_per_round();
    return each == 0 ? 0 : (events + each - 1) / each;
  }

  [[nodiscard]] double slowest(double mine) const {
    double most = 0;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, grid_.comm());
    return most;
  }

  template <class Around>
  void sweeps(Around around) {
    for (int round = 0; round < rounds_; ++round)
      for (int corner = 0; corner < 4; ++corner) sweep(round, corner, around);
  }

  template <class Around>
  void sweep(int round, int corner, Around around) {
    const Stream peers = grid_.stream(corner);
    const auto mark = static_cast<unsigned char>(round * 4 + corner);
    const int bytes = static_cast<int>(message_.size());
    for (const int from : peers.up) {
      if (from == MPI_PROC_NULL) continue;
      around([&] { MPI_Recv(message_.data(), bytes, MPI_BYTE, from, corner, grid_.comm(), MPI_STATUS_IGNORE); });
      wrong_ += message_.front() != mark || message_.back() != mark ? 1 : 0;
    }
    message_.front() = message_.back() = mark;
    for (const int to : peers.down) {
      if (to == MPI_PROC_NULL) continue;
      around([&] { MPI_Send(message_.data(), bytes, MPI_BYTE, to, corner, grid_.comm()); });
    }
  }

  const Grid& grid_;
  std::vector<unsigned char> message_;
  int rounds_;
  long wrong_ = 0;
};

/// All ranks' values on rank 0.
std::vector<double> gather(const Grid& grid, const std::vector<double>& mine) {
  const int count = static_cast<int>(mine.size());
  std::vector<int> counts(static_cast<std::size_t>(grid.ranks()));
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, grid.comm());
  std::vector<int> starts(counts.size());
  int total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    starts[i] = total;
    total += counts[i];
  }
  std::vector<double> all(static_cast<std::size_t>(grid.rank() == 0 ? total : 0));
  MPI_Gatherv(mine.data(), count, MPI_DOUBLE, all.data(), counts.data(), starts.data(), MPI_DOUBLE, 0, grid.comm());
  return all;
}

double at_share(std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(share * last)];
}

/// False when a message was wrong.
bool run_case(const Grid& grid, Case wanted, int repeat) {
  Sweeper sweeper(grid, wanted);
  std::vector<double> seconds;
  for (int i = 0; i < repeat; ++i) seconds.push_back(sweeper.run());
  std::vector<double> mine;
  sweeper.time_calls(mine);
  std::vector<double> calls = gather(grid, mine);
  std::sort(calls.begin(), calls.end());
  std::sort(seconds.begin(), seconds.end());
  long wrong = 0;
  const long here = sweeper.wrong();
  MPI_Allreduce(&here, &wrong, 1, MPI_LONG, MPI_SUM, grid.comm());
  const int events = sweeper.events();
  const double per_event = events == 0 ? 0 : 1e9 / events;
  if (grid.rank() == 0)
    std::printf(
        "case events=%d bytes=%d fastest_ns=%.3f median_ns=%.3f p50_ns=%.1f p99_ns=%.1f p999_ns=%.1f "
        "wrong_messages=%ld\n",
        events, wanted.bytes, seconds.front() * per_event, seconds[seconds.size() / 2] * per_event,
        at_share(calls, 0.5) * 1e9, at_share(calls, 0.99) * 1e9, at_share(calls, 0.999) * 1e9, wrong);
  return wrong == 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const std::vector<arguments::Option> known = table(options);
  const std::optional<std::string> problem =
      arguments::parse(known, std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  const double before = now_s();
  MPI_Init(&argc, &argv);
  const double init_s = now_s() - before;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bool right = true;
  if (rank == 0 && problem) std::fprintf(stderr, "sweep: %s\n", problem->c_str());
  if (rank == 0 && options.help) std::fputs(arguments::usage("sweep", known).c_str(), stdout);
  if (!problem && !options.help) {
    if (options.null_calls > 0) {
      const double null_s = time_null_sends(options.null_calls, options.repeat);
      if (rank == 0) std::printf("null call_ns=%.3f\n", null_s * 1e9);
    }
    const Grid grid;
    for (const Case wanted : options.cases) right = run_case(grid, wanted, options.repeat) && right;
  }
  const double last = now_s();
  MPI_Finalize();
  if (rank == 0 && !problem && !options.help)
    std::printf("life init_ms=%.3f finalize_ms=%.3f\n", init_s * 1e3, (now_s() - last) * 1e3);
  if (problem) return arguments::kStatusUsage;
  return right ? 0 : arguments::kStatusFailed;
}

// ring: tasks in a ring pass packets on, the synthetic benchmark of J. Keller and A. L. Varbanescu, "Performance
// Impact of Task Mapping on the Cell BE Multicore Processor" (A4MMC 2010), section 2.2.
//
// Every task starts with one packet for each neighbour; whenever it receives a packet from one neighbour it sends
// it on to the other. After R rounds a packet has made R hops, so it is known which packet each task holds at the
// end.
//
// mpiexec -n 8 ring --bytes 1024 --rounds 10000 --permutation 0,2,4,6,1,3,5,7
//
// Prints one line per rank and a summary from rank 0. Exit status of every rank: 0, 1 when a packet is wrong, 2
// when the arguments are. SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>

#include <array>
#include <cstdio>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../common/arguments.hpp"
#include "../common/traffic.hpp"
#include "packet.hpp"
#include "stream.hpp"

namespace {

using namespace ring;

struct Options {
  int bytes = 1024;
  int rounds = 10000;
  bool both_directions = true;
  bool help = false;
  std::vector<int> permutation;  ///< empty: the identity
  std::string count_file;
};

bool read_direction(std::string_view text, bool& both) {
  if (text != "bi" && text != "uni") return false;
  both = text == "bi";
  return true;
}

bool read_permutation(std::string_view text, std::vector<int>& out) {
  auto numbers = arguments::read_list(text, ',', 0, std::numeric_limits<int>::max());
  if (numbers) out = std::move(*numbers);
  return numbers.has_value();
}

std::vector<arguments::Option> table(Options& o) {
  constexpr int kMost = std::numeric_limits<int>::max();
  return {
      {"--bytes", "N", "size of a packet, 16 to 2147483647; the paper has 512, 1024 and 2048 (default 1024)",
       [&](std::string_view text) { return arguments::read_number(text, kSmallestPacket, kMost, o.bytes); }},
      {"--rounds", "N", "hops of each packet, 1 or more (default 10000)",
       [&](std::string_view text) { return arguments::read_number(text, 1, kMost, o.rounds); }},
      {"--direction", "bi|uni", "bi: packets travel both ways round; uni: one way (default bi)",
       [&](std::string_view text) { return read_direction(text, o.both_directions); }},
      {"--permutation", "A0,A1,...", "rank i executes task Ai; each of 0 to ranks-1 once (default 0,1,...)",
       [&](std::string_view text) { return read_permutation(text, o.permutation); }},
      {"--count-file", "FILE", "write bytes and messages sent between ranks as CSV, a file that can be created",
       [&](std::string_view text) { return !(o.count_file = text).empty(); }},
      {"--help", "", "print this text", [&](std::string_view) { return o.help = true; }},
  };
}

/// The rank that executes each task; nothing if `tasks` is not a permutation of the ranks.
std::optional<std::vector<int>> invert(const std::vector<int>& tasks, int ranks) {
  if (tasks.size() != static_cast<std::size_t>(ranks)) return std::nullopt;
  std::vector<int> rank_of(tasks.size(), -1);
  for (std::size_t rank = 0; rank < tasks.size(); ++rank) {
    if (tasks[rank] >= ranks || rank_of[static_cast<std::size_t>(tasks[rank])] >= 0) return std::nullopt;
    rank_of[static_cast<std::size_t>(tasks[rank])] = static_cast<int>(rank);
  }
  return rank_of;
}

/// This rank's place in the ring.
struct Place {
  int task = 0;
  int tasks = 0;
  int right = 0;  ///< rank of the next task
  int left = 0;   ///< rank of the task before
};

Place find_place(int rank, const std::vector<int>& permutation, const std::vector<int>& rank_of) {
  Place place;
  place.task = permutation[static_cast<std::size_t>(rank)];
  place.tasks = static_cast<int>(permutation.size());
  place.right = rank_of[static_cast<std::size_t>((place.task + 1) % place.tasks)];
  place.left = rank_of[static_cast<std::size_t>((place.task + place.tasks - 1) % place.tasks)];
  return place;
}

std::vector<Stream> make_streams(const Place& place, const Options& options, Traffic& traffic) {
  std::vector<Stream> streams;
  const auto add = [&](int from, int to, Direction direction) {
    streams.emplace_back(from, to, direction, options.rounds, make_packet(place.task, direction, options.bytes),
                         traffic);
  };
  add(place.left, place.right, Direction::rightward);
  if (options.both_directions) add(place.right, place.left, Direction::leftward);
  return streams;
}

/// Passes packets on until every stream has done its rounds; the time it took.
double circulate(std::vector<Stream>& streams) {
  constexpr std::size_t kRequestsOfAStream = 2;
  std::vector<MPI_Request> requests(kRequestsOfAStream * streams.size(), MPI_REQUEST_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    streams[i].start(requests[kRequestsOfAStream * i], requests[kRequestsOfAStream * i + 1]);
  }
  for (;;) {
    int done = 0;
    MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUS_IGNORE);
    if (done == MPI_UNDEFINED) return MPI_Wtime() - start;
    const std::size_t i = static_cast<std::size_t>(done) / kRequestsOfAStream;
    streams[i].advance(requests[kRequestsOfAStream * i], requests[kRequestsOfAStream * i + 1]);
  }
}

/// The task whose packet ends at `place` after `rounds` hops.
int origin(const Place& place, Direction direction, int rounds) {
  const int hops = rounds % place.tasks;
  return (place.task + (direction == Direction::rightward ? place.tasks - hops : hops)) % place.tasks;
}

/// How many of this rank's last packets are damaged or not the ones due.
int wrong_packets(const std::vector<Stream>& streams, const Place& place, const Options& options) {
  int wrong = 0;
  for (const Stream& stream : streams) {
    const int task = origin(place, stream.direction(), options.rounds);
    const bool due = stream.last() == make_packet(task, stream.direction(), options.bytes);
    wrong += !due || !is_intact(stream.last());
  }
  return wrong;
}

std::string text_of(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

void print_report(const Options& options, const std::vector<double>& microseconds, int wrong) {
  for (std::size_t rank = 0; rank < microseconds.size(); ++rank) {
    std::printf("rank %zu task %d us_per_transmission %.4f\n", rank, options.permutation[rank], microseconds[rank]);
  }
  const double sum = std::accumulate(microseconds.begin(), microseconds.end(), 0.0);
  std::printf(
      "ring ranks=%zu bytes=%d rounds=%d direction=%s permutation=%s us_per_transmission=%.4f wrong_packets=%d\n",
      microseconds.size(), options.bytes, options.rounds, options.both_directions ? "bi" : "uni",
      text_of(options.permutation).c_str(), sum / static_cast<double>(microseconds.size()), wrong);
}

/// Says it once; returns `status` for the caller to leave with.
int report_error(int rank, int status, const std::string& error) {
  if (rank == 0) std::fprintf(stderr, "ring: %s\n", error.c_str());
  return status;
}

/// Collective: measures, verifies, reports; the exit status.
int benchmark(int rank, const Options& options, const Place& place, Traffic& traffic) {
  std::vector<Stream> streams = make_streams(place, options, traffic);
  const double seconds = circulate(streams);
  traffic.write();
  const double transmissions = static_cast<double>(options.rounds) * static_cast<double>(streams.size());
  const double own_microseconds = seconds / transmissions * 1e6;
  std::vector<double> microseconds(static_cast<std::size_t>(place.tasks));
  MPI_Gather(&own_microseconds, 1, MPI_DOUBLE, microseconds.data(), 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  const int own_wrong = wrong_packets(streams, place, options);
  int wrong = 0;
  MPI_Allreduce(&own_wrong, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) print_report(options, microseconds, wrong);
  if (!traffic.good()) {
    return report_error(rank, arguments::kStatusFailed, "--count-file: cannot write '" + options.count_file + "'");
  }
  return wrong == 0 ? 0 : arguments::kStatusFailed;
}

int run(std::span<char* const> words) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Options options;
  if (const auto error = arguments::parse(table(options), words))
    return report_error(rank, arguments::kStatusUsage, *error);
  if (options.help) {
    if (rank == 0) std::fputs(arguments::usage("mpiexec -n RANKS ring", table(options)).c_str(), stdout);
    return 0;
  }
  if (options.permutation.empty()) {
    options.permutation.resize(static_cast<std::size_t>(ranks));
    std::iota(options.permutation.begin(), options.permutation.end(), 0);
  }
  const auto rank_of = invert(options.permutation, ranks);
  if (!rank_of) {
    return report_error(rank, arguments::kStatusUsage,
                        "--permutation: found '" + text_of(options.permutation) + "'; allowed: each of 0 to " +
                            std::to_string(ranks - 1) + " once");
  }
  Traffic traffic(options.count_file);
  if (!traffic.good())
    return report_error(rank, arguments::kStatusUsage, "--count-file: cannot create '" + options.count_file + "'");
  return benchmark(rank, options, find_place(rank, options.permutation, *rank_of), traffic);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = run({argv + 1, static_cast<std::size_t>(argc - 1)});
  MPI_Finalize();
  return status;
}

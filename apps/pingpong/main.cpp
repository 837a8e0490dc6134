// pingpong: latency and bandwidth between given pairs of ranks, one pair at a time; the measurement of paper 003's
// table 2 (Dursun, Barker, Kerbyson et al.).
//
// mpiexec -n 4 pingpong --pairs 0-1,0-3 --bytes 0,65536 --rounds 1000
//
// A line per pair and size with half a round trip; every message is checked. Exit status of every rank: 0, 1 when a
// message was wrong, 2 when the arguments are. SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>

#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../common/arguments.hpp"

namespace {

constexpr int kMostBytes = 1 << 30;
constexpr int kWarmUp = 2;

using Pair = std::pair<int, int>;

struct Options {
  std::vector<Pair> pairs{{0, 1}};
  std::vector<int> bytes{0, 65536};
  int rounds = 100;
  bool help = false;
};

bool read_pairs(std::string_view text, std::vector<Pair>& out) {
  out.clear();
  for (;;) {
    const std::size_t end = text.find(',');
    const auto pair = arguments::read_list(text.substr(0, end), '-', 0, kMostBytes);
    if (!pair || pair->size() != 2 || (*pair)[0] == (*pair)[1]) return false;
    out.emplace_back((*pair)[0], (*pair)[1]);
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

bool read_sizes(std::string_view text, std::vector<int>& out) {
  const auto sizes = arguments::read_list(text, ',', 0, kMostBytes);
  if (sizes) out = *sizes;
  return sizes.has_value();
}

std::vector<arguments::Option> table(Options& o) {
  return {
      {"--pairs", "A-B,...", "pairs of different ranks of the run (default 0-1)",
       [&](std::string_view text) { return read_pairs(text, o.pairs); }},
      {"--bytes", "N,...", "message sizes, 0 to 1073741824 (default 0,65536)",
       [&](std::string_view text) { return read_sizes(text, o.bytes); }},
      {"--rounds", "N", "round trips of each size, 1 to 1000000 (default 100)",
       [&](std::string_view text) { return arguments::read_number(text, 1, 1000000, o.rounds); }},
      {"--help", "", "print this", [&](std::string_view) { return o.help = true; }},
  };
}

std::optional<std::string> misfit(const Options& options) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (const Pair& pair : options.pairs) {
    if (pair.first < ranks && pair.second < ranks) continue;
    return "--pairs: found " + std::to_string(pair.first) + "-" + std::to_string(pair.second) +
           "; allowed: ranks 0 to " + std::to_string(ranks - 1);
  }
  return std::nullopt;
}

/// One round trip; whether this end got what the other sent in this round.
bool trip(bool begins, int peer, int round, std::vector<unsigned char>& buffer) {
  const int length = static_cast<int>(buffer.size());
  const auto mark = static_cast<unsigned char>(round);
  if (begins) {
    for (const std::size_t at : {std::size_t{0}, buffer.size() - 1}) {
      if (at < buffer.size()) buffer[at] = mark;
    }
    MPI_Send(buffer.data(), length, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
  }
  MPI_Recv(buffer.data(), length, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const bool right = buffer.empty() || (buffer.front() == mark && buffer.back() == mark);
  if (!begins) MPI_Send(buffer.data(), length, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
  return right;
}

/// Collective. Rank 0 prints what the pair's first rank measured.
bool measure(const Pair& pair, int bytes, int rounds) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double half_trip_us = 0;
  int right = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == pair.first || rank == pair.second) {
    const bool begins = rank == pair.first;
    std::vector<unsigned char> buffer(static_cast<std::size_t>(bytes));
    double begin = 0;
    for (int round = -kWarmUp; round < rounds; ++round) {
      if (round == 0) begin = MPI_Wtime();
      right &= trip(begins, begins ? pair.second : pair.first, round, buffer) ? 1 : 0;
    }
    if (begins) half_trip_us = (MPI_Wtime() - begin) / rounds / 2 * 1e6;
  }
  MPI_Allreduce(MPI_IN_PLACE, &half_trip_us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("pingpong pair=%d-%d bytes=%d half_trip_us=%.6f right=%d\n", pair.first, pair.second, bytes,
                half_trip_us, right);
  }
  return right != 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const std::vector<arguments::Option> known = table(options);
  std::optional<std::string> problem =
      arguments::parse(known, std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!problem && !options.help) problem = misfit(options);
  if (rank == 0 && problem) std::fprintf(stderr, "pingpong: %s\n", problem->c_str());
  if (rank == 0 && options.help) std::fputs(arguments::usage("pingpong", known).c_str(), stdout);
  bool good = true;
  for (const Pair& pair : options.pairs) {
    for (const int bytes : options.bytes) {
      if (!problem && !options.help) good = measure(pair, bytes, options.rounds) && good;
    }
  }
  MPI_Finalize();
  if (problem) return arguments::kStatusUsage;
  return good ? 0 : arguments::kStatusFailed;
}

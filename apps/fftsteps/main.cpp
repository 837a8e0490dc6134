// fftsteps: the steps of a 2D FFT without its numbers, for simulated ranks: messages are sent, computation is
// declared.
//
// corewise simrun -n 64 -m MACHINE fftsteps.sim --size 1024 --form blocking
//
// Two forms of Boyer and Chase ("Insomnia", section 8). `blocking`: a rank on each processor transforms its rows,
// packs, exchanges all with all, transposes, transforms again. `dataflow`: a rank on each node; its workers
// transform blocks of rows, the communicator starts a non-blocking exchange of each block that is done, workers
// transpose blocks that have come. The rank's thread is the communicator; workers have a clock of their own, up to
// which they are busy. With a real MPI computation takes no time: then it is the exchange alone.
//
// Rank 0 prints one line: `fftsteps form=... us=...`, the time of the slowest rank.
// Exit status of every rank: 0, or 2 when the arguments are wrong. SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../common/arguments.hpp"
#include "../common/computing.hpp"

namespace fftsteps {
namespace {

using arguments::Option;
using arguments::read_number;

constexpr double element_bytes = 16;

struct Options {
  int size = 1024;
  bool dataflow = false;
  bool mixed = false;
  int threads = 8;
  int blocks = 8;
  double flops_per_ns = 0.3;
  double bytes_per_ns = 0.25;
  bool help = false;
};

bool read_either(std::string_view text, std::string_view yes, std::string_view no, bool& out) {
  if (text != yes && text != no) return false;
  out = text == yes;
  return true;
}

std::vector<Option> table(Options& o) {
  return {
      {"--size", "N", "side of the matrix, 2 to 65536 (default 1024)",
       [&o](auto text) { return read_number(text, 2, 65536, o.size); }},
      {"--form", "NAME", "blocking (default): a rank on each processor; dataflow: a rank on each node",
       [&o](auto text) { return read_either(text, "dataflow", "blocking", o.dataflow); }},
      {"--threads", "N", "dataflow: processors of a node, 2 to 1024 (default 8)",
       [&o](auto text) { return read_number(text, 2, 1024, o.threads); }},
      {"--role", "NAME", "dataflow: dedicated (default): one of them only communicates; mixed: all compute",
       [&o](auto text) { return read_either(text, "mixed", "dedicated", o.mixed); }},
      {"--blocks", "N", "dataflow: blocks of a rank's rows, 1 to 65536 (default 8), at most its rows",
       [&o](auto text) { return read_number(text, 1, 65536, o.blocks); }},
      {"--flops-per-ns", "X", "of a processor in a transform, 0.001 to 1000 (default 0.3)",
       [&o](auto text) { return read_number(text, 0.001, 1000.0, o.flops_per_ns); }},
      {"--bytes-per-ns", "X", "that a processor packs or transposes, 0.001 to 1000 (default 0.25)",
       [&o](auto text) { return read_number(text, 0.001, 1000.0, o.bytes_per_ns); }},
      {"--help", "", "this text", [&o](auto) { return o.help = true; }},
  };
}

int parts_of(int items, int parts) {
  return (items + parts - 1) / parts;
}

double now_ns() {
  return MPI_Wtime() * 1e9;
}

/// The rank's part of a matrix that is exchanged in `exchanges` equal pieces. Rows and columns are rounded up, so
/// that every rank has as many.
class Part {
 public:
  Part(const Options& options, int ranks, int exchanges)
      : options_(options),
        rows_(parts_of(options.size, ranks)),
        block_rows_(parts_of(rows_, exchanges)),
        bytes_(static_cast<std::size_t>(element_bytes) * static_cast<std::size_t>(block_rows_) *
               static_cast<std::size_t>(rows_)),
        piece_bytes_(bytes_ * static_cast<std::size_t>(ranks)),
        sent_(new char[piece_bytes_ * static_cast<std::size_t>(exchanges)]()),
        received_(new char[piece_bytes_ * static_cast<std::size_t>(exchanges)]) {}

  /// One processor's time for all rows of the part.
  double transform_ns() const {
    return rows_ * 5.0 * options_.size * std::log2(options_.size) / options_.flops_per_ns;
  }
  double move_ns() const { return rows_ * element_bytes * options_.size / options_.bytes_per_ns; }

  int bytes() const { return static_cast<int>(bytes_); }
  const char* sent(int piece) const { return sent_.get() + piece_bytes_ * static_cast<std::size_t>(piece); }
  char* received(int piece) const { return received_.get() + piece_bytes_ * static_cast<std::size_t>(piece); }

 private:
  Options options_;
  int rows_, block_rows_;
  std::size_t bytes_;        ///< of a piece, to one rank
  std::size_t piece_bytes_;  ///< to all ranks
  std::unique_ptr<char[]> sent_, received_;
};

void blocking(const Options& options, int ranks) {
  const Part part(options, ranks, 1);
  computing::nanoseconds(part.transform_ns() + part.move_ns());
  MPI_Alltoall(part.sent(0), part.bytes(), MPI_BYTE, part.received(0), part.bytes(), MPI_BYTE, MPI_COMM_WORLD);
  computing::nanoseconds(part.move_ns() + part.transform_ns());
}

/// Threads that share out what there is to do, and finish it together.
class Workers {
 public:
  explicit Workers(int count) : count_(count), busy_until_ns_(now_ns()) {}

  /// Work that one of them would do in `ns`, as soon as they are free and it is `from_ns`.
  void work(double ns, double from_ns) { busy_until_ns_ = std::max(busy_until_ns_, from_ns) + ns / count_; }

  /// The calling thread, the communicator, waits for them.
  void wait() const { computing::nanoseconds(std::max(0.0, busy_until_ns_ - now_ns())); }

 private:
  int count_;
  double busy_until_ns_;
};

void dataflow(const Options& options, int ranks) {
  const int blocks = std::min(options.blocks, parts_of(options.size, ranks));
  const Part part(options, ranks, blocks);
  Workers workers(options.mixed ? options.threads : options.threads - 1);
  std::vector<MPI_Request> requests(static_cast<std::size_t>(blocks));
  for (int block = 0; block < blocks; ++block) {
    workers.work((part.transform_ns() + part.move_ns()) / blocks, 0);
    workers.wait();
    MPI_Ialltoall(part.sent(block), part.bytes(), MPI_BYTE, part.received(block), part.bytes(), MPI_BYTE,
                  MPI_COMM_WORLD, &requests[static_cast<std::size_t>(block)]);
  }
  for (MPI_Request& request : requests) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    workers.work(part.move_ns() / blocks, now_ns());
  }
  workers.work(part.transform_ns(), 0);
  workers.wait();
}

void measure(const Options& options, int rank, int ranks) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin_ns = now_ns();
  options.dataflow ? dataflow(options, ranks) : blocking(options, ranks);
  double us = (now_ns() - begin_ns) / 1e3;
  MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("fftsteps form=%s size=%d ranks=%d us=%.3f\n", options.dataflow ? "dataflow" : "blocking",
                options.size, ranks, us);
}

int started(std::span<char* const> words) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Options options;
  if (const auto error = arguments::parse(table(options), words)) {
    if (rank == 0) std::fprintf(stderr, "fftsteps: %s\n", error->c_str());
    return arguments::kStatusUsage;
  }
  if (options.help) {
    if (rank == 0) std::fputs(arguments::usage("fftsteps", table(options)).c_str(), stdout);
    return 0;
  }
  if (ranks > options.size) {
    if (rank == 0)
      std::fprintf(stderr, "fftsteps: --size: found %d, allowed: %d, the ranks, or more\n", options.size, ranks);
    return arguments::kStatusUsage;
  }
  measure(options, rank, ranks);
  return 0;
}

}  // namespace
}  // namespace fftsteps

int main(int count, char** words) {
  MPI_Init(&count, &words);
  const int status = fftsteps::started({words + 1, static_cast<std::size_t>(count - 1)});
  MPI_Finalize();
  return status;
}

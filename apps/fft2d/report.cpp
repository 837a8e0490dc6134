// What a run says.
// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <limits>
#include <memory>
#include <vector>

#include "buffer.hpp"
#include "input.hpp"
#include "overlap/overlap.hpp"

namespace fft2d {
namespace {

constexpr double tolerance = 1e-12;
constexpr std::size_t chunk_elements = std::size_t{1} << 24;  ///< of a message: counts are ints

std::size_t world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return static_cast<std::size_t>(rank);
}

double over_ranks(double value, MPI_Op operation) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, operation, MPI_COMM_WORLD);
  return value;
}

double squares(const Complex* values, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += std::norm(values[i]);
  return over_ranks(sum, MPI_SUM);
}

/// The problem whose input is this one's output: columns are its rows where the order is transposed.
Problem opposite(const Problem& problem) {
  Problem back = problem;
  back.inverse = !problem.inverse;
  if (!problem.natural) std::swap(back.rows, back.columns);
  return back;
}

bool complain(const std::string& path) {
  std::fprintf(stderr, "fft2d: %s: cannot be written: %s\n", path.c_str(), std::strerror(errno));
  return false;
}

/// When the first of them began.
std::int64_t begin_ns(const std::vector<corewise::overlap::Span>& spans) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const auto& span : spans) first = std::min(first, span.begin_ns);
  return first;
}

}  // namespace

Errors check(const Transform& transform, const Options& options) {
  const double after = squares(transform.output(), transform.output_elements());
  const auto back = make_transform(options.form, opposite(options.problem), options.settings, MPI_COMM_WORLD);
  std::copy_n(transform.output(), transform.output_elements(), back->input());
  back->run();
  const std::size_t first = transform.rows().begin(world_rank()) * options.problem.columns;
  double largest = 0, farthest = 0, before = 0;
  for (std::size_t i = 0; i < transform.input_elements(); ++i) {
    const Complex wanted = element(options.seed, first + i);
    largest = std::max(largest, std::abs(wanted));
    farthest = std::max(farthest, std::abs(wanted - back->output()[i]));
    before += std::norm(wanted);
  }
  before = over_ranks(before, MPI_SUM);
  const auto elements = static_cast<double>(options.problem.elements());
  const double expected = options.problem.inverse ? before / elements : before * elements;
  return {over_ranks(farthest, MPI_MAX) / over_ranks(largest, MPI_MAX), std::abs(after - expected) / expected};
}

bool write_result(const Transform& transform, const std::string& path) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::size_t mine = transform.output_elements();
  if (world_rank() != 0) {
    const unsigned long long count = mine;
    MPI_Send(&count, 1, MPI_UNSIGNED_LONG_LONG, 0, 0, MPI_COMM_WORLD);
    for (std::size_t at = 0; at < mine; at += chunk_elements)
      MPI_Send(transform.output() + at, static_cast<int>(std::min(chunk_elements, mine - at)), MPI_C_DOUBLE_COMPLEX,
               0, 0, MPI_COMM_WORLD);
  }
  int written = 1;
  if (world_rank() == 0) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(transform.output()),
               static_cast<std::streamsize>(mine * sizeof(Complex)));
    const Buffer part = make_buffer(chunk_elements);
    for (int rank = 1; rank < ranks; ++rank) {
      unsigned long long left = 0;
      MPI_Recv(&left, 1, MPI_UNSIGNED_LONG_LONG, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      while (left > 0) {
        const auto count = static_cast<std::size_t>(std::min<unsigned long long>(left, chunk_elements));
        MPI_Recv(part.get(), static_cast<int>(count), MPI_C_DOUBLE_COMPLEX, rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        file.write(reinterpret_cast<const char*>(part.get()),
                   static_cast<std::streamsize>(count * sizeof(Complex)));
        left -= count;
      }
    }
    file.flush();
    written = file ? 1 : (complain(path) ? 1 : 0);
  }
  MPI_Bcast(&written, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return written == 1;
}

bool write_timeline(const Transform& transform, const std::string& path) {
  int written = 1;
  if (world_rank() == 0) {
    std::ofstream file(path);
    file << "{\"traceEvents\": [" << std::fixed << std::setprecision(3);
    const auto* const flow = transform.flow();
    const char* separator = "\n";
    if (flow != nullptr) {
      const std::int64_t origin_ns = begin_ns(flow->timeline());
      for (const auto& span : flow->timeline()) {
        const bool moves = span.activity == corewise::overlap::Activity::transfer;
        // Transfers overlap each other, so each block has a track of its own.
        file << separator << R"({"ph": "X", "pid": )" << (moves ? 1 : 0) << R"(, "tid": )"
             << (moves ? span.block : span.thread) << R"(, "name": ")" << flow->stage_name(span) << ' '
             << span.block << R"(", "cat": ")" << (moves ? "transfer" : "work") << R"(", "ts": )"
             << static_cast<double>(span.begin_ns - origin_ns) / 1e3 << R"(, "dur": )"
             << static_cast<double>(span.end_ns - span.begin_ns) / 1e3 << '}';
        separator = ",\n";
      }
    }
    file << "\n]}\n";
    file.flush();
    written = file ? 1 : (complain(path) ? 1 : 0);
  }
  MPI_Bcast(&written, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return written == 1;
}

bool Report::passed() const {
  return std::all_of(errors_.begin(), errors_.end(),
                     [](const Errors& each) { return each.identity <= tolerance && each.parseval <= tolerance; });
}

void Report::print(const Transform& transform) const {
  double hidden = 0;
  if (transform.flow() != nullptr) hidden = corewise::overlap::hidden(transform.flow()->timeline()).share();
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  hidden = over_ranks(hidden, MPI_SUM) / ranks;
  if (world_rank() != 0) return;
  std::vector<double> sorted = times_ms_;
  std::sort(sorted.begin(), sorted.end());
  const Problem& problem = options_.problem;
  std::printf("fft2d form=%s size=%zux%zu order=%s ranks=%d threads=%d engine=%s n=%zu median_ms=%.4f min_ms=%.4f",
              options_.form.c_str(), problem.rows, problem.columns, problem.natural ? "natural" : "transposed",
              ranks, options_.threads, engine_.c_str(), sorted.size(), sorted[sorted.size() / 2], sorted.front());
  if (options_.settings.knobs.timeline) std::printf(" hidden=%.4f", hidden);
  for (const Errors& each : errors_)
    std::printf(" identity=%.3g parseval=%.3g check=%s", each.identity, each.parseval,
                passed() ? "passed" : "failed");
  std::printf("\n");
}

}  // namespace fft2d

// Transposes of an n x n matrix of complex doubles on one thread, whose rows are `stride` elements apart. In each
// of `rounds` rounds every contestant runs once, another one first each time. Prints a line per round: nanoseconds
// of the processor for blocked C, the same with the target read first, ours through the caches, ours past them, and
// a copy of as many bytes past the caches.
//
// Usage: bench_transpose N STRIDE ROUNDS. SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>

#include "huge.hpp"
#include "kernels/copy/copy.hpp"
#include "kernels/transpose/transpose.hpp"

namespace corewise::bench {
namespace {

using kernels::Complex;
using kernels::Transposition;

/// Of the processor, in this thread: another program that has it meanwhile does not count.
double processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double time_ns(const std::function<void()>& run) {
  const double start_ns = processor_ns();
  run();
  return processor_ns() - start_ns;
}

/// The widest vectors of this processor, past the caches.
const kernels::CopyKernel& copy_past_the_caches() {
  for (const char* name : {"avx512_nt", "avx2_nt"})
    if (const auto* kernel = kernels::find_copy_kernel(name); kernel->available()) return *kernel;
  return *kernels::find_copy_kernel("memcpy");
}

std::array<std::function<void()>, 5> contestants(const Transposition& m) {
  const auto by = [&m](const kernels::TransposeKernel& kernel) { return [&m, &kernel] { kernel.run(m); }; };
  return {by(*kernels::find_transpose_kernel("blocked")),
          by(*kernels::find_transpose_kernel("blocked_read_allocate")), by(kernels::chosen_transpose(false)),
          by(kernels::chosen_transpose(true)),
          [&m] { copy_past_the_caches().run(m.to, m.from, m.rows * m.columns * sizeof(Complex)); }};
}

void run(std::size_t n, std::size_t stride, int rounds) {
  const Huge from(n * stride * sizeof(Complex)), to(n * stride * sizeof(Complex));
  const Transposition m{to.as<Complex>(), stride, from.as<Complex>(), stride, n, n};
  std::fill_n(from.as<Complex>(), n * stride, Complex(1, 2));
  const auto all = contestants(m);
  for (const auto& each : all) each();
  for (int round = 0; round < rounds; ++round) {
    std::array<double, all.size()> times_ns{};
    for (std::size_t place = 0; place < all.size(); ++place) {
      const std::size_t which = (static_cast<std::size_t>(round) + place) % all.size();
      times_ns[which] = time_ns(all[which]);
    }
    for (const double each : times_ns) std::printf("%.0f ", each);
    std::printf("\n");
  }
}

}  // namespace
}  // namespace corewise::bench

int main(int count, char** words) {
  if (count != 4) return 2;
  corewise::bench::run(std::strtoul(words[1], nullptr, 10), std::strtoul(words[2], nullptr, 10),
                       std::atoi(words[3]));
  return 0;
}

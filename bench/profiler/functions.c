/* The measured program: a function that does nothing, entered and left. Compiled with and without
 * -finstrument-functions; main and the clock are never instrumented. Prints the smallest thread CPU time per
 * entry-and-exit pair over many repetitions, in nanoseconds. MPI is used to start recording, not measured.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifdef WITH_MPI
#include <mpi.h>
#endif
#include <stdio.h>
#include <time.h>

enum { kRepetitions = 60, kCalls = 20000 };

#define PLAIN __attribute__((no_instrument_function))

static volatile int sink;

__attribute__((noinline)) void measured(int value) {
  sink = value;
}

PLAIN static double thread_cpu_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

PLAIN int main(int argc, char** argv) {
  double best = 1e300;
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
#else
  (void)argc, (void)argv;
#endif
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    const double begin = thread_cpu_ns();
    for (int i = 0; i < kCalls; ++i) measured(i);
    const double took = thread_cpu_ns() - begin;
    if (took < best) best = took;
  }
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  printf("%.3f\n", best / kCalls);
  return 0;
}

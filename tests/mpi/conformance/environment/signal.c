// Signals that arrive by the hundred while messages travel: nothing is lost, nothing hangs, the handler stays
// installed; and an interval timer of the program's own keeps its period.
//
// ranks: 2 3
// SPDX-License-Identifier: BSD-3-Clause
#include <signal.h>
#include <sys/time.h>

#include "check.h"

static volatile sig_atomic_t ticks;
static void tick(int number) {
  (void)number;
  ++ticks;
}

static void set_timer(long interval_us) {
  struct itimerval timer = {{0, interval_us}, {0, interval_us}};
  EQ(0, setitimer(ITIMER_REAL, &timer, NULL));
}

static void exchange(int round) {
  enum { N = 2000 };
  static int out[N], in[N];
  int length = round % 10 ? 1 + round % 50 : N, sum = 0;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  fill(out, length, rank + round);
  OK(MPI_Irecv(in, N, MPI_INT, (rank + size - 1) % size, round % 100, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend(out, length, MPI_INT, (rank + 1) % size, round % 100, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Waitall(2, requests, statuses));
  EQ(length, count_of(&statuses[0], MPI_INT));
  CHECK_FILL(in, length, (rank + size - 1) % size + round);
  if (round % 20) return;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  EQ(size * (size - 1) / 2, sum);
}

int main(void) {
  struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART}, now;
  struct itimerval timer;
  start();
  sigaction(SIGALRM, &action, NULL);
  set_timer(500);
  int go_on = 1;
  for (int round = 0; go_on; ++round) {
    exchange(round);
    if (round % 50) continue;
    int enough = ticks > 100;
    OK(MPI_Allreduce(&enough, &go_on, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    go_on = !go_on;
  }
  sigaction(SIGALRM, NULL, &now);
  CHECK(now.sa_handler == tick);
  EQ(0, getitimer(ITIMER_REAL, &timer));
  EQ(500, timer.it_interval.tv_usec);
  set_timer(0);
  return finish("signal");
}

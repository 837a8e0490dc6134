/* Functions in a loop, in the handler of a timer that is set again when it has run (so that the program goes on
 * however slow signals are), and in threads that come and go, with destructors of their own; the end is a normal
 * one or SIGKILL. SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

enum { kCalls = 20000, kThreads = 8, kCallsOfThread = 500 };

#define APART __attribute__((noinline))

static volatile int sink;
static volatile int over;
static pthread_key_t key;

APART void work(int value) {
  sink = value;
}

APART void in_handler(void) {
  sink = 0;
}

__attribute__((no_instrument_function)) static void set_timer(void) {
  const struct itimerval soon = {.it_value.tv_usec = 50};
  setitimer(ITIMER_REAL, &soon, NULL);
}

APART void on_tick(int number) {
  (void)number;
  in_handler();
  if (!over) set_timer();
}

APART void at_the_threads_end(void* value) {
  sink = value != NULL;
}

APART void* in_thread(void* argument) {
  pthread_setspecific(key, argument);
  for (int i = 0; i < kCallsOfThread; ++i) work(i);
  return NULL;
}

int main(int argc, char** argv) {
  struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  MPI_Init(&argc, &argv);
  pthread_key_create(&key, at_the_threads_end);
  sigaction(SIGALRM, &action, NULL);
  set_timer();
  for (int round = 0; round < kThreads; ++round) {
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, in_thread, &key);
    for (int i = 0; i < kCalls / kThreads; ++i) work(i);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  }
  over = 1;
  if (argc > 1) raise(SIGKILL);
  MPI_Finalize();
  return 0;
}

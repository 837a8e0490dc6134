/* Functions in a loop, in a handler that a timer calls as often as it can, and in threads that come and go, with
 * destructors of their own; the end is a normal one or SIGKILL. SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

enum { kCalls = 20000, kThreads = 8, kCallsOfThread = 500 };

#define APART __attribute__((noinline))

static volatile int sink;
static pthread_key_t key;

APART void work(int value) {
  sink = value;
}

APART void in_handler(void) {
  sink = 0;
}

APART void on_tick(int number) {
  (void)number;
  in_handler();
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
  struct itimerval often = {{0, 50}, {0, 50}};
  struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  MPI_Init(&argc, &argv);
  pthread_key_create(&key, at_the_threads_end);
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  for (int round = 0; round < kThreads; ++round) {
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, in_thread, &key);
    for (int i = 0; i < kCalls / kThreads; ++i) work(i);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  }
  memset(&often, 0, sizeof often);
  setitimer(ITIMER_REAL, &often, NULL);
  if (argc > 1) raise(SIGKILL);
  MPI_Finalize();
  return 0;
}

/* The processor's trap flag: after every instruction of the recorder, also inside libc, comes a signal, and by
 * chance its handler calls a function that is recorded too: so that the program's own functions, too, find a buffer
 * full. In main, and in threads from their first function to their last destructor. x86-64.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

enum { kFarthest = 256, kCalls = 3000, kThreads = 2, kCallsOfThread = 200 };

#define APART __attribute__((noinline))
#define NOT_RECORDED __attribute__((noinline, no_instrument_function))

static volatile int sink;
static volatile long handled;
static __thread volatile unsigned left, state;
static pthread_key_t key;

APART void work(int value) {
  sink = value;
}

APART void in_handler(void) {
  sink = 0;
}

NOT_RECORDED static void on_step(int number) {
  (void)number;
  if (left > 0) {
    --left;
    return;
  }
  state = state * 1664525U + 1013904223U;
  left = (state >> 16) % kFarthest;
  __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
  in_handler();
}

/* Below the stack pointer lie the caller's own 128 bytes. */
NOT_RECORDED static void step(void) {
  __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                       : "cc", "memory");
}

NOT_RECORDED static void run(void) {
  __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $-0x101, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                       : "cc", "memory");
}

/* After the recorder's: its key is older. A thread that ends blocks all signals, and this one must not be. */
NOT_RECORDED static void at_the_threads_end(void* value) {
  (void)value;
  run();
}

NOT_RECORDED static void* in_thread(void* argument) {
  pthread_setspecific(key, argument);
  step();
  for (int i = 0; i < kCallsOfThread; ++i) work(i);
  return NULL;
}

int main(int argc, char** argv) {
  struct sigaction action = {.sa_handler = on_step};
  MPI_Init(&argc, &argv);
  pthread_key_create(&key, at_the_threads_end);
  sigaction(SIGTRAP, &action, NULL);
  step();
  for (int i = 0; i < kCalls; ++i) work(i);
  run();
  for (int round = 0; round < kThreads; ++round) {
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, &key);
    pthread_join(thread, NULL);
  }
  MPI_Finalize();
  printf("%ld\n", handled);
  return 0;
}

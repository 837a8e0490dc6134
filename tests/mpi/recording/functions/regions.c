/* Names of every kind: reused memory, one text at several addresses, long ones, more than are told apart, none,
 * deep nesting, threads, and Fortran's where it is linked. SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "corewise.h"

enum { kLong = 400, kDeep = 40, kMany = 1100 };

#ifdef WITH_FORTRAN
void fortran_work(void);
#else
static void fortran_work(void) {}
#endif

static void* in_thread(void* argument) {
  corewise_begin("thread");
  corewise_begin(argument);
  corewise_end();
  corewise_end();
  return NULL;
}

int main(int argc, char** argv) {
  char name[kLong + 1];
  pthread_t thread;
  MPI_Init(&argc, &argv);
  for (int step = 0; step < 3; ++step) {
    snprintf(name, sizeof name, "step %d", step % 2);
    corewise_begin(name);
    corewise_end();
  }
  corewise_begin("step 1");
  corewise_end();
  memset(name, 'x', kLong);
  name[kLong] = '\0';
  corewise_begin(name);
  corewise_end();
  corewise_begin(NULL);
  corewise_end();
  pthread_create(&thread, NULL, in_thread, "inner");
  pthread_join(thread, NULL);
  fortran_work();
  for (int depth = 0; depth < kDeep; ++depth) corewise_begin("deep");
  for (int depth = 0; depth < kDeep; ++depth) corewise_end();
  for (int i = 0; i < kMany; ++i) {
    snprintf(name, sizeof name, "many %d", i);
    corewise_phase(name);
  }
  MPI_Finalize();
  return 0;
}

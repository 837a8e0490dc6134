/* One rank whose functions do whatever functions do; the test knows every entry and exit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline))

int from_library(int value);

static jmp_buf home;
static volatile int sink;

static inline int inlined(int value) {
  return value * 2 + 1;
}

APART static int hidden_inside(int value) {
  return inlined(value) + 1;
}

APART __attribute__((no_instrument_function)) static int not_seen(int value) {
  return hidden_inside(value);
}

APART int recursive(int depth) {
  return depth == 0 ? inlined(depth) : recursive(depth - 1) + 1;
}

APART void leaps(void) {
  sink = 1;
  longjmp(home, 1);
}

APART void is_left(void) {
  leaps();
  sink = 2;
}

APART void catches(void) {
  if (setjmp(home) == 0) is_left();
}

APART void* in_thread(void* argument) {
  sink = recursive(1);
  return argument;
}

APART void on_signal(int number) {
  sink = number;
}

APART void in_child(void) {
  sink = recursive(2);
}

APART void before_init(void) {
  sink = recursive(0);
}

APART void after_finalize(void) {
  sink = 3;
}

APART static void starts(int* argc, char*** argv) {
  before_init();
  MPI_Init(argc, argv);
}

APART static void runs_a_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, NULL);
  pthread_join(thread, NULL);
}

APART static void forks(void) {
  const pid_t child = fork();
  if (child == 0) {
    in_child();
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  if (status != 0) printf("child: %d\n", status);
}

APART static void loads(const char* plugin) {
  void* library = dlopen(plugin, RTLD_NOW);
  int (*entry)(int) = library != NULL ? (int (*)(int))dlsym(library, "from_plugin") : NULL;
  if (entry == NULL)
    printf("%s\n", dlerror());
  else
    sink = entry(1);
}

int main(int argc, char** argv) {
  starts(&argc, &argv);
  sink = recursive(2);
  sink = not_seen(1);
  sink = from_library(1);
  catches();
  signal(SIGUSR1, on_signal);
  raise(SIGUSR1);
  runs_a_thread();
  forks();
  loads(argv[1]);
  MPI_Finalize();
  after_finalize();
  return 0;
}

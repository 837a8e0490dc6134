// Large blocks of malloc and its kin in collectives: every way to get, grow and give back one, beside small ones,
// in threads, beside a child, and after MPI has ended. Rank 0 prints how many calls all ranks' memory was fit for,
// and how many blocks each rank has asked the heap for at least. SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trap.h"

enum { LARGE = 1 << 20, LEAST = 256 << 10, THREADS = 4 };

static int rank, size, fitting, blocks;

static void fill(char* at, size_t bytes, int with) {
  for (size_t i = 0; i < bytes; ++i) at[i] = (char)(with + (int)(i % 251));
}
static int holds(const char* at, size_t bytes, int with) {
  for (size_t i = 0; i < bytes; ++i)
    if (at[i] != (char)(with + (int)(i % 251))) return 0;
  return 1;
}

/// A sum of the block's numbers over the ranks, in place.
static void sum(void* block, size_t bytes) {
  long* const numbers = (long*)block;
  const int n = (int)(bytes / sizeof(long));
  for (int i = 0; i < n; ++i) numbers[i] = i + rank;
  MPI_Allreduce(MPI_IN_PLACE, numbers, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i) REQUIRE(numbers[i] == (long)size * i + (long)size * (size - 1) / 2);
  ++fitting;
}

static void every_way(void) {
  char* block = (char*)malloc(LARGE);
  REQUIRE(block != NULL && malloc_usable_size(block) >= LARGE);
  sum(block, LARGE);
  free(block);

  block = (char*)calloc(LARGE / 8, 8);
  for (int i = 0; i < LARGE; ++i) REQUIRE(block[i] == 0);
  sum(block, LARGE);
  free(block);

  block = (char*)aligned_alloc(4096, LARGE);
  REQUIRE((uintptr_t)block % 4096 == 0);
  sum(block, LARGE);
  free(block);

  void* aligned = NULL;
  REQUIRE(posix_memalign(&aligned, 64, LEAST) == 0 && (uintptr_t)aligned % 64 == 0);
  sum(aligned, LEAST);
  free(aligned);

  REQUIRE(posix_memalign(&aligned, 1 << 21, LARGE) == 0 && (uintptr_t)aligned % (1 << 21) == 0);  // not of the heap
  free(aligned);
  REQUIRE(posix_memalign(&aligned, 24, LARGE) == EINVAL);
  blocks += 4;
}

/// From small to large, larger, hardly larger, smaller, small, and away.
static void grow_and_shrink(void) {
  char* block = (char*)malloc(1000);
  fill(block, 1000, 1);
  block = (char*)realloc(block, LARGE);
  REQUIRE(holds(block, 1000, 1));
  fill(block, LARGE, 2);
  block = (char*)realloc(block, 2 * LARGE - 100);
  REQUIRE(holds(block, LARGE, 2));
  char* const same = (char*)realloc(block, 2 * LARGE - 50);
  REQUIRE(holds(same, LARGE, 2));
  sum(same, LARGE);
  fill(same, LARGE, 3);
  block = (char*)realloc(same, LEAST);
  REQUIRE(holds(block, LEAST, 3));
  block = (char*)realloc(block, 100);
  REQUIRE(holds(block, 100, 3));
  free(block);
  block = (char*)realloc(NULL, LARGE);
  sum(block, LARGE);
  REQUIRE(realloc(block, 0) == NULL);
  blocks += 4;
}

static void too_much(void) {
  errno = 0;
  volatile size_t half = SIZE_MAX / 2;
  REQUIRE(malloc(half) == NULL && errno == ENOMEM);
  REQUIRE(calloc(half, 3) == NULL && errno == ENOMEM);
  errno = EDOM;
  free(malloc(LARGE));
  free(NULL);
  REQUIRE(errno == EDOM);
  blocks += 1;
}

static void* in_a_thread(void* number) {
  for (int turn = 0; turn < 50; ++turn) {
    const size_t bytes = LEAST / 2 + (size_t)turn * 20000;
    char* const block = (char*)malloc(bytes);
    fill(block, bytes, (int)(intptr_t)number + turn);
    char* const other = (char*)realloc(block, bytes + 300000);
    REQUIRE(holds(other, bytes, (int)(intptr_t)number + turn));
    free(other);
  }
  return NULL;
}
static void in_threads(void) {
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; ++i) REQUIRE(pthread_create(&threads[i], NULL, in_a_thread, (void*)i) == 0);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

/// A child writes all over its copy, frees it, and has memory of its own.
static void beside_a_child(void) {
  enum { MANY = 40 };
  char* many[MANY];
  for (int i = 0; i < MANY; ++i) fill(many[i] = (char*)malloc(LEAST), LEAST, i);
  const pid_t child = fork();
  if (child == 0) {
    int same = 1;
    for (int i = 0; i < MANY; ++i) {
      same = same && holds(many[i], LEAST, i);
      memset(many[i], 0xEE, LEAST);
      many[i] = (char*)realloc(many[i], LARGE);
      same = same && many[i][LEAST - 1] == (char)0xEE;
      memset(many[i], 0xEF, LARGE);
      free(many[i]);
    }
    _exit(same ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  for (int i = 0; i < MANY; ++i) {
    REQUIRE(holds(many[i], LEAST, i));
    free(many[i]);
  }
  blocks += MANY;
}

int main(int argc, char** argv) {
  char* const before = (char*)malloc(LARGE);
  fill(before, LARGE, 7);
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);  // the communicator is set up
  MPI_Barrier(MPI_COMM_WORLD);
  for (int turn = 0; turn < 3; ++turn) {
    every_way();
    grow_and_shrink();
    too_much();
    in_threads();
    beside_a_child();
  }
  char* after = (char*)malloc(LARGE);
  fill(after, LARGE, 9);
  if (rank == 0) printf("fitting: %d\nblocks: %d\n", fitting, blocks);
  MPI_Finalize();
  REQUIRE(holds(before, LARGE, 7) && holds(after, LARGE, 9));
  free(before);
  after = (char*)realloc(after, 2 * LARGE);
  REQUIRE(holds(after, LARGE, 9));
  free(after);
  if (rank == 0) puts("right");
  return 0;
}

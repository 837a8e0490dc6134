// MPI_THREAD_MULTIPLE: threads with communicators or tags of their own, threads that start and end by the hundred,
// requests completed by another thread than the one that made them, a thread with a small stack.
//
// ranks: 1 2 3
// SPDX-License-Identifier: BSD-3-Clause
#include <pthread.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 300 };
static int next, previous;

typedef struct {
  int id;
  MPI_Comm comm;
} job;

static void run(void* (*body)(void*), job* jobs) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) EQ(0, pthread_create(&threads[i], NULL, body, &jobs[i]));
  for (int i = 0; i < THREADS; ++i) EQ(0, pthread_join(threads[i], NULL));
}

static void* ping_pong(void* argument) {
  const job* mine = argument;
  int flag = 1;
  OK(MPI_Is_thread_main(&flag));
  EQ(0, flag);
  for (int i = 0; i < ROUNDS; ++i) {
    int out[2] = {rank * 1000 + i, mine->id}, in[2] = {-1, -1};
    MPI_Status status;
    MPI_Request requests[2];
    poison(&status);
    OK(MPI_Irecv(in, 2, MPI_INT, previous, mine->id, mine->comm, &requests[0]));
    OK(MPI_Isend(out, 2, MPI_INT, next, mine->id, mine->comm, &requests[1]));
    if (i % 2)
      OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    else {
      OK(MPI_Wait(&requests[0], &status));
      CHECK_STATUS(status, previous, mine->id, 2, MPI_INT);
      OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    }
    EQ(previous * 1000 + i, in[0]);
    EQ(mine->id, in[1]);
  }
  return NULL;
}

static void* collectives(void* argument) {
  const job* mine = argument;
  for (int i = 0; i < 30; ++i) {
    int value = rank + i * mine->id, sum = -1;
    OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, mine->comm));
    EQ(size * (size - 1) / 2 + size * i * mine->id, sum);
    OK(MPI_Bcast(&value, 1, MPI_INT, i % size, mine->comm));
    EQ(i % size + i * mine->id, value);
  }
  return NULL;
}

static void own_tags(void) {
  job jobs[THREADS];
  for (int i = 0; i < THREADS; ++i) jobs[i] = (job){100 + i, MPI_COMM_WORLD};
  run(ping_pong, jobs);
}

static void own_communicators(void) {
  job jobs[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    jobs[i].id = i;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &jobs[i].comm));
  }
  run(ping_pong, jobs);
  run(collectives, jobs);
  for (int i = 0; i < THREADS; ++i) OK(MPI_Comm_free(&jobs[i].comm));
}

static void* one_message(void* argument) {
  int value = -1, tag = *(int*)argument;
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, next, tag, &value, 1, MPI_INT, previous, tag, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  EQ(previous, value);
  return NULL;
}

static void threads_come_and_go(void) {
  for (int i = 0; i < 300; ++i) {
    pthread_t thread;
    EQ(0, pthread_create(&thread, NULL, one_message, &i));
    EQ(0, pthread_join(thread, NULL));
  }
}

static MPI_Request handed_over[2];
static int received;

static void* finish_it(void* argument) {
  (void)argument;
  OK(MPI_Waitall(2, handed_over, MPI_STATUSES_IGNORE));
  return NULL;
}

static void completed_by_another_thread(void) {
  for (int i = 0; i < 50; ++i) {
    pthread_t thread;
    received = -1;
    OK(MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &handed_over[0]));
    OK(MPI_Isend(&rank, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &handed_over[1]));
    EQ(0, pthread_create(&thread, NULL, finish_it, NULL));
    EQ(0, pthread_join(thread, NULL));
    CHECK(handed_over[0] == MPI_REQUEST_NULL);
    EQ(previous, received);
  }
}

// Matched probes are how threads share one queue of messages.
static void* take_some(void* argument) {
  const job* mine = argument;
  static int seen[THREADS * 50];
  for (int i = 0; i < 50; ++i) {
    MPI_Message message;
    MPI_Status status;
    int value = -1;
    OK(MPI_Mprobe(MPI_ANY_SOURCE, 6, mine->comm, &message, &status));
    OK(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    EQ(0, __atomic_fetch_add(&seen[value], 1, __ATOMIC_RELAXED));
  }
  return NULL;
}

static void shared_queue(void) {
  job jobs[THREADS];
  MPI_Request requests[THREADS * 50];
  int values[THREADS * 50];
  for (int i = 0; i < THREADS * 50; ++i) {
    values[i] = i;
    OK(MPI_Isend(&values[i], 1, MPI_INT, next, 6, MPI_COMM_WORLD, &requests[i]));
  }
  for (int i = 0; i < THREADS; ++i) jobs[i] = (job){i, MPI_COMM_WORLD};
  run(take_some, jobs);
  OK(MPI_Waitall(THREADS * 50, requests, MPI_STATUSES_IGNORE));
}

// Whoever copies request or status arrays to the stack would not fit.
static void* many_requests(void* argument) {
  enum { N = 4000 };
  static MPI_Request requests[2 * N];
  static MPI_Status statuses[2 * N];
  static int in[N];
  (void)argument;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < N; ++i) OK(MPI_Irecv(&in[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &requests[i]));
    for (int i = 0; i < N; ++i) OK(MPI_Isend(&rank, 1, MPI_INT, rank, i, MPI_COMM_WORLD, &requests[N + i]));
    OK(MPI_Waitall(2 * N, requests, round ? statuses : MPI_STATUSES_IGNORE));
    for (int i = 0; i < N; ++i) EQ(rank, in[i]);
  }
  EQ(rank, statuses[0].MPI_SOURCE);
  return NULL;
}

static void small_stack(void) {
  pthread_t thread;
  pthread_attr_t attributes;
  EQ(0, pthread_attr_init(&attributes));
  EQ(0, pthread_attr_setstacksize(&attributes, 128 * 1024));
  EQ(0, pthread_create(&thread, &attributes, many_requests, NULL));
  EQ(0, pthread_join(thread, NULL));
  EQ(0, pthread_attr_destroy(&attributes));
}

int main(void) {
  int provided = -1, level = -1, flag = 0;
  OK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
  know_world();
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  EQ(MPI_THREAD_MULTIPLE, provided);
  OK(MPI_Query_thread(&level));
  EQ(provided, level);
  OK(MPI_Is_thread_main(&flag));
  EQ(1, flag);
  own_tags();
  own_communicators();
  threads_come_and_go();
  completed_by_another_thread();
  shared_queue();
  small_stack();
  return finish("thread");
}

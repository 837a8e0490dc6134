// A communicator and a datatype that one thread frees while another thread's blocking call on them is still inside
// MPI: legal, the pending operation completes normally. The tool may not touch them after the call.
// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include "scenario.h"

enum { kRounds = 2000, kSlowRounds = 20 };

struct Job {
  MPI_Comm comm;
  MPI_Datatype type;
};

static void* send_it(void* argument) {
  struct Job* job = argument;
  int numbers[4] = {1, 2, 3, 4};
  MPI_Ssend(numbers, 1, job->type, 0, 7, job->comm);
  return NULL;
}

// 0: calls are not slow. 1: the next is. 2: it is over, but for its return. 3: the datatype is freed.
static int slow;

static void wait_until(int state) {
  while (__atomic_load_n(&slow, __ATOMIC_ACQUIRE) != state) sched_yield();
}

// At the end of the functions of the MPI that follow; a tool that stands between calls these.
static int stay(int code) {
  int expected = 1;
  if (__atomic_compare_exchange_n(&slow, &expected, 2, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) wait_until(3);
  return code;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int PMPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return stay(NEXT(PMPI_Bcast)(buffer, count, type, root, comm));
}

int PMPI_Alltoallw(const void* from, const int sends[], const int places[], const MPI_Datatype types[], void* to,
                   const int receives[], const int there[], const MPI_Datatype their_types[], MPI_Comm comm) {
  return stay(NEXT(PMPI_Alltoallw)(from, sends, places, types, to, receives, there, their_types, comm));
}

int PMPI_Mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  return stay(NEXT(PMPI_Mrecv)(buffer, count, type, message, status));
}

static void* broadcast(void* argument) {
  struct Job* job = argument;
  int numbers[4] = {1, 2, 3, 4};
  MPI_Bcast(numbers, 1, job->type, 0, job->comm);
  return stay(0), NULL;
}

static void* exchange(void* argument) {
  struct Job* job = argument;
  int numbers[4] = {1, 2, 3, 4}, got[4];
  const int one = 1, nothing = 0;
  MPI_Alltoallw(numbers, &one, &nothing, &job->type, got, &one, &nothing, &job->type, job->comm);
  return stay(0), NULL;
}

static void* receive(void* argument) {
  struct Job* job = argument;
  int numbers[4];
  MPI_Message message;
  MPI_Mprobe(0, 7, job->comm, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(numbers, 1, job->type, &message, MPI_STATUS_IGNORE);
  return stay(0), NULL;
}

static void free_inside(void* (*call)(void*)) {
  struct Job job = {MPI_COMM_SELF, MPI_DATATYPE_NULL};
  pthread_t thread;
  int numbers[4] = {1, 2, 3, 4};
  MPI_Request request;
  MPI_Type_contiguous(4, MPI_INT, &job.type);
  MPI_Type_commit(&job.type);
  if (call == receive) MPI_Isend(numbers, 4, MPI_INT, 0, 7, job.comm, &request);
  __atomic_store_n(&slow, 1, __ATOMIC_RELEASE);
  pthread_create(&thread, NULL, call, &job);
  wait_until(2);
  MPI_Datatype freed = job.type;
  MPI_Type_free(&freed);
  __atomic_store_n(&slow, 3, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
  if (call == receive) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  REQUIRE(provided == MPI_THREAD_MULTIPLE);
  for (int round = 0; round < kRounds; ++round) {
    struct Job job;
    pthread_t thread;
    int got[4];
    MPI_Comm_dup(MPI_COMM_SELF, &job.comm);
    MPI_Type_contiguous(4, MPI_INT, &job.type);
    MPI_Type_commit(&job.type);
    pthread_create(&thread, NULL, send_it, &job);
    MPI_Recv(got, 4, MPI_INT, 0, 7, job.comm, MPI_STATUS_IGNORE);
    struct Job freed = job;  // the thread's own copy stays as it was
    MPI_Comm_free(&freed.comm);
    MPI_Type_free(&freed.type);
    pthread_join(thread, NULL);
    REQUIRE(got[3] == 4);
  }
  for (int round = 0; round < kSlowRounds; ++round) {
    free_inside(broadcast);
    free_inside(exchange);
    free_inside(receive);
  }
  MPI_Finalize();
  puts("ok freed");
  return 0;
}

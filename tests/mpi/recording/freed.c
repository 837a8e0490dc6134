// A communicator and a datatype that one thread frees while another thread's blocking send on them is still inside
// MPI: legal, the pending operation completes normally. The tool may not touch them after the call.
// SPDX-License-Identifier: BSD-3-Clause
#include <pthread.h>

#include "scenario.h"

enum { kRounds = 2000 };

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
  MPI_Finalize();
  puts("ok freed");
  return 0;
}

// The last rank makes another call than the others: more or fewer bytes, another root, another collective. Every
// rank says which error it was told of. All cases, each on a communicator of its own; or case ONLY, where the
// communicator's handler ends the run. With the variable MAPPED buffers are of MPI_Alloc_mem.
// SPDX-License-Identifier: BSD-3-Clause
#include "trap.h"

static const char* const cases[] = {"bcast-more", "bcast-fewer", "short", "allreduce",
                                    "gather",     "alltoall",    "root",  "collective"};
enum { CASES = sizeof cases / sizeof cases[0], MOST = 40000 };

static int wrong_call(int which, MPI_Comm comm, int other, long* send, long* receive) {
  const int fewer = other ? MOST / 2 : MOST, more = other ? MOST : MOST / 2;
  int size;
  MPI_Comm_size(comm, &size);
  switch (which) {
    case 0:
      return MPI_Bcast(send, more, MPI_LONG, 0, comm);
    case 1:
      return MPI_Bcast(send, fewer, MPI_LONG, 0, comm);
    case 2:
      return MPI_Bcast(send, other ? 3 : 700, MPI_LONG, 0, comm);
    case 3:
      return MPI_Allreduce(send, receive, fewer, MPI_LONG, MPI_SUM, comm);
    case 4:
      return MPI_Gather(send, fewer, MPI_LONG, receive, fewer, MPI_LONG, 0, comm);
    case 5:
      return MPI_Alltoall(send, more, MPI_LONG, receive, more, MPI_LONG, comm);
    case 6:
      return MPI_Bcast(send, 700, MPI_LONG, other ? 0 : size - 1, comm);
    default:
      return other ? MPI_Barrier(comm) : MPI_Allreduce(send, receive, 1, MPI_LONG, MPI_SUM, comm);
  }
}

static const char* told(int code) {
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  if (class == MPI_ERR_TRUNCATE) return "truncated";
  if (class == MPI_ERR_ROOT) return "root";
  return class == MPI_SUCCESS ? "nothing" : "other";
}

static long* room(int ranks) {
  const size_t count = (size_t)MOST * (size_t)ranks;
  if (getenv("MAPPED") == NULL) return (long*)calloc(count, sizeof(long));
  long* at = NULL;
  MPI_Alloc_mem((MPI_Aint)(count * sizeof(long)), MPI_INFO_NULL, &at);
  memset(at, 0, count * sizeof(long));
  return at;
}

static void give_back(long* at) {
  if (getenv("MAPPED") == NULL) {
    free(at);
  } else {
    MPI_Free_mem(at);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long* const send = room(size);
  long* const receive = room(size);
  for (int which = 0; which < CASES; ++which) {
    if (argc > 1 && strcmp(argv[1], cases[which]) != 0) continue;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (argc == 1) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int kind = 0; kind < KINDS; ++kind) collective(kind, comm, 0, 5);
    printf("%s: rank %d: %s\n", cases[which], rank, told(wrong_call(which, comm, rank == size - 1, send, receive)));
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);  // other communicators go on
    MPI_Comm_free(&comm);
  }
  give_back(send);
  give_back(receive);
  return finish();
}

// Every way to move a message between two processes, one scenario each; 4 ranks. test_calls.py has the
// records that each must leave on every rank.
// SPDX-License-Identifier: BSD-3-Clause
#include "scenario.h"

static int numbers[1024];
static double values[64];

SCENARIO(blocking) {
  static char buffer[4096 + MPI_BSEND_OVERHEAD];
  MPI_Status status;
  if (rank == 0) {
    MPI_Send(numbers, 10, MPI_INT, 1, 1, MPI_COMM_WORLD);
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Bsend(values, 3, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);
    void* old;
    int bytes;
    MPI_Buffer_detach(&old, &bytes);
    MPI_Ssend(numbers, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Rsend(numbers, 2, MPI_INT, 1, 4, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Request request;
    MPI_Recv(numbers, 1024, MPI_INT, 0, 1, MPI_COMM_WORLD, &status);
    MPI_Recv(values, 64, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(numbers, 1024, MPI_INT, 0, 3, MPI_COMM_WORLD, &status);
    MPI_Irecv(numbers, 4, MPI_INT, 0, 4, MPI_COMM_WORLD, &request);
    MPI_Send(NULL, 0, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

SCENARIO(sendrecv) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Sendrecv(numbers, rank + 1, MPI_INT, right, rank, numbers + 64, 64, MPI_INT, left, left, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  // A line that is open at both ends.
  MPI_Sendrecv_replace(values, 2, MPI_DOUBLE, rank == size - 1 ? MPI_PROC_NULL : right, 9,
                       rank == 0 ? MPI_PROC_NULL : left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

SCENARIO(isend_modes) {
  static char buffer[4096 + MPI_BSEND_OVERHEAD];
  MPI_Request request[4];
  if (rank == 2) {
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Recv(NULL, 0, MPI_BYTE, 3, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Isend(numbers, 1, MPI_INT, 3, 1, MPI_COMM_WORLD, &request[0]);
    MPI_Ibsend(numbers, 2, MPI_INT, 3, 2, MPI_COMM_WORLD, &request[1]);
    MPI_Issend(numbers, 3, MPI_INT, 3, 3, MPI_COMM_WORLD, &request[2]);
    MPI_Irsend(numbers, 4, MPI_INT, 3, 4, MPI_COMM_WORLD, &request[3]);
    MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
    void* old;
    int bytes;
    MPI_Buffer_detach(&old, &bytes);
  } else if (rank == 3) {
    MPI_Status statuses[4];
    for (int tag = 1; tag <= 4; ++tag)
      MPI_Irecv(numbers + 16 * tag, 16, MPI_INT, 2, tag, MPI_COMM_WORLD, &request[tag - 1]);
    MPI_Send(NULL, 0, MPI_BYTE, 2, 0, MPI_COMM_WORLD);
    MPI_Waitall(4, request, statuses);
    REQUIRE(statuses[2].MPI_TAG == 3);
  }
}

// Rank 0 sends tags 0..11 with tag ints each, then a token; rank 1 has posted them all and completes them in turn.
SCENARIO(completions) {
  MPI_Request request[12];
  MPI_Status status, statuses[12];
  int flag = 0, index, count, indices[12];
  if (rank == 0) {
    MPI_Recv(NULL, 0, MPI_BYTE, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int tag = 0; tag < 12; ++tag) MPI_Send(numbers, tag, MPI_INT, 1, tag, MPI_COMM_WORLD);
  }
  if (rank != 1) return;
  for (int tag = 0; tag < 12; ++tag)
    MPI_Irecv(numbers + 20 * tag, 20, MPI_INT, 0, tag, MPI_COMM_WORLD, &request[tag]);
  MPI_Send(NULL, 0, MPI_BYTE, 0, 99, MPI_COMM_WORLD);
  MPI_Wait(&request[0], &status);
  while (!flag) MPI_Test(&request[1], &flag, MPI_STATUS_IGNORE);
  for (int i = 0; i < 2; ++i) MPI_Waitany(4, request, &index, i == 0 ? &status : MPI_STATUS_IGNORE);
  for (flag = 0; !flag;) MPI_Testany(5, request, &index, &flag, MPI_STATUS_IGNORE);
  MPI_Waitall(6, request, statuses);
  for (flag = 0; !flag;) MPI_Testall(8, request, &flag, MPI_STATUSES_IGNORE);
  for (int done = 0; done < 2; done += count) MPI_Waitsome(10, request, &count, indices, statuses);
  for (int done = 0; done < 2; done += count) MPI_Testsome(12, request, &count, indices, MPI_STATUSES_IGNORE);
  MPI_Waitsome(12, request, &count, indices, MPI_STATUSES_IGNORE);
  REQUIRE(count == MPI_UNDEFINED);
  MPI_Wait(&request[0], &status);
  REQUIRE(status.MPI_SOURCE == MPI_ANY_SOURCE);
}

SCENARIO(misses) {
  MPI_Request request;
  int flag = 0;
  if (rank == 0) {
    MPI_Irecv(numbers, 8, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 5; ++i) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; ++i) MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; ++i) {
      MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(numbers, 5, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
}

SCENARIO(wildcards) {
  MPI_Request request[6];
  if (rank == 0) {
    for (int i = 0; i < 3; ++i)
      MPI_Recv(numbers, 64, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; ++i)
      MPI_Irecv(numbers + 64 * i, 64, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request[i]);
    for (int to = 1; to < size; ++to) MPI_Send(NULL, 0, MPI_BYTE, to, 8, MPI_COMM_WORLD);
    MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
  } else {
    MPI_Send(numbers, rank, MPI_INT, 0, 7, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(numbers, 10 * rank, MPI_INT, 0, 10 + rank, MPI_COMM_WORLD);
  }
}

SCENARIO(probes) {
  MPI_Status status;
  MPI_Message message;
  MPI_Request request;
  int flag = 0;
  if (rank == 1) {
    for (int tag = 0; tag < 6; ++tag) MPI_Send(numbers, tag + 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
  } else if (rank == 0) {
    MPI_Probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
    MPI_Recv(numbers, 64, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD, &status);
    while (!flag) MPI_Iprobe(1, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(numbers, 64, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Mprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(numbers, 64, MPI_INT, &message, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;) MPI_Improbe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &flag, &message, &status);
    MPI_Imrecv(numbers, 64, MPI_INT, &message, &request);
    MPI_Wait(&request, &status);
    REQUIRE(status.MPI_TAG == 3);
    MPI_Recv(numbers, 64, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(numbers, 64, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(numbers, 64, MPI_INT, &message, &status);
    REQUIRE(status.MPI_SOURCE == MPI_PROC_NULL);
  }
}

SCENARIO(persistent) {
  static char buffer[4096 + MPI_BSEND_OVERHEAD];
  MPI_Request request[4];
  if (rank == 0) {
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Send_init(numbers, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request[0]);
    MPI_Bsend_init(numbers, 2, MPI_INT, 1, 2, MPI_COMM_WORLD, &request[1]);
    MPI_Ssend_init(numbers, 3, MPI_INT, 1, 3, MPI_COMM_WORLD, &request[2]);
    MPI_Rsend_init(numbers, 4, MPI_INT, 1, 4, MPI_COMM_WORLD, &request[3]);
    for (int round = 0; round < 2; ++round) {
      MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Startall(4, request);
      MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
    }
    void* old;
    int bytes;
    MPI_Buffer_detach(&old, &bytes);
  } else if (rank == 1) {
    MPI_Status statuses[4];
    for (int i = 0; i < 4; ++i)
      MPI_Recv_init(numbers + 64 * i, 64, MPI_INT, 0, i == 3 ? MPI_ANY_TAG : i + 1, MPI_COMM_WORLD, &request[i]);
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 4; ++i) MPI_Start(&request[i]);
      MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
      if (round == 0) MPI_Waitall(4, request, statuses);
      for (int i = 0; round == 1 && i < 4; ++i) MPI_Wait(&request[i], MPI_STATUS_IGNORE);
      MPI_Waitall(4, request, statuses);  // all inactive: nothing arrives
    }
  }
  for (int i = 0; rank < 2 && i < 4; ++i) MPI_Request_free(&request[i]);
}

SCENARIO(proc_null) {
  MPI_Request request[2];
  MPI_Status status;
  MPI_Send(numbers, 5, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
  MPI_Recv(numbers, 5, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
  MPI_Isend(numbers, 6, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &request[0]);
  MPI_Irecv(numbers, 6, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &request[1]);
  MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

SCENARIO(zero_size) {
  if (rank == 0) MPI_Send(NULL, 0, MPI_INT, 1, 3, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(NULL, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

SCENARIO(datatypes) {
  MPI_Datatype column, pair;
  MPI_Request request;
  MPI_Type_vector(3, 2, 8, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Type_create_resized(column, 0, 128, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_free(&column);
  if (rank == 0) MPI_Isend(numbers, 2, pair, 1, 3, MPI_COMM_WORLD, &request);
  if (rank == 1) MPI_Irecv(numbers, 3, pair, 0, 3, MPI_COMM_WORLD, &request);
  MPI_Type_free(&pair);
  if (rank < 2) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

SCENARIO(sub_communicator) {
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  // World rank r is rank 3 - r here.
  if (rank == 0) MPI_Send(numbers, 1, MPI_INT, 0, 1, reversed);
  if (rank == 3) MPI_Recv(numbers, 1, MPI_INT, 3, 1, reversed, MPI_STATUS_IGNORE);
  MPI_Bcast(numbers, 4, MPI_INT, 1, reversed);
  MPI_Comm_free(&reversed);
}

SCENARIO(freed_communicators) {
  // A freed handle comes back as another communicator, with other ranks behind it.
  for (int round = 0; round < 4; ++round) {
    MPI_Comm pair;
    MPI_Request request;
    const int partner = round % 2 == 0 ? rank ^ 1 : rank ^ 2;
    MPI_Comm_split(MPI_COMM_WORLD, rank < partner ? rank : partner, rank, &pair);
    if (rank < partner)
      MPI_Isend(numbers, round + 1, MPI_INT, 1, 0, pair, &request);
    else
      MPI_Irecv(numbers, 64, MPI_INT, 0, 0, pair, &request);
    MPI_Comm_free(&pair);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

SCENARIO(intercommunicator) {
  MPI_Comm half, inter;
  const int odd = rank % 2;
  MPI_Comm_split(MPI_COMM_WORLD, odd, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - odd, 5, &inter);
  // Evens are world 0, 2; odds 1, 3. Rank 1 of the evens is world 2.
  if (rank == 2) MPI_Send(numbers, 3, MPI_INT, 1, 1, inter);
  if (rank == 3) MPI_Recv(numbers, 64, MPI_INT, 1, MPI_ANY_TAG, inter, MPI_STATUS_IGNORE);
  if (odd) {
    MPI_Bcast(numbers, 2, MPI_INT, rank == 3 ? MPI_ROOT : MPI_PROC_NULL, inter);
  } else {
    MPI_Bcast(numbers, 2, MPI_INT, 1, inter);
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

SCENARIO(cancelled) {
  MPI_Request request;
  MPI_Status status;
  int flag = 0;
  if (rank != 0) return;
  MPI_Irecv(numbers, 6, MPI_INT, 3, 1234, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &flag);
  REQUIRE(flag);
  MPI_Recv_init(numbers, 7, MPI_INT, 3, 1235, MPI_COMM_WORLD, &request);
  MPI_Start(&request);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}

SCENARIO(freed_requests) {
  MPI_Request request;
  if (rank == 0) {
    MPI_Isend(numbers, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Send(numbers, 2, MPI_INT, 1, 2, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Irecv(numbers, 64, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Irecv(numbers + 64, 64, MPI_INT, 0, 2, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

SCENARIO(failing) {
  MPI_Request request[2];
  MPI_Status statuses[2];
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  // Which communicator's handler a completion call asks differs between libraries.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (rank == 0) {
    for (int tag = 0; tag < 3; ++tag) MPI_Send(numbers, 8, MPI_INT, 1, tag, own);
  } else if (rank == 1) {
    REQUIRE(MPI_Recv(numbers, 2, MPI_INT, 0, 0, own, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    MPI_Irecv(numbers, 2, MPI_INT, 0, 1, own, &request[0]);
    MPI_Irecv(numbers, 20, MPI_INT, 0, 2, own, &request[1]);
    REQUIRE(MPI_Waitall(2, request, statuses) == MPI_ERR_IN_STATUS);
    if (statuses[1].MPI_ERROR == MPI_ERR_PENDING) MPI_Wait(&request[1], MPI_STATUS_IGNORE);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&own);
}

// The same handle values again and again, with different meanings.
SCENARIO(reuse) {
  MPI_Request request;
  for (int i = 0; i < 50; ++i) {
    if (rank == 0) MPI_Isend(numbers, i, MPI_INT, 1, i, MPI_COMM_WORLD, &request);
    if (rank == 1) MPI_Irecv(numbers, 64, MPI_INT, 0, i, MPI_COMM_WORLD, &request);
    if (rank < 2) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

SCENARIO(large_count) {
#if MPI_VERSION >= 4
  MPI_Request request;
  if (rank == 0) MPI_Send_c(numbers, 9, MPI_INT, 1, 1, MPI_COMM_WORLD);
  if (rank == 0) MPI_Isend_c(numbers, 11, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
  if (rank == 1) MPI_Recv_c(numbers, 64, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Irecv_c(numbers, 64, MPI_INT, 0, 2, MPI_COMM_WORLD, &request);
  if (rank < 2) MPI_Wait(&request, MPI_STATUS_IGNORE);
#endif
}

int main(int argc, char** argv) {
  void (*const scenarios[])(void) = {blocking,
                                     sendrecv,
                                     isend_modes,
                                     completions,
                                     misses,
                                     wildcards,
                                     probes,
                                     persistent,
                                     proc_null,
                                     zero_size,
                                     datatypes,
                                     sub_communicator,
                                     freed_communicators,
                                     intercommunicator,
                                     cancelled,
                                     freed_requests,
                                     failing,
                                     reuse,
                                     large_count};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; ++i) {
    scenarios[i]();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  if (rank == 0) puts("ok point_to_point");
  return 0;
}

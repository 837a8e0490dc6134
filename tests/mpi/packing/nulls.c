// Null pointers where MPI must have somewhere to write, while a message is under way: MPI says what is wrong, and
// the packing library reads nothing before. Prints "ok nulls". SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define FAILS(call)                            \
  do {                                         \
    if ((call) == MPI_SUCCESS) {               \
      printf("line %d: no error\n", __LINE__); \
      return 1;                                \
    }                                          \
  } while (0)

int main(int argc, char** argv) {
  int sent[8] = {0}, got[8], count, flag, indices[2];
  char packed[64];
  MPI_Datatype type;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Type_vector(4, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Irecv(got, 1, type, 0, 9, MPI_COMM_SELF, &request);
  FAILS(MPI_Isend(sent, 1, type, 0, 1, MPI_COMM_SELF, NULL));
  FAILS(MPI_Irecv(got, 1, type, 0, 1, MPI_COMM_SELF, NULL));
  FAILS(MPI_Send_init(sent, 1, type, 0, 1, MPI_COMM_SELF, NULL));
  FAILS(MPI_Pack(sent, 1, type, packed, sizeof packed, NULL, MPI_COMM_SELF));
  FAILS(MPI_Wait(NULL, MPI_STATUS_IGNORE));
  FAILS(MPI_Waitall(2, NULL, MPI_STATUSES_IGNORE));
  FAILS(MPI_Waitsome(2, NULL, &count, indices, MPI_STATUSES_IGNORE));
  FAILS(MPI_Test(NULL, &flag, MPI_STATUS_IGNORE));
  FAILS(MPI_Start(NULL));
  FAILS(MPI_Request_free(NULL));
  MPI_Send(sent, 1, type, 0, 9, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
  MPI_Finalize();
  printf("ok nulls\n");
  return 0;
}

// Windows and files, on four ranks: every procedure that moves bytes between an origin and a target or a file.
// The windows lie over communicators whose ranks are not the world's. SPDX-License-Identifier: BSD-3-Clause
#include "scenario.h"

static MPI_Win window;
static MPI_Comm backwards;  // rank r is world rank size - 1 - r
static int mine[64], theirs[64];
static char path[4096];

static void open_epoch(void) {
  MPI_Win_lock_all(0, window);
}
static void close_epoch(void) {
  MPI_Win_unlock_all(window);
}

SCENARIO(give) {
  MPI_Request request;
  open_epoch();
  if (rank == 0) {
    MPI_Put(theirs, 3, MPI_INT, 1, 0, 3, MPI_INT, window);
    MPI_Rput(theirs, 5, MPI_INT, 1, 0, 5, MPI_INT, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Accumulate(theirs, 2, MPI_INT, 2, 0, 2, MPI_INT, MPI_SUM, window);
    MPI_Raccumulate(theirs, 4, MPI_INT, 2, 0, 4, MPI_INT, MPI_SUM, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Put(theirs, 9, MPI_INT, MPI_PROC_NULL, 0, 9, MPI_INT, window);
  }
  close_epoch();
  MPI_Barrier(backwards);
}

SCENARIO(take) {
  MPI_Request request;
  open_epoch();
  if (rank == 0) {
    MPI_Get(theirs, 7, MPI_INT, 3, 0, 7, MPI_INT, window);
    MPI_Rget(theirs, 6, MPI_INT, 3, 0, 6, MPI_INT, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  close_epoch();
  MPI_Barrier(backwards);
}

SCENARIO(fetches) {
  MPI_Request request;
  open_epoch();
  if (rank == 0) {
    MPI_Get_accumulate(theirs, 2, MPI_INT, theirs + 8, 2, MPI_INT, 1, 0, 2, MPI_INT, MPI_SUM, window);
    MPI_Get_accumulate(NULL, 4, MPI_INT, theirs + 8, 3, MPI_INT, 1, 0, 3, MPI_INT, MPI_NO_OP, window);
    MPI_Rget_accumulate(theirs, 1, MPI_INT, theirs + 8, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Fetch_and_op(theirs, theirs + 8, MPI_INT, 2, 0, MPI_SUM, window);
    MPI_Compare_and_swap(theirs, theirs + 1, theirs + 8, MPI_INT, 2, 0, window);
  }
  close_epoch();
  MPI_Barrier(backwards);
}

// A freed window's handle may come back as another one, over another communicator.
SCENARIO(again) {
  MPI_Win other;
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Win_create(mine, sizeof mine, sizeof(int), MPI_INFO_NULL, turn == 0 ? backwards : MPI_COMM_WORLD, &other);
    MPI_Win_fence(0, other);
    if (rank == 0) MPI_Put(theirs, 1, MPI_INT, 1, 0, 1, MPI_INT, other);
    MPI_Win_fence(0, other);
    MPI_Win_free(&other);
  }
}

SCENARIO(whole_file) {
  MPI_File file;
  MPI_Status status;
  MPI_Request request;
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                &file);
  MPI_File_write_at(file, rank * 64, mine, 16, MPI_INT, &status);
  MPI_File_write_at_all(file, rank * 64, mine, 8, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_iwrite_at(file, rank * 64, mine, 4, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_read_at(file, rank * 64, theirs, 16, MPI_INT, MPI_STATUS_IGNORE);
  // Behind the end of the file: what arrived counts, not what was asked for.
  MPI_File_read_at(file, size * 64 - 8, theirs, 16, MPI_INT, &status);
  MPI_File_read_at_all_begin(file, rank * 64, theirs, 2, MPI_INT);
  MPI_File_read_at_all_end(file, theirs, &status);
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  snprintf(path, sizeof path, "%s", argv[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &backwards);
  int* base;
  MPI_Win_allocate(sizeof mine, sizeof(int), MPI_INFO_NULL, backwards, &base, &window);
  memset(base, 0, sizeof mine);
  MPI_Barrier(MPI_COMM_WORLD);
  give();
  take();
  fetches();
  MPI_Win_free(&window);
  again();
  whole_file();
  MPI_Comm_free(&backwards);
  if (rank == 0) printf("ok one_sided\n");
  MPI_Finalize();
  return 0;
}

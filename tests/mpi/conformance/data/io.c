// MPI-IO: written and read back through every kind of pointer, blocking, nonblocking, collective and split, with
// views; the bytes in the file are compared with plain C reading. The file lies in a temporary directory and is
// deleted.
//
// ranks: 1 2 3
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

enum { N = 1000 };
static char path[64];
static MPI_File file;

static void make_directory(void) {
  strcpy(path, "/tmp/conformance-XXXXXX");
  if (rank == 0) CHECK(mkdtemp(path) != NULL);
  OK(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD));
  strcat(path, "/data");
}

static void remove_directory(void) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank) return;
  OK(MPI_File_delete(path, MPI_INFO_NULL));
  *strrchr(path, '/') = '\0';
  EQ(0, rmdir(path));
}

static MPI_Offset mine(void) {
  return (MPI_Offset)rank * N * (MPI_Offset)sizeof(int);
}

// What others wrote is sure to be seen only after sync, barrier, sync.
static void settle(void) {
  OK(MPI_File_sync(file));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_File_sync(file));
}

static void explicit_offsets(void) {
  int out[N], in[N];
  MPI_Status status;
  fill(out, N, rank);
  poison(&status);
  OK(MPI_File_write_at(file, mine(), out, N, MPI_INT, &status));
  EQ(N, count_of(&status, MPI_INT));
  settle();
  MPI_Offset bytes = -1;
  OK(MPI_File_get_size(file, &bytes));
  EQ((long long)size * N * (long long)sizeof(int), bytes);
  OK(MPI_File_read_at_all(file, mine(), in, N, MPI_INT, &status));
  EQ(N, count_of(&status, MPI_INT));
  CHECK_FILL(in, N, rank);
}

static void own_pointer(void) {
  int out[N], in[N];
  MPI_Offset place = -1;
  MPI_Status status;
  MPI_Request request;
  fill(out, N, rank + 10);
  OK(MPI_File_seek(file, mine(), MPI_SEEK_SET));
  OK(MPI_File_write(file, out, N / 2, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_iwrite(file, out + N / 2, N / 2, MPI_INT, &request));
  OK(MPI_Wait(&request, &status));
  CHECK(request == MPI_REQUEST_NULL);
  EQ(N / 2, count_of(&status, MPI_INT));
  OK(MPI_File_get_position(file, &place));
  EQ(mine() + N * (MPI_Offset)sizeof(int), place);
  OK(MPI_File_seek(file, mine(), MPI_SEEK_SET));
  OK(MPI_File_iread(file, in, N, MPI_INT, &request));
  OK(MPI_Waitall(1, &request, &status));
  CHECK_FILL(in, N, rank + 10);
}

// Ranks take turns, integer by integer.
static void interleaved_view(void) {
  MPI_Datatype turn, view;
  int out[N], in[N];
  OK(MPI_Type_create_resized(MPI_INT, 0, size * (MPI_Aint)sizeof(int), &turn));
  OK(MPI_Type_dup(turn, &view));
  OK(MPI_Type_commit(&view));
  OK(MPI_Type_free(&turn));
  OK(MPI_File_set_view(file, rank * (MPI_Offset)sizeof(int), MPI_INT, view, "native", MPI_INFO_NULL));
  OK(MPI_Type_free(&view));
  for (int i = 0; i < N; ++i) out[i] = i * size + rank;
  OK(MPI_File_write_all(file, out, N, MPI_INT, MPI_STATUS_IGNORE));
  settle();
  OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
  OK(MPI_File_read_all_begin(file, in, N, MPI_INT));
  OK(MPI_File_read_all_end(file, in, MPI_STATUS_IGNORE));
  for (int i = 0; i < N; ++i) EQ(i * size + rank, in[i]);
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  OK(MPI_File_sync(file));
}

static void plain_reading(void) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  FILE* stream = fopen(path, "rb");
  CHECK(stream != NULL);
  for (int i = 0; i < N * size; ++i) {
    int value = -1;
    EQ(1, fread(&value, sizeof value, 1, stream));
    EQ(i, value);
  }
  fclose(stream);
}

int main(void) {
  int mode = 0;
  MPI_Group group;
  start();
  make_directory();
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  OK(MPI_File_get_amode(file, &mode));
  EQ(MPI_MODE_CREATE | MPI_MODE_RDWR, mode);
  OK(MPI_File_get_group(file, &group));
  OK(MPI_Group_free(&group));
  explicit_offsets();
  settle();
  own_pointer();
  settle();
  interleaved_view();
  OK(MPI_File_close(&file));
  CHECK(file == MPI_FILE_NULL);
  plain_reading();
  remove_directory();
  return finish("io");
}

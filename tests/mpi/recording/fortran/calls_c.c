/* The calls of calls.F90 in C, in the same order with the same arguments, so that their records can be compared.
   SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size, right, left;
static MPI_Comm world;

static void check(int good, const char* what) {
  if (good) return;
  printf("wrong: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 7);
}

static void messages(void) {
  MPI_Status st;
  MPI_Request r, s;
  MPI_Message found;
  int a[10], b[20], count, flag;
  for (int i = 0; i < 10; ++i) a[i] = rank;
  if (rank == 0) {
    MPI_Send(a, 10, MPI_INT, right, 1, world);
    MPI_Recv(b, 20, MPI_INT, left, 1, world, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(b, 20, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &st);
    MPI_Get_count(&st, MPI_INT, &count);
    check(count == 10, "count");
    MPI_Send(a, 10, MPI_INT, right, 1, world);
  }
  MPI_Irecv(b, 20, MPI_INT, left, 2, world, &r);
  MPI_Ssend(a, 0, MPI_INT, MPI_PROC_NULL, 2, world);
  MPI_Issend(a, 3, MPI_INT, right, 2, world, &s);
  MPI_Wait(&r, &st);
  MPI_Wait(&s, MPI_STATUS_IGNORE);
  MPI_Sendrecv(a, 4, MPI_INT, right, 3, b, 20, MPI_INT, MPI_ANY_SOURCE, 3, world, MPI_STATUS_IGNORE);
  MPI_Sendrecv_replace(a, 5, MPI_INT, right, 4, left, 4, world, &st);
  MPI_Isend(a, 6, MPI_INT, right, 5, world, &s);
  MPI_Probe(MPI_ANY_SOURCE, 5, world, &st);
  MPI_Get_count(&st, MPI_INT, &count);
  for (flag = 0; !flag;) MPI_Iprobe(left, 5, world, &flag, MPI_STATUS_IGNORE);
  MPI_Recv(b, 20, MPI_INT, left, 5, world, MPI_STATUS_IGNORE);
  for (flag = 0; !flag;) MPI_Test(&s, &flag, MPI_STATUS_IGNORE);
  MPI_Isend(a, 7, MPI_INT, right, 6, world, &s);
  MPI_Mprobe(left, MPI_ANY_TAG, world, &found, &st);
  MPI_Mrecv(b, 20, MPI_INT, &found, &st);
  MPI_Wait(&s, &st);
}

static void post(MPI_Request r[4], int a[8], int b[4][8]) {
  MPI_Irecv(b[0], 8, MPI_INT, left, 11, world, &r[0]);
  MPI_Isend(a, 4, MPI_INT, right, 11, world, &r[1]);
  MPI_Irecv(b[2], 8, MPI_INT, MPI_ANY_SOURCE, 12, world, &r[2]);
  MPI_Isend(a, 2, MPI_INT, left, 12, world, &r[3]);
}

static void requests_many(void) {
  MPI_Request r[4];
  MPI_Status sts[4], st;
  int a[8] = {0}, b[4][8], where[4], done, index, flag, n;
  post(r, a, b);
  MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
  post(r, a, b);
  MPI_Waitall(4, r, sts);
  post(r, a, b);
  for (flag = 0; !flag;) MPI_Testall(4, r, &flag, MPI_STATUSES_IGNORE);
  post(r, a, b);
  for (int i = 0; i < 4; ++i) MPI_Waitany(4, r, &index, &st);
  MPI_Waitany(4, r, &index, MPI_STATUS_IGNORE);
  post(r, a, b);
  MPI_Barrier(world);
  for (done = 0; done < 4; done += n) MPI_Waitsome(4, r, &n, where, sts);
  MPI_Waitsome(4, r, &n, where, MPI_STATUSES_IGNORE);
}

static void persistent(void) {
  MPI_Request r[2];
  MPI_Status st;
  int a[3] = {rank, rank, rank}, b[3];
  MPI_Send_init(a, 3, MPI_INT, right, 21, world, &r[0]);
  MPI_Recv_init(b, 3, MPI_INT, left, 21, world, &r[1]);
  for (int i = 0; i < 2; ++i) {
    MPI_Startall(2, r);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  MPI_Start(&r[1]);
  MPI_Start(&r[0]);
  MPI_Wait(&r[1], &st);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
  MPI_Irecv(b, 3, MPI_INT, left, 22, world, &r[0]);
  MPI_Cancel(&r[0]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
}

static void collectives(void) {
  int a[6] = {0}, b[30] = {0}, counts[3] = {1, 2, 3}, displs[3] = {0, 1, 3}, zeros[3] = {0};
  int twos[3] = {2, 2, 2}, steps[3] = {0, 2, 4}, mine[3] = {rank + 1, rank + 1, rank + 1}, wide[3] = {0, 3, 6};
  MPI_Request r;
  MPI_Barrier(world);
  MPI_Allreduce(MPI_IN_PLACE, a, 6, MPI_INT, MPI_SUM, world);
  MPI_Bcast(a, 5, MPI_INT, 1, world);
  MPI_Reduce(a, b, 2, MPI_INT, MPI_MAX, 2, world);
  MPI_Gather(rank == 0 ? MPI_IN_PLACE : a, 3, MPI_INT, b, 3, MPI_INT, 0, world);
  MPI_Gatherv(a, counts[rank], MPI_INT, b, counts, displs, MPI_INT, 1, world);
  MPI_Scatter(b, 2, MPI_INT, a, 2, MPI_INT, 0, world);
  MPI_Scatterv(b, counts, displs, MPI_INT, a, counts[rank], MPI_INT, 2, world);
  MPI_Allgather(a, 2, MPI_INT, b, 2, MPI_INT, world);
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, b, counts, displs, MPI_INT, world);
  MPI_Alltoall(a, 2, MPI_INT, b, 2, MPI_INT, world);
  MPI_Alltoallv(MPI_IN_PLACE, zeros, zeros, MPI_INT, b, twos, steps, MPI_INT, world);
  MPI_Alltoallv(a, counts, displs, MPI_INT, b, mine, wide, MPI_INT, world);
  int sent[3] = {2, 0, 2}, got = rank != 1 ? 2 : 0, received[3] = {got, got, got}, apart[3] = {0, 8, 16};
  MPI_Datatype one = rank != 1 ? MPI_INT : MPI_BYTE;
  MPI_Datatype kinds[3] = {MPI_INT, MPI_BYTE, MPI_INT}, taken[3] = {one, one, one};
  MPI_Alltoallw(a, sent, zeros, kinds, b, received, apart, taken, world);
  MPI_Scan(a, b, 3, MPI_INT, MPI_SUM, world);
  MPI_Exscan(a, b, 3, MPI_INT, MPI_SUM, world);
  MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, world);
  MPI_Reduce_scatter_block(a, b, 2, MPI_INT, MPI_SUM, world);
  MPI_Iallreduce(a, b, 3, MPI_INT, MPI_SUM, world, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Ibarrier(world, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Ibcast(a, 2, MPI_INT, 0, world, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void types(void) {
  static int a[4], grid[4][4];
  static double x[3];
  MPI_Aint where[2], lower, extent;
  MPI_Datatype pieces, columns, pair, kinds[2] = {MPI_INT, MPI_DOUBLE};
  int lengths[2] = {4, 3}, bytes, position, sizes[2] = {4, 4}, parts[2] = {2, 2}, starts[2] = {1, 1};
  char buffer[100];
  MPI_Status st;
  MPI_Get_address(a, &where[0]);
  MPI_Get_address(x, &where[1]);
  MPI_Type_create_struct(2, lengths, where, kinds, &pieces);
  MPI_Type_commit(&pieces);
  MPI_Type_size(pieces, &bytes);
  MPI_Sendrecv_replace(MPI_BOTTOM, 1, pieces, right, 31, left, 31, world, &st);
  if (rank == 0) MPI_Send(MPI_BOTTOM, 1, pieces, 1, 32, world);
  if (rank == 1) MPI_Recv(MPI_BOTTOM, 1, pieces, 0, 32, world, MPI_STATUS_IGNORE);
  MPI_Type_free(&pieces);
  MPI_Type_vector(4, 1, 4, MPI_INT, &columns);
  MPI_Type_commit(&columns);
  MPI_Sendrecv(&grid[0][0], 1, columns, right, 33, &grid[0][1], 1, columns, left, 33, world, &st);
  MPI_Type_get_extent(columns, &lower, &extent);
  MPI_Type_contiguous(2, columns, &pair);
  MPI_Type_free(&pair);
  MPI_Type_free(&columns);
  position = 0;
  MPI_Pack(a, 4, MPI_INT, buffer, 100, &position, world);
  position = 0;
  MPI_Unpack(buffer, 100, &position, a, 4, MPI_INT, world);
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &columns);
  MPI_Type_free(&columns);
}

static void communicators(void) {
  MPI_Comm half, twin, cart, row, graph, made;
  MPI_Group group, some;
  int others, place, down, up, out[2] = {rank, rank}, in[4], translated, n, i, flag, length;
  int chosen[2] = {2, 0}, zero = 0, three = 3, one = 1, two = 2;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Comm_split(world, rank % 2, -rank, &half);
  MPI_Comm_size(half, &others);
  MPI_Comm_set_name(half, "the half");
  MPI_Comm_get_name(half, name, &length);
  if (others == 2) {
    MPI_Comm_rank(half, &n);
    if (n == 0) MPI_Send(&rank, 1, MPI_INT, 1, 41, half);
    if (n == 1) MPI_Recv(&i, 1, MPI_INT, 0, 41, half, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&half);
  MPI_Comm_dup(world, &twin);
  MPI_Comm_compare(world, twin, &i);
  MPI_Barrier(twin);
  MPI_Comm_group(world, &group);
  MPI_Group_incl(group, 2, chosen, &some);
  MPI_Group_translate_ranks(some, 1, &zero, group, &translated);
  MPI_Comm_create(world, some, &made);
  if (made != MPI_COMM_NULL) {
    MPI_Bcast(&i, 1, MPI_INT, 0, made);
    MPI_Comm_free(&made);
  }
  MPI_Group_free(&some);
  MPI_Group_free(&group);
  MPI_Cart_create(twin, 1, &three, &one, 0, &cart);
  MPI_Cart_coords(cart, rank, 1, &place);
  MPI_Cart_shift(cart, 0, 1, &down, &up);
  MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, cart);
  MPI_Neighbor_allgather(out, 2, MPI_INT, in, 2, MPI_INT, cart);
  MPI_Cart_sub(cart, &one, &row);
  MPI_Comm_free(&row);
  MPI_Comm_free(&cart);
  MPI_Dist_graph_create_adjacent(world, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &graph);
  MPI_Neighbor_alltoallv(out, &two, &zero, MPI_INT, in, &two, &zero, MPI_INT, graph);
  MPI_Comm_free(&graph);
  MPI_Comm_free(&twin);
  MPI_Comm_test_inter(world, &flag);
}

static void add(void* from, void* to, int* length, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *length; ++i) ((int*)to)[i] += ((int*)from)[i];
}

static int copy_value(MPI_Comm old, int key, void* extra, void* in, void* out, int* flag) {
  (void)old, (void)key, (void)extra;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

static int delete_value(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  return MPI_SUCCESS;
}

static void handle_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
}

static void callbacks_called(void) {
  MPI_Op op;
  MPI_Errhandler handler;
  MPI_Comm twin;
  int a[3] = {1, 1, 1}, b[3], key, flag, code, n;
  void* value;
  MPI_Op_create(add, 1, &op);
  MPI_Allreduce(a, b, 3, MPI_INT, op, world);
  MPI_Op_free(&op);
  MPI_Comm_create_keyval(copy_value, delete_value, &key, NULL);
  MPI_Comm_set_attr(world, key, &n);
  MPI_Comm_dup(world, &twin);
  MPI_Comm_get_attr(twin, key, &value, &flag);
  MPI_Comm_free(&twin);
  MPI_Comm_delete_attr(world, key);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_get_attr(world, MPI_TAG_UB, &value, &flag);
  MPI_Comm_create_errhandler(handle_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Send(a, 1, MPI_INT, 5, 1, MPI_COMM_SELF);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  code = MPI_Send(a, 1, MPI_INT, 5, 1, MPI_COMM_SELF);
  MPI_Error_class(code, &n);
  MPI_Errhandler_free(&handler);
}

static void windows(void) {
  static int memory[6];
  int mine[2] = {0}, theirs[2];
  MPI_Win window;
  MPI_Win_create(memory, 24, 4, MPI_INFO_NULL, world, &window);
  MPI_Win_fence(0, window);
  MPI_Put(mine, 2, MPI_INT, right, 0, 2, MPI_INT, window);
  MPI_Get(theirs, 2, MPI_INT, left, 2, 2, MPI_INT, window);
  MPI_Accumulate(mine, 1, MPI_INT, right, 4, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_fence(0, window);
  MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window);
  MPI_Get(theirs, 1, MPI_INT, right, 3, 1, MPI_INT, window);
  MPI_Win_unlock(right, window);
  MPI_Win_free(&window);
}

static void files(const char* path) {
  MPI_File file;
  int a[4] = {0}, b[4], count;
  MPI_Offset bytes;
  MPI_Status st;
  MPI_File_open(world, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at(file, 16 * rank, a, 4, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(world);
  MPI_File_read_at(file, 16 * left, b, 3, MPI_INT, &st);
  MPI_Get_count(&st, MPI_INT, &count);
  MPI_File_get_size(file, &bytes);
  MPI_File_close(&file);
}

static void texts(void) {
  MPI_Info info;
  char value[41], text[MPI_MAX_ERROR_STRING], version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length, flag, n, i;
  MPI_Info_create(&info);
  MPI_Info_set(info, "a key", "and its value");
  MPI_Info_get(info, "a key", 40, value, &flag);
  MPI_Info_get_nkeys(info, &n);
  MPI_Info_get_nthkey(info, 0, value);
  MPI_Info_free(&info);
  MPI_Error_string(MPI_ERR_RANK, text, &length);
  MPI_Get_library_version(version, &length);
  MPI_Get_version(&n, &i);
  MPI_Initialized(&flag);
  MPI_Finalized(&flag);
  MPI_Query_thread(&n);
}

int main(int argc, char** argv) {
  char processor[MPI_MAX_PROCESSOR_NAME];
  int length;
  MPI_Init(&argc, &argv);
  world = MPI_COMM_WORLD;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  double t = MPI_Wtime();
  check(MPI_Wtime() >= t && MPI_Wtick() > 0, "clock");
  MPI_Get_processor_name(processor, &length);
  messages();
  requests_many();
  persistent();
  collectives();
  types();
  communicators();
  callbacks_called();
  windows();
  files(argv[1]);
  texts();
  MPI_Pcontrol(1);
  MPI_Barrier(world);
  if (rank == 0) puts("ok");
  MPI_Finalize();
  return 0;
}

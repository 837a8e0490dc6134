// What a program may do with MPI_COMM_WORLD, and what it may see of it: run plainly and in a reordered world it
// must say the same. Each rank says which launch rank it is ("is") and where it may run ("on"); all else is checked
// here. SPDX-License-Identifier: BSD-3-Clause
#include <pthread.h>
#include <sched.h>

#include "../conformance/check.h"

// A compile-time constant, seen before MPI_Init by nobody who could exchange it.
static MPI_Comm const kept = MPI_COMM_WORLD;
static struct settings {
  double padding;
  MPI_Comm comms[2];
} settings = {0, {MPI_COMM_SELF, MPI_COMM_WORLD}};

static int heard_of_world, copied_from_world, deleted_from_world, rank_at_the_end = -1;

static void listen(MPI_Comm* comm, int* code, ...) {
  (void)code;
  heard_of_world += *comm == MPI_COMM_WORLD;
}
static int copy_from(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)key, (void)extra;
  copied_from_world += comm == MPI_COMM_WORLD;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}
static int delete_from(MPI_Comm comm, int key, void* value, void* extra) {
  (void)key, (void)value, (void)extra;
  deleted_from_world += comm == MPI_COMM_WORLD;
  return MPI_SUCCESS;
}
// On MPI_COMM_SELF: runs in MPI_Finalize, while MPI still works.
static int talk_at_the_end(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_at_the_end);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_SUCCESS;
}

static int rank_on(MPI_Comm comm) {
  int found = -1;
  OK(MPI_Comm_rank(comm, &found));
  return found;
}

static void every_way_to_say_world(void) {
  int result = -1, length = 0, found = -1;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Comm list[3] = {MPI_COMM_NULL, settings.comms[1], kept};
  for (int i = 1; i < 3; ++i) EQ(rank, rank_on(list[i]));
  OK(PMPI_Comm_rank(kept, &found));
  EQ(rank, found);
  OK(MPI_Comm_compare(kept, settings.comms[1], &result));
  EQ(MPI_IDENT, result);
  OK(MPI_Comm_get_name(kept, name, &length));
  SAME_TEXT("MPI_COMM_WORLD", name);
#if defined(MPI_ABI_VERSION) && !defined(MPICH_VERSION)
  CHECK(MPI_Comm_fromint(MPI_Comm_toint(kept)) == MPI_COMM_WORLD);
#else
  CHECK(MPI_Comm_f2c(MPI_Comm_c2f(kept)) == MPI_COMM_WORLD);
#endif
}

static void groups_are_in_its_order(void) {
  MPI_Group group;
  int mine = -1;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
  OK(MPI_Group_rank(group, &mine));
  EQ(rank, mine);
  OK(MPI_Group_free(&group));
}

static void predefined_attributes(void) {
  const int keys[] = {MPI_TAG_UB, MPI_IO, MPI_WTIME_IS_GLOBAL};
  for (int i = 0; i < 3; ++i) {
    int *value = NULL, found = 0;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, keys[i], &value, &found));
    CHECK(found && value != NULL);
  }
}

static void own_attributes(void) {
  int key, found = 0, value = 7, *back = NULL;
  MPI_Comm copy;
  OK(MPI_Comm_create_keyval(copy_from, delete_from, &key, NULL));
  OK(MPI_Comm_set_attr(kept, key, &value));
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &back, &found));
  CHECK(found && back == &value);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  OK(MPI_Comm_free(&copy));
  EQ(1, copied_from_world);
  EQ(0, deleted_from_world);
  OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
  EQ(1, deleted_from_world);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &back, &found));
  EQ(0, found);
  OK(MPI_Comm_free_keyval(&key));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, talk_at_the_end, &key, NULL));
  OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
}

static void errors(void) {
  MPI_Errhandler handler, before;
  int value = 0, length = 0;
  OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before));
  CHECK(before == MPI_ERRORS_ARE_FATAL);
  OK(MPI_Comm_create_errhandler(listen, &handler));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
  (void)MPI_Send(&value, 1, MPI_INT, size, 1, MPI_COMM_WORLD);
  OK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER));
  EQ(2, heard_of_world);
  // Without a communicator: on MPI_COMM_WORLD by MPI-3.1, on MPI_COMM_SELF by MPI-4.0. Neither may end the program.
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  (void)MPI_Type_size(MPI_DATATYPE_NULL, &length);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, before));
  OK(MPI_Errhandler_free(&handler));
}

static void* exchange(void* tag) {
  int number = *(int*)tag, value = -1;
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, number, &value, 1, MPI_INT, (rank + size - 1) % size,
                  number, kept, MPI_STATUS_IGNORE));
  EQ((rank + size - 1) % size, value);
  return NULL;
}

static void threads(void) {
  pthread_t other[3];
  int tags[3] = {1, 2, 3}, level = 0;
  OK(MPI_Query_thread(&level));
  if (level != MPI_THREAD_MULTIPLE) return;
  for (int i = 0; i < 3; ++i) EQ(0, pthread_create(&other[i], NULL, exchange, &tags[i]));
  for (int i = 0; i < 3; ++i) EQ(0, pthread_join(other[i], NULL));
}

// Once a wrong rank is in a grid, its neighbours are wrong too (ompi#11756): a message to each tells.
static void grid(void) {
  int periodic = 1, source = -1, target = -1, value = -1, me = -1, coordinate = -1;
  MPI_Comm ring;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 1, &ring));
  OK(MPI_Comm_rank(ring, &me));
  OK(MPI_Cart_coords(ring, me, 1, &coordinate));
  EQ(me, coordinate);
  OK(MPI_Cart_shift(ring, 0, 1, &source, &target));
  OK(MPI_Sendrecv(&me, 1, MPI_INT, target, 1, &value, 1, MPI_INT, source, 1, ring, MPI_STATUS_IGNORE));
  EQ((me + size - 1) % size, value);
  OK(MPI_Comm_free(&ring));
}

// 40 bytes per rank number and one more, to the right: what the profile must show.
static void messages(void) {
  static char out[4096], in[4096];
  MPI_Request request;
  OK(MPI_Irecv(in, sizeof in, MPI_CHAR, (rank + size - 1) % size, 9, settings.comms[1], &request));
  OK(MPI_Send(out, 40 * (rank + 1), MPI_CHAR, (rank + 1) % size, 9, kept));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void say_where(void) {
  const char* launch = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
  cpu_set_t set;
  char line[1024];
  int used = snprintf(line, sizeof line, "rank %d is %s on", rank, launch ? launch : "?");
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  for (int cpu = 0; cpu < 64; ++cpu)
    if (CPU_ISSET(cpu, &set)) used += snprintf(line + used, sizeof line - (size_t)used, " %d", cpu);
  printf("%s\n", line);
}

int main(void) {
  int provided = 0;
  OK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
  know_world();
  every_way_to_say_world();
  groups_are_in_its_order();
  predefined_attributes();
  own_attributes();
  errors();
  threads();
  grid();
  messages();
  say_where();
  int finished = finish("world");
  EQ(rank, rank_at_the_end);
  return finished;
}

// Memory of MPI_Alloc_mem in broadcasts and reductions: on all ranks or on some, parts of it, in place, given back
// and allocated anew, beside types with gaps, by operators of MPI and of the program's; with `forks`, beside
// children of a rank; with `short-files`, where rank 1 may have no long files. Rank 0 prints how many calls all
// ranks' memory was fit for. SPDX-License-Identifier: BSD-3-Clause
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trap.h"

enum { MOST = 150000 };

static int rank, size, fitting;

/// A buffer: of MPI_Alloc_mem, or of malloc.
typedef struct {
  char* base;
  int of_mpi;
} Buffer;

static Buffer make(size_t bytes, int of_mpi) {
  Buffer made = {NULL, of_mpi};
  if (of_mpi)
    REQUIRE(MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &made.base) == MPI_SUCCESS);
  else
    made.base = (char*)malloc(bytes);
  REQUIRE(made.base != NULL);
  memset(made.base, 0x5A, bytes);
  return made;
}
static void drop(Buffer buffer) {
  if (buffer.of_mpi)
    REQUIRE(MPI_Free_mem(buffer.base) == MPI_SUCCESS);
  else
    free(buffer.base);
}

/// Which ranks have memory of MPI_Alloc_mem in turn `turn`.
static int lends(int who, int turn) {
  if (turn % 4 == 0) return 1;
  if (turn % 4 == 1) return who % 2;
  if (turn % 4 == 2) return who == turn % size;
  return 0;
}

static int all_lend(int turn) {
  for (int each = 0; each < size; ++each)
    if (!lends(each, turn)) return 0;
  return 1;
}

/// Of a call's bytes: as many as are enough, and the ranks lend that have to: all, or a broadcast's root.
static void expect(int lent, size_t bytes) {
  if (lent && bytes >= 4096) ++fitting;
}

static void broadcast(int n, int turn) {
  const int root = turn % size;
  const size_t bytes = (size_t)n * sizeof(long), at = 8 * (size_t)(turn % 9 + rank);
  const Buffer data = make(bytes + 512, lends(rank, turn));
  long* const numbers = (long*)(data.base + at);
  for (int i = 0; i < n; ++i) numbers[i] = rank == root ? 3L * i + turn : -1;
  MPI_Bcast(numbers, n, MPI_LONG, root, MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i) REQUIRE(numbers[i] == 3L * i + turn);
  REQUIRE(n == 0 || numbers[n] == 0x5A5A5A5A5A5A5A5A);
  expect(lends(root, turn), bytes);
  drop(data);
}

static void gapped_broadcast(int n, int turn) {
  const int root = (turn + 1) % size;
  MPI_Datatype type;
  MPI_Type_vector(n, 1, 2, MPI_LONG, &type);
  MPI_Type_commit(&type);
  const Buffer data = make((size_t)n * 16 + 16, lends(rank, turn));
  long* const numbers = (long*)data.base;
  for (int i = 0; i < 2 * n; ++i) numbers[i] = rank == root ? i + turn : -i;
  MPI_Bcast(numbers, rank % 2 == 0 ? 1 : n, rank % 2 == 0 ? type : MPI_LONG, root, MPI_COMM_WORLD);
  for (int i = 0; i < n && rank != root; ++i)
    REQUIRE(numbers[rank % 2 == 0 ? 2 * i : i] == (root % 2 == 0 ? 2 * i : i) + turn);
  // The root's plain numbers are lent, those with gaps are not.
  expect(root % 2 == 1 && lends(root, turn), (size_t)n * sizeof(long));
  drop(data);
  MPI_Type_free(&type);
}

static void all_reduce(int n, int turn, int in_place, int mixed) {
  const size_t bytes = (size_t)n * sizeof(long);
  const Buffer send = make(bytes + 64, lends(rank, turn) && !(mixed && rank == 0));
  const Buffer receive = make(bytes + 64, lends(rank, turn));
  long* const from = (long*)(in_place ? receive.base : send.base) + turn % 5;
  long* const to = (long*)receive.base + turn % 5;
  for (int i = 0; i < n; ++i) from[i] = (long)i * (rank + 1) + turn;
  MPI_Allreduce(in_place ? MPI_IN_PLACE : from, to, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i) {
    REQUIRE(to[i] == (long)i * size * (size + 1) / 2 + (long)size * turn);
    REQUIRE(in_place || from[i] == (long)i * (rank + 1) + turn);
  }
  REQUIRE(to[n] == 0x5A5A5A5A5A5A5A5A);
  expect(all_lend(turn) && (in_place || !mixed), bytes);
  drop(send);
  drop(receive);
}

/// a op b = a + b, by a function of the program's.
static void add(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) ((long*)inout)[i] += ((long*)in)[i];
}
/// a op b = b: it is associative and does not commute.
static void last(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)in, (void)inout, (void)n, (void)type;
}
/// A sum by MPI_SUM, by `add`, or the last rank's operand.
enum { SUM, ADD, LAST, OPERATORS };
static MPI_Op operators[OPERATORS];
static long expected(int which, int ranks, int i, int turn) {
  if (which == LAST) return (long)i * ranks + turn;
  return (long)i * ranks * (ranks + 1) / 2 + (long)ranks * turn;
}

/// Reductions with a result on some ranks: buffers of `blocks` times n numbers, the result of n.
typedef struct {
  Buffer send, receive;
  long *from, *to;
} Operands;
static Operands operands(int n, int blocks, int turn, int in_place, int mixed) {
  const size_t bytes = (size_t)n * (size_t)blocks * sizeof(long) + 64;
  Operands made = {make(bytes, lends(rank, turn) && !(mixed && rank == 0)), make(bytes, lends(rank, turn)), NULL,
                   NULL};
  made.to = (long*)made.receive.base + turn % 5;
  made.from = in_place ? made.to : (long*)made.send.base + turn % 5;
  for (int i = 0; i < n * blocks; ++i) made.from[i] = (long)i * (rank + 1) + turn;
  return made;
}
static void drop_operands(Operands made) {
  drop(made.send);
  drop(made.receive);
}

/// `mixed`: rank 0's operand is of malloc.
static void reduce(int n, int turn, int which, int in_place, int mixed) {
  const int root = turn % size;
  const Operands on = operands(n, 1, turn, in_place && rank == root, mixed);
  MPI_Reduce(in_place && rank == root ? MPI_IN_PLACE : on.from, on.to, n, MPI_LONG, operators[which], root,
             MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i) {
    REQUIRE(rank != root ? on.to[i] == 0x5A5A5A5A5A5A5A5A : on.to[i] == expected(which, size, i, turn));
    REQUIRE((in_place && rank == root) || on.from[i] == (long)i * (rank + 1) + turn);
  }
  REQUIRE(on.to[n] == 0x5A5A5A5A5A5A5A5A);
  expect(which != LAST && all_lend(turn) && (!mixed || (in_place && root == 0)), (size_t)n * sizeof(long));
  drop_operands(on);
}

static void scan(int n, int turn, int which, int in_place, int mixed) {
  const Operands on = operands(n, 1, turn, in_place, mixed);
  MPI_Scan(in_place ? MPI_IN_PLACE : on.from, on.to, n, MPI_LONG, operators[which], MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i) {
    REQUIRE(on.to[i] == expected(which, rank + 1, i, turn));
    REQUIRE(in_place || on.from[i] == (long)i * (rank + 1) + turn);
  }
  REQUIRE(on.to[n] == 0x5A5A5A5A5A5A5A5A);
  expect(all_lend(turn) && (in_place || !mixed), (size_t)n * sizeof(long));
  drop_operands(on);
}

/// Rank 0 has no result.
static void exscan(int n, int turn, int which, int in_place, int mixed) {
  const Operands on = operands(n, 1, turn, in_place, mixed);
  MPI_Exscan(in_place ? MPI_IN_PLACE : on.from, on.to, n, MPI_LONG, operators[which], MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i) {
    REQUIRE(rank == 0 || on.to[i] == expected(which, rank, i, turn));
    REQUIRE((in_place && rank > 0) || on.from[i] == (long)i * (rank + 1) + turn);
  }
  REQUIRE(on.to[n] == 0x5A5A5A5A5A5A5A5A);
  expect(all_lend(turn) && (in_place || !mixed), (size_t)n * sizeof(long));
  drop_operands(on);
}

static void reduce_scatter_block(int n, int turn, int which, int in_place, int mixed) {
  const Operands on = operands(n, size, turn, in_place, mixed);
  MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : on.from, on.to, n, MPI_LONG, operators[which], MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i) REQUIRE(on.to[i] == expected(which, size, n * rank + i, turn));
  for (int i = 0; i < n * size && !in_place; ++i) REQUIRE(on.from[i] == (long)i * (rank + 1) + turn);
  REQUIRE(in_place || on.to[n] == 0x5A5A5A5A5A5A5A5A);
  expect(which != LAST && all_lend(turn) && (in_place || !mixed), (size_t)n * sizeof(long));
  drop_operands(on);
}

/// A child writes all over its own memory while its parent goes on.
static void fork_beside(int turn) {
  const int n = 5000 + turn;
  const Buffer data = make((size_t)n * sizeof(long), 1);
  long* const numbers = (long*)data.base;
  for (int i = 0; i < n; ++i) numbers[i] = i + rank;
  const pid_t child = rank == turn % size ? fork() : -1;
  if (child == 0) {
    int same = 1;
    for (int i = 0; i < n; ++i) same = same && numbers[i] == i + rank;
    memset(numbers, 0xEE, (size_t)n * sizeof(long));
    _exit(same ? 0 : 1);
  }
  MPI_Allreduce(MPI_IN_PLACE, numbers, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (child > 0) {
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  for (int i = 0; i < n; ++i) REQUIRE(numbers[i] == (long)size * i + (long)size * (size - 1) / 2);
  expect(1, (size_t)n * sizeof(long));
  drop(data);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* const how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "short-files") == 0 && rank == 1) {
    const struct rlimit limit = {1 << 26, 1 << 26};
    signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // the communicator is set up before there is such memory
  MPI_Barrier(MPI_COMM_WORLD);
  operators[SUM] = MPI_SUM;
  MPI_Op_create(add, 1, &operators[ADD]);
  MPI_Op_create(last, 0, &operators[LAST]);
  const int counts[] = {0, 1, 511, 512, 513, 4099, 20000, MOST / 8 * 8};
  const Buffer kept = make(1 << 20, 1);
  for (int turn = 0; turn < 24; ++turn) {
    const int n = counts[turn % 8];
    broadcast(n, turn);
    gapped_broadcast(n % 30000 + 1, turn);
    for (int how = 0; how < 4; ++how) all_reduce(n, turn, how % 2, how / 2);
    for (int how = 0; how < 4; ++how) {
      const int which = (turn + how) % OPERATORS;
      reduce(n, turn, which, how % 2, how / 2);
      scan(n, turn, which, how % 2, how / 2);
      exscan(n, turn, which, how % 2, how / 2);
      reduce_scatter_block(n % 20001, turn, which, how % 2, how / 2);
    }
    if (strcmp(how, "forks") == 0 && turn % 6 == 0) fork_beside(turn);
  }
  for (int i = 0; i < 1 << 20; ++i) REQUIRE(kept.base[i] == 0x5A);
  drop(kept);
  MPI_Op_free(&operators[ADD]);
  MPI_Op_free(&operators[LAST]);
  if (rank == 0) printf("fitting: %d\n", fitting);
  return finish();
}

// What messages of an MPI cost between two ranks, by size and by how many bytes lie between two uses of a buffer;
// for `corewise probe --messages`. Usage: messages ROUNDS MOST_BYTES MOVED[,MOVED...], all in bytes but the first.
//
// Prints "eager N", the longest message whose send ends before the receiver has asked for it, and for each size and
// column "row BYTES MOVED SEND_NS ONE_WAY_NS BOTH_NS": medians. SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIZES = 64, WARM_UP = 2, FEWEST = 12, SENDS = 8, TURNS = 10, MOST_EAGER = 1 << 20 };
/// Buffers begin at lines, and as in programs at different places of their pages.
enum { LINE = 64, SHIFT = 17 * LINE };
enum { BATCHED_BYTES = 1024, BATCH = 20 };
static const double kBudgetBytes = 96.0 * (1 << 20);

/// A rank's buffers: `slots` of them, one after the other.
struct pool {
  char* start;
  size_t step, slots, at;
};

static char* next(struct pool* pool) {
  char* here = pool->start + pool->at * pool->step;
  pool->at = (pool->at + 1) % pool->slots;
  return here;
}

static int g_rank, g_peer;

static void send(struct pool* out, int bytes) {
  MPI_Send(next(out), bytes, MPI_BYTE, g_peer, 0, MPI_COMM_WORLD);
}

static void receive(struct pool* in, int bytes) {
  MPI_Recv(next(in), bytes, MPI_BYTE, g_peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double half_trip(struct pool* out, struct pool* in, int bytes) {
  const int batch = bytes <= BATCHED_BYTES ? BATCH : 1;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < batch; ++i) {
    if (g_rank == 0) send(out, bytes);
    receive(in, bytes);
    if (g_rank == 1) send(out, bytes);
  }
  return (MPI_Wtime() - begin) / (2 * batch);
}

static double both_ways(struct pool* out, struct pool* in, int bytes) {
  const int batch = bytes <= BATCHED_BYTES ? BATCH : 1;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < batch; ++i) {
    MPI_Sendrecv(next(out), bytes, MPI_BYTE, g_peer, 0, next(in), bytes, MPI_BYTE, g_peer, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  return (MPI_Wtime() - begin) / batch;
}

/// What the calls that begin sends take.
static double send_call(struct pool* out, struct pool* in, int bytes) {
  MPI_Request requests[SENDS];
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < SENDS; ++i) {
    if (g_rank == 0) MPI_Isend(next(out), bytes, MPI_BYTE, g_peer, 0, MPI_COMM_WORLD, &requests[i]);
    if (g_rank == 1) MPI_Irecv(next(in), bytes, MPI_BYTE, g_peer, 0, MPI_COMM_WORLD, &requests[i]);
  }
  const double took = (MPI_Wtime() - begin) / SENDS;
  MPI_Waitall(SENDS, requests, MPI_STATUSES_IGNORE);
  return took;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

typedef double (*measured)(struct pool*, struct pool*, int);

static double median_ns(measured what, struct pool* out, struct pool* in, int bytes, int rounds) {
  double* took = malloc((size_t)rounds * sizeof *took);
  for (int round = -WARM_UP; round < rounds; ++round) {
    const double each = what(out, in, bytes);
    if (round >= 0) took[round] = each;
  }
  qsort(took, (size_t)rounds, sizeof *took, compare);
  const double median = took[rounds / 2] * 1e9;
  free(took);
  return median;
}

static void measure(char* out_start, char* in_start, int bytes, double moved, int most_rounds) {
  const size_t step = ((size_t)bytes + LINE - 1) / LINE * LINE + LINE;
  size_t slots = (size_t)(moved / 2) / (step - LINE);
  if (slots < 1) slots = 1;
  struct pool out = {out_start, step, slots, 0}, in = {in_start, step, slots, 0};
  const double affordable = kBudgetBytes / bytes;
  int rounds = affordable < most_rounds ? (int)affordable : most_rounds;
  if (rounds < FEWEST) rounds = FEWEST < most_rounds ? FEWEST : most_rounds;
  const double one_way = median_ns(half_trip, &out, &in, bytes, rounds);
  const double both = median_ns(both_ways, &out, &in, bytes, rounds);
  const double sending = median_ns(send_call, &out, &in, bytes, rounds / SENDS + 1);
  if (g_rank == 0) printf("row %d %.0f %.3f %.3f %.3f\n", bytes, moved, sending, one_way, both);
}

/// Whether a send ends while the receiver is in MPI, but has not asked for the message. The two exchange other
/// messages in turns meanwhile: no answer depends on how quick anything is, nor on which rank the system runs when.
static int is_eager(char* buffer, int bytes) {
  int done = 0, word = 0;
  MPI_Request sending;
  if (g_rank == 0) MPI_Isend(buffer, bytes, MPI_BYTE, g_peer, 1, MPI_COMM_WORLD, &sending);
  for (int turn = 0; turn < TURNS; ++turn) {
    if (g_rank == 0) MPI_Send(&word, 1, MPI_INT, g_peer, 2, MPI_COMM_WORLD);
    MPI_Recv(&word, 1, MPI_INT, g_peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (g_rank == 1) MPI_Send(&word, 1, MPI_INT, g_peer, 2, MPI_COMM_WORLD);
    if (g_rank == 0 && !done) MPI_Test(&sending, &done, MPI_STATUS_IGNORE);
  }
  if (g_rank == 0) {
    MPI_Send(&done, 1, MPI_INT, g_peer, 3, MPI_COMM_WORLD);
    if (!done) MPI_Wait(&sending, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(&done, 1, MPI_INT, g_peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(buffer, bytes, MPI_BYTE, g_peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return done;
}

static int eager_bytes(char* buffer, int most) {
  int yes = 0, no = most + 1;
  while (no - yes > 1) {
    const int middle = yes == 0 && no > most ? most : yes + (no - yes) / 2;
    if (is_eager(buffer, middle)) {
      yes = middle;
    } else {
      no = middle;
    }
  }
  return yes;
}

/// Powers of four, the eager limit and the size after it, rising.
static int sizes_of(int eager, int most, int* sizes) {
  int count = 0;
  for (long long size = 4; size <= most && count < MOST_SIZES - 2; size *= 4) {
    if (eager > size / 4 && eager < size) sizes[count++] = eager;
    if (eager >= size / 4 && eager + 1 < size && eager > 0) sizes[count++] = eager + 1;
    sizes[count++] = (int)size;
  }
  return count;
}

int main(int argc, char** argv) {
  int ranks = 0, sizes[MOST_SIZES];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4 || ranks != 2) {
    if (g_rank == 0) fprintf(stderr, "messages: found %d ranks, %d arguments; allowed: 2, 3\n", ranks, argc - 1);
    MPI_Finalize();
    return 2;
  }
  g_peer = 1 - g_rank;
  const int rounds = atoi(argv[1]), most = atoi(argv[2]);
  double largest = most;
  for (const char* at = argv[3]; at != NULL; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (atof(at) / 2 > largest) largest = atof(at) / 2;
  // Of slots as small as a line, half is what keeps them apart.
  const size_t room = 2 * (size_t)largest + MOST_EAGER + SHIFT;
  char* out = malloc(room);
  char* in = (char*)malloc(room) + SHIFT;
  memset(out, 1, room);
  memset(in, 2, room - SHIFT);
  const int eager = eager_bytes(out, most < MOST_EAGER ? most : MOST_EAGER);
  if (g_rank == 0) printf("eager %d\n", eager);
  const int count = sizes_of(eager, most, sizes);
  for (int i = 0; i < count; ++i)
    for (const char* at = argv[3]; at != NULL; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
      measure(out, in, sizes[i], atof(at), rounds);
  free(out);
  free(in - SHIFT);
  MPI_Finalize();
  return 0;
}

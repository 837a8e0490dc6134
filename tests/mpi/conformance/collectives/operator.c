// Reduction operators: the predefined ones, pairs with location, and the user's own, where a non-commutative one
// must see ranks in ascending order whatever the root. The function gets the type and count it is promised.
//
// ranks: 1 2 3 5
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

// 2 x 2 matrices modulo a prime: associative, not commutative.
typedef struct {
  long a, b, c, d;
} matrix;

enum { PRIME = 10007, N = 300 };
static MPI_Datatype matrix_type;
static int calls;

static matrix product(matrix x, matrix y) {
  matrix r = {(x.a * y.a + x.b * y.c) % PRIME, (x.a * y.b + x.b * y.d) % PRIME, (x.c * y.a + x.d * y.c) % PRIME,
              (x.c * y.b + x.d * y.d) % PRIME};
  return r;
}

static void multiply(void* in, void* inout, int* length, MPI_Datatype* type) {
  matrix *left = in, *right = inout;
  CHECK(*type == matrix_type);
  CHECK(*length > 0 && *length <= N);
  ++calls;
  for (int i = 0; i < *length; ++i) right[i] = product(left[i], right[i]);
}

static matrix element(int owner, int i) {
  matrix m = {owner + 2, i + 1, 3 * owner + 1, 7 + (i + owner) % 11};
  return m;
}

static void check_product(const matrix* found, int first, int last) {
  for (int i = 0; i < N; ++i) {
    matrix expected = element(first, i);
    for (int owner = first + 1; owner <= last; ++owner) expected = product(expected, element(owner, i));
    EQ(expected.a, found[i].a);
    EQ(expected.b, found[i].b);
    EQ(expected.c, found[i].c);
    EQ(expected.d, found[i].d);
  }
}

static void own_operator(int commutes, MPI_Op op) {
  static matrix in[N], out[N];
  for (int i = 0; i < N; ++i) in[i] = element(rank, i);
  for (int root = 0; root < size; ++root) {
    OK(MPI_Reduce(in, out, N, matrix_type, op, root, MPI_COMM_WORLD));
    if (rank == root) check_product(out, 0, size - 1);
  }
  OK(MPI_Allreduce(in, out, N, matrix_type, op, MPI_COMM_WORLD));
  check_product(out, 0, size - 1);
  OK(MPI_Scan(in, out, N, matrix_type, op, MPI_COMM_WORLD));
  check_product(out, 0, rank);
  OK(MPI_Exscan(in, out, N, matrix_type, op, MPI_COMM_WORLD));
  if (rank) check_product(out, 0, rank - 1);
  memcpy(out, in, sizeof out);
  OK(MPI_Allreduce(MPI_IN_PLACE, out, N, matrix_type, op, MPI_COMM_WORLD));
  check_product(out, 0, size - 1);
  MPI_Request request;
  OK(MPI_Iallreduce(in, out, N, matrix_type, op, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  check_product(out, 0, size - 1);
  int answer = -1;
  OK(MPI_Op_commutative(op, &answer));
  EQ(commutes, answer != 0);
}

static void add_modulo(void* in, void* inout, int* length, MPI_Datatype* type) {
  CHECK(*type == MPI_INT);
  for (int i = 0; i < *length; ++i) ((int*)inout)[i] = (((int*)in)[i] + ((int*)inout)[i]) % PRIME;
}

static void commuting_operator(void) {
  enum { M = 5000 };
  static int in[M], out[M];
  MPI_Op op;
  MPI_Request request;
  int answer = 0;
  OK(MPI_Op_create(add_modulo, 1, &op));
  OK(MPI_Op_commutative(op, &answer));
  CHECK(answer);
  for (int i = 0; i < M; ++i) in[i] = (rank + 1) * i % PRIME;
  OK(MPI_Allreduce(in, out, M, MPI_INT, op, MPI_COMM_WORLD));
  for (int i = 0; i < M; ++i) EQ((long)size * (size + 1) / 2 * i % PRIME, out[i]);
  memset(out, 0, sizeof out);
  // An operator may be freed while a collective that uses it is under way.
  OK(MPI_Iallreduce(in, out, M, MPI_INT, op, MPI_COMM_WORLD, &request));
  OK(MPI_Op_free(&op));
  CHECK(op == MPI_OP_NULL);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < M; ++i) EQ((long)size * (size + 1) / 2 * i % PRIME, out[i]);
}

static void predefined(void) {
  int value = rank + 1, result = 0, factorial = 1, all_or = 0, all_and = ~0, all_xor = 0;
  for (int i = 1; i <= size; ++i) {
    factorial *= i;
    all_or |= i;
    all_and &= i;
    all_xor ^= i;
  }
  const struct {
    MPI_Op op;
    int expected;
  } cases[] = {{MPI_SUM, size * (size + 1) / 2},
               {MPI_PROD, factorial},
               {MPI_MAX, size},
               {MPI_MIN, 1},
               {MPI_BOR, all_or},
               {MPI_BAND, all_and},
               {MPI_BXOR, all_xor},
               {MPI_LAND, 1},
               {MPI_LOR, 1},
               {MPI_LXOR, size % 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    OK(MPI_Allreduce(&value, &result, 1, MPI_INT, cases[i].op, MPI_COMM_WORLD));
    EQ(cases[i].expected, result);
  }
  double half = 0.5 * (rank + 1), sum = 0;
  OK(MPI_Allreduce(&half, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == 0.25 * size * (size + 1));
}

static void with_location(void) {
  struct {
    int value, where;
  } mine = {(rank * 3 + 1) % size, rank}, best = {-1, -1};
  int highest = -1, where = -1;
  for (int i = 0; i < size; ++i)
    if ((i * 3 + 1) % size > highest) {
      highest = (i * 3 + 1) % size;
      where = i;
    }
  OK(MPI_Allreduce(&mine, &best, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD));
  EQ(highest, best.value);
  EQ(where, best.where);
  struct {
    double value;
    int where;
  } d = {1.5, rank}, lowest = {0, -1};
  OK(MPI_Allreduce(&d, &lowest, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD));
  EQ(0, lowest.where);
  CHECK(lowest.value == 1.5);
}

static void local(MPI_Op op) {
  matrix in[2] = {element(3, 0), element(3, 1)}, inout[2] = {element(5, 0), element(5, 1)};
  int before = calls, sum[2] = {1, 2};
  OK(MPI_Reduce_local(in, inout, 2, matrix_type, op));
  CHECK(calls > before);
  EQ(product(in[1], element(5, 1)).b, inout[1].b);
  OK(MPI_Reduce_local((const int[]){10, 20}, sum, 2, MPI_INT, MPI_SUM));
  EQ(11, sum[0]);
  EQ(22, sum[1]);
}

int main(void) {
  start();
  OK(MPI_Type_contiguous(4, MPI_LONG, &matrix_type));
  OK(MPI_Type_commit(&matrix_type));
  MPI_Op op;
  OK(MPI_Op_create(multiply, 0, &op));
  own_operator(0, op);
  local(op);
  OK(MPI_Op_free(&op));
  commuting_operator();
  predefined();
  with_location();
  OK(MPI_Type_free(&matrix_type));
  return finish("operator");
}

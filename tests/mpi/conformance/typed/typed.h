// What the programs about non-contiguous messages share: layouts of ints with gaps, filling one, checking one.
// Every int of a buffer that a layout does not choose is a gap and must keep its value.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "check.h"

enum { GAP = -77777, LAYOUTS = 5, SMALL = 60, LARGE = 12000 };

// `items` of `type` at `room + base` choose `n` ints: the k-th is room[base + at(n, k)]. `span` ints are enough.
typedef struct {
  MPI_Datatype type;
  int items, n, base, span;
  int (*at)(int n, int k);
} layout;

static int at_blocks(int n, int k) {
  return 7 * (k / 3) + k % 3;
}
static int at_backwards(int n, int k) {
  return -2 * k;
}
static int at_indexed(int n, int k) {
  int i = k ^ 1;
  return 3 * i + i * i % 3;
}
static int at_columns(int n, int k) {
  int rows = n / 4;
  return 6 * (k % rows) + k / rows;
}
static int at_pairs(int n, int k) {
  return 5 * (k / 2) + (k % 2 ? 3 : 0);
}

static inline layout commit_layout(MPI_Datatype type, int items, int n, int base, int span, int (*at)(int, int)) {
  OK(MPI_Type_commit(&type));
  return (layout){type, items, n, base, span, at};
}

static inline MPI_Datatype indexed_ints(int n) {
  int* places = malloc((size_t)n * sizeof *places);
  MPI_Datatype type;
  for (int k = 0; k < n; ++k) places[k] = at_indexed(n, k);
  OK(MPI_Type_create_indexed_block(n, 1, places, MPI_INT, &type));
  free(places);
  return type;
}

static inline MPI_Datatype resized(MPI_Datatype old, MPI_Aint extent) {
  MPI_Datatype type;
  OK(MPI_Type_create_resized(old, 0, extent, &type));
  OK(MPI_Type_free(&old));
  return type;
}

// Layout number `which` of `n` ints; n is a multiple of 12.
static inline layout make_layout(int which, int n) {
  enum { I = sizeof(int) };
  MPI_Datatype type;
  switch (which) {
    case 0:
      OK(MPI_Type_vector(n / 3, 3, 7, MPI_INT, &type));
      return commit_layout(type, 1, n, 0, 7 * n / 3, at_blocks);
    case 1:
      OK(MPI_Type_create_hvector(n, 1, -2 * I, MPI_INT, &type));
      return commit_layout(type, 1, n, 2 * n - 2, 2 * n, at_backwards);
    case 2:
      return commit_layout(indexed_ints(n), 1, n, 0, 3 * n, at_indexed);
    case 3:
      OK(MPI_Type_vector(n / 4, 1, 6, MPI_INT, &type));
      return commit_layout(resized(type, I), 4, n, 0, 6 * n / 4, at_columns);
    default:
      OK(MPI_Type_create_struct(2, (const int[]){1, 1}, (const MPI_Aint[]){0, 3 * I},
                                (const MPI_Datatype[]){MPI_INT, MPI_INT}, &type));
      return commit_layout(resized(type, 5 * I), n / 2, n, 0, 5 * n / 2, at_pairs);
  }
}

static inline void free_layout(layout* each) {
  OK(MPI_Type_free(&each->type));
  CHECK(each->type == MPI_DATATYPE_NULL);
}

static inline int value_of(int seed, int k) {
  return seed * 1000003 + k;
}

static inline void clear_room(int* room, int span) {
  for (int i = 0; i < span; ++i) room[i] = GAP;
}

static inline void fill_layout(int* room, const layout* of, int seed) {
  clear_room(room, of->span);
  for (int k = 0; k < of->n; ++k) room[of->base + of->at(of->n, k)] = value_of(seed, k);
}

static inline int* address(int* room, const layout* of) {
  return room + of->base;
}

// Room for a layout, filled (seed >= 0) or all gaps. The programs keep theirs to the end, so that what is written
// too late comes into no other.
static inline int* new_room(const layout* of, int seed) {
  int* room = malloc((size_t)of->span * sizeof *room);
  CHECK(room != NULL);
  if (seed >= 0)
    fill_layout(room, of, seed);
  else
    clear_room(room, of->span);
  return room;
}

// The first `arrived` chosen ints are those of `seed`, and everything else is a gap.
static inline void check_layout(const char* file, int line, const int* room, const layout* of, int seed,
                                int arrived) {
  int* expected = new_room(of, -1);
  for (int k = 0; k < arrived; ++k) expected[of->base + of->at(of->n, k)] = value_of(seed, k);
  for (int i = 0; i < of->span; ++i)
    if (room[i] != expected[i]) fail_at(file, line, "int %d: expected %d, found %d", i, expected[i], room[i]);
  free(expected);
}
#define CHECK_LAYOUT(room, of, seed) check_layout(__FILE__, __LINE__, room, of, seed, (of)->n)
#define CHECK_PART(room, of, seed, arrived) check_layout(__FILE__, __LINE__, room, of, seed, arrived)
#define CHECK_GAPS(room, of) check_layout(__FILE__, __LINE__, room, of, 0, 0)

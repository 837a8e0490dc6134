/* Scotch as a contestant: maps a problem (corewise/bench/mapping/problems.py writes it) with SCOTCH_graphMap onto a
 * tleaf architecture. Prints the CPU time of build, strategy and mapping in seconds, then the unit of every rank;
 * whether it is a permutation is for corewise to check.
 *
 * Usage: bench_scotch PROBLEM default|balance SEED
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include <scotch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_levels = 16 };

struct problem {
  SCOTCH_Num ranks, units, edges;
  SCOTCH_Num levels, sizes[most_levels], distances[most_levels]; /* root first, as tleaf wants them */
  SCOTCH_Num *first, *peers, *bytes;
};

static void fail(const char* what) {
  fprintf(stderr, "bench_scotch: %s\n", what);
  exit(1);
}

static double cpu_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* "4:8:32", leaf first, into root first. */
static SCOTCH_Num read_levels(char* text, SCOTCH_Num* values) {
  SCOTCH_Num count = 0;
  for (char* item = strtok(text, ":"); item != NULL; item = strtok(NULL, ":")) {
    if (count == most_levels) fail("too many levels");
    values[count++] = (SCOTCH_Num)atol(item);
  }
  for (SCOTCH_Num k = 0; k < count / 2; ++k) {
    const SCOTCH_Num kept = values[k];
    values[k] = values[count - 1 - k];
    values[count - 1 - k] = kept;
  }
  return count;
}

static struct problem read_problem(const char* path) {
  struct problem problem;
  long ranks, pairs, a, b, bytes;
  char hierarchy[256], distances[256];
  FILE* file = fopen(path, "r");
  if (file == NULL) fail("cannot open the problem");
  if (fscanf(file, "%ld %255s %255s %ld", &ranks, hierarchy, distances, &pairs) != 4) fail("not a problem");
  problem.ranks = (SCOTCH_Num)ranks;
  problem.edges = (SCOTCH_Num)(2 * pairs);
  problem.levels = read_levels(hierarchy, problem.sizes);
  if (read_levels(distances, problem.distances) != problem.levels) fail("hierarchy and distances differ in length");
  problem.units = 1;
  for (SCOTCH_Num k = 0; k < problem.levels; ++k) problem.units *= problem.sizes[k];
  long (*list)[3] = malloc((size_t)(pairs + 1) * sizeof *list);
  problem.first = calloc((size_t)ranks + 2, sizeof(SCOTCH_Num));
  problem.peers = malloc((size_t)(2 * pairs + 1) * sizeof(SCOTCH_Num));
  problem.bytes = malloc((size_t)(2 * pairs + 1) * sizeof(SCOTCH_Num));
  for (long k = 0; k < pairs; ++k) {
    if (fscanf(file, "%ld %ld %ld", &a, &b, &bytes) != 3) fail("not a problem");
    list[k][0] = a;
    list[k][1] = b;
    list[k][2] = bytes;
    ++problem.first[a + 1];
    ++problem.first[b + 1];
  }
  for (long r = 0; r < ranks; ++r) problem.first[r + 1] += problem.first[r];
  SCOTCH_Num* at = malloc((size_t)(ranks + 1) * sizeof *at);
  memcpy(at, problem.first, (size_t)(ranks + 1) * sizeof *at);
  for (long k = 0; k < pairs; ++k) {
    for (int end = 0; end < 2; ++end) {
      problem.peers[at[list[k][end]]] = (SCOTCH_Num)list[k][1 - end];
      problem.bytes[at[list[k][end]]++] = (SCOTCH_Num)list[k][2];
    }
  }
  free(at);
  free(list);
  fclose(file);
  return problem;
}

int main(int count, char** arguments) {
  if (count != 4) fail("usage: bench_scotch PROBLEM default|balance SEED");
  if (SCOTCH_numSizeof() != (int)sizeof(SCOTCH_Num)) fail("header and library differ in the size of SCOTCH_Num");
  struct problem problem = read_problem(arguments[1]);
  SCOTCH_Num* unit_of_rank = malloc((size_t)(problem.ranks + 1) * sizeof *unit_of_rank);
  SCOTCH_Graph graph;
  SCOTCH_Arch machine;
  SCOTCH_Strat strategy;
  SCOTCH_randomSeed((SCOTCH_Num)atol(arguments[3]));
  SCOTCH_randomReset();
  const double begin_s = cpu_s();
  SCOTCH_graphInit(&graph);
  SCOTCH_archInit(&machine);
  SCOTCH_stratInit(&strategy);
  if (SCOTCH_graphBuild(&graph, 0, problem.ranks, problem.first, NULL, NULL, NULL, problem.edges, problem.peers,
                        problem.bytes) != 0) {
    fail("graphBuild failed");
  }
  if (SCOTCH_archTleaf(&machine, problem.levels, problem.sizes, problem.distances) != 0) fail("archTleaf failed");
  if (strcmp(arguments[2], "balance") == 0 &&
      SCOTCH_stratGraphMapBuild(&strategy, SCOTCH_STRATBALANCE, problem.units, 0.0) != 0) {
    fail("stratGraphMapBuild failed");
  }
  if (SCOTCH_graphMap(&graph, &machine, &strategy, unit_of_rank) != 0) fail("graphMap failed");
  printf("%.9f\n", cpu_s() - begin_s);
  for (SCOTCH_Num rank = 0; rank < problem.ranks; ++rank) printf("%ld\n", (long)unit_of_rank[rank]);
  return 0;
}

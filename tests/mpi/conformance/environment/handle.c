// Handles and small objects: conversion to and from Fortran, groups, infos, errors in words.
//
// ranks: 2 3
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

// The standard ABI leaves conversions to Fortran handles out of the C library and has conversions to int instead.
#if defined(MPI_ABI_VERSION) && !defined(MPICH_VERSION)
#define NUMBER(kind, handle) MPI_##kind##_toint(handle)
#define HANDLE(kind, number) MPI_##kind##_fromint(number)
typedef int number_type;
#else
#define NUMBER(kind, handle) MPI_##kind##_c2f(handle)
#define HANDLE(kind, number) MPI_##kind##_f2c(number)
typedef MPI_Fint number_type;
#define HAVE_FORTRAN_STATUS 1
#endif

static void there_and_back(void) {
  MPI_Comm comm;
  MPI_Group group;
  MPI_Request request;
  MPI_Datatype type;
  MPI_Info info;
  MPI_Op op = MPI_SUM;
  int value = -1;
  CHECK(HANDLE(Comm, NUMBER(Comm, MPI_COMM_WORLD)) == MPI_COMM_WORLD);
  CHECK(HANDLE(Comm, NUMBER(Comm, MPI_COMM_NULL)) == MPI_COMM_NULL);
  CHECK(HANDLE(Type, NUMBER(Type, MPI_DOUBLE)) == MPI_DOUBLE);
  CHECK(HANDLE(Op, NUMBER(Op, op)) == MPI_SUM);
  CHECK(HANDLE(Request, NUMBER(Request, MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
  CHECK(HANDLE(Errhandler, NUMBER(Errhandler, MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
  CHECK(HANDLE(Info, NUMBER(Info, MPI_INFO_NULL)) == MPI_INFO_NULL);
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm));
  OK(MPI_Comm_group(comm, &group));
  CHECK(HANDLE(Group, NUMBER(Group, group)) == group);
  OK(MPI_Type_contiguous(2, MPI_INT, &type));
  CHECK(HANDLE(Type, NUMBER(Type, type)) == type);
  OK(MPI_Info_create(&info));
  CHECK(HANDLE(Info, NUMBER(Info, info)) == info);
  // A handle that went through Fortran is the same object: started under one name, completed under the other.
  MPI_Comm other = HANDLE(Comm, NUMBER(Comm, comm));
  int me;
  OK(MPI_Comm_rank(other, &me));
  EQ(size - 1 - rank, me);
  OK(MPI_Irecv(&value, 1, MPI_INT, (me + 1) % size, 1, other, &request));
  number_type number = NUMBER(Request, request);
  OK(MPI_Send(&me, 1, MPI_INT, (me + size - 1) % size, 1, comm));
  MPI_Request same = HANDLE(Request, number);
  CHECK(same == request);
  OK(MPI_Wait(&same, MPI_STATUS_IGNORE));
  EQ((me + 1) % size, value);
  OK(MPI_Info_free(&info));
  OK(MPI_Type_free(&type));
  OK(MPI_Group_free(&group));
  OK(MPI_Comm_free(&other));
}

static void groups(void) {
  MPI_Group all, odd, even, both, none, range, back;
  int result = -1, me = -1, count = -1, ranks[64], found[64];
  OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
  OK(MPI_Group_range_incl(all, 1, (int[1][3]){{0, size - 1, 2}}, &even));
  OK(MPI_Group_difference(all, even, &odd));
  OK(MPI_Group_size(odd, &count));
  EQ(size / 2, count);
  OK(MPI_Group_union(odd, even, &both));
  OK(MPI_Group_compare(both, all, &result));
  EQ(MPI_SIMILAR, result);
  OK(MPI_Group_intersection(odd, even, &none));
  OK(MPI_Group_compare(none, MPI_GROUP_EMPTY, &result));
  EQ(MPI_IDENT, result);
  OK(MPI_Group_rank(odd, &me));
  EQ(rank % 2 ? rank / 2 : MPI_UNDEFINED, me);
  for (int i = 0; i < size; ++i) ranks[i] = i;
  OK(MPI_Group_translate_ranks(all, size, ranks, even, found));
  for (int i = 0; i < size; ++i) EQ(i % 2 ? MPI_UNDEFINED : i / 2, found[i]);
  ranks[0] = MPI_PROC_NULL;
  OK(MPI_Group_translate_ranks(all, 1, ranks, even, found));
  EQ(MPI_PROC_NULL, found[0]);
  OK(MPI_Group_range_excl(all, 1, (int[1][3]){{0, 0, 1}}, &range));
  OK(MPI_Group_size(range, &count));
  EQ(size - 1, count);
  ranks[0] = 0;
  OK(MPI_Group_excl(all, 1, ranks, &back));
  OK(MPI_Group_compare(range, back, &result));
  EQ(MPI_IDENT, result);
  MPI_Group* gone[] = {&all, &odd, &even, &both, &range, &back};
  for (int i = 0; i < 6; ++i) {
    OK(MPI_Group_free(gone[i]));
    CHECK(*gone[i] == MPI_GROUP_NULL);
  }
  if (none != MPI_GROUP_EMPTY) OK(MPI_Group_free(&none));
}

static void infos(void) {
  MPI_Info info, copy;
  char key[MPI_MAX_INFO_KEY], value[64];
  int keys = -1, length = -1, found = -1;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "colour", "green"));
  OK(MPI_Info_set(info, "shape", "round"));
  OK(MPI_Info_set(info, "colour", "red"));
  OK(MPI_Info_get_nkeys(info, &keys));
  EQ(2, keys);
  OK(MPI_Info_get_nthkey(info, 1, key));
  SAME_TEXT("shape", key);
  OK(MPI_Info_get(info, "colour", 63, value, &found));
  EQ(1, found);
  SAME_TEXT("red", value);
  OK(MPI_Info_get_valuelen(info, "shape", &length, &found));
  EQ(5, length);
  OK(MPI_Info_dup(info, &copy));
  OK(MPI_Info_delete(info, "colour"));
  OK(MPI_Info_get(info, "colour", 63, value, &found));
  EQ(0, found);
  OK(MPI_Info_get(copy, "colour", 63, value, &found));
  EQ(1, found);
  OK(MPI_Info_free(&info));
  CHECK(info == MPI_INFO_NULL);
  OK(MPI_Info_free(&copy));
}

#ifdef HAVE_FORTRAN_STATUS
static void fortran_statuses(void) {
  MPI_Fint words[MPI_F_STATUS_SIZE];
  MPI_Status status, back;
  int value = -1;
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 5, &value, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD,
                  &status));
  OK(MPI_Status_c2f(&status, words));
  OK(MPI_Status_f2c(words, &back));
  EQ(status.MPI_SOURCE, back.MPI_SOURCE);
  EQ(5, back.MPI_TAG);
  EQ(1, count_of(&back, MPI_INT));
}
#endif

int main(void) {
  start();
  there_and_back();
  groups();
  infos();
#ifdef HAVE_FORTRAN_STATUS
  fortran_statuses();
#endif
  return finish("handle");
}

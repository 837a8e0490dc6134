// Stands where the MPI stands for the packing library, or for a program without it, and counts what arrives there:
// calls by procedure, and whether the datatype was MPI_PACKED, predefined or derived. Everything is handed on.
//
// A program marks what it does by MPI_Pcontrol(SECTION); outside of sections, 0, nothing is counted. At the end
// each rank writes $COREWISE_SHIM_OUT.RANK, lines of `SECTION PROCEDURE KIND COUNT`. Attributes of datatypes are
// counted when they are set and when their delete callback is called.
// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- counts

typedef struct {
  int section;
  const char *procedure, *kind;
  long count;
} entry;

static entry table[512];
static int entries, section;

static void count_call(const char* procedure, const char* kind) {
  if (section == 0) return;
  int i = 0;
  while (i < entries &&
         (table[i].section != section || strcmp(table[i].procedure, procedure) || strcmp(table[i].kind, kind)))
    ++i;
  if (i == sizeof table / sizeof *table) abort();
  if (i == entries) table[entries++] = (entry){section, procedure, kind, 0};
  ++table[i].count;
}

static void* behind(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == NULL) {
    fprintf(stderr, "shim: no %s\n", name);
    abort();
  }
  return found;
}

// What this MPI declares under the name, as the next library has it.
#define NEXT(name) ((__typeof__(P##name)*)behind("P" #name))

#define SHIM(name, parameters, arguments, kind) \
  int P##name parameters {                      \
    count_call(#name, kind);                    \
    return NEXT(name) arguments;                \
  }                                             \
  int name parameters __attribute__((alias("P" #name)));

static const char* kind_of(MPI_Datatype type) {
  int integers, addresses, types, combiner = MPI_COMBINER_NAMED;
  if (type == MPI_PACKED) return "packed";
  NEXT(MPI_Type_get_envelope)(type, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED ? "predefined" : "derived";
}

// ---- messages

#define SEND_PARAMETERS (const void* buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
#define POST_SEND_PARAMETERS \
  (const void* buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request)
#define POST_SEND_ARGUMENTS (buf, count, type, to, tag, comm, request)
#define POST_RECEIVE_PARAMETERS \
  (void* buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request)
#define POST_RECEIVE_ARGUMENTS (buf, count, type, from, tag, comm, request)

SHIM(MPI_Send, SEND_PARAMETERS, (buf, count, type, to, tag, comm), kind_of(type))
SHIM(MPI_Isend, POST_SEND_PARAMETERS, POST_SEND_ARGUMENTS, kind_of(type))
SHIM(MPI_Send_init, POST_SEND_PARAMETERS, POST_SEND_ARGUMENTS, kind_of(type))
SHIM(MPI_Recv, (void* buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status),
     (buf, count, type, from, tag, comm, status), kind_of(type))
SHIM(MPI_Irecv, POST_RECEIVE_PARAMETERS, POST_RECEIVE_ARGUMENTS, kind_of(type))
SHIM(MPI_Recv_init, POST_RECEIVE_PARAMETERS, POST_RECEIVE_ARGUMENTS, kind_of(type))
SHIM(MPI_Sendrecv_replace,
     (void* buf, int count, MPI_Datatype type, int to, int sendtag, int from, int recvtag, MPI_Comm comm,
      MPI_Status* status),
     (buf, count, type, to, sendtag, from, recvtag, comm, status), kind_of(type))
SHIM(MPI_Pack, (const void* in, int count, MPI_Datatype type, void* out, int size, int* position, MPI_Comm comm),
     (in, count, type, out, size, position, comm), kind_of(type))
SHIM(MPI_Unpack, (const void* in, int size, int* position, void* out, int count, MPI_Datatype type, MPI_Comm comm),
     (in, size, position, out, count, type, comm), kind_of(type))

// Counted under its own name for what it receives.
SHIM(MPI_Sendrecv,
     (const void* sendbuf, int sendcount, MPI_Datatype sendtype, int to, int sendtag, void* recvbuf, int recvcount,
      MPI_Datatype recvtype, int from, int recvtag, MPI_Comm comm, MPI_Status* status),
     (sendbuf, sendcount, sendtype, to, sendtag, recvbuf, recvcount, recvtype, from, recvtag, comm, status),
     (count_call("MPI_Sendrecv out", kind_of(sendtype)), kind_of(recvtype)))

// ---- datatypes

SHIM(MPI_Type_get_envelope, (MPI_Datatype type, int* integers, int* addresses, int* types, int* combiner),
     (type, integers, addresses, types, combiner), "envelope")
SHIM(MPI_Type_get_contents,
     (MPI_Datatype type, int most_integers, int most_addresses, int most_types, int integers[],
      MPI_Aint addresses[], MPI_Datatype types[]),
     (type, most_integers, most_addresses, most_types, integers, addresses, types), "contents")
#if MPI_VERSION >= 4
SHIM(MPI_Type_get_envelope_c,
     (MPI_Datatype type, MPI_Count* integers, MPI_Count* addresses, MPI_Count* counts, MPI_Count* types,
      int* combiner),
     (type, integers, addresses, counts, types, combiner), "envelope")
SHIM(MPI_Type_get_contents_c,
     (MPI_Datatype type, MPI_Count most_integers, MPI_Count most_addresses, MPI_Count most_counts,
      MPI_Count most_types, int integers[], MPI_Aint addresses[], MPI_Count counts[], MPI_Datatype types[]),
     (type, most_integers, most_addresses, most_counts, most_types, integers, addresses, counts, types), "contents")
#endif

typedef struct {
  MPI_Type_copy_attr_function* copy;
  MPI_Type_delete_attr_function* delete;
  void* extra;
} callbacks;

static int copied(MPI_Datatype type, int key, void* extra, void* value, void* copy, int* flag) {
  const callbacks* real = extra;
  int code = real->copy(type, key, real->extra, value, copy, flag);
  if (*flag) count_call("attribute", "set");
  return code;
}

static int deleted(MPI_Datatype type, int key, void* value, void* extra) {
  const callbacks* real = extra;
  count_call("attribute", "deleted");
  return real->delete(type, key, value, real->extra);
}

static callbacks* kept(callbacks given) {
  callbacks* real = malloc(sizeof *real);
  *real = given;
  return real;
}

SHIM(MPI_Type_create_keyval,
     (MPI_Type_copy_attr_function * copy, MPI_Type_delete_attr_function* delete, int* key, void* extra),
     (copied, deleted, key, kept((callbacks){copy, delete, extra})), "call")
SHIM(MPI_Type_set_attr, (MPI_Datatype type, int key, void* value), (type, key, value),
     (count_call("attribute", "set"), "call"))

// ---- sections, and the end

int PMPI_Pcontrol(const int level, ...) {
  section = level;
  return MPI_SUCCESS;
}
int MPI_Pcontrol(const int level, ...) __attribute__((alias("PMPI_Pcontrol")));

static void write_counts(void) {
  section = 0;
  const char* stem = getenv("COREWISE_SHIM_OUT");
  int rank = 0;
  NEXT(MPI_Comm_rank)(MPI_COMM_WORLD, &rank);
  if (stem == NULL) return;
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", stem, rank);
  FILE* out = fopen(path, "w");
  if (out == NULL) abort();
  for (int i = 0; i < entries; ++i)
    fprintf(out, "%d %s/%s %ld\n", table[i].section, table[i].procedure, table[i].kind, table[i].count);
  fclose(out);
}

SHIM(MPI_Finalize, (void), (), (write_counts(), "call"))

// What every conformance program shares: assertions that name file, line, rank, expected and found values, the
// start and the end of a program, and the names of optional parts of MPI. A failed assertion ends the whole job
// with a nonzero status; a program that reaches finish() prints "ok NAME" from rank 0 and nothing else, except SEEN
// lines: behaviour that the standard leaves to the library, printed so that a tool that changes it is caught by
// comparison.
//
// SPDX-License-Identifier: BSD-3-Clause
#ifndef CONFORMANCE_CHECK_H
#define CONFORMANCE_CHECK_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Open MPI 5.0 reports MPI 3.1 but has sessions, partitioned transfers, persistent collectives and Isendrecv.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAVE_MPI4 1
#endif
#if MPI_VERSION >= 4
#define HAVE_LARGE_COUNT 1
#endif

// A value that no MPI call stores by itself: shows whether a field was written.
#define UNTOUCHED 424242
// Not a pointer that anybody may read: for arguments that only the root's call may look at.
#define GARBAGE ((void*)8)

static int rank, size;

static inline _Noreturn void end_job(void) {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  fflush(NULL);
  sleep(2);  // MPICH's launcher drops what it has not read when a rank aborts
  if (initialized && !finalized) MPI_Abort(MPI_COMM_WORLD, 1);
  _exit(1);
}

static inline _Noreturn void fail_at(const char* file, int line, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  printf("%s:%d: rank %d of %d: %s\n", file, line, rank, size, text);
  end_job();
}

static inline void check_integer(const char* file, int line, const char* what, long long expected,
                                 long long found) {
  if (expected != found) fail_at(file, line, "%s: expected %lld, found %lld", what, expected, found);
}

static inline void check_text(const char* file, int line, const char* what, const char* expected,
                              const char* found) {
  if (strcmp(expected, found) != 0) fail_at(file, line, "%s: expected \"%s\", found \"%s\"", what, expected, found);
}

static inline void check_code(const char* file, int line, const char* what, int expected, int code) {
  int class = MPI_SUCCESS, length = 0;
  char text[MPI_MAX_ERROR_STRING] = "no error";
  if (code != MPI_SUCCESS) {
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
  }
  if (class != expected)
    fail_at(file, line, "%s: expected error class %d, found %d (%s)", what, expected, class, text);
}

#define CHECK(condition)                                                                              \
  do {                                                                                                \
    if (!(condition)) fail_at(__FILE__, __LINE__, "expected %s to be true, found false", #condition); \
  } while (0)
#define EQ(expected, found) check_integer(__FILE__, __LINE__, #found, (long long)(expected), (long long)(found))
#define SAME_TEXT(expected, found) check_text(__FILE__, __LINE__, #found, expected, found)
#define OK(call) check_code(__FILE__, __LINE__, #call, MPI_SUCCESS, call)
#define FAILS(class, call) check_code(__FILE__, __LINE__, #call, class, call)
#define SEEN(...)                   \
  do {                              \
    if (rank == 0) {                \
      printf("seen: " __VA_ARGS__); \
      printf("\n");                 \
    }                               \
  } while (0)

static inline void know_world(void) {
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
}

static inline void start(void) {
  OK(MPI_Init(NULL, NULL));
  know_world();
}

static inline void say_ok(const char* name) {
  if (rank == 0) printf("ok %s\n", name);
  fflush(stdout);
}

static inline int finish(const char* name) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Finalize());
  say_ok(name);
  return 0;
}

// Deviations of a library from the standard are asked for at run time, because a program built for the standard ABI
// learns only then which library it runs on. The list of them is in ../README.md.
static inline int library_is(const char* name) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  return strstr(text, name) != NULL;
}

static inline void poison(MPI_Status* status) {
  memset(status, 0x5a, sizeof *status);
  status->MPI_SOURCE = UNTOUCHED;
  status->MPI_TAG = UNTOUCHED;
  status->MPI_ERROR = UNTOUCHED;
}

static inline int count_of(const MPI_Status* status, MPI_Datatype type) {
  int count = UNTOUCHED;
  OK(MPI_Get_count(status, type, &count));
  return count;
}

// Source, tag and count as told, and the error field as it was before the call.
#define CHECK_STATUS(status, source, tag, count, type) \
  do {                                                 \
    EQ(source, (status).MPI_SOURCE);                   \
    EQ(tag, (status).MPI_TAG);                         \
    EQ(UNTOUCHED, (status).MPI_ERROR);                 \
    EQ(count, count_of(&(status), type));              \
  } while (0)

static inline void fill(int* values, int count, int seed) {
  for (int i = 0; i < count; ++i) values[i] = seed * 1000003 + i;
}

static inline void check_fill(const char* file, int line, const int* values, int count, int seed) {
  for (int i = 0; i < count; ++i) {
    int expected = seed * 1000003 + i;
    if (values[i] != expected) fail_at(file, line, "element %d: expected %d, found %d", i, expected, values[i]);
  }
}
#define CHECK_FILL(values, count, seed) check_fill(__FILE__, __LINE__, values, count, seed)

#endif

// Before MPI_Init, between and after MPI_Finalize: what may be asked, what must not change (arguments, directory,
// signal handlers, file mode mask, descriptors), and the deletion of MPI_COMM_SELF's attributes at the start of
// MPI_Finalize.
//
// ranks: 1 2
// arguments: alpha beta
// SPDX-License-Identifier: BSD-3-Clause
#include <signal.h>
#include <sys/stat.h>

#include "check.h"

static void before(void) {
  int flag = UNTOUCHED, version = 0, minor = -1, length = 0, provided = -1;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  OK(MPI_Initialized(&flag));
  EQ(0, flag);
  OK(MPI_Finalized(&flag));
  EQ(0, flag);
  OK(MPI_Get_version(&version, &minor));
  EQ(MPI_VERSION, version);
  EQ(MPI_SUBVERSION, minor);
  OK(MPI_Get_library_version(text, &length));
  // Open MPI 5.0.11 counts the final null character.
  EQ(strlen(text) + (library_is("Open MPI") ? 1 : 0), length);
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  int variables = -1;
  OK(MPI_T_cvar_get_num(&variables));
  CHECK(variables >= 0);
}

static int order, first_deleted, second_deleted;

// MPI must still work here, and not yet be finalised.
static int at_finalize(MPI_Comm comm, int key, void* value, void* extra) {
  int flag = 1, me = -1, echo = -1;
  (void)key, (void)extra;
  CHECK(comm == MPI_COMM_SELF);
  OK(MPI_Finalized(&flag));
  EQ(0, flag);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &me));
  EQ(rank, me);
  OK(MPI_Sendrecv(&me, 1, MPI_INT, 0, 1, &echo, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  EQ(rank, echo);
  *(int*)value = ++order;
  return MPI_SUCCESS;
}

static void register_callbacks(void) {
  int first, second;
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &first, NULL));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &second, NULL));
  OK(MPI_Comm_set_attr(MPI_COMM_SELF, first, &first_deleted));
  OK(MPI_Comm_set_attr(MPI_COMM_SELF, second, &second_deleted));
  OK(MPI_Comm_free_keyval(&first));
  OK(MPI_Comm_free_keyval(&second));
}

// Not SIGUSR1: MPICH keeps it for itself.
static const int signals[] = {SIGUSR2, SIGALRM, SIGPROF, SIGVTALRM, SIGHUP, SIGINT, SIGPIPE};
static void ignore_it(int number) {
  (void)number;
}

static void install_handlers(void) {
  for (size_t i = 0; i < sizeof signals / sizeof *signals; ++i) signal(signals[i], ignore_it);
}

static void check_handlers(void) {
  for (size_t i = 0; i < sizeof signals / sizeof *signals; ++i) {
    struct sigaction now;
    sigaction(signals[i], NULL, &now);
    if (now.sa_handler != ignore_it) fail_at(__FILE__, __LINE__, "handler of signal %d was replaced", signals[i]);
  }
}

static mode_t mask_now(void) {
  mode_t mask = umask(0);
  umask(mask);
  return mask;
}

// A program may leave its directory, and the directory may vanish.
static void leave_directory(void) {
  char path[] = "/tmp/conformance-XXXXXX";
  CHECK(mkdtemp(path) != NULL);
  EQ(0, chdir(path));
  EQ(0, rmdir(path));
}

static void levels(void) {
  OK(MPI_Pcontrol(1));
  OK(MPI_Pcontrol(0));
  OK(MPI_Pcontrol(2));
  OK(MPI_Pcontrol(17, "text", 3.5));
  OK(MPI_Pcontrol(1));
}

static void middle(void) {
  int flag = 0, length = 0, value = -1;
  char name[MPI_MAX_PROCESSOR_NAME];
  OK(MPI_Initialized(&flag));
  CHECK(flag);
  OK(MPI_Get_processor_name(name, &length));
  EQ(strlen(name), length);
  double then = MPI_Wtime();
  CHECK(MPI_Wtick() > 0 && MPI_Wtick() < 1);
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &value, 1, MPI_INT, (rank + size - 1) % size, 1,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EQ((rank + size - 1) % size, value);
  CHECK(MPI_Wtime() >= then);
  void* room = NULL;
  OK(MPI_Alloc_mem(4096, MPI_INFO_NULL, &room));
  CHECK(room != NULL);
  memset(room, 1, 4096);
  OK(MPI_Free_mem(room));
}

int main(int argc, char** argv) {
  char* words[3] = {argv[0], argv[1], argv[2]};
  int flag = 0;
  umask(027);
  install_handlers();
  before();
  OK(MPI_Init(&argc, &argv));
  know_world();
  EQ(3, argc);
  for (int i = 0; i < 3; ++i) CHECK(argv[i] == words[i]);
  CHECK(argv[3] == NULL);
  SAME_TEXT("alpha", argv[1]);
  check_handlers();
  EQ(027, mask_now());
  leave_directory();
  levels();
  middle();
  register_callbacks();
  OK(MPI_T_finalize());
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Finalize());
  check_handlers();
  EQ(027, mask_now());
  EQ(2, first_deleted);
  EQ(1, second_deleted);
  OK(MPI_Finalized(&flag));
  EQ(1, flag);
  OK(MPI_Initialized(&flag));
  EQ(1, flag);
  say_ok("lifecycle");
  return 0;
}

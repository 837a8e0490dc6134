// Programs that do to their process what a tool does not expect: close, rename or cover the trace file, limit file
// sizes or descriptors, interrupt at a kilohertz, watch errno. One rank; the output must not depend on a tool.
// SPDX-License-Identifier: BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "scenario.h"

enum { kCalls = 60000 };

static volatile sig_atomic_t alarms;
static int errors;

static void on_alarm(int number) {
  (void)number;
  errno = EBADF;
  ++alarms;
}

SCENARIO(known_calls) {
  int number = 7;
  for (int i = 0; i < kCalls; ++i) {
    errno = 77;
    MPI_Send(&number, 1, MPI_INT, MPI_PROC_NULL, i, MPI_COMM_WORLD);
    const volatile int found = errno;  // before alarms: a handler that comes between them leaves both as they were
    errors += found != 77 && alarms == 0;
  }
}

// The descriptor of a trace file, -1 without a tool.
static int trace_descriptor(char* path, size_t bytes) {
  for (int fd = 3; fd < 4096; ++fd) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, bytes - 1);
    if (length > 0) path[length] = '\0';
    if (length > 4 && strcmp(path + length - 4, ".cwt") == 0) return fd;
  }
  return -1;
}

static void limit(int resource, rlim_t value) {
  struct rlimit now;
  getrlimit(resource, &now);
  now.rlim_cur = value;
  setrlimit(resource, &now);
}

int main(int argc, char** argv) {
  char path[4096] = "", moved[4200], other[4200];
  int cover = -1;
  if (strcmp(argv[1], "few_descriptors") == 0) limit(RLIMIT_NOFILE, 200);
  MPI_Init(&argc, &argv);
  const int fd = trace_descriptor(path, sizeof path);
  if (strcmp(argv[1], "close") == 0 && fd >= 0) close(fd);
  if (strcmp(argv[1], "cover") == 0 && fd >= 0) {
    snprintf(other, sizeof other, "%s.other", path);
    cover = open(other, O_RDWR | O_CREAT, 0644);
    dup2(cover, fd);
  }
  if (strcmp(argv[1], "rename") == 0 && fd >= 0) {
    snprintf(moved, sizeof moved, "%s.moved", path);
    rename(path, moved);
    close(fd);
  }
  if (strcmp(argv[1], "file_size") == 0) limit(RLIMIT_FSIZE, 300000);
  if (strcmp(argv[1], "alarms") == 0) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    const struct itimerval kilohertz = {{0, 1000}, {0, 1000}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &kilohertz, NULL);
    while (alarms < 15) known_calls();
    const struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
  } else {
    known_calls();
  }
  struct stat found;
  if (cover >= 0 && (fstat(cover, &found) != 0 || found.st_size != 0)) ++errors;
  MPI_Finalize();
  printf("errors %d\n", errors);
  return 4;
}

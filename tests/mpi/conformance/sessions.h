// What the programs about sessions share: opening and closing one, a communicator from one of its process sets, and
// a use of it that notices messages of another communicator.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "check.h"

#ifdef HAVE_MPI4
static inline MPI_Session open_session(void) {
  MPI_Session session = MPI_SESSION_NULL;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  CHECK(session != MPI_SESSION_NULL);
  return session;
}

static inline void close_session(MPI_Session* session) {
  OK(MPI_Session_finalize(session));
  CHECK(*session == MPI_SESSION_NULL);
}

static inline MPI_Comm communicator(MPI_Session session, const char* set, const char* tag) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Group_from_session_pset(session, set, &group));
  OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  OK(MPI_Group_free(&group));
  CHECK(comm != MPI_COMM_NULL);
  return comm;
}

static inline void use(MPI_Comm comm, int shift) {
  int me = -1, count = -1, value = -1, sum = 0;
  MPI_Status status;
  OK(MPI_Comm_rank(comm, &me));
  OK(MPI_Comm_size(comm, &count));
  poison(&status);
  OK(MPI_Sendrecv(&shift, 1, MPI_INT, (me + 1) % count, shift, &value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                  comm, &status));
  CHECK_STATUS(status, (me + count - 1) % count, shift, 1, MPI_INT);
  EQ(shift, value);
  OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm));
  EQ(count * (count - 1) / 2, sum);
}
#endif

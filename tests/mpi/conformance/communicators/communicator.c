// Every way to make a communicator within a program, and what becomes of its handle: groups, ranks and context of
// the new one, names, attributes and their callbacks, error handlers, comparison, free and reuse of the handle for
// another set of members. Every communicator made is used for messages, so that wrong rank translation would be
// seen.
//
// ranks: 1 2 3 5
// SPDX-License-Identifier: BSD-3-Clause
#include "check.h"

// A ring message and a collective inside `comm`, whose member i is world rank `world[i]`.
static void use(MPI_Comm comm, const int* world, int members) {
  int me = -1, count = -1, value = -1, sum = 0, expected = 0;
  MPI_Status status;
  OK(MPI_Comm_rank(comm, &me));
  OK(MPI_Comm_size(comm, &count));
  EQ(members, count);
  EQ(rank, world[me]);
  poison(&status);
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, (me + 1) % count, 7, &value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
                  &status));
  CHECK_STATUS(status, (me + count - 1) % count, 7, 1, MPI_INT);
  EQ(world[status.MPI_SOURCE], value);
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
  for (int i = 0; i < members; ++i) expected += world[i];
  EQ(expected, sum);
}

static int in_order[64], reversed[64], evens[64], odds[64], even_count, odd_count;

static void prepare_members(void) {
  for (int i = 0; i < size; ++i) {
    in_order[i] = i;
    reversed[i] = size - 1 - i;
    if (i % 2)
      odds[odd_count++] = i;
    else
      evens[even_count++] = i;
  }
}

static int compare(MPI_Comm a, MPI_Comm b) {
  int result = UNTOUCHED;
  OK(MPI_Comm_compare(a, b, &result));
  return result;
}

static void release(MPI_Comm* comm) {
  OK(MPI_Comm_free(comm));
  CHECK(*comm == MPI_COMM_NULL);
}

static void duplicates(void) {
  MPI_Comm copy, with_info, later, later_info = MPI_COMM_NULL;
  MPI_Request request;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  EQ(MPI_IDENT, compare(copy, copy));
  EQ(MPI_CONGRUENT, compare(copy, MPI_COMM_WORLD));
  EQ(size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL, compare(copy, MPI_COMM_SELF));
  use(copy, in_order, size);
  OK(MPI_Comm_dup_with_info(copy, MPI_INFO_NULL, &with_info));
  use(with_info, in_order, size);
  OK(MPI_Comm_idup(copy, &later, &request));
  // The parent stays usable while the copy is being made.
  use(copy, in_order, size);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  use(later, in_order, size);
  EQ(MPI_CONGRUENT, compare(later, copy));
#ifdef HAVE_MPI4
  int flag = 0;
  OK(MPI_Comm_idup_with_info(later, MPI_INFO_NULL, &later_info, &request));
  while (!flag) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  use(later_info, in_order, size);
  release(&later_info);
#endif
  release(&copy);
  release(&with_info);
  use(later, in_order, size);
  release(&later);
  CHECK(later_info == MPI_COMM_NULL);
}

static void several_idups_at_once(void) {
  enum { N = 6 };
  MPI_Comm comms[N];
  MPI_Request requests[N];
  for (int i = 0; i < N; ++i) OK(MPI_Comm_idup(MPI_COMM_WORLD, &comms[i], &requests[i]));
  OK(MPI_Waitall(N, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < N; ++i) use(comms[i], in_order, size);
  for (int i = 0; i < N; ++i) release(&comms[i]);
}

static MPI_Group subgroup(const int* members, int count) {
  MPI_Group all, part;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
  OK(MPI_Group_incl(all, count, members, &part));
  OK(MPI_Group_free(&all));
  return part;
}

static void from_groups(void) {
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Group back = subgroup(reversed, size), even = subgroup(evens, even_count), nobody = MPI_GROUP_EMPTY;
  OK(MPI_Comm_create(MPI_COMM_WORLD, back, &comm));
  use(comm, reversed, size);
  EQ(size == 1 ? MPI_CONGRUENT : MPI_SIMILAR, compare(comm, MPI_COMM_WORLD));
  release(&comm);
  OK(MPI_Comm_create(MPI_COMM_WORLD, rank % 2 ? nobody : even, &comm));
  CHECK((comm == MPI_COMM_NULL) == (rank % 2 == 1));
  if (comm != MPI_COMM_NULL) {
    use(comm, evens, even_count);
    EQ(size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL, compare(comm, MPI_COMM_WORLD));
    release(&comm);
  }
  // Only the members call this one.
  if (rank % 2 == 0) {
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, even, 33, &comm));
    use(comm, evens, even_count);
    release(&comm);
  }
  OK(MPI_Group_free(&back));
  OK(MPI_Group_free(&even));
}

static void splits(void) {
  MPI_Comm half, node, turned;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
  use(half, rank % 2 ? odds : evens, rank % 2 ? odd_count : even_count);
  release(&half);
  OK(MPI_Comm_split(MPI_COMM_WORLD, 5, -rank, &turned));
  use(turned, reversed, size);
  release(&turned);
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, 0, &turned));
  if (rank == 0)
    CHECK(turned == MPI_COMM_NULL);
  else {
    use(turned, in_order + 1, size - 1);
    release(&turned);
  }
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &node));
  use(node, reversed, size);
  release(&node);
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &node));
  CHECK(node == MPI_COMM_NULL);
}

// World, reversed, its even members (odd or even world ranks), reversed again.
static void deep_inside(void) {
  MPI_Comm first, second, third;
  int me, members[64], count = 0;
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &first));
  OK(MPI_Comm_rank(first, &me));
  OK(MPI_Comm_split(first, me % 2, me, &second));
  OK(MPI_Comm_split(second, 0, -me, &third));
  for (int i = size - 1; i >= 0; --i)
    if (i % 2 == me % 2) members[count++] = size - 1 - i;
  use(third, members, count);
  use(first, reversed, size);
  release(&second);
  use(third, members, count);
  release(&first);
  use(third, members, count);
  release(&third);
}

// The freed handle comes back for other members: a tool that keeps the old translation would be wrong.
static void handles_come_back(void) {
  for (int i = 0; i < 60; ++i) {
    MPI_Comm comm;
    int forward = i % 2 == 0;
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, forward ? rank : -rank, &comm));
    use(comm, forward ? in_order : reversed, size);
    release(&comm);
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm));
    use(comm, rank % 2 ? odds : evens, rank % 2 ? odd_count : even_count);
    release(&comm);
  }
}

static void freed_with_messages_in_flight(void) {
  MPI_Comm comm;
  MPI_Request requests[2];
  int value = -1;
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm));
  int me, next;
  OK(MPI_Comm_rank(comm, &me));
  next = (me + 1) % size;
  OK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, &requests[0]));
  OK(MPI_Isend(&rank, 1, MPI_INT, next, 3, comm, &requests[1]));
  release(&comm);
  MPI_Comm other;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
  MPI_Status statuses[2];
  OK(MPI_Waitall(2, requests, statuses));
  EQ((me + size - 1) % size, statuses[0].MPI_SOURCE);
  EQ(reversed[statuses[0].MPI_SOURCE], value);
  release(&other);
}

static int copies, deletions;

static int copy_attribute(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)key;
  CHECK(comm != MPI_COMM_NULL);
  EQ(77, *(int*)extra);
  ++copies;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int key, void* value, void* extra) {
  (void)key;
  (void)value;
  CHECK(comm != MPI_COMM_NULL);
  EQ(77, *(int*)extra);
  ++deletions;
  return MPI_SUCCESS;
}

static void attributes(void) {
  static char room[4];
  int key = MPI_KEYVAL_INVALID, plain = MPI_KEYVAL_INVALID, duplicated = MPI_KEYVAL_INVALID, found = 0, extra = 77;
  void* value = NULL;
  MPI_Comm first, second, third;
  OK(MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, &extra));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL));
  OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &duplicated, NULL));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &first));
  OK(MPI_Comm_get_attr(first, key, &value, &found));
  EQ(0, found);
  OK(MPI_Comm_set_attr(first, key, room));
  OK(MPI_Comm_set_attr(first, plain, room + 3));
  OK(MPI_Comm_set_attr(first, duplicated, room + 2));
  OK(MPI_Comm_dup(first, &second));
  EQ(1, copies);
  OK(MPI_Comm_get_attr(second, key, &value, &found));
  CHECK(found && value == room + 1);
  OK(MPI_Comm_get_attr(second, plain, &value, &found));
  EQ(0, found);
  OK(MPI_Comm_get_attr(second, duplicated, &value, &found));
  CHECK(found && value == room + 2);
  OK(MPI_Comm_split(first, 0, rank, &third));
  EQ(1, copies);
  OK(MPI_Comm_get_attr(third, key, &value, &found));
  EQ(0, found);
  OK(MPI_Comm_set_attr(first, key, room + 3));
  EQ(1, deletions);
  OK(MPI_Comm_delete_attr(first, key));
  EQ(2, deletions);
  OK(MPI_Comm_free_keyval(&key));
  EQ(MPI_KEYVAL_INVALID, key);
  release(&second);
  EQ(3, deletions);
  release(&first);
  release(&third);
  EQ(3, deletions);
  EQ(1, copies);
  OK(MPI_Comm_free_keyval(&plain));
  OK(MPI_Comm_free_keyval(&duplicated));
}

static void predefined_attributes(void) {
  static const int keys[] = {MPI_TAG_UB, MPI_WTIME_IS_GLOBAL};
  int found = 0, *value = NULL;
  for (int i = 0; i < 2; ++i) {
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, keys[i], &value, &found));
    CHECK(found && value != NULL);
  }
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &found));
  if (found) CHECK(*value >= 1);
}

static void names(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1;
  MPI_Comm comm, copy;
  OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
  SAME_TEXT("MPI_COMM_WORLD", name);
  EQ(14, length);
  OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
  SAME_TEXT("MPI_COMM_SELF", name);
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm));
  OK(MPI_Comm_get_name(comm, name, &length));
  if (rank == 0) printf("seen: name of a split communicator: \"%s\"\n", length ? "not empty" : "");
  OK(MPI_Comm_set_name(comm, "a name with spaces"));
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_get_name(comm, name, &length));
  SAME_TEXT("a name with spaces", name);
  EQ(18, length);
  OK(MPI_Comm_get_name(copy, name, &length));
  SAME_TEXT("", name);
  OK(MPI_Comm_get_name(MPI_COMM_NULL == comm ? MPI_COMM_WORLD : comm, name, &length));
  release(&comm);
  release(&copy);
}

static void error_handlers_are_inherited(void) {
  MPI_Comm parent, child;
  MPI_Errhandler handler;
  OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
  CHECK(handler == MPI_ERRORS_ARE_FATAL);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &parent));
  OK(MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN));
  OK(MPI_Comm_split(parent, 0, rank, &child));
  OK(MPI_Comm_get_errhandler(child, &handler));
  CHECK(handler == MPI_ERRORS_RETURN);
  OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
  CHECK(handler == MPI_ERRORS_ARE_FATAL);
  release(&parent);
  release(&child);
}

static void infos(void) {
  MPI_Info info, used;
  MPI_Comm comm;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "a_key_of_nobody", "1"));
  OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
  OK(MPI_Comm_set_info(comm, info));
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_get_info(comm, &used));
  CHECK(used != MPI_INFO_NULL);
  OK(MPI_Info_free(&used));
  int inter = 1, remote_free = 0;
  OK(MPI_Comm_test_inter(comm, &inter));
  EQ(0, inter + remote_free);
  release(&comm);
}

static void no_parent(void) {
  MPI_Comm parent = MPI_COMM_WORLD;
  OK(MPI_Comm_get_parent(&parent));
  CHECK(parent == MPI_COMM_NULL);
}

int main(void) {
  start();
  prepare_members();
  use(MPI_COMM_WORLD, in_order, size);
  use(MPI_COMM_SELF, &rank, 1);
  duplicates();
  several_idups_at_once();
  from_groups();
  splits();
  deep_inside();
  handles_come_back();
  freed_with_messages_in_flight();
  attributes();
  predefined_attributes();
  names();
  error_handlers_are_inherited();
  infos();
  no_parent();
  return finish("communicator");
}

! The calls of calls_c.c, one by one, in Fortran: three ranks, every result checked. Prints "ok" on rank 0.
! SPDX-License-Identifier: BSD-3-Clause
#include "languages.h"

module callbacks
#ifdef LANGUAGE_f08
  use mpi_f08
#elif defined(LANGUAGE_mpi)
  use mpi
#endif
  implicit none
#ifdef LANGUAGE_mpif
  include 'mpif.h'
#endif
  integer :: copied = 0, deleted = 0, caught = 0
contains
  subroutine check(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    integer :: ierr
    if (good) return
    print *, 'wrong: ', what
    call MPI_Abort(MPI_COMM_WORLD, 7, ierr)
  end subroutine

#ifdef LANGUAGE_f08
  subroutine add(invec, inoutvec, len, datatype)
    use iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    call check(datatype == MPI_INTEGER, 'datatype of the operator')
    b = b + a
  end subroutine
#else
  subroutine add(invec, inoutvec, len, datatype)
    integer :: len, datatype, invec(len), inoutvec(len)
    call check(datatype == MPI_INTEGER, 'datatype of the operator')
    inoutvec = inoutvec + invec
  end subroutine
#endif

  subroutine copy_value(oldcomm, keyval, extra_state, value_in, value_out, flag, ierror)
    COMM :: oldcomm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    call check(extra_state == 17 .and. value_in == 1234567890123_MPI_ADDRESS_KIND, 'arguments of the copy function')
    copied = copied + 1
    value_out = value_in + 1
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete_value(comm, keyval, value, extra_state, ierror)
    COMM :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra_state
    call check(extra_state == 17, 'arguments of the delete function')
    deleted = deleted + 1
    ierror = MPI_SUCCESS
  end subroutine

#ifdef LANGUAGE_f08
  subroutine handle_error(comm, code)
#else
  subroutine handle_error(comm, code)
#endif
    COMM :: comm
    integer :: code
    call check(comm == MPI_COMM_SELF .and. code /= MPI_SUCCESS, 'arguments of the error handler')
    caught = caught + 1
  end subroutine
end module

program calls
#ifdef LANGUAGE_f08
  use mpi_f08
#elif defined(LANGUAGE_mpi)
  use mpi
#endif
  use callbacks
  implicit none
  integer, parameter :: sp = kind(1.0)
  integer :: ierr, rank, size, right, left, i, n, code
  COMM :: world
  integer :: name_length
  character(len=MPI_MAX_PROCESSOR_NAME) :: processor
  character(len=MPI_MAX_OBJECT_NAME) :: name
  double precision :: t

  call MPI_Init(ierr)
  world = MPI_COMM_WORLD
  call MPI_Comm_rank(world, rank IERR)
  call MPI_Comm_size(world, size IERR)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  t = MPI_Wtime()
  call check(MPI_Wtime() >= t .and. MPI_Wtick() > 0, 'clock')
  call MPI_Get_processor_name(processor, name_length IERR)
  call check(name_length > 0 .and. len_trim(processor) == name_length, 'processor name')
  call messages()
  call requests_many()
  call persistent()
  call collectives()
  call types()
  call communicators()
  call callbacks_called()
  call windows()
  call files()
  call texts()
  call MPI_Pcontrol(1)
  call MPI_Barrier(world IERR)
  if (rank == 0) print '(a)', 'ok'
  call MPI_Finalize(ierr)
contains

  subroutine messages()
    STATUS(st)
    integer :: a(10), b(20), count
    logical :: flag
    REQUEST :: r, s
    MESSAGE :: found
    a = rank
    b = -1
    if (rank == 0) then
      call MPI_Send(a, 10, MPI_INTEGER, right, 1, world IERR)
      call MPI_Recv(b, 20, MPI_INTEGER, left, 1, world, MPI_STATUS_IGNORE IERR)
    else
      call MPI_Recv(b, 20, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, world, st IERR)
      call check(SOURCE_OF(st) == left .and. TAG_OF(st) == 1, 'status of a receive')
      call MPI_Get_count(st, MPI_INTEGER, count IERR)
      call check(count == 10, 'count of a receive')
      call MPI_Send(a, 10, MPI_INTEGER, right, 1, world IERR)
    end if
    call check(all(b(1:10) == left) .and. all(b(11:20) == -1), 'ring')
    call MPI_Irecv(b, 20, MPI_INTEGER, left, 2, world, r IERR)
    call MPI_Ssend(a, 0, MPI_INTEGER, MPI_PROC_NULL, 2, world IERR)
    call MPI_Issend(a, 3, MPI_INTEGER, right, 2, world, s IERR)
    call MPI_Wait(r, st IERR)
    call check(SOURCE_OF(st) == left, 'status of a wait')
    call MPI_Wait(s, MPI_STATUS_IGNORE IERR)
    call MPI_Sendrecv(a, 4, MPI_INTEGER, right, 3, b, 20, MPI_INTEGER, MPI_ANY_SOURCE, 3, world, MPI_STATUS_IGNORE IERR)
    call MPI_Sendrecv_replace(a, 5, MPI_INTEGER, right, 4, left, 4, world, st IERR)
    call check(all(a(1:5) == left) .and. all(a(6:10) == rank) .and. TAG_OF(st) == 4, 'replaced')
    call MPI_Isend(a, 6, MPI_INTEGER, right, 5, world, s IERR)
    call MPI_Probe(MPI_ANY_SOURCE, 5, world, st IERR)
    call MPI_Get_count(st, MPI_INTEGER, count IERR)
    call check(count == 6 .and. SOURCE_OF(st) == left, 'probed')
    flag = .false.
    do while (.not. flag)
      call MPI_Iprobe(left, 5, world, flag, MPI_STATUS_IGNORE IERR)
    end do
    call MPI_Recv(b, 20, MPI_INTEGER, left, 5, world, MPI_STATUS_IGNORE IERR)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(s, flag, MPI_STATUS_IGNORE IERR)
    end do
    call check(s == MPI_REQUEST_NULL, 'null after a test')
    call MPI_Isend(a, 7, MPI_INTEGER, right, 6, world, s IERR)
    call MPI_Mprobe(left, MPI_ANY_TAG, world, found, st IERR)
    call MPI_Mrecv(b, 20, MPI_INTEGER, found, st IERR)
    call check(TAG_OF(st) == 6 .and. SOURCE_OF(st) == left, 'matched')
    call MPI_Wait(s, st IERR)
  end subroutine

  subroutine requests_many()
    REQUEST :: r(4)
    STATUSES(sts, 4)
    STATUS(st)
    integer :: a(8), b(8, 4), where(4), done, index
    logical :: flag
    a = 100 + rank
    call post(r, a, b)
    call MPI_Waitall(4, r, MPI_STATUSES_IGNORE IERR)
    call check(all(b(1:4, 1) == 100 + left) .and. all(b(1:2, 3) == 100 + right), 'waitall')
    call post(r, a, b)
    call MPI_Waitall(4, r, sts IERR)
    st = ONE(sts, 1)
    call check(SOURCE_OF(st) == left .and. TAG_OF(st) == 11, 'statuses of waitall')
    call post(r, a, b)
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(4, r, flag, MPI_STATUSES_IGNORE IERR)
    end do
    call post(r, a, b)
    do i = 1, 4
      call MPI_Waitany(4, r, index, st IERR)
      ! MPICH 4.0 counts from 0 in mpi_f08.
      call check(index >= 0 .and. index <= 4, 'index of waitany')
    end do
    call MPI_Waitany(4, r, index, MPI_STATUS_IGNORE IERR)
    ! MPICH 4.0 adds 1 to it in mpif.h.
    call check(index == MPI_UNDEFINED .or. index == MPI_UNDEFINED + 1, 'waitany of nothing')
    call post(r, a, b)
    call MPI_Barrier(world IERR)
    done = 0
    do while (done < 4)
      call MPI_Waitsome(4, r, n, where, sts IERR)
      done = done + n
    end do
    call MPI_Waitsome(4, r, n, where, MPI_STATUSES_IGNORE IERR)
    call check(n == MPI_UNDEFINED, 'waitsome of nothing')
  end subroutine

  subroutine post(r, a, b)
    REQUEST :: r(4)
    integer :: a(8), b(8, 4)
    call MPI_Irecv(b(:, 1), 8, MPI_INTEGER, left, 11, world, r(1) IERR)
    call MPI_Isend(a, 4, MPI_INTEGER, right, 11, world, r(2) IERR)
    call MPI_Irecv(b(:, 3), 8, MPI_INTEGER, MPI_ANY_SOURCE, 12, world, r(3) IERR)
    call MPI_Isend(a, 2, MPI_INTEGER, left, 12, world, r(4) IERR)
  end subroutine

  subroutine persistent()
    REQUEST :: r(2)
    STATUS(st)
    integer :: a(3), b(3)
    a = rank
    call MPI_Send_init(a, 3, MPI_INTEGER, right, 21, world, r(1) IERR)
    call MPI_Recv_init(b, 3, MPI_INTEGER, left, 21, world, r(2) IERR)
    do i = 1, 2
      call MPI_Startall(2, r IERR)
      call MPI_Waitall(2, r, MPI_STATUSES_IGNORE IERR)
    end do
    call MPI_Start(r(2) IERR)
    call MPI_Start(r(1) IERR)
    call MPI_Wait(r(2), st IERR)
    call check(SOURCE_OF(st) == left .and. all(b == left), 'persistent')
    call MPI_Wait(r(1), MPI_STATUS_IGNORE IERR)
    call MPI_Request_free(r(1) IERR)
    call MPI_Request_free(r(2) IERR)
    call MPI_Irecv(b, 3, MPI_INTEGER, left, 22, world, r(1) IERR)
    call MPI_Cancel(r(1) IERR)
    call MPI_Wait(r(1), MPI_STATUS_IGNORE IERR)
  end subroutine

  subroutine collectives()
    integer :: a(6), b(30), counts(3), displs(3), i3(3), zeros(3)
    DATATYPE :: kinds(3)
    REQUEST :: r
    counts = [1, 2, 3]
    displs = [0, 1, 3]
    zeros = 0
    call MPI_Barrier(world IERR)
    a = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, a, 6, MPI_INTEGER, MPI_SUM, world IERR)
    call check(all(a == 6), 'allreduce in place')
    a = rank
    call MPI_Bcast(a, 5, MPI_INTEGER, 1, world IERR)
    call check(all(a(1:5) == 1) .and. a(6) == rank, 'bcast')
    a = rank
    call MPI_Reduce(a, b, 2, MPI_INTEGER, MPI_MAX, 2, world IERR)
    b(1:9) = rank
    if (rank == 0) then
      call MPI_Gather(MPI_IN_PLACE, 3, MPI_INTEGER, b, 3, MPI_INTEGER, 0, world IERR)
      call check(all(b(1:9) == [0, 0, 0, 1, 1, 1, 2, 2, 2]), 'gather in place')
    else
      call MPI_Gather(b, 3, MPI_INTEGER, b, 3, MPI_INTEGER, 0, world IERR)
    end if
    call MPI_Gatherv(a, counts(rank + 1), MPI_INTEGER, b, counts, displs, MPI_INTEGER, 1, world IERR)
    call MPI_Scatter(b, 2, MPI_INTEGER, a, 2, MPI_INTEGER, 0, world IERR)
    call MPI_Scatterv(b, counts, displs, MPI_INTEGER, a, counts(rank + 1), MPI_INTEGER, 2, world IERR)
    a = rank
    call MPI_Allgather(a, 2, MPI_INTEGER, b, 2, MPI_INTEGER, world IERR)
    call check(all(b(1:6) == [0, 0, 1, 1, 2, 2]), 'allgather')
    b(displs(rank + 1) + 1:displs(rank + 1) + counts(rank + 1)) = rank
    call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INTEGER, b, counts, displs, MPI_INTEGER, world IERR)
    call check(all(b(1:6) == [0, 1, 1, 2, 2, 2]), 'allgatherv in place')
    call MPI_Alltoall(a, 2, MPI_INTEGER, b, 2, MPI_INTEGER, world IERR)
    i3 = [rank + 1, rank + 1, rank + 1]
    b = rank
    call MPI_Alltoallv(MPI_IN_PLACE, zeros, zeros, MPI_INTEGER, b, [2, 2, 2], [0, 2, 4], MPI_INTEGER, world IERR)
    call check(all(b(1:6) == [0, 0, 1, 1, 2, 2]), 'alltoallv in place')
    a = rank
    call MPI_Alltoallv(a, [1, 2, 3], [0, 1, 3], MPI_INTEGER, b, i3, [0, 3, 6], MPI_INTEGER, world IERR)
    kinds = MPI_INTEGER
    kinds(2) = MPI_BYTE
    call MPI_Alltoallw(a, [2, 0, 2], [0, 0, 0], kinds, b, merge([2, 2, 2], [0, 0, 0], rank /= 1), [0, 8, 16], &
                       merge([MPI_INTEGER, MPI_INTEGER, MPI_INTEGER], [MPI_BYTE, MPI_BYTE, MPI_BYTE], rank /= 1), world IERR)
    call MPI_Scan(a, b, 3, MPI_INTEGER, MPI_SUM, world IERR)
    call check(b(1) == rank * (rank + 1) / 2, 'scan')
    call MPI_Exscan(a, b, 3, MPI_INTEGER, MPI_SUM, world IERR)
    call MPI_Reduce_scatter(a, b, counts, MPI_INTEGER, MPI_SUM, world IERR)
    call check(b(1) == 3, 'reduce_scatter')
    call MPI_Reduce_scatter_block(a, b, 2, MPI_INTEGER, MPI_SUM, world IERR)
    call MPI_Iallreduce(a, b, 3, MPI_INTEGER, MPI_SUM, world, r IERR)
    call MPI_Wait(r, MPI_STATUS_IGNORE IERR)
    call check(all(b(1:3) == 3), 'iallreduce')
    call MPI_Ibarrier(world, r IERR)
    call MPI_Wait(r, MPI_STATUS_IGNORE IERR)
    call MPI_Ibcast(a, 2, MPI_INTEGER, 0, world, r IERR)
    call MPI_Wait(r, MPI_STATUS_IGNORE IERR)
  end subroutine

  subroutine types()
    integer, save :: a(4), extra
    double precision, save :: x(3)
    integer(MPI_ADDRESS_KIND) :: where(2), lower, extent
    DATATYPE :: pieces, columns, pair
    integer :: grid(4, 4), bytes, position
    character(len=100) :: buffer
    STATUS(st)
    call MPI_Get_address(a, where(1) IERR)
    call MPI_Get_address(x, where(2) IERR)
    call MPI_Type_create_struct(2, [4, 3], where, [MPI_INTEGER, MPI_DOUBLE_PRECISION], pieces IERR)
    call MPI_Type_commit(pieces IERR)
    call MPI_Type_size(pieces, bytes IERR)
    call check(bytes == 40, 'size of a struct')
    a = rank
    x = rank
    call MPI_Sendrecv_replace(MPI_BOTTOM, 1, pieces, right, 31, left, 31, world, st IERR)
    call check(all(a == left) .and. all(x == left), 'bottom')
    a = rank
    if (rank == 0) call MPI_Send(MPI_BOTTOM, 1, pieces, 1, 32, world IERR)
    if (rank == 1) then
      call MPI_Recv(MPI_BOTTOM, 1, pieces, 0, 32, world, MPI_STATUS_IGNORE IERR)
      call check(all(a == 0), 'received at the bottom')
    end if
    call MPI_Type_free(pieces IERR)
    call MPI_Type_vector(4, 1, 4, MPI_INTEGER, columns IERR)
    call MPI_Type_commit(columns IERR)
    grid = rank
    call MPI_Sendrecv(grid(1, 1), 1, columns, right, 33, grid(2, 1), 1, columns, left, 33, world, st IERR)
    call check(all(grid(2, :) == left) .and. all(grid(1, :) == rank), 'rows')
    call MPI_Type_get_extent(columns, lower, extent IERR)
    call check(extent == 52 .and. lower == 0, 'extent')
    call MPI_Type_contiguous(2, columns, pair IERR)
    call MPI_Type_free(pair IERR)
    call MPI_Type_free(columns IERR)
    position = 0
    call MPI_Pack(a, 4, MPI_INTEGER, buffer, 100, position, world IERR)
    call check(position == 16, 'packed')
    position = 0
    call MPI_Unpack(buffer, 100, position, a, 4, MPI_INTEGER, world IERR)
    call MPI_Type_create_subarray(2, [4, 4], [2, 2], [1, 1], MPI_ORDER_FORTRAN, MPI_INTEGER, columns IERR)
    call MPI_Type_free(columns IERR)
    extra = 0
  end subroutine

  subroutine communicators()
    COMM :: half, twin, cart, row, graph, made
    GROUP :: group, some
    integer :: others, place(1), down, up, out(2), in(4), translated(1)
    logical :: periodic(1), flag
    character(len=MPI_MAX_OBJECT_NAME) :: called
    integer :: length
    call MPI_Comm_split(world, mod(rank, 2), -rank, half IERR)
    call MPI_Comm_size(half, others IERR)
    call MPI_Comm_set_name(half, 'the half' IERR)
    called = 'x'
    call MPI_Comm_get_name(half, called, length IERR)
    call check(length == 8 .and. called == 'the half', 'name')
    if (others == 2) then
      call MPI_Comm_rank(half, n IERR)
      if (n == 0) call MPI_Send(rank, 1, MPI_INTEGER, 1, 41, half IERR)
      if (n == 1) call MPI_Recv(i, 1, MPI_INTEGER, 0, 41, half, MPI_STATUS_IGNORE IERR)
    end if
    call MPI_Comm_free(half IERR)
    call MPI_Comm_dup(world, twin IERR)
    call MPI_Comm_compare(world, twin, i IERR)
    call check(i == MPI_CONGRUENT, 'compared')
    call MPI_Barrier(twin IERR)
    call MPI_Comm_group(world, group IERR)
    call MPI_Group_incl(group, 2, [2, 0], some IERR)
    call MPI_Group_translate_ranks(some, 1, [0], group, translated IERR)
    call check(translated(1) == 2, 'translated')
    call MPI_Comm_create(world, some, made IERR)
    if (made /= MPI_COMM_NULL) then
      call MPI_Bcast(i, 1, MPI_INTEGER, 0, made IERR)
      call MPI_Comm_free(made IERR)
    end if
    call MPI_Group_free(some IERR)
    call MPI_Group_free(group IERR)
    periodic = .true.
    call MPI_Cart_create(twin, 1, [3], periodic, .false., cart IERR)
    call MPI_Cart_coords(cart, rank, 1, place IERR)
    call check(place(1) == rank, 'coordinates')
    call MPI_Cart_shift(cart, 0, 1, down, up IERR)
    call check(up == right .and. down == left, 'shifted')
    out = rank
    call MPI_Neighbor_alltoall(out, 1, MPI_INTEGER, in, 1, MPI_INTEGER, cart IERR)
    call check(in(1) == left .and. in(2) == right, 'neighbours')
    call MPI_Neighbor_allgather(out, 2, MPI_INTEGER, in, 2, MPI_INTEGER, cart IERR)
    call MPI_Cart_sub(cart, [.true.], row IERR)
    call MPI_Comm_free(row IERR)
    call MPI_Comm_free(cart IERR)
    call MPI_Dist_graph_create_adjacent(world, 1, [left], MPI_UNWEIGHTED, 1, [right], MPI_UNWEIGHTED, MPI_INFO_NULL, &
                                        .false., graph IERR)
    call MPI_Neighbor_alltoallv(out, [2], [0], MPI_INTEGER, in, [2], [0], MPI_INTEGER, graph IERR)
    call check(all(in(1:2) == left), 'graph')
    call MPI_Comm_free(graph IERR)
    call MPI_Comm_free(twin IERR)
    call MPI_Comm_test_inter(world, flag IERR)
    call check(.not. flag, 'no intercommunicator')
  end subroutine

  subroutine callbacks_called()
    OPERATION :: op
    HANDLER :: handler
    COMM :: twin
    integer :: a(3), b(3), key
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    a = rank + 1
    call MPI_Op_create(add, .true., op IERR)
    call MPI_Allreduce(a, b, 3, MPI_INTEGER, op, world IERR)
    call check(all(b == 6), 'operator')
    call MPI_Op_free(op IERR)
    call MPI_Comm_create_keyval(copy_value, delete_value, key, 17_MPI_ADDRESS_KIND IERR)
    call MPI_Comm_set_attr(world, key, 1234567890123_MPI_ADDRESS_KIND IERR)
    call MPI_Comm_dup(world, twin IERR)
    call MPI_Comm_get_attr(twin, key, value, flag IERR)
    call check(flag .and. value == 1234567890124_MPI_ADDRESS_KIND .and. copied == 1, 'copied attribute')
    call MPI_Comm_free(twin IERR)
    call check(deleted == 1, 'deleted attribute')
    call MPI_Comm_delete_attr(world, key IERR)
    call MPI_Comm_free_keyval(key IERR)
    call check(deleted == 2, 'attribute deleted by name')
    call MPI_Comm_get_attr(world, MPI_TAG_UB, value, flag IERR)
    call check(flag .and. value >= 32767, 'upper bound of tags')
    call MPI_Comm_create_errhandler(handle_error, handler IERR)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, handler IERR)
    call MPI_Send(a, 1, MPI_INTEGER, 5, 1, MPI_COMM_SELF, code)
    call check(caught == 1, 'caught error')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN IERR)
    call MPI_Send(a, 1, MPI_INTEGER, 5, 1, MPI_COMM_SELF, code)
    call check(code /= MPI_SUCCESS, 'returned error')
    call MPI_Error_class(code, n IERR)
    call check(n == MPI_ERR_RANK, 'class of the error')
    call MPI_Errhandler_free(handler IERR)
  end subroutine

  subroutine windows()
    integer, save :: memory(6)
    integer :: mine(2), theirs(2)
    WINDOW :: window
    memory = rank
    mine = 10 + rank
    call MPI_Win_create(memory, 24_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, world, window IERR)
    call MPI_Win_fence(0, window IERR)
    call MPI_Put(mine, 2, MPI_INTEGER, right, 0_MPI_ADDRESS_KIND, 2, MPI_INTEGER, window IERR)
    call MPI_Get(theirs, 2, MPI_INTEGER, left, 2_MPI_ADDRESS_KIND, 2, MPI_INTEGER, window IERR)
    call MPI_Accumulate(mine, 1, MPI_INTEGER, right, 4_MPI_ADDRESS_KIND, 1, MPI_INTEGER, MPI_SUM, window IERR)
    call MPI_Win_fence(0, window IERR)
    call check(all(memory(1:2) == 10 + left) .and. all(theirs == left) .and. memory(5) == 10 + rank + left, 'window')
    call MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window IERR)
    call MPI_Get(theirs, 1, MPI_INTEGER, right, 3_MPI_ADDRESS_KIND, 1, MPI_INTEGER, window IERR)
    call MPI_Win_unlock(right, window IERR)
    call MPI_Win_free(window IERR)
  end subroutine

  subroutine files()
    HANDLE_OF_FILE :: file
    integer :: a(4), b(4), count
    integer(MPI_OFFSET_KIND) :: bytes
    character(len=1000) :: path
    STATUS(st)
    call get_command_argument(1, path)
    a = rank
    call MPI_File_open(world, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file IERR)
    call MPI_File_write_at(file, int(16 * rank, MPI_OFFSET_KIND), a, 4, MPI_INTEGER, MPI_STATUS_IGNORE IERR)
    call MPI_File_sync(file IERR)
    call MPI_Barrier(world IERR)
    call MPI_File_read_at(file, int(16 * left, MPI_OFFSET_KIND), b, 3, MPI_INTEGER, st IERR)
    call MPI_Get_count(st, MPI_INTEGER, count IERR)
    call check(count == 3 .and. all(b(1:3) == left), 'read')
    call MPI_File_get_size(file, bytes IERR)
    call check(bytes == 48, 'size of the file')
    call MPI_File_close(file IERR)
  end subroutine

  subroutine texts()
    INFO :: info
    character(len=40) :: value
    character(len=MPI_MAX_ERROR_STRING) :: text
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    integer :: length
    logical :: flag
    call MPI_Info_create(info IERR)
    call MPI_Info_set(info, 'a key', 'and its value' IERR)
    value = 'x'
    call MPI_Info_get(info, 'a key', 40, value, flag IERR)
    call check(flag .and. value == 'and its value', 'info')
    call MPI_Info_get_nkeys(info, n IERR)
    call check(n == 1, 'keys')
    call MPI_Info_get_nthkey(info, 0, value IERR)
    call check(value == 'a key', 'key')
    call MPI_Info_free(info IERR)
    call MPI_Error_string(MPI_ERR_RANK, text, length IERR)
    call check(length > 5 .and. len_trim(text) == length, 'error string')
    call MPI_Get_library_version(version, length IERR)
    call check(len_trim(version) > 5, 'version')
    call MPI_Get_version(n, i IERR)
    call check(n >= 3, 'version of MPI')
    call MPI_Initialized(flag IERR)
    call check(flag, 'initialized')
    call MPI_Finalized(flag IERR)
    call check(.not. flag, 'finalized')
    call MPI_Query_thread(n IERR)
  end subroutine
end program

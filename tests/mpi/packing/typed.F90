! Non-contiguous messages of a Fortran program: columns, blocks, sections of arrays, structures with absolute addresses,
! packed by hand; every rank sends to the next one.
! SPDX-License-Identifier: BSD-3-Clause
program typed
  use mpi
  implicit none
  integer, parameter :: n = 40, m = 30
  integer :: rank, ranks, next, previous, ierror, row, block, pair, requests(2), status(MPI_STATUS_SIZE), items
  integer :: position, bytes, i, j
  double precision :: here(n, m), there(n, m), weight
  integer(kind=MPI_ADDRESS_KIND) :: places(2)
  character, allocatable :: packed(:)
  call MPI_Init(ierror)
  call MPI_Pcontrol(1)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  next = modulo(rank + 1, ranks)
  previous = modulo(rank - 1, ranks)
  here = reshape([(1000.0d0 * rank + i, i = 1, n * m)], [n, m])
  call MPI_Type_vector(m, 1, n, MPI_DOUBLE_PRECISION, row, ierror)
  call MPI_Type_commit(row, ierror)
  there = -1
  call MPI_Sendrecv(here(3, 1), 1, row, next, 1, there(5, 1), 1, row, previous, 1, MPI_COMM_WORLD, status, ierror)
  call MPI_Get_count(status, MPI_DOUBLE_PRECISION, items, ierror)
  call check(items == m .and. status(MPI_SOURCE) == previous, 1)
  call check(all(there(5, :) == here(3, :) + 1000.0d0 * (previous - rank)) .and. all(there(6:, :) == -1), 2)
  call MPI_Type_create_subarray(2, [n, m], [7, 11], [4, 2], MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, block, ierror)
  call MPI_Type_commit(block, ierror)
  there = -1
  call MPI_Irecv(there, 1, block, previous, 2, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Isend(here, 1, block, next, 2, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  call check(all(there(5:11, 3:13) == here(5:11, 3:13) + 1000.0d0 * (previous - rank)), 3)
  call check(count(there /= -1) == 7 * 11, 4)
  there = -1
  call MPI_Recv_init(there, 1, block, previous, 3, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Send_init(here, 1, block, next, 3, MPI_COMM_WORLD, requests(2), ierror)
  do j = 1, 3
    here = here + 1
    call MPI_Startall(2, requests, ierror)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    call check(all(there(5:11, 3:13) == here(5:11, 3:13) + 1000.0d0 * (previous - rank)), 4 + j)
  end do
  call MPI_Request_free(requests(1), ierror)
  call MPI_Request_free(requests(2), ierror)
  weight = rank
  call MPI_Get_address(weight, places(1), ierror)
  call MPI_Get_address(here(2, 2), places(2), ierror)
  call MPI_Type_create_struct(2, [1, 3], places, [MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION], pair, ierror)
  call MPI_Type_commit(pair, ierror)
  there = -1
  call MPI_Irecv(there, 4, MPI_DOUBLE_PRECISION, previous, 4, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Send(MPI_BOTTOM, 1, pair, next, 4, MPI_COMM_WORLD, ierror)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
  call check(there(1, 1) == previous .and. there(2, 1) == here(2, 2) + 1000.0d0 * (previous - rank), 8)
  call MPI_Pack_size(1, block, MPI_COMM_WORLD, bytes, ierror)
  allocate(packed(bytes))
  position = 0
  call MPI_Pack(here, 1, block, packed, bytes, position, MPI_COMM_WORLD, ierror)
  call check(position == 7 * 11 * 8, 9)
  there = -1
  position = 0
  call MPI_Unpack(packed, bytes, position, there, 1, block, MPI_COMM_WORLD, ierror)
  call check(all(there(5:11, 3:13) == here(5:11, 3:13)) .and. count(there /= -1) == 7 * 11, 10)
  call MPI_Type_free(row, ierror)
  call MPI_Type_free(block, ierror)
  call MPI_Type_free(pair, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
  if (rank == 0) print '(a)', 'ok'
contains
  subroutine check(good, which)
    logical, intent(in) :: good
    integer, intent(in) :: which
    integer :: code
    if (good) return
    print '(a, i0, a, i0)', 'rank ', rank, ' fails check ', which
    call MPI_Abort(MPI_COMM_WORLD, 1, code)
  end subroutine
end program

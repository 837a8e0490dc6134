! A Fortran program that sends, receives, packs and unpacks by absolute addresses from MPI_BOTTOM: a struct of two
! lists of places. Two ranks. Run over shim.c, which counts what reaches the MPI.
! SPDX-License-Identifier: BSD-3-Clause
program bottom
  use mpi
  implicit none
  integer, parameter :: blocks = 32, length = 3, stride = 8, n = blocks * stride, times = 8
  integer, asynchronous, save :: here(n), there(n), line(2 * blocks * length)
  integer :: rank, ierror, from, to, i, round, position, bytes
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Pcontrol(1)
  from = absolute(here)
  to = absolute(there)
  bytes = size(line) * 4
  do round = 1, times
    here = [(100000 * rank + 1000 * round + i, i = 1, n)]
    there = -1
    if (rank == 0) call MPI_Send(MPI_BOTTOM, 1, from, 1, 7, MPI_COMM_WORLD, ierror)
    if (rank == 1) call MPI_Recv(MPI_BOTTOM, 1, to, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    if (rank == 1) call check(-100000)
    there = -1
    position = 0
    call MPI_Pack(MPI_BOTTOM, 1, from, line, bytes, position, MPI_COMM_WORLD, ierror)
    position = 0
    call MPI_Unpack(line, bytes, position, MPI_BOTTOM, 1, to, MPI_COMM_WORLD, ierror)
    call check(0)
  end do
  call MPI_Type_free(from, ierror)
  call MPI_Type_free(to, ierror)
  call MPI_Pcontrol(0)
  call MPI_Finalize(ierror)
  if (rank == 0) print '(a)', 'ok'
contains
  integer function absolute(room)
    integer, asynchronous, intent(in) :: room(n)
    integer(kind=MPI_ADDRESS_KIND) :: places(blocks / 2), zeros(2)
    integer :: halves(2), half, k
    do half = 1, 2
      do k = 1, blocks / 2
        call MPI_Get_address(room((2 * k + half - 3) * stride + 1), places(k), ierror)
      end do
      call MPI_Type_create_hindexed(blocks / 2, [(length, k = 1, blocks / 2)], places, MPI_INTEGER, halves(half), ierror)
    end do
    zeros = 0
    call MPI_Type_create_struct(2, [1, 1], zeros, halves, absolute, ierror)
    call MPI_Type_commit(absolute, ierror)
    call MPI_Type_free(halves(1), ierror)
    call MPI_Type_free(halves(2), ierror)
  end function
  subroutine check(shift)
    integer, intent(in) :: shift
    integer :: k, code
    do k = 1, n
      if (modulo(k - 1, stride) < length .and. there(k) == here(k) + shift) cycle
      if (modulo(k - 1, stride) >= length .and. there(k) == -1) cycle
      print '(a, i0, a, i0)', 'rank ', rank, ' finds another value at ', k
      call MPI_Abort(MPI_COMM_WORLD, 1, code)
    end do
  end subroutine
end program

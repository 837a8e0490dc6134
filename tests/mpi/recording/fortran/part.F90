! A Fortran part of a program in C: its first Fortran call of MPI is one that needs the constants of Fortran.
! SPDX-License-Identifier: BSD-3-Clause
subroutine part()
  use mpi
  implicit none
  integer :: rank, size, a(2), b(2), ierr
  call MPI_Sendrecv([1, 2], 2, MPI_INTEGER, MPI_PROC_NULL, 1, b, 2, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  a = rank
  call MPI_Allreduce(MPI_IN_PLACE, a, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Sendrecv(a, 1, MPI_INTEGER, mod(rank + 1, size), 1, b, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  if (a(2) /= size*(size - 1)/2) call MPI_Abort(MPI_COMM_WORLD, 7, ierr)
end subroutine

! mpi_f08 only: array sections, scalars and C pointers as choice buffers, threads, and (LARGE) large counts. Prints
! "ok" on rank 0. SPDX-License-Identifier: BSD-3-Clause
program sections
  use mpi_f08
  use iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  integer :: rank, size, right, left, provided, i, total
  integer :: grid(6, 6), taken(6, 6)
  integer, pointer :: memory(:)
  type(c_ptr) :: address
  type(MPI_Status) :: st
  type(MPI_Request) :: r(2)
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  grid = rank
  taken = -1
  call MPI_Sendrecv(grid(1:6:2, 2), 3, MPI_INTEGER, right, 1, taken(2, 1:6:3), 2 + 1, MPI_INTEGER, MPI_PROC_NULL, 1, &
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  taken = -1
  call MPI_Recv(taken(3, 1:6:2), 3, MPI_INTEGER, left, 1, MPI_COMM_WORLD, st)
  call check(all(taken(3, 1:6:2) == left) .and. count(taken == -1) == 33 .and. st%MPI_SOURCE == left, 'section')
  total = rank
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call check(total == size*(size - 1)/2, 'scalar in place')
  call MPI_Bcast(grid(2:5:3, 1), 2, MPI_INTEGER, 2, MPI_COMM_WORLD)
  call check(grid(2, 1) == 2 .and. grid(3, 1) == rank .and. grid(5, 1) == 2, 'section of a broadcast')
  call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, address)
  call c_f_pointer(address, memory, [10])
  memory = rank
  call MPI_Bcast(memory, 10, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call check(all(memory == 0), 'memory of MPI')
  call MPI_Free_mem(memory)
  call MPI_Irecv(taken(:, 1), 6, MPI_INTEGER, left, 2, MPI_COMM_WORLD, r(1))
  call MPI_Isend(grid(:, 6), 6, MPI_INTEGER, right, 2, MPI_COMM_WORLD, r(2))
  call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
  call check(all(taken(:, 1) == left), 'columns')
#ifdef LARGE
  call MPI_Send(rank, 1_MPI_COUNT_KIND, MPI_INTEGER, MPI_PROC_NULL, 3, MPI_COMM_WORLD)
  call MPI_Sendrecv(rank, 1_MPI_COUNT_KIND, MPI_INTEGER, right, 4, i, 1_MPI_COUNT_KIND, MPI_INTEGER, left, 4, &
                    MPI_COMM_WORLD, st)
  call check(i == left, 'large count')
#endif
  if (rank == 0) print '(a)', 'ok'
  call MPI_Finalize()
contains
  subroutine check(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    print *, 'wrong: ', what
    call MPI_Abort(MPI_COMM_WORLD, 7)
  end subroutine
end program

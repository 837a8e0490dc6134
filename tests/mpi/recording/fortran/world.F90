! What Fortran may do with MPI_COMM_WORLD, and what callbacks see of it: the program must hold plainly and in a
! reordered world. Every rank says which launch rank it is. SPDX-License-Identifier: BSD-3-Clause
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
  integer :: copied = 0, deleted = 0, heard = 0
contains
  subroutine check(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    integer :: ierr
    if (good) return
    print *, 'wrong: ', what
    call MPI_Abort(MPI_COMM_WORLD, 7, ierr)
  end subroutine

  subroutine copy_value(oldcomm, keyval, extra_state, value_in, value_out, flag, ierror)
    COMM :: oldcomm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    call check(oldcomm == MPI_COMM_WORLD, 'communicator of a copy function')
    copied = copied + 1
    value_out = value_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete_value(comm, keyval, value, extra_state, ierror)
    COMM :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra_state
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: library
    integer :: length, ierr
    if (value /= 5) return
    deleted = deleted + 1
    call MPI_Get_library_version(library, length, ierr)
    ! Open MPI 4.1 hands something else over here.
    if (index(library, 'MPICH') > 0) call check(comm == MPI_COMM_WORLD, 'communicator of a delete function')
    ierror = MPI_SUCCESS
  end subroutine

  subroutine hear(comm, code)
    COMM :: comm
    integer :: code
    call check(comm == MPI_COMM_WORLD, 'communicator of an error handler')
    heard = heard + 1
  end subroutine
end module

subroutine rank_in_common(rank)
#ifdef LANGUAGE_f08
  use mpi_f08
#elif defined(LANGUAGE_mpi)
  use mpi
#endif
  implicit none
#ifdef LANGUAGE_mpif
  include 'mpif.h'
#endif
  integer :: rank, ierr, before
  COMM :: kept
  common /settings/ before, kept
  call MPI_Comm_rank(kept, rank IERR)
end subroutine

program world
  use callbacks
  implicit none
  integer :: rank, size, other, length, key, before, ierr, mine(1), value(1)
  COMM :: kept, copy
  common /settings/ before, kept
  HANDLER :: handler
  GROUP :: everybody
  integer(MPI_ADDRESS_KIND) :: attribute
  logical :: flag
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=16) :: launch
  kept = MPI_COMM_WORLD
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank IERR)
  call MPI_Comm_size(MPI_COMM_WORLD, size IERR)
  call rank_in_common(other)
  call check(other == rank, 'rank by a handle in COMMON')
  call PMPI_Comm_rank(MPI_COMM_WORLD, other IERR)
  call check(other == rank, 'rank by the PMPI name')
  call MPI_Comm_group(kept, everybody IERR)
  call MPI_Group_rank(everybody, other IERR)
  call check(other == rank, 'rank in the group')
  call MPI_Comm_get_name(MPI_COMM_WORLD, name, length IERR)
  call check(name(1:length) == 'MPI_COMM_WORLD', 'name')

  call MPI_Comm_get_attr(kept, MPI_TAG_UB, attribute, flag IERR)
  call check(flag .and. attribute >= 32767, 'predefined attribute')
  call MPI_Comm_create_keyval(copy_value, delete_value, key, 17_MPI_ADDRESS_KIND IERR)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 5_MPI_ADDRESS_KIND IERR)
  call MPI_Comm_dup(kept, copy IERR)
  call MPI_Comm_get_attr(copy, key, attribute, flag IERR)
  call check(flag .and. attribute == 22 .and. copied == 1, 'copied attribute')
  call MPI_Comm_free(copy IERR)
  call check(deleted == 0, 'attribute of a copy')
  call MPI_Comm_delete_attr(kept, key IERR)
  call check(deleted == 1, 'deleted attribute')
  call MPI_Comm_free_keyval(key IERR)

  call MPI_Comm_create_errhandler(hear, handler IERR)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler IERR)
  call MPI_Comm_call_errhandler(kept, MPI_ERR_OTHER IERR)
  call check(heard == 1, 'error handler')
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL IERR)
  call MPI_Errhandler_free(handler IERR)

  mine = rank
  call MPI_Sendrecv(mine, 1, MPI_INTEGER, mod(rank + 1, size), 1, value, 1, MPI_INTEGER, &
                    mod(rank + size - 1, size), 1, kept, MPI_STATUS_IGNORE IERR)
  call check(value(1) == mod(rank + size - 1, size), 'message')
  call get_environment_variable('OMPI_COMM_WORLD_RANK', launch)
  if (launch == '') call get_environment_variable('PMI_RANK', launch)
  print '(a, i0, a, a)', 'rank ', rank, ' is ', trim(launch)
  call MPI_Finalize(ierr)
end program

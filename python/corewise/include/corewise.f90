! corewise: a program names its own regions and phases, for `corewise run`.
!
!   use corewise
!   call corewise_begin("solve");  ...;  call corewise_end()     a region; regions nest
!   call corewise_phase("setup")                                lasts until the next phase
!
! Nothing has to be linked: without `corewise run` the calls do nothing. Compile this file with the program. The
! preload's functions are looked up when first needed. Trailing blanks are no part of a name.
! SPDX-License-Identifier: BSD-3-Clause
module corewise
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: corewise_begin, corewise_end, corewise_phase

  abstract interface
    subroutine named(name) bind(c)
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine named
    subroutine unnamed() bind(c)
    end subroutine unnamed
  end interface

  interface
    function dlsym(handle, symbol) bind(c, name="dlsym") result(address)
      import :: c_char, c_funptr, c_ptr
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: symbol(*)
      type(c_funptr) :: address
    end function dlsym
  end interface

  logical, save :: known = .false.
  procedure(named), pointer, save :: begin_there => null()
  procedure(unnamed), pointer, save :: end_there => null()
  procedure(named), pointer, save :: phase_there => null()

contains

  subroutine corewise_begin(name)
    character(len=*), intent(in) :: name
    if (.not. known) call look_up()
    if (associated(begin_there)) call begin_there(trim(name)//c_null_char)
  end subroutine corewise_begin

  subroutine corewise_end()
    if (.not. known) call look_up()
    if (associated(end_there)) call end_there()
  end subroutine corewise_end

  subroutine corewise_phase(name)
    character(len=*), intent(in) :: name
    if (.not. known) call look_up()
    if (associated(phase_there)) call phase_there(trim(name)//c_null_char)
  end subroutine corewise_phase

  ! The null handle stands for everything that is loaded. Threads that come here together find the same.
  subroutine look_up()
    type(c_funptr) :: address
    address = dlsym(c_null_ptr, "corewise_begin"//c_null_char)
    if (c_associated(address)) call c_f_procpointer(address, begin_there)
    address = dlsym(c_null_ptr, "corewise_end"//c_null_char)
    if (c_associated(address)) call c_f_procpointer(address, end_there)
    address = dlsym(c_null_ptr, "corewise_phase"//c_null_char)
    if (c_associated(address)) call c_f_procpointer(address, phase_there)
    known = .true.
  end subroutine look_up

end module corewise

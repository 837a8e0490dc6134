! What a Fortran program writes. SPDX-License-Identifier: BSD-3-Clause
subroutine fortran_work() bind(c)
  use corewise
  implicit none
  character(len=20) :: name
  name = "padded"
  call corewise_begin("fortran")
  call corewise_begin(name)
  call corewise_end()
  call corewise_end()
  call corewise_phase("fortran phase")
end subroutine fortran_work

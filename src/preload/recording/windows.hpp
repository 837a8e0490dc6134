// Windows as the trace sees them: the communicator whose ranks a window's targets are.
//
// A window is noted when it is made, from the communicator that its constructor was given; one that was made while
// nothing was recorded is described from its group when it is first met. The description hangs on the window as an
// attribute, whose delete callback tells when the handle is free for another window.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "preload/recording/comms.hpp"

namespace corewise::preload {

/// Registers a new window over `comm`. A null handle is ignored.
void note_new_window(Thread& thread, MPI_Win fresh, MPI_Comm comm);

/// The communicator of a window's ranks. Never nullptr: an unknown one after failure.
Communicator* communicator_of_window(MPI_Win window);

/// Forgets the keyval; called once before MPI goes away.
void stop_windows();

}  // namespace corewise::preload

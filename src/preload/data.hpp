// What a program's data are: bytes that the CPU can read, packed as they lie. Libraries that move data themselves
// ask. SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace corewise::preload {

/// Whether a library of a GPU is loaded: then a buffer may be memory that the CPU cannot read.
bool gpu_present();

/// Whether the MPI's packed form is the bytes themselves, as it is where all processes have one kind of data. Call
/// it between MPI_Init and MPI_Finalize.
bool packs_plain_bytes();

}  // namespace corewise::preload

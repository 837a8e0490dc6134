// What a program's data are: bytes that the CPU can read, packed as they lie. Libraries that move data themselves
// ask. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "available.hpp"
#include "preload/next.hpp"

namespace corewise::preload {

/// Whether a library of a GPU is loaded: then a buffer may be memory that the CPU cannot read.
bool gpu_present();

/// Whether the MPI's packed form is the bytes themselves, as it is where all processes have one kind of data. Call
/// it between MPI_Init and MPI_Finalize.
bool packs_plain_bytes(MPI_Comm comm);

/// How many of each kind a datatype's envelope has, and what made the type (MPI-4.1, 5.1.13).
#ifdef CW_HAVE_MPI_Type_get_envelope_c
using EnvelopeSize = MPI_Count;
#else
using EnvelopeSize = int;
#endif
struct Envelope {
  EnvelopeSize integers = 0, addresses = 0, counts = 0, types = 0;
  int combiner = MPI_COMBINER_NAMED;
};
/// Of a type that was made with large counts, too. False where MPI refuses to answer.
bool read_envelope(MPI_Datatype type, Envelope& found);

/// In bytes. False where MPI refuses to answer.
struct Bounds {
  MPI_Count size = 0, lb = 0, extent = 0, true_lb = 0, true_extent = 0;
};
bool read_bounds(MPI_Datatype type, Bounds& bounds);

/// Predefined types, some of which have no name (MPI-4.1, 19.1.9).
bool is_predefined(int combiner);

/// Whether a type is predefined and needs no reading.
bool is_named(MPI_Datatype datatype);

}  // namespace corewise::preload

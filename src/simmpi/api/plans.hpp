// Plans of collectives: each checks the arguments of a procedure and says what the call does, now or in the
// background. Arguments are those of the procedure of the same name (MPI-3.1, chapter 5).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "simmpi/api/entry.hpp"
#include "simmpi/collectives/collectives.hpp"

namespace corewise::simmpi {

/// One buffer of a collective, as a call gives it.
struct Buffer {
  const void* at;
  int count;
  MPI_Datatype datatype;
};

/// Blocks of one buffer: counts and places in extents of one type.
struct Blocked {
  const void* at;
  const int* counts;
  const int* places;
  MPI_Datatype datatype;
};

/// Blocks of one buffer: counts, places in bytes, a type each.
struct Typed {
  const void* at;
  const int* counts;
  const int* byte_places;
  const MPI_Datatype* datatypes;
};

Plan plan_barrier(MPI_Comm comm);
Plan plan_broadcast(Buffer buffer, int root, MPI_Comm comm);
Plan plan_gather(Buffer mine, Buffer all, int root, MPI_Comm comm);
Plan plan_gather(Buffer mine, Blocked all, int root, MPI_Comm comm);
Plan plan_scatter(Buffer all, Buffer mine, int root, MPI_Comm comm);
Plan plan_scatter(Blocked all, Buffer mine, int root, MPI_Comm comm);
Plan plan_all_gather(Buffer mine, Buffer all, MPI_Comm comm);
Plan plan_all_gather(Buffer mine, Blocked all, MPI_Comm comm);
Plan plan_all_to_all(Buffer out, Buffer in, MPI_Comm comm);
Plan plan_all_to_all(Blocked out, Blocked in, MPI_Comm comm);
Plan plan_all_to_all(Typed out, Typed in, MPI_Comm comm);

/// Operand, result, number of elements, type.
struct Operands {
  const void* in;
  void* out;
  int count;
  MPI_Datatype datatype;
  MPI_Op operation;
};

Plan plan_reduce(Operands operands, int root, MPI_Comm comm);
Plan plan_all_reduce(Operands operands, MPI_Comm comm);
/// `counts` per rank; null: `operands.count` each.
Plan plan_reduce_scatter(Operands operands, const int* counts, MPI_Comm comm);
Plan plan_scan(Operands operands, bool exclusive, MPI_Comm comm);

/// Blocks of a buffer as a neighbourhood collective has them: one for each neighbour.
Blocks blocks_of(Buffer buffer, std::size_t number, bool same);
Blocks blocks_of(Blocked buffer, std::size_t number);
Plan plan_neighbours(MPI_Comm comm, int error, Blocks out, Blocks in);

}  // namespace corewise::simmpi

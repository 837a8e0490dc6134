// Datatypes as MPI describes them, for the libraries that lay data out themselves.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/packing/layout/datatype.hpp"
#include "preload/next.hpp"

namespace corewise::preload {

/// A type as its envelopes say.
struct Described {
  kernels::Datatype type;
  /// Packed bytes that are cut at multiples of it have no element cut in two; it divides their number.
  std::int64_t element = 0;
};

/// Nothing where an envelope is not understood, or where MPI finds another size, extent or true extent than we.
std::optional<Described> describe(MPI_Datatype datatype);

}  // namespace corewise::preload

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

/// As many numbers in all envelopes of a type as can be compiled in a moment; more would take seconds.
inline constexpr std::int64_t kMostNumbers = 1 << 22;

/// Nothing where an envelope is not understood, where there are more than `most` numbers in all of them, or where
/// MPI finds another size, extent or true extent than we.
std::optional<Described> describe(MPI_Datatype datatype, std::int64_t most = kMostNumbers);

}  // namespace corewise::preload

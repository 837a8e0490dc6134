// Whether convertors are what convertor.hpp takes them for: found out on a few that belong to calls of
// MPI_Pack and MPI_Unpack which are made for this, when MPI has started. Everything is done with them that is done
// later, on a type and data that are known. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "preload/packing/openmpi/convertor.hpp"

namespace corewise::preload::packing::engine {

/// The MPI's own functions, behind ours; null where it has none.
struct Behind {
  Advance* pack = nullptr;
  Advance* unpack = nullptr;
  SetPosition* set_position = nullptr;
  std::int32_t (*raw)(Convertor*, iovec*, std::uint32_t*, std::size_t*) = nullptr;
};

/// Runs the calls; the engine's functions hand convertors to `observe` meanwhile. `pack` and `unpack`: what a
/// convertor holds that is to be moved without checksum or conversion.
bool convertors_are_known(const Behind& behind, Advance* pack, Advance* unpack);

/// Whether this thread's call is one of them. Others may use the MPI meanwhile, through a session.
bool is_proving_here();

/// Moves a convertor's pieces as the MPI's function would, and looks at it before, between and after.
std::int32_t observe(bool packing, Convertor* convertor, iovec* pieces, std::uint32_t* count, std::size_t* bytes);

}  // namespace corewise::preload::packing::engine

// The model that turns a collective's record into volumes per pair. The one table of collectives is here; what it
// says in prose stands in docs/formats/trace.md.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace corewise::profile {

/// Where the bytes of a rank's record go. "Each" is every other member, or every member of the remote group.
enum class Volume {
  unknown,        ///< no collective that we know
  none,           ///< synchronises only
  from_root,      ///< the root sends them to this rank
  to_root,        ///< this rank sends them to the root
  to_each,        ///< this rank sends them to each
  from_each,      ///< each sends them to this rank
  reduced,        ///< reduced over all and handed to all: 2/P of them to each (reduce-scatter, then allgather)
  from_previous,  ///< the member before this one sends them to it (prefix sums)
  parts,          ///< the collective_part records that follow say it
};

/// By MPI name: with or without MPI_, non-blocking, persistent (_init) and large-count (_c) forms alike.
Volume volume_of(std::string_view procedure);

}  // namespace corewise::profile

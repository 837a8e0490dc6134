// What the run tells every library of the preload: where records go and on which node a rank is. No MPI.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string_view>

namespace corewise::preload {

/// Where trace files go; empty: nothing is recorded. Readable before main.
std::string_view trace_directory();

/// The name of the clock that this rank reads: a name given, the kernel's boot id, or the host's.
void name_node(char* node, std::size_t bytes);

/// Whether a name was given. Set it for all ranks of a run or for none.
bool node_is_named();

}  // namespace corewise::preload

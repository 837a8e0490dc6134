// What grids and graphs have in common. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "simmpi/api/entry.hpp"

namespace corewise::simmpi {

/// Collective: a communicator of the first `members` ranks; false where the caller is not in it or an error is in
/// `code`.
bool make_part(MPI_Comm comm, int members, MPI_Comm* made, int& code);

}  // namespace corewise::simmpi

// What communicators need of groups. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "simmpi/api/entry.hpp"

namespace corewise::simmpi {

/// Null for MPI_GROUP_NULL.
const Group* group_of(MPI_Group handle);
/// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
int compare(const std::vector<int>& left, const std::vector<int>& right);

}  // namespace corewise::simmpi

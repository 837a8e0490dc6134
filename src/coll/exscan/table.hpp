// Exclusive scans: the algorithms of scan/, each rank without its own operand.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/scan/table.hpp"

namespace corewise::coll::exscan {

template <port::Port P>
inline constexpr auto kRows = scan::make_rows<scan::Kind::exclusive, P>();

}  // namespace corewise::coll::exscan

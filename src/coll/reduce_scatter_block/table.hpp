// Reduce-scatters of equal blocks: the algorithms of reduce_scatter/. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/reduce_scatter/table.hpp"

namespace corewise::coll::reduce_scatter_block {

template <port::Port P>
inline constexpr auto kRows = reduce_scatter::make_rows<P>();

}  // namespace corewise::coll::reduce_scatter_block

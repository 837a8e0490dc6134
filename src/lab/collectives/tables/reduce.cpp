// The reductions to one root on the lab's ports. SPDX-License-Identifier: BSD-3-Clause
#include "coll/reduce/table.hpp"
#include "lab/collectives/tables/tables.hpp"

namespace corewise::lab {

template <port::Port P>
Rows<P> reduce_rows() {
  return coll::reduce::kRows<P>;
}
template Rows<cell::CellPort> reduce_rows<cell::CellPort>();
template Rows<cell::CachedPort> reduce_rows<cell::CachedPort>();
template Rows<IdealPort> reduce_rows<IdealPort>();

}  // namespace corewise::lab

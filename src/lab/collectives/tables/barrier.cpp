// The barriers on the lab's ports. SPDX-License-Identifier: BSD-3-Clause
#include "coll/barrier/table.hpp"
#include "lab/collectives/tables/tables.hpp"

namespace corewise::lab {

template <port::Port P>
Rows<P> barrier_rows() {
  return coll::barrier::kRows<P>;
}
template Rows<cell::CellPort> barrier_rows<cell::CellPort>();
template Rows<cell::CachedPort> barrier_rows<cell::CachedPort>();
template Rows<IdealPort> barrier_rows<IdealPort>();

}  // namespace corewise::lab

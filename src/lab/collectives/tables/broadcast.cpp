// The broadcasts on the lab's ports. SPDX-License-Identifier: BSD-3-Clause
#include "coll/broadcast/table.hpp"
#include "lab/collectives/tables/tables.hpp"

namespace corewise::lab {

template <port::Port P>
Rows<P> broadcast_rows() {
  return coll::broadcast::kRows<P>;
}
template Rows<cell::CellPort> broadcast_rows<cell::CellPort>();
template Rows<cell::CachedPort> broadcast_rows<cell::CachedPort>();
template Rows<IdealPort> broadcast_rows<IdealPort>();

}  // namespace corewise::lab

// The reductions to all on the lab's ports. SPDX-License-Identifier: BSD-3-Clause
#include "coll/allreduce/table.hpp"
#include "lab/collectives/tables/tables.hpp"

namespace corewise::lab {

template <port::Port P>
Rows<P> allreduce_rows() {
  return coll::allreduce::kRows<P>;
}
template Rows<cell::CellPort> allreduce_rows<cell::CellPort>();
template Rows<cell::CachedPort> allreduce_rows<cell::CachedPort>();
template Rows<IdealPort> allreduce_rows<IdealPort>();

}  // namespace corewise::lab

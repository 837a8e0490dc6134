// Scans and reduce-scatters on the lab's ports. SPDX-License-Identifier: BSD-3-Clause
#include "coll/exscan/table.hpp"
#include "coll/reduce_scatter/table.hpp"
#include "coll/reduce_scatter_block/table.hpp"
#include "coll/scan/table.hpp"
#include "lab/collectives/tables/tables.hpp"

namespace corewise::lab {

template <port::Port P>
Rows<P> scan_rows(coll::Collective collective) {
  switch (collective) {
    case coll::Collective::scan:
      return coll::scan::kRows<P>;
    case coll::Collective::exscan:
      return coll::exscan::kRows<P>;
    case coll::Collective::reduce_scatter:
      return coll::reduce_scatter::kRows<P>;
    case coll::Collective::reduce_scatter_block:
      return coll::reduce_scatter_block::kRows<P>;
    default:
      return {};
  }
}
template Rows<cell::CellPort> scan_rows<cell::CellPort>(coll::Collective);
template Rows<cell::CachedPort> scan_rows<cell::CachedPort>(coll::Collective);
template Rows<IdealPort> scan_rows<IdealPort>(coll::Collective);

}  // namespace corewise::lab

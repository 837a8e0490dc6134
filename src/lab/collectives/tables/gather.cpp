// Gathers and scatters on the lab's ports. SPDX-License-Identifier: BSD-3-Clause
#include "coll/gather/table.hpp"
#include "coll/gatherv/table.hpp"
#include "coll/scatter/table.hpp"
#include "coll/scatterv/table.hpp"
#include "lab/collectives/tables/tables.hpp"

namespace corewise::lab {

template <port::Port P>
Rows<P> gather_rows(coll::Collective collective) {
  switch (collective) {
    case coll::Collective::gather:
      return coll::gather::kRows<P>;
    case coll::Collective::gatherv:
      return coll::gatherv::kRows<P>;
    case coll::Collective::scatter:
      return coll::scatter::kRows<P>;
    case coll::Collective::scatterv:
      return coll::scatterv::kRows<P>;
    default:
      return {};
  }
}
template Rows<cell::CellPort> gather_rows<cell::CellPort>(coll::Collective);
template Rows<cell::CachedPort> gather_rows<cell::CachedPort>(coll::Collective);
template Rows<IdealPort> gather_rows<IdealPort>(coll::Collective);

}  // namespace corewise::lab

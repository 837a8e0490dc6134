// All-gathers and all-to-alls on the lab's ports. SPDX-License-Identifier: BSD-3-Clause
#include "coll/allgather/table.hpp"
#include "coll/allgatherv/table.hpp"
#include "coll/alltoall/table.hpp"
#include "coll/alltoallv/table.hpp"
#include "lab/collectives/tables/tables.hpp"

namespace corewise::lab {

template <port::Port P>
Rows<P> exchange_rows(coll::Collective collective) {
  switch (collective) {
    case coll::Collective::allgather:
      return coll::allgather::kRows<P>;
    case coll::Collective::allgatherv:
      return coll::allgatherv::kRows<P>;
    case coll::Collective::alltoall:
      return coll::alltoall::kRows<P>;
    case coll::Collective::alltoallv:
      return coll::alltoallv::kRows<P>;
    default:
      return {};
  }
}
template Rows<cell::CellPort> exchange_rows<cell::CellPort>(coll::Collective);
template Rows<cell::CachedPort> exchange_rows<cell::CachedPort>(coll::Collective);
template Rows<IdealPort> exchange_rows<IdealPort>(coll::Collective);

}  // namespace corewise::lab

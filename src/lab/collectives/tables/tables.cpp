// Which group has the rows of which collective. SPDX-License-Identifier: BSD-3-Clause
#include "lab/collectives/tables/tables.hpp"

namespace corewise::lab {
namespace {

using coll::Collective;

template <port::Port P>
Rows<P> rows_of(Collective collective) {
  switch (collective) {
    case Collective::barrier:
      return barrier_rows<P>();
    case Collective::broadcast:
      return broadcast_rows<P>();
    case Collective::reduce:
      return reduce_rows<P>();
    case Collective::allreduce:
      return allreduce_rows<P>();
    case Collective::gather:
    case Collective::gatherv:
    case Collective::scatter:
    case Collective::scatterv:
      return gather_rows<P>(collective);
    case Collective::allgather:
    case Collective::allgatherv:
    case Collective::alltoall:
    case Collective::alltoallv:
      return exchange_rows<P>(collective);
    case Collective::scan:
    case Collective::exscan:
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      return scan_rows<P>(collective);
    default:
      return {};
  }
}

}  // namespace

Rows<cell::CellPort> rows_on_cell(Collective collective) {
  return rows_of<cell::CellPort>(collective);
}
Rows<cell::CachedPort> rows_on_cached(Collective collective) {
  return rows_of<cell::CachedPort>(collective);
}
Rows<IdealPort> rows_on_ideal(Collective collective) {
  return rows_of<IdealPort>(collective);
}

std::vector<Algorithm> algorithms_of(Collective collective) {
  // Rows that the Cell's port cannot run stand last in a table: an algorithm's number is its row's.
  std::vector<Algorithm> all;
  for (const coll::Row<cell::CellPort>& row : rows_on_cell(collective)) {
    if (row.run != nullptr) all.push_back({row.name, row.what, row.takes, row.needs});
  }
  return all;
}

}  // namespace corewise::lab

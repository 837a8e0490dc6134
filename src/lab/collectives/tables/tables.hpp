// The tables of algorithms of all collectives, for the ports of the lab. Each group is instantiated in one file
// (collective_tables_*.cpp), never in tests: the algorithms are templates, and compiling them is what costs.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cell/cached_port.hpp"
#include "cell/port.hpp"
#include "coll/table.hpp"
#include "lab/collectives/ideal_port.hpp"

namespace corewise::lab {

template <port::Port P>
using Rows = std::span<const coll::Row<P>>;

/// The rows of a collective on a port; one algorithm has one name and one place in the list on all.
Rows<cell::CellPort> rows_on_cell(coll::Collective collective);
Rows<cell::CachedPort> rows_on_cached(coll::Collective collective);
Rows<IdealPort> rows_on_ideal(coll::Collective collective);

/// What a row says, without its port.
struct Algorithm {
  std::string_view name;
  std::string_view what;
  std::uint32_t takes = 0;
  std::uint32_t needs = 0;
};
std::vector<Algorithm> algorithms_of(coll::Collective collective);

// One for each group; P is CellPort, CachedPort or IdealPort.
template <port::Port P>
Rows<P> barrier_rows();
template <port::Port P>
Rows<P> broadcast_rows();
template <port::Port P>
Rows<P> reduce_rows();
template <port::Port P>
Rows<P> allreduce_rows();
template <port::Port P>
Rows<P> gather_rows(coll::Collective collective);  ///< gather(v), scatter(v)
template <port::Port P>
Rows<P> exchange_rows(coll::Collective collective);  ///< allgather(v), alltoall(v)
template <port::Port P>
Rows<P> scan_rows(coll::Collective collective);  ///< scan, exscan, reduce_scatter(_block)

}  // namespace corewise::lab

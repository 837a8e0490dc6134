// The collectives that through_preload measures: a row per collective says how it is called, what its ranks send,
// and what must have arrived. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

#include <array>
#include <string_view>

#include "operands.hpp"
#include "procedures.hpp"

namespace corewise::bench {

/// A call: by whose procedures, among whom, to or from whom. `rank` is of the communicator.
struct Call {
  const Procedures& by;
  MPI_Comm comm;
  int root;
  int rank;
  int ranks;
};

/// What arrives at a rank: so many blocks, `sum` being the first; each block after it comes from the next rank
/// where `in_turn`.
struct Arrival {
  int blocks = 0;
  Sum sum;
  bool in_turn = false;
};

struct Collective {
  std::string_view name;
  void (*run)(const Call&, const Operands&);
  Arrival (*arrival)(const Call&);
  bool block_for_each = false;  ///< a rank sends a block for every rank
  bool ordered = false;         ///< it goes from lower ranks to higher ones
};

// ---- what arrives ----

inline Arrival nothing(const Call&) {
  return {};
}
inline Arrival of_the_root(const Call& call) {
  return {call.rank == call.root ? 0 : 1, {call.root, call.root + 1, 0}};
}
inline Arrival own_block_of_the_root(const Call& call) {
  return {1, {call.root, call.root + 1, call.rank}};
}
inline Arrival sum_of_all(const Call& call) {
  return {1, {0, call.ranks, 0}};
}
inline Arrival sum_at_the_root(const Call& call) {
  return {call.rank == call.root ? 1 : 0, {0, call.ranks, 0}};
}
inline Arrival own_block_of_the_sum(const Call& call) {
  return {1, {0, call.ranks, call.rank}};
}
inline Arrival sum_up_to_here(const Call& call) {
  return {1, {0, call.rank + 1, 0}};
}
inline Arrival sum_before_here(const Call& call) {
  return {call.rank == 0 ? 0 : 1, {0, call.rank, 0}};
}
inline Arrival a_block_of_each(const Call& call) {
  return {call.ranks, {0, 1, 0}, true};
}
inline Arrival a_block_of_each_at_the_root(const Call& call) {
  return {call.rank == call.root ? call.ranks : 0, {0, 1, 0}, true};
}
inline Arrival own_block_of_each(const Call& call) {
  return {call.ranks, {0, 1, call.rank}, true};
}

// ---- how each is called ----

inline void barrier(const Call& call, const Operands&) {
  call.by.barrier(call.comm);
}
/// The root sends what it wrote, the others receive.
inline void bcast(const Call& call, const Operands& on) {
  call.by.bcast(call.rank == call.root ? on.send : on.receive, on.items(), on.moved(), call.root, call.comm);
}
inline void reduce(const Call& call, const Operands& on) {
  call.by.reduce(on.send, on.receive, on.elements, on.type(), MPI_SUM, call.root, call.comm);
}
inline void allreduce(const Call& call, const Operands& on) {
  call.by.allreduce(on.send, on.receive, on.elements, on.type(), MPI_SUM, call.comm);
}
inline void scan(const Call& call, const Operands& on) {
  call.by.scan(on.send, on.receive, on.elements, on.type(), MPI_SUM, call.comm);
}
inline void exscan(const Call& call, const Operands& on) {
  call.by.exscan(on.send, on.receive, on.elements, on.type(), MPI_SUM, call.comm);
}
inline void reduce_scatter_block(const Call& call, const Operands& on) {
  call.by.reduce_scatter_block(on.send, on.receive, on.elements, on.type(), MPI_SUM, call.comm);
}
inline void reduce_scatter(const Call& call, const Operands& on) {
  call.by.reduce_scatter(on.send, on.receive, on.element_counts.data(), on.type(), MPI_SUM, call.comm);
}
inline void gather(const Call& call, const Operands& on) {
  call.by.gather(on.send, on.items(), on.moved(), on.receive, on.items(), on.moved(), call.root, call.comm);
}
inline void gatherv(const Call& call, const Operands& on) {
  call.by.gatherv(on.send, on.items(), on.moved(), on.receive, on.counts.data(), on.places.data(), on.moved(),
                  call.root, call.comm);
}
inline void scatter(const Call& call, const Operands& on) {
  call.by.scatter(on.send, on.items(), on.moved(), on.receive, on.items(), on.moved(), call.root, call.comm);
}
inline void scatterv(const Call& call, const Operands& on) {
  call.by.scatterv(on.send, on.counts.data(), on.places.data(), on.moved(), on.receive, on.items(), on.moved(),
                   call.root, call.comm);
}
inline void allgather(const Call& call, const Operands& on) {
  call.by.allgather(on.send, on.items(), on.moved(), on.receive, on.items(), on.moved(), call.comm);
}
inline void allgatherv(const Call& call, const Operands& on) {
  call.by.allgatherv(on.send, on.items(), on.moved(), on.receive, on.counts.data(), on.places.data(), on.moved(),
                     call.comm);
}
inline void alltoall(const Call& call, const Operands& on) {
  call.by.alltoall(on.send, on.items(), on.moved(), on.receive, on.items(), on.moved(), call.comm);
}
inline void alltoallv(const Call& call, const Operands& on) {
  call.by.alltoallv(on.send, on.counts.data(), on.places.data(), on.moved(), on.receive, on.counts.data(),
                    on.places.data(), on.moved(), call.comm);
}

inline constexpr std::array<Collective, 16> kMeasured = {{
    {.name = "barrier", .run = barrier, .arrival = nothing},
    {.name = "bcast", .run = bcast, .arrival = of_the_root},
    {.name = "reduce", .run = reduce, .arrival = sum_at_the_root},
    {.name = "allreduce", .run = allreduce, .arrival = sum_of_all},
    {.name = "gather", .run = gather, .arrival = a_block_of_each_at_the_root},
    {.name = "gatherv", .run = gatherv, .arrival = a_block_of_each_at_the_root},
    {.name = "scatter", .run = scatter, .arrival = own_block_of_the_root, .block_for_each = true},
    {.name = "scatterv", .run = scatterv, .arrival = own_block_of_the_root, .block_for_each = true},
    {.name = "allgather", .run = allgather, .arrival = a_block_of_each},
    {.name = "allgatherv", .run = allgatherv, .arrival = a_block_of_each},
    {.name = "alltoall", .run = alltoall, .arrival = own_block_of_each, .block_for_each = true},
    {.name = "alltoallv", .run = alltoallv, .arrival = own_block_of_each, .block_for_each = true},
    {.name = "scan", .run = scan, .arrival = sum_up_to_here, .ordered = true},
    {.name = "exscan", .run = exscan, .arrival = sum_before_here, .ordered = true},
    {.name = "reduce_scatter", .run = reduce_scatter, .arrival = own_block_of_the_sum, .block_for_each = true},
    {.name = "reduce_scatter_block",
     .run = reduce_scatter_block,
     .arrival = own_block_of_the_sum,
     .block_for_each = true},
}};

}  // namespace corewise::bench

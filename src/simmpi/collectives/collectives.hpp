// The collectives of MPI-3.1, chapter 5, over messages. Each function is one rank's part; arguments are those of
// the procedure, with counts and displacements already widened; what MPI_IN_PLACE replaces has no type.
//
// Algorithms: barrier by dissemination; broadcast, gather, scatter and reduce by binomial trees; all-reduce by
// recursive doubling; all-gather by Bruck (short) or a ring; all-to-all by Bruck (short) or pairwise exchange;
// scans by recursive doubling; those with a count per rank linearly or pairwise. An operator that does not commute
// meets its operands in the order of ranks. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simmpi/collectives/context.hpp"
#include "simmpi/objects/operator.hpp"

namespace corewise::simmpi {

/// Blocks of one type in one buffer, a count and a place (in extents, or bytes where the type is per block) each.
struct Blocks {
  const void* at = nullptr;
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> byte_offsets;
  std::vector<Type*> types;  ///< one for all, or one per block

  [[nodiscard]] Data block(int number) const {
    const auto index = static_cast<std::size_t>(number);
    return {static_cast<const std::byte*>(at) + byte_offsets[index], counts[index],
            types[types.size() == 1 ? 0 : index]};
  }
};

/// `ranks` blocks of `each` items, one after the other.
Blocks even_blocks(const void* at, std::int64_t each, Type& type, int ranks);

struct Reduction {
  Operator* operation;
  Type* type;
  std::int64_t count;
};

void barrier(Context& call);
void broadcast(Context& call, const Data& data, int root);
/// `mine` without a type: in place at the root, whose block is already in `all` (and so for all that follow).
void gather(Context& call, const Data& mine, const Blocks& all, int root);
void gather_even(Context& call, const Data& mine, const Data& all, int root);
void scatter(Context& call, const Blocks& all, const Data& mine, int root);
void scatter_even(Context& call, const Data& all, const Data& mine, int root);
void all_gather(Context& call, const Data& mine, const Blocks& all);
/// `out` without blocks: in place.
void all_to_all(Context& call, const Blocks& out, const Blocks& in);
/// `in` null: the operand is in `out` (at the root).
void reduce(Context& call, const Reduction& how, const void* in, void* out, int root);
void all_reduce(Context& call, const Reduction& how, const void* in, void* out);
void reduce_scatter(Context& call, Reduction how, const std::vector<std::int64_t>& counts, const void* in,
                    void* out);
void scan(Context& call, const Reduction& how, const void* in, void* out, bool exclusive);
/// Blocks to and from the neighbours of the communicator's topology.
void neighbour_exchange(Context& call, const Blocks& out, const Blocks& in);

}  // namespace corewise::simmpi

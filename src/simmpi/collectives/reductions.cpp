// Collectives that combine. Operands meet in the order of ranks wherever the operator asks for it.
// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "pattern/knomial.hpp"
#include "pattern/schedule.hpp"
#include "simmpi/collectives/collectives.hpp"
#include "simmpi/collectives/levels.hpp"

namespace corewise::simmpi {
namespace {

namespace schedule = pattern::schedule;

Data data_of(Items& items, const Reduction& how) {
  return {items.at(), how.count, how.type};
}

/// kept = lower OP higher, whichever of them `kept` is.
void fold(const Reduction& how, Items& kept, Items& other, bool other_is_lower) {
  if (other_is_lower || how.operation->commutes) {
    combine(*how.operation, *how.type, how.count, other.at(), kept.at());
    return;
  }
  combine(*how.operation, *how.type, how.count, kept.at(), other.at());
  std::swap(kept, other);
}

/// The result at the tree's root.
void reduce_up(Context& call, const Reduction& how, Items& mine, int root) {
  const schedule::Knomial tree(call.size(), root, call.rank(), 2);
  Items theirs(*how.type, how.count);
  // The ranks under a child follow those under the ones nearer by: each fold appends to the right.
  tree.for_children_nearest_first([&](int child) {
    call.receive(data_of(theirs, how), child);
    fold(how, mine, theirs, false);
  });
  if (tree.parent() != schedule::nobody) call.send(data_of(mine, how), tree.parent());
}

}  // namespace

void reduce(Context& call, const Reduction& how, const void* in, void* out, int root) {
  if (Levels* levels = levels_for(call, how)) return reduce_by(*levels, call, how, in, out, root);
  Items mine(*how.type, how.count);
  mine.fill_from(in != nullptr ? in : out);
  // Rank order needs the tree whose ranks are counted from 0.
  const int top = how.operation->commutes ? root : 0;
  reduce_up(call, how, mine, top);
  if (top != root) {
    if (call.rank() == top) call.send(data_of(mine, how), root);
    if (call.rank() == root) call.receive(data_of(mine, how), top);
  }
  if (call.rank() == root) mine.copy_to(out);
}

void all_reduce(Context& call, const Reduction& how, const void* in, void* out) {
  if (Levels* levels = levels_for(call, how)) return all_reduce_by(*levels, call, how, in, out);
  Items mine(*how.type, how.count);
  Items theirs(*how.type, how.count);
  mine.fill_from(in != nullptr ? in : out);
  const int steps = schedule::recursive_doubling_steps(call.size());
  for (int step = 0; step < steps; ++step) {
    const schedule::Peers peers = schedule::recursive_doubling_peers(call.size(), call.rank(), step);
    const bool closing = step == steps - 1 && schedule::recursive_doubling_is_fold(call.size(), step);
    call.exchange(data_of(mine, how), peers.to, data_of(theirs, how), peers.from);
    if (peers.from == schedule::nobody) continue;
    if (closing) {
      std::swap(mine, theirs);
    } else {
      fold(how, mine, theirs, peers.from < call.rank());
    }
  }
  mine.copy_to(out);
}

void reduce_scatter(Context& call, Reduction how, const std::vector<std::int64_t>& counts, const void* in,
                    void* out) {
  const std::int64_t mine = how.count;
  how.count = 0;
  Blocks blocks{nullptr, counts, {}, {how.type}};
  for (const std::int64_t count : counts) {
    blocks.byte_offsets.push_back(how.count * how.type->shape.extent);
    how.count += count;
  }
  Items all(*how.type, how.count);
  reduce(call, how, in != nullptr ? in : out, all.at(), 0);
  blocks.at = all.at();
  scatter(call, blocks, {out, mine, how.type}, 0);
}

void scan(Context& call, const Reduction& how, const void* in, void* out, bool exclusive) {
  Items partial(*how.type, how.count);  // of the ranks from r - 2^k + 1 to r
  Items below(*how.type, how.count);    // of those before r that have been heard of
  Items theirs(*how.type, how.count);
  partial.fill_from(in != nullptr ? in : out);
  bool any = false;
  for (int distance = 1; distance < call.size(); distance *= 2) {
    const int to = call.rank() + distance < call.size() ? call.rank() + distance : schedule::nobody;
    const int from = call.rank() >= distance ? call.rank() - distance : schedule::nobody;
    call.exchange(data_of(partial, how), to, data_of(theirs, how), from);
    if (from == schedule::nobody) continue;
    if (any) {
      combine(*how.operation, *how.type, how.count, theirs.at(), below.at());
    } else {
      below.fill_from(theirs.at());
    }
    any = true;
    combine(*how.operation, *how.type, how.count, theirs.at(), partial.at());
  }
  if (!exclusive) return partial.copy_to(out);
  if (any) below.copy_to(out);
}

}  // namespace corewise::simmpi

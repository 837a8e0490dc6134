// Collectives that move data. SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "pattern/knomial.hpp"
#include "pattern/schedule.hpp"
#include "simmpi/collectives/collectives.hpp"
#include "simmpi/collectives/levels.hpp"

namespace corewise::simmpi {
namespace {

namespace schedule = pattern::schedule;
using Bytes = std::vector<std::byte>;

/// Blocks up to this many bytes go by Bruck's algorithms: fewer messages, each block several times.
constexpr std::int64_t kShortBlock = 256;

/// A part of packed bytes.
Data slice(const Bytes& bytes, std::int64_t from, std::int64_t length) {
  return bytes_at(bytes.data() + from, length);
}

bool all_equal(const Blocks& blocks) {
  return std::all_of(blocks.counts.begin(), blocks.counts.end(),
                     [&](std::int64_t count) { return count == blocks.counts.front(); }) &&
         blocks.types.size() == 1;
}

void start_all(Context& call, std::vector<Request>& requests, const Blocks& blocks, bool sends, int but) {
  for (int peer = 0; peer < call.size(); ++peer) {
    if (peer == but) continue;
    Request& request = requests.emplace_back();
    if (sends) {
      call.start_send(request, blocks.block(peer), peer);
    } else {
      call.start_receive(request, blocks.block(peer), peer);
    }
  }
}

std::vector<Request> room_for(int requests) {
  std::vector<Request> room;
  room.reserve(static_cast<std::size_t>(requests));
  return room;
}

void all_gather_ring(Context& call, const Blocks& all) {
  for (int step = 0; step < schedule::ring_steps(call.size()); ++step) {
    const schedule::Peers peers = schedule::ring_peers(call.size(), call.rank(), step);
    const int mine = schedule::ring_block(call.size(), call.rank(), step);
    const int theirs = schedule::ring_block(call.size(), peers.from, step);
    call.exchange(all.block(mine), peers.to, all.block(theirs), peers.from);
  }
}

/// Bruck: after step k a rank has the blocks of itself and the next 2^(k+1) - 1 ranks, in that order.
void all_gather_bruck(Context& call, const Blocks& all) {
  const std::int64_t each = all.block(0).bytes();
  const int ranks = call.size();
  Bytes blocks(static_cast<std::size_t>(each * ranks));
  const Data own = all.block(call.rank());
  pack(own.at, own.count, *own.type, blocks.data(), each);
  std::int64_t held = 1;
  for (int step = 0; step < schedule::bruck_steps(ranks); ++step) {
    const schedule::Peers peers = schedule::bruck_all_gather_peers(ranks, call.rank(), step);
    const std::int64_t moved = schedule::bruck_all_gather_blocks(ranks, step);
    call.exchange(slice(blocks, 0, moved * each), peers.to, slice(blocks, held * each, moved * each), peers.from);
    held += moved;
  }
  for (int i = 0; i < ranks; ++i) copy(slice(blocks, i * each, each), all.block((call.rank() + i) % ranks));
}

void all_to_all_pairwise(Context& call, const Blocks& out, const Blocks& in) {
  for (int step = 0; step < schedule::pairwise_exchange_steps(call.size()); ++step) {
    const schedule::Peers peers = schedule::pairwise_exchange_peers(call.size(), call.rank(), step);
    call.exchange(out.block(peers.to), peers.to, in.block(peers.from), peers.from);
  }
}

/// Bruck: the block for rank r + i is kept at place i; at step k those with bit k of i move 2^k ranks on.
void all_to_all_bruck(Context& call, const Blocks& out, const Blocks& in) {
  const std::int64_t each = out.block(0).bytes();
  const int ranks = call.size();
  Bytes blocks(static_cast<std::size_t>(each * ranks));
  for (int i = 0; i < ranks; ++i) copy(out.block((call.rank() + i) % ranks), slice(blocks, i * each, each));
  Bytes leaving(blocks.size());
  Bytes coming(blocks.size());
  for (int step = 0; step < schedule::bruck_steps(ranks); ++step) {
    const schedule::Peers peers = schedule::bruck_all_to_all_peers(ranks, call.rank(), step);
    const int moved = schedule::bruck_all_to_all_offset_count(ranks, step);
    const auto place = [&](int index) { return schedule::bruck_all_to_all_offset(step, index) * each; };
    for (int i = 0; i < moved; ++i) copy(slice(blocks, place(i), each), slice(leaving, i * each, each));
    call.exchange(slice(leaving, 0, moved * each), peers.to, slice(coming, 0, moved * each), peers.from);
    for (int i = 0; i < moved; ++i) copy(slice(coming, i * each, each), slice(blocks, place(i), each));
  }
  for (int i = 0; i < ranks; ++i) copy(slice(blocks, i * each, each), in.block((call.rank() - i + ranks) % ranks));
}

/// A copy of what `in` holds, in the same places as blocks of packed bytes: what in place sends.
Bytes saved(const Blocks& in, int ranks, Blocks& out) {
  std::int64_t total = 0;
  for (int peer = 0; peer < ranks; ++peer) total += in.block(peer).bytes();
  Bytes copy_of(static_cast<std::size_t>(total));
  std::int64_t at = 0;
  out = {copy_of.data(), {}, {}, {&byte_type()}};
  for (int peer = 0; peer < ranks; ++peer) {
    const Data block = in.block(peer);
    pack(block.at, block.count, *block.type, copy_of.data() + at, block.bytes());
    out.counts.push_back(block.bytes());
    out.byte_offsets.push_back(at);
    at += block.bytes();
  }
  return copy_of;
}

}  // namespace

Blocks even_blocks(const void* at, std::int64_t each, Type& type, int ranks) {
  Blocks blocks{at, {}, {}, {&type}};
  for (int rank = 0; rank < ranks; ++rank) {
    blocks.counts.push_back(each);
    blocks.byte_offsets.push_back(rank * each * type.shape.extent);
  }
  return blocks;
}

void barrier(Context& call) {
  if (Levels* levels = levels_for(call)) return barrier_by(*levels, call);
  const Data nothing = bytes_at(nullptr, 0);
  for (int step = 0; step < schedule::dissemination_steps(call.size()); ++step) {
    const schedule::Peers peers = schedule::dissemination_peers(call.size(), call.rank(), step);
    call.exchange(nothing, peers.to, nothing, peers.from);
  }
}

void broadcast(Context& call, const Data& data, int root) {
  if (Levels* levels = levels_for(call)) return broadcast_by(*levels, call, data, root);
  const schedule::Knomial tree(call.size(), root, call.rank(), 2);
  if (tree.parent() != schedule::nobody) call.receive(data, tree.parent());
  std::vector<Request> sends = room_for(tree.children());
  tree.for_children([&](int child) { call.start_send(sends.emplace_back(), data, child); });
  call.wait(sends);
}

void gather(Context& call, const Data& mine, const Blocks& all, int root) {
  if (call.rank() != root) return call.send(mine, root);
  std::vector<Request> receives = room_for(call.size());
  start_all(call, receives, all, false, root);
  if (mine.type != nullptr) copy(mine, all.block(root));
  call.wait(receives);
}

void scatter(Context& call, const Blocks& all, const Data& mine, int root) {
  if (call.rank() != root) return call.receive(mine, root);
  std::vector<Request> sends = room_for(call.size());
  start_all(call, sends, all, true, root);
  if (mine.type != nullptr) copy(all.block(root), mine);
  call.wait(sends);
}

// In a halving tree the ranks under a rank are the next ones, counted from the root.
void gather_even(Context& call, const Data& mine, const Data& all, int root) {
  const int ranks = call.size();
  const schedule::Knomial tree(ranks, root, call.rank(), 2);
  const std::int64_t each = call.rank() == root ? all.bytes() : mine.bytes();
  Bytes under(static_cast<std::size_t>(each * tree.subtree()));
  const bool in_place = mine.type == nullptr;
  const Data own = in_place ? all.part(root * all.count, all.count) : mine;
  pack(own.at, own.count, *own.type, under.data(), each);
  std::vector<Request> receives = room_for(tree.children());
  tree.for_children([&](int child) {
    const std::int64_t below = schedule::Knomial(ranks, root, child, 2).subtree();
    const std::int64_t place = (child - call.rank() + ranks) % ranks;
    call.start_receive(receives.emplace_back(), slice(under, place * each, below * each), child);
  });
  call.wait(receives);
  if (tree.parent() != schedule::nobody) return call.send(slice(under, 0, each * tree.subtree()), tree.parent());
  for (int i = in_place ? 1 : 0; i < ranks; ++i) {
    copy(slice(under, i * each, each), all.part((root + i) % ranks * all.count, all.count));
  }
}

void scatter_even(Context& call, const Data& all, const Data& mine, int root) {
  const int ranks = call.size();
  const schedule::Knomial tree(ranks, root, call.rank(), 2);
  const std::int64_t each = call.rank() == root ? all.bytes() : mine.bytes();
  Bytes under(static_cast<std::size_t>(each * tree.subtree()));
  if (call.rank() == root) {
    for (int i = 0; i < ranks; ++i) {
      copy(all.part((root + i) % ranks * all.count, all.count), slice(under, i * each, each));
    }
  } else {
    call.receive(slice(under, 0, each * tree.subtree()), tree.parent());
  }
  std::vector<Request> sends = room_for(tree.children());
  tree.for_children([&](int child) {
    const std::int64_t below = schedule::Knomial(ranks, root, child, 2).subtree();
    const std::int64_t place = (child - call.rank() + ranks) % ranks;
    call.start_send(sends.emplace_back(), slice(under, place * each, below * each), child);
  });
  call.wait(sends);
  if (mine.type != nullptr) copy(slice(under, 0, each), mine);
}

void all_gather(Context& call, const Data& mine, const Blocks& all) {
  if (mine.type != nullptr) copy(mine, all.block(call.rank()));
  if (all_equal(all) && all.block(0).bytes() <= kShortBlock) return all_gather_bruck(call, all);
  all_gather_ring(call, all);
}

void all_to_all(Context& call, const Blocks& out, const Blocks& in) {
  Blocks leaving = out;
  Bytes kept;
  if (out.counts.empty()) kept = saved(in, call.size(), leaving);
  copy(leaving.block(call.rank()), in.block(call.rank()));
  if (all_equal(leaving) && all_equal(in) && leaving.block(0).bytes() <= kShortBlock) {
    return all_to_all_bruck(call, leaving, in);
  }
  all_to_all_pairwise(call, leaving, in);
}

void neighbour_exchange(Context& call, const Blocks& out, const Blocks& in) {
  const Topology& topology = *call.comm.topology;
  std::vector<Request> requests =
      room_for(static_cast<int>(topology.sources.size() + topology.destinations.size()));
  // The block to neighbour i of a grid's dimension comes from the other side; a pair that meets twice (a short
  // periodic dimension) is told apart by the order of its messages, so receives are posted in the senders' order.
  const bool grid = topology.kind == MPI_CART;
  for (std::size_t i = 0; i < topology.sources.size(); ++i) {
    const std::size_t slot = grid ? i ^ 1U : i;
    const int from = topology.sources[slot];
    if (from == MPI_PROC_NULL) continue;
    call.start_receive(requests.emplace_back(), in.block(static_cast<int>(slot)), from);
  }
  for (std::size_t i = 0; i < topology.destinations.size(); ++i) {
    const int to = topology.destinations[i];
    if (to == MPI_PROC_NULL) continue;
    call.start_send(requests.emplace_back(), out.block(static_cast<int>(i)), to);
  }
  call.wait(requests);
}

}  // namespace corewise::simmpi

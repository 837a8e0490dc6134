// The algorithms, with the peers of room pattern's schedules; and their table.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "pattern/knomial.hpp"
#include "pattern/schedule.hpp"
#include "replay/collectives.hpp"
#include "simmpi/messages/transport.hpp"
#include "simmpi/world.hpp"

namespace corewise::replay {
namespace {

namespace schedule = pattern::schedule;
using schedule::Knomial;
using schedule::nobody;
using schedule::Peers;
using simmpi::Context;
using simmpi::Data;
using simmpi::Request;

/// Blocks up to this many bytes go by Bruck's algorithms, as in room simmpi.
constexpr std::int64_t kShortBlock = 256;

Data bytes_of(std::int64_t bytes) {
  return simmpi::bytes_at(nullptr, bytes);
}

/// Both at once, as far as there is a peer. Returns the bytes that came.
std::int64_t exchange(Context& call, std::int64_t bytes, Peers peers) {
  Request receiving;
  Request sending;
  std::array<Request*, 2> both{};
  if (peers.from != nobody) {
    call.start_receive(receiving, bytes_of(kAnySize), peers.from);
    both[0] = &receiving;
  }
  if (peers.to != nobody) {
    call.start_send(sending, bytes_of(bytes), peers.to);
    both[1] = &sending;
  }
  simmpi::World::here().transport().wait_all(call.actor, both);
  return receiving.outcome.bytes;
}

void send(Context& call, std::int64_t bytes, int to) {
  exchange(call, bytes, {to, nobody});
}

std::int64_t receive(Context& call, int from) {
  return exchange(call, 0, {nobody, from});
}

/// Sends and receives that are under way together.
class Batch {
 public:
  Batch(Context& call, std::size_t most) : call_(call) { requests_.reserve(most); }
  void send(std::int64_t bytes, int to) { call_.start_send(requests_.emplace_back(), bytes_of(bytes), to); }
  void receive(int from) { call_.start_receive(requests_.emplace_back(), bytes_of(kAnySize), from); }
  /// Until all are done; the bytes that came.
  std::int64_t wait() {
    call_.wait(requests_);
    std::int64_t came = 0;
    for (const Request& request : requests_) {
      if (request.kind == Request::Kind::receive) came += request.outcome.bytes;
    }
    requests_.clear();
    return came;
  }

 private:
  Context& call_;
  std::vector<Request> requests_;
};

Knomial tree_of(const Context& call, int root) {
  return {call.size(), root, call.rank(), 2};
}

std::int64_t block_of(std::int64_t bytes, int ranks, int index) {
  return bytes / ranks + (index < bytes % ranks ? 1 : 0);
}

// ---- one to all, all to one ------------------------------------------------------------------------------

void broadcast_binomial(Context& call, const Job& job) {
  const Knomial tree = tree_of(call, job.root);
  if (tree.parent() != nobody) receive(call, tree.parent());
  Batch batch(call, static_cast<std::size_t>(tree.children()));
  tree.for_children([&](int child) { batch.send(job.bytes, child); });
  batch.wait();
}

/// The root to each: a broadcast, or a scatter, by as many messages.
void from_root_linear(Context& call, const Job& job) {
  if (call.rank() != job.root) {
    receive(call, job.root);
    return;
  }
  Batch batch(call, static_cast<std::size_t>(call.size()));
  for (int peer = 0; peer < call.size(); ++peer) {
    if (peer != job.root) batch.send(job.bytes, peer);
  }
  batch.wait();
}

void to_root_linear(Context& call, const Job& job) {
  if (call.rank() != job.root) return send(call, job.bytes, job.root);
  Batch batch(call, static_cast<std::size_t>(call.size()));
  for (int peer = 0; peer < call.size(); ++peer) {
    if (peer != job.root) batch.receive(peer);
  }
  batch.wait();
}

void reduce_binomial(Context& call, const Job& job) {
  const Knomial tree = tree_of(call, job.root);
  tree.for_children_nearest_first([&](int child) { receive(call, child); });
  if (tree.parent() != nobody) send(call, job.bytes, tree.parent());
}

void gather_binomial(Context& call, const Job& job) {
  const Knomial tree = tree_of(call, job.root);
  Batch batch(call, static_cast<std::size_t>(tree.children()));
  tree.for_children([&](int child) { batch.receive(child); });
  const std::int64_t came = batch.wait();
  if (tree.parent() != nobody) send(call, came + job.bytes, tree.parent());
}

void scatter_binomial(Context& call, const Job& job) {
  const Knomial tree = tree_of(call, job.root);
  if (tree.parent() != nobody) receive(call, tree.parent());
  Batch batch(call, static_cast<std::size_t>(tree.children()));
  tree.for_children(
      [&](int child) { batch.send(job.bytes * Knomial(call.size(), job.root, child, 2).subtree(), child); });
  batch.wait();
}

// ---- all to all ------------------------------------------------------------------------------------------

void barrier_dissemination(Context& call, const Job& /*job*/) {
  for (int step = 0; step < schedule::dissemination_steps(call.size()); ++step) {
    exchange(call, 0, schedule::dissemination_peers(call.size(), call.rank(), step));
  }
}

void barrier_tree(Context& call, const Job& /*job*/) {
  reduce_binomial(call, {});
  broadcast_binomial(call, {});
}

void all_reduce_recursive_doubling(Context& call, const Job& job) {
  for (int step = 0; step < schedule::recursive_doubling_steps(call.size()); ++step) {
    exchange(call, job.bytes, schedule::recursive_doubling_peers(call.size(), call.rank(), step));
  }
}

void all_reduce_ring(Context& call, const Job& job) {
  const int ranks = call.size();
  for (int pass = 0; pass < 2; ++pass) {  // a reduce-scatter, then an all-gather
    for (int step = 0; step < schedule::ring_steps(ranks); ++step) {
      const int block = schedule::ring_block(ranks, call.rank(), step);
      exchange(call, block_of(job.bytes, ranks, block), schedule::ring_peers(ranks, call.rank(), step));
    }
  }
}

void all_reduce_by_root(Context& call, const Job& job) {
  reduce_binomial(call, {job.bytes, 0, {}});
  broadcast_binomial(call, {job.bytes, 0, {}});
}

void all_gather_ring(Context& call, const Job& job) {
  std::int64_t held = job.bytes;
  for (int step = 0; step < schedule::ring_steps(call.size()); ++step) {
    held = exchange(call, held, schedule::ring_peers(call.size(), call.rank(), step));
  }
}

void all_gather_bruck(Context& call, const Job& job) {
  for (int step = 0; step < schedule::bruck_steps(call.size()); ++step) {
    const std::int64_t blocks = schedule::bruck_all_gather_blocks(call.size(), step);
    exchange(call, blocks * job.bytes, schedule::bruck_all_gather_peers(call.size(), call.rank(), step));
  }
}

void all_gather_recursive_doubling(Context& call, const Job& job) {
  const int ranks = call.size();
  for (int step = 0; step < schedule::recursive_doubling_steps(ranks); ++step) {
    const std::int64_t blocks = schedule::recursive_doubling_block_count(ranks, call.rank(), step);
    exchange(call, blocks * job.bytes, schedule::recursive_doubling_peers(ranks, call.rank(), step));
  }
}

void all_gather_by_size(Context& call, const Job& job) {
  job.bytes <= kShortBlock ? all_gather_bruck(call, job) : all_gather_ring(call, job);
}

void all_to_all_pairwise(Context& call, const Job& job) {
  for (int step = 0; step < schedule::pairwise_exchange_steps(call.size()); ++step) {
    exchange(call, job.bytes, schedule::pairwise_exchange_peers(call.size(), call.rank(), step));
  }
}

void all_to_all_bruck(Context& call, const Job& job) {
  for (int step = 0; step < schedule::bruck_steps(call.size()); ++step) {
    const std::int64_t blocks = schedule::bruck_all_to_all_offset_count(call.size(), step);
    exchange(call, blocks * job.bytes, schedule::bruck_all_to_all_peers(call.size(), call.rank(), step));
  }
}

/// All at once, each rank beginning with the one after it.
void all_to_all_linear(Context& call, const Job& job) {
  const int ranks = call.size();
  Batch batch(call, static_cast<std::size_t>(2 * ranks));
  for (int i = 1; i < ranks; ++i) batch.receive((call.rank() - i + ranks) % ranks);
  for (int i = 1; i < ranks; ++i) batch.send(job.bytes, (call.rank() + i) % ranks);
  batch.wait();
}

void all_to_all_by_size(Context& call, const Job& job) {
  job.bytes <= kShortBlock ? all_to_all_bruck(call, job) : all_to_all_pairwise(call, job);
}

std::int64_t share_of(const Job& job, int peer) {
  const auto at = std::lower_bound(job.shares.begin(), job.shares.end(), peer,
                                   [](const Share& share, int wanted) { return share.peer < wanted; });
  return at != job.shares.end() && at->peer == peer ? at->bytes : 0;
}

void shares_pairwise(Context& call, const Job& job) {
  for (int step = 0; step < schedule::pairwise_exchange_steps(call.size()); ++step) {
    const Peers peers = schedule::pairwise_exchange_peers(call.size(), call.rank(), step);
    exchange(call, peers.to == nobody ? 0 : share_of(job, peers.to), peers);
  }
}

void shares_linear(Context& call, const Job& job) {
  const int ranks = call.size();
  Batch batch(call, static_cast<std::size_t>(2 * ranks));
  for (int i = 1; i < ranks; ++i) batch.receive((call.rank() - i + ranks) % ranks);
  for (int i = 1; i < ranks; ++i) {
    const int peer = (call.rank() + i) % ranks;
    batch.send(share_of(job, peer), peer);
  }
  batch.wait();
}

/// To the neighbours and from them: who is sent to is taken to send too.
void shares_to_neighbours(Context& call, const Job& job) {
  Batch batch(call, 2 * job.shares.size());
  for (const Share& share : job.shares) batch.receive(share.peer);
  for (const Share& share : job.shares) batch.send(share.bytes, share.peer);
  batch.wait();
}

void reduce_scatter_pairwise(Context& call, const Job& job) {
  all_to_all_pairwise(call, job);
}

void reduce_scatter_by_root(Context& call, const Job& job) {
  reduce_binomial(call, {job.bytes * call.size(), 0, {}});
  scatter_binomial(call, {job.bytes, 0, {}});
}

// ---- prefixes --------------------------------------------------------------------------------------------

void scan_recursive_doubling(Context& call, const Job& job) {
  for (int distance = 1; distance < call.size(); distance *= 2) {
    const int to = call.rank() + distance < call.size() ? call.rank() + distance : nobody;
    const int from = call.rank() >= distance ? call.rank() - distance : nobody;
    exchange(call, job.bytes, {to, from});
  }
}

void scan_chain(Context& call, const Job& job) {
  if (call.rank() > 0) receive(call, call.rank() - 1);
  if (call.rank() + 1 < call.size()) send(call, job.bytes, call.rank() + 1);
}

// ---- the table -------------------------------------------------------------------------------------------

constexpr std::string_view kTree = "a binomial tree";
constexpr std::string_view kLinear = "a message for each rank";
constexpr std::string_view kPairwise = "pairwise exchange";
constexpr std::string_view kDoubling = "recursive doubling";

constexpr AlgorithmRow kRows[] = {
    {"barrier", "dissemination", &barrier_dissemination, "dissemination"},
    {"barrier", "tree", &barrier_tree, "up and down a binomial tree"},
    {"bcast", "binomial", &broadcast_binomial, kTree},
    {"bcast", "linear", &from_root_linear, kLinear},
    {"scatter", "binomial", &scatter_binomial, kTree},
    {"scatter", "linear", &from_root_linear, kLinear},
    {"scatterv", "linear", &from_root_linear, kLinear},
    {"reduce", "binomial", &reduce_binomial, kTree},
    {"reduce", "linear", &to_root_linear, kLinear},
    {"gather", "binomial", &gather_binomial, kTree},
    {"gather", "linear", &to_root_linear, kLinear},
    {"gatherv", "linear", &to_root_linear, kLinear},
    {"gatherv", "binomial", &gather_binomial, kTree},
    {"allreduce", "recursive_doubling", &all_reduce_recursive_doubling, kDoubling},
    {"allreduce", "ring", &all_reduce_ring, "a ring, twice round"},
    {"allreduce", "reduce_broadcast", &all_reduce_by_root, "up and down a binomial tree"},
    {"allgather", "by_size", &all_gather_by_size, "Bruck up to 256 bytes, then a ring"},
    {"allgather", "bruck", &all_gather_bruck, "Bruck"},
    {"allgather", "ring", &all_gather_ring, "a ring"},
    {"allgather", "recursive_doubling", &all_gather_recursive_doubling, kDoubling},
    {"allgatherv", "ring", &all_gather_ring, "a ring"},
    {"alltoall", "by_size", &all_to_all_by_size, "Bruck up to 256 bytes, then pairwise exchange"},
    {"alltoall", "bruck", &all_to_all_bruck, "Bruck"},
    {"alltoall", "pairwise", &all_to_all_pairwise, kPairwise},
    {"alltoall", "linear", &all_to_all_linear, kLinear},
    {"alltoallv", "pairwise", &shares_pairwise, kPairwise},
    {"alltoallv", "linear", &shares_linear, kLinear},
    {"alltoallw", "pairwise", &shares_pairwise, kPairwise},
    {"alltoallw", "linear", &shares_linear, kLinear},
    {"reduce_scatter", "pairwise", &reduce_scatter_pairwise, kPairwise},
    {"reduce_scatter", "reduce_scatter", &reduce_scatter_by_root, "a reduce, then a scatter"},
    {"reduce_scatter_block", "pairwise", &reduce_scatter_pairwise, kPairwise},
    {"reduce_scatter_block", "reduce_scatter", &reduce_scatter_by_root, "a reduce, then a scatter"},
    {"scan", "recursive_doubling", &scan_recursive_doubling, kDoubling},
    {"scan", "chain", &scan_chain, "a chain"},
    {"exscan", "recursive_doubling", &scan_recursive_doubling, kDoubling},
    {"exscan", "chain", &scan_chain, "a chain"},
    {"neighbor_allgather", "linear", &shares_to_neighbours, kLinear},
    {"neighbor_allgatherv", "linear", &shares_to_neighbours, kLinear},
    {"neighbor_alltoall", "linear", &shares_to_neighbours, kLinear},
    {"neighbor_alltoallv", "linear", &shares_to_neighbours, kLinear},
    {"neighbor_alltoallw", "linear", &shares_to_neighbours, kLinear},
};

}  // namespace

std::span<const AlgorithmRow> algorithm_rows() {
  return kRows;
}

}  // namespace corewise::replay

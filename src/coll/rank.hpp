// Rank: what a rank keeps between collective calls: its channels to every peer, its eager slots, its buffers, the
// closing barrier. Every rank of a port makes one with the same shape, and makes the same calls in the same order
// (as MPI demands of a communicator).
//
// At the end of a call no peer will touch the rank's buffers again and nothing of its own is under way into user
// memory, its own or a peer's (port::DirectWrite); what may still be under way are lines.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>

#include "coll/barrier/pairwise_exchange.hpp"
#include "coll/building/channels.hpp"
#include "coll/building/cost.hpp"
#include "coll/building/eager.hpp"
#include "coll/building/partners.hpp"
#include "coll/building/shape.hpp"
#include "coll/building/stage.hpp"
#include "coll/call.hpp"

namespace corewise::coll {

template <port::Port P>
struct Rank {
  /// `after_put` of the closing barrier.
  Rank(P& on, const Shape& of, barrier::AfterPut after_put = barrier::AfterPut::waits_too)
      : port(on),
        shape(of),
        partners(of.all_pairs() ? nullptr : std::make_unique<Partners>(of.ranks, on.rank())),
        barrier_flags(on, of.barrier_lines(), entries()),
        announcements(on, of.announcements(), entries()),
        acknowledgements(on, of.acknowledgements(), entries()),
        eager(on, of, partners.get()),
        stage(on, of),
        closing_barrier(on, port::Line16{0}, kClosingTag, 0, after_put) {
    static_assert(sizeof(closing_barrier) <= kClosingBarrierBytes);
    assert(on.size() == of.ranks && on.layout() == of.layout());
    assert(of.ranks <= kMostRanks && closing_barrier.lines_needed(of.ranks) < of.barrier_lines());
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  [[nodiscard]] int rank() const { return port.rank(); }
  [[nodiscard]] int size() const { return port.size(); }

  /// Every rank but `first`, the one after it first; none where there is one rank.
  template <class Visit>
  void for_others(int first, Visit visit) {
    for (int step = 1; step < size(); ++step) {
      port.compute(cost::kPeer);
      visit((first + step) % size());
    }
  }

  /// Of the trees of a call.
  [[nodiscard]] int degree(const Parameters& parameters) const { return shape.tree_degree(parameters.degree); }

  /// The last thing of a call.
  void close(const Parameters& parameters) {
    if (parameters.closing == Closing::barrier) closing_barrier();
  }

  P& port;
  const Shape shape;
  const std::unique_ptr<const Partners> partners;  ///< null: lines between all ranks
  Channels<P> barrier_flags;                       ///< the barriers' own metadata
  Channels<P> announcements;                       ///< sender to receiver: there is data, here is an address
  Channels<P> acknowledgements;                    ///< receiver to sender: it has been read
  Eager<P> eager;
  Stage<P> stage;
  barrier::PairwiseExchange<P> closing_barrier;
  port::Sequence releases = 0;   ///< of barriers that rank 0 ended by a DMA list
  std::uint64_t lent_calls = 0;  ///< those done in memory that ranks lent each other (building/lending.hpp)

 private:
  [[nodiscard]] Entries entries() const { return {port.rank(), partners.get(), shape.entry_step()}; }
};

}  // namespace corewise::coll

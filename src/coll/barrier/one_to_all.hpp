// OTA, one to all (paper 001, section 5.1): every rank sets its flag at rank 0, which sets one at every rank: by
// one put each, or by one DMA list. Rank 0 has seen all before it tells anybody.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cassert>

#include "coll/barrier/flags.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::barrier {

/// Rank 0 to all: one put each.
template <port::Port P>
void release_by_puts(Rank<P>& me, const Parameters& parameters) {
  if (me.rank() != 0) {
    me.barrier_flags.hear(0);
    return;
  }
  FlagTags tags;
  for (int peer = 1; peer < me.size(); ++peer) {
    me.port.compute(cost::kPeer);
    me.barrier_flags.tell(peer);
    tags.add(peer);
  }
  settle(me, tags.mask(), parameters);
}

/// Rank 0 to all: one list (at most 16 ranks). It has a line and a number of its own: a list is one command under
/// one tag with one number for all, whereas entries of the metadata array have theirs by peer.
template <port::Port P>
  requires port::DmaLists<P>
void release_by_list(Rank<P>& me, const Parameters& parameters) {
  constexpr port::Line16 kLine{kReleaseLine};
  const port::Sequence number = ++me.releases;
  if (me.rank() != 0) {
    port::wait_line(me.port, kLine, number);
    me.port.compute(cost::kHear);
    return;
  }
  constexpr std::size_t kMostPeers = 16;
  assert(static_cast<std::size_t>(me.size()) <= kMostPeers + 1);
  std::array<int, kMostPeers> peers{};
  std::size_t count = 0;
  for (int peer = 1; peer < me.size(); ++peer) {
    me.port.compute(cost::kPeer + cost::kTell);  // an element of the list and its copy of the flag
    peers[count++] = peer;
  }
  me.port.put_line_list(std::span(peers).first(count), kLine, number, {}, kReleaseTag);
  settle(me, port::mask_of(kReleaseTag), parameters);
}

template <port::Port P>
void release(Rank<P>& me, const Parameters& parameters) {
  if constexpr (port::DmaLists<P>) {
    if (parameters.list) return release_by_list(me, parameters);
  }
  release_by_puts(me, parameters);
}

template <port::Port P>
void one_to_all(Rank<P>& me, const Call<P>& /*call*/, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (me.rank() != 0) {
    raise(me, 0, parameters);
  } else {
    for (int peer = 1; peer < me.size(); ++peer) {
      me.port.compute(cost::kPeer);
      me.barrier_flags.hear(peer);
    }
  }
  release(me, parameters);
}

}  // namespace corewise::coll::barrier

// Eager all-gather: every rank's block rides to all others in the write of the metadata (paper 001, section 8,
// future work i); a rank stores adjacent ones together. Each pair exchanges one message, so nobody
// waits for more than the blocks and nothing is acknowledged: no closing barrier.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "coll/building/eager_blocks.hpp"

namespace corewise::coll::allgather {

/// The own block where it can be sent from.
template <port::Port P>
std::span<const std::byte> own_block(Rank<P>& me, const Call<P>& call) {
  const auto bytes = static_cast<std::uint32_t>(call.bytes);
  if constexpr (port::UserMemoryAtHand<P>) return {call.send, bytes};
  const port::StageOffset at = low_bits(call.send) % P::kCopyAlignment;
  me.stage.load(call.send, at, bytes, buffer_tag(0));
  me.port.wait(port::mask_of(buffer_tag(0)));
  return me.stage.bytes(at, bytes);
}

template <port::Port P>
[[gnu::flatten]] void eager(Rank<P>& me, const Call<P>& call, const Parameters& /*parameters*/) {
  const Blocks& blocks = call.receive_blocks;
  const auto mine = static_cast<std::uint32_t>(call.bytes);
  me.port.compute(cost::kCall);
  const std::span<const std::byte> block = own_block(me, call);
  for (int step = 1; step < me.size(); ++step) {
    me.port.compute(cost::kPeer);
    me.eager.send((me.rank() + step) % me.size(), block);
  }
  EagerStore<P> store(me);
  for (int peer = 0; peer < me.size(); ++peer) {
    const std::span<std::byte> into =
        store.place(call.receive + blocks.offset(peer), static_cast<std::uint32_t>(blocks.bytes(peer)));
    me.port.compute(cost::kPeer);
    if (peer == me.rank()) {
      if (into.data() != block.data()) kernels::copy(into.data(), block.data(), mine, kernels::Audience::self);
      me.port.compute(cost::shift(mine));
    } else {
      me.eager.receive_exchanged(peer, into);
    }
  }
  store.finish();
}

}  // namespace corewise::coll::allgather

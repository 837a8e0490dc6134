// Direct all-to-all, after broadcast AG (paper 001, section 6): every rank tells all others where their blocks are,
// and copies its blocks from all, beginning with the peer after it; small blocks together, double buffered. A block
// of no bytes is not announced.
//
// Without a closing barrier a rank tells each other one when it has its block, and waits for all to have theirs;
// then its own announcements have been read too. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/building/relay.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::alltoall {

template <port::DirectRead P>
void direct(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const Blocks& sends = call.send_blocks;
  const Blocks& receives = call.receive_blocks;
  const auto for_blocks = [&](const Blocks& blocks, auto visit) {
    for (int step = 1; step < me.size(); ++step) {
      const int peer = (me.rank() + step) % me.size();
      me.port.compute(cost::kPeer);
      if (blocks.bytes(peer) > 0) visit(peer);
    }
  };
  typename P::ConstUserAddress from{};  // of the block that is being loaded
  const auto load = [&](int peer, std::uint64_t at, port::StageOffset stage, std::uint32_t bytes, port::Tag tag) {
    if (peer == me.rank()) return me.stage.load(from + at, stage, bytes, tag);
    me.stage.read(peer, from + at, stage, bytes, tag);
  };
  const auto store = [&](int peer, std::uint64_t at, port::StageOffset stage, std::uint32_t bytes, port::Tag tag) {
    me.stage.store(stage, call.receive + receives.offset(peer) + at, bytes, tag);
  };

  me.port.compute(cost::kCall);
  for_blocks(sends, [&](int peer) {
    me.announcements.tell_value(peer, typename P::ConstUserAddress(call.send + sends.offset(peer)));
  });
  Relay relay(me, parameters, load, store);
  const auto move = [&](int peer, std::uint64_t bytes) {
    relay.move(peer, 0, bytes, low_bits(from), low_bits(call.receive + receives.offset(peer)));
  };
  from = call.send + sends.offset(me.rank());
  move(me.rank(), sends.bytes(me.rank()));
  for_blocks(receives, [&](int peer) {
    from = me.announcements.template hear_value<typename P::ConstUserAddress>(peer);
    move(peer, receives.bytes(peer));
  });
  relay.finish();
  if (parameters.closing == Closing::counters) {
    for_blocks(receives, [&](int peer) { me.acknowledgements.tell(peer); });
    for_blocks(sends, [&](int peer) { me.acknowledgements.hear(peer); });
  }
  me.close(parameters);
}

}  // namespace corewise::coll::alltoall

// Gather by the root alone, after broadcast G (paper 001, section 6): the ranks tell it where their blocks are, and
// it copies them, many small ones or two buffers' worth at a time. One way less than the direct gather: best for
// small blocks. Blocks of no bytes are not announced. Without a closing barrier a rank waits until the root says
// that it has copied its block; then its announcement has been read too. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/building/relay.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::gather {

template <port::DirectRead P>
void root_copies_at_root(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const Blocks& blocks = call.receive_blocks;
  typename P::ConstUserAddress from{};  // of the block that is being loaded
  const auto load = [&](int peer, std::uint64_t at, port::StageOffset stage, std::uint32_t bytes, port::Tag tag) {
    me.stage.read(peer, from + at, stage, bytes, tag);
  };
  const auto store = [&](int peer, std::uint64_t at, port::StageOffset stage, std::uint32_t bytes, port::Tag tag) {
    me.stage.store(stage, call.receive + blocks.offset(peer) + at, bytes, tag);
  };
  copy_own(me, parameters, call.send, call.receive + blocks.offset(call.root), blocks.bytes(call.root));
  Relay relay(me, parameters, load, store);
  const auto for_owners = [&](auto visit) {
    for (int step = 1; step < me.size(); ++step) {
      const int peer = (call.root + step) % me.size();
      me.port.compute(cost::kPeer);
      if (blocks.bytes(peer) > 0) visit(peer);
    }
  };
  for_owners([&](int peer) {
    from = me.announcements.template hear_value<typename P::ConstUserAddress>(peer);
    relay.move(peer, 0, blocks.bytes(peer), low_bits(from), low_bits(call.receive + blocks.offset(peer)));
  });
  relay.finish();
  if (parameters.closing == Closing::counters) for_owners([&](int peer) { me.acknowledgements.tell(peer); });
}

template <port::DirectRead P>
void root_copies(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (me.rank() == call.root) {
    root_copies_at_root(me, call, parameters);
  } else if (call.bytes > 0) {
    me.announcements.tell_value(call.root, call.send);
    if (parameters.closing == Closing::counters) me.acknowledgements.hear(call.root);
  }
  me.close(parameters);
}

}  // namespace corewise::coll::gather

// Scatter by the root alone, after broadcast G (paper 001, section 6): the ranks tell it where their blocks go, and
// it writes them there, many small ones or two buffers' worth at a time; it loads before it knows the places.
// Blocks of no bytes are not announced. Without a closing barrier a rank waits until the root says that its block
// is there; then its announcement has been read too. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/building/relay.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::scatter {

template <port::DirectWrite P>
void root_copies_at_root(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const Blocks& blocks = call.send_blocks;
  typename P::UserAddress to{};  // of the block that is being stored; they come in order, each begins at 0
  const auto load = [&](int peer, std::uint64_t at, port::StageOffset stage, std::uint32_t bytes, port::Tag tag) {
    me.stage.load(call.send + blocks.offset(peer) + at, stage, bytes, tag);
  };
  const auto store = [&](int peer, std::uint64_t at, port::StageOffset stage, std::uint32_t bytes, port::Tag tag) {
    if (at == 0) to = me.announcements.template hear_value<typename P::UserAddress>(peer);
    me.stage.write(peer, stage, to + at, bytes, tag);
  };
  Relay relay(me, parameters, load, store);
  const auto for_owners = [&](auto visit) {
    for (int step = 1; step < me.size(); ++step) {
      const int peer = (call.root + step) % me.size();
      me.port.compute(cost::kPeer);
      if (blocks.bytes(peer) > 0) visit(peer);
    }
  };
  for_owners([&](int peer) { relay.move(peer, 0, blocks.bytes(peer), low_bits(call.send + blocks.offset(peer))); });
  relay.finish();
  if (parameters.closing == Closing::counters) for_owners([&](int peer) { me.acknowledgements.tell(peer); });
  copy_own(me, parameters, call.send + blocks.offset(call.root), call.receive, blocks.bytes(call.root));
}

template <port::DirectWrite P>
void root_copies(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (me.rank() == call.root) {
    root_copies_at_root(me, call, parameters);
  } else if (call.bytes > 0) {
    me.announcements.tell_value(call.root, call.receive);
    if (parameters.closing == Closing::counters) me.acknowledgements.hear(call.root);
  }
  me.close(parameters);
}

}  // namespace corewise::coll::scatter

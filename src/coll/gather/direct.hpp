// Direct gather, after broadcast OTA (paper 001, section 6): the root tells every rank where its block goes, and
// every rank writes it there, all at once, double buffered. A rank loads its first piece before it knows the place,
// unless it may have to shift it.
// Blocks of no bytes are not announced. Without a closing barrier the root waits for a word from each rank, which
// also says that the announcement has been read. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/building/relay.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::gather {

template <port::DirectWrite P>
void direct_root(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const Blocks& blocks = call.receive_blocks;
  const auto for_writers = [&](auto visit) {
    for (int step = 1; step < me.size(); ++step) {
      const int peer = (call.root + step) % me.size();
      me.port.compute(cost::kPeer);
      if (blocks.bytes(peer) > 0) visit(peer);
    }
  };
  for_writers([&](int peer) {
    me.announcements.tell_value(peer, typename P::UserAddress(call.receive + blocks.offset(peer)));
  });
  copy_own(me, parameters, call.send, call.receive + blocks.offset(call.root), blocks.bytes(call.root));
  if (parameters.closing == Closing::counters) for_writers([&](int peer) { me.acknowledgements.hear(peer); });
}

template <port::DirectWrite P>
void direct_rank(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  typename P::UserAddress to{};
  bool told = false;
  const auto load = [&](int, std::uint64_t at, port::StageOffset stage, std::uint32_t bytes, port::Tag tag) {
    me.stage.load(call.send + at, stage, bytes, tag);
  };
  const auto hear_place = [&] {
    if (!told) to = me.announcements.template hear_value<typename P::UserAddress>(call.root);
    told = true;
  };
  const auto store = [&](int, std::uint64_t at, port::StageOffset stage, std::uint32_t bytes, port::Tag tag) {
    hear_place();
    me.stage.write(call.root, stage, to + at, bytes, tag);
  };
  Relay relay(me, parameters, load, store);
  if (call.bytes % P::kCopyAlignment != 0) hear_place();  // most places are then aligned otherwise than the block
  relay.move(0, 0, call.bytes, low_bits(call.send), told ? low_bits(to) : low_bits(call.send));
  relay.finish();
  if (parameters.closing == Closing::counters) me.acknowledgements.tell(call.root);
}

template <port::DirectWrite P>
void direct(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (me.rank() == call.root) {
    direct_root(me, call, parameters);
  } else if (call.bytes > 0) {
    direct_rank(me, call, parameters);
  }
  me.close(parameters);
}

}  // namespace corewise::coll::gather

// Direct scatter, after broadcast OTA (paper 001, section 6): the root tells every rank where its block is, and
// every rank copies it, all at once, double buffered. Blocks of no bytes are not announced. Without a closing
// barrier the root waits for a word from each rank, which also says that the announcement has been read.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/building/relay.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::scatter {

template <port::DirectRead P>
void direct_root(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const Blocks& blocks = call.send_blocks;
  const auto for_readers = [&](auto visit) {
    for (int step = 1; step < me.size(); ++step) {
      const int peer = (call.root + step) % me.size();
      me.port.compute(cost::kPeer);
      if (blocks.bytes(peer) > 0) visit(peer);
    }
  };
  for_readers([&](int peer) {
    me.announcements.tell_value(peer, typename P::ConstUserAddress(call.send + blocks.offset(peer)));
  });
  copy_own(me, parameters, call.send + blocks.offset(call.root), call.receive, blocks.bytes(call.root));
  if (parameters.closing == Closing::counters) for_readers([&](int peer) { me.acknowledgements.hear(peer); });
}

template <port::DirectRead P>
void direct_rank(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const auto from = me.announcements.template hear_value<typename P::ConstUserAddress>(call.root);
  const auto load = [&](int, std::uint64_t at, port::StageOffset stage, std::uint32_t bytes, port::Tag tag) {
    me.stage.read(call.root, from + at, stage, bytes, tag);
  };
  const auto store = [&](int, std::uint64_t at, port::StageOffset stage, std::uint32_t bytes, port::Tag tag) {
    me.stage.store(stage, call.receive + at, bytes, tag);
  };
  Relay relay(me, parameters, load, store);
  relay.move(0, 0, call.bytes, low_bits(from), low_bits(call.receive));
  relay.finish();
  if (parameters.closing == Closing::counters) me.acknowledgements.tell(call.root);
}

template <port::DirectRead P>
void direct(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (me.rank() == call.root) {
    direct_root(me, call, parameters);
  } else if (call.bytes > 0) {
    direct_rank(me, call, parameters);
  }
  me.close(parameters);
}

}  // namespace corewise::coll::scatter

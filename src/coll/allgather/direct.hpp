// Direct all-gather, after broadcast AG (paper 001, section 6): every rank tells all others where its copy of their
// block goes, loads its own block once and writes it to all, double buffered. So memory reads every block once and
// writes it once per rank. Ranks begin with the peer after them. A block of no bytes is not announced.
//
// Without a closing barrier each rank tells all others when their copy is there and waits for theirs; then its own
// announcements have been read too. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "coll/building/relay.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::allgather {

template <port::DirectWrite P>
void direct(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  const Blocks& blocks = call.receive_blocks;
  const auto for_peers = [&](auto visit) {
    for (int step = 1; step < me.size(); ++step) {
      me.port.compute(cost::kPeer);
      visit((me.rank() + step) % me.size());
    }
  };
  bool told = false;
  std::vector<typename P::UserAddress> places(static_cast<std::size_t>(me.size()));
  const auto hear_places = [&] {
    told = true;
    for_peers([&](int peer) {
      places[static_cast<std::size_t>(peer)] = me.announcements.template hear_value<typename P::UserAddress>(peer);
    });
    places[static_cast<std::size_t>(me.rank())] = call.receive + blocks.offset(me.rank());
  };
  const bool in_place = call.send == typename P::ConstUserAddress(call.receive + blocks.offset(me.rank()));
  const auto load = [&](int, std::uint64_t at, port::StageOffset stage, std::uint32_t bytes, port::Tag tag) {
    me.stage.load(call.send + at, stage, bytes, tag);
  };
  const auto store = [&](int, std::uint64_t at, port::StageOffset stage, std::uint32_t bytes, port::Tag tag) {
    if (!told) hear_places();
    for_peers(
        [&](int peer) { me.stage.write(peer, stage, places[static_cast<std::size_t>(peer)] + at, bytes, tag); });
    if (!in_place) me.stage.store(stage, places[static_cast<std::size_t>(me.rank())] + at, bytes, tag);
  };

  me.port.compute(cost::kCall);
  for_peers([&](int peer) {
    if (blocks.bytes(peer) == 0) return;
    me.announcements.tell_value(peer, typename P::UserAddress(call.receive + blocks.offset(peer)));
  });
  Relay relay(me, parameters, load, store);
  relay.move(0, 0, call.bytes, low_bits(call.send), low_bits(call.receive + blocks.offset(me.rank())));
  relay.finish();
  if (parameters.closing == Closing::counters) {
    if (call.bytes > 0) for_peers([&](int peer) { me.acknowledgements.tell(peer); });
    for_peers([&](int peer) {
      if (blocks.bytes(peer) > 0) me.acknowledgements.hear(peer);
    });
  }
  me.close(parameters);
}

}  // namespace corewise::coll::allgather

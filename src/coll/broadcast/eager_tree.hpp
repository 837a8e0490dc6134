// The data inside the metadata entries, down a tree (paper 001, section 8, future work i and ii): no fetch after
// the announcement, no closing barrier, acknowledgements late (eager.hpp). For what fits into eager slots.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "coll/broadcast/double_buffering.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::broadcast {

template <port::Port P>
[[gnu::flatten]] void eager_tree(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes > 0) {
    const Knomial place = tree_of(me, call, parameters);
    const int parent = place.parent();
    const auto bytes = static_cast<std::uint32_t>(call.bytes);
    const port::Tag tag = buffer_tag(0);
    const port::StageOffset at = me.stage.buffer(0) + skew_of<P>(own_data(me, call));
    std::byte* const direct = me.stage.in_place(own_data(me, call), own_stride(me, call), bytes);
    const std::span<std::byte> data = direct != nullptr ? std::span(direct, bytes) : me.stage.bytes(at, bytes);
    const bool loads = parent == nobody && direct == nullptr;
    if (loads) me.stage.load_strided(call.send, call.send_stride, 0, at, bytes, tag);
    // Where data have to come first, what needs none is done meanwhile.
    std::array<std::uint16_t, kMostRanks> prepared;
    std::size_t children = 0;
    if constexpr (!port::UserMemoryAtHand<P>) {
      place.for_children([&](int child) {
        me.port.compute(cost::kPeer);
        me.eager.prepare(child);
        prepared[children++] = static_cast<std::uint16_t>(child);
      });
    }
    if (parent != nobody) me.eager.receive(parent, data);
    if (loads) me.port.wait(port::mask_of(tag));
    if constexpr (port::UserMemoryAtHand<P>) {
      place.for_children([&](int child) { me.eager.send(child, data); });
    }
    for (std::size_t child = 0; child < children; ++child) me.eager.send_prepared(prepared[child], data);
    if (parent != nobody) {
      if (direct == nullptr) me.stage.store_strided(at, call.receive, call.receive_stride, 0, bytes, tag);
      me.eager.acknowledge(parent);
      me.port.wait(port::mask_of(tag));
    }
  }
  me.close(parameters);
}

}  // namespace corewise::coll::broadcast

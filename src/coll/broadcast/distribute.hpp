// From one source through a rank's buffers to many destinations: what G and AG do with the part of the data that is
// theirs (paper 001, section 6.1). Each piece is brought in once and written to all, double buffered.
//
// Where the call ends by counters every destination is acknowledged when all its data are there: with `fenced` the
// last piece and the acknowledgement go under one tag, so that nothing waits between them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "coll/broadcast/double_buffering.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::broadcast {

template <class Address>
struct Destination {
  int rank = nobody;
  Address at{};
};

/// Cut by cut from `source`, memory of rank `owner`, to the destinations. On return everything is complete.
template <port::Port P, class List>
  requires port::DirectWrite<P>
void distribute(Rank<P>& me, int owner, typename P::ConstUserAddress source, const List& cuts,
                const Parameters& parameters,
                const std::vector<Destination<typename P::UserAddress>>& destinations) {
  const bool acknowledges = parameters.closing == Closing::counters;
  const std::uint64_t count = cuts.count();
  port::TagMask buffers = 0, entries = 0;
  for (int buffer = 0; buffer < turns(me, parameters); ++buffer) buffers |= port::mask_of(buffer_tag(buffer));
  for (const auto& destination : destinations) entries |= port::mask_of(metadata_tag(destination.rank));

  const auto acknowledge = [&] {
    for (const auto& destination : destinations) {
      if (destination.rank == me.rank()) continue;
      me.port.compute(cost::kPeer);
      me.acknowledgements.tell(destination.rank);
    }
  };
  const auto fill = [&](const Cut& cut, port::StageOffset place, port::Tag tag) {
    if (owner == me.rank()) {
      me.stage.load(source + cut.at, place, cut.bytes, tag);
      return;
    }
    if constexpr (port::DirectRead<P>) me.stage.read(owner, source + cut.at, place, cut.bytes, tag);
  };
  std::uint64_t emptied = 0;
  const auto empty = [&](const Cut& cut, port::StageOffset place, port::Tag tag) {
    const bool under_entries = ++emptied == count && acknowledges && parameters.fenced;
    for (const auto& destination : destinations) {
      me.port.compute(cost::kPeer);
      me.stage.write(destination.rank, place, destination.at + cut.at, cut.bytes,
                     under_entries ? metadata_tag(destination.rank) : tag);
    }
    if (!under_entries) return;
    me.port.wait(buffers);
    acknowledge();
    me.port.wait(entries);
  };
  through_buffers(me, cuts, parameters, fill, empty);
  if (acknowledges && (!parameters.fenced || count == 0)) acknowledge();
}

}  // namespace corewise::coll::broadcast

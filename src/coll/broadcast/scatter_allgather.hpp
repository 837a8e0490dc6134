// Van de Geijn's broadcast for long messages (paper 001, section 6.4, its reference 10) over send and receive: a
// part of the data for every rank down a binomial tree, then all parts around a ring. The root, which has all, only
// sends in the ring.
//
// A part lies in its place of the destination from the start, so nothing is copied twice. Send and receive leave
// the buffers free: no barrier is needed. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "coll/broadcast/double_buffering.hpp"
#include "coll/building/point_to_point.hpp"

namespace corewise::coll::broadcast {

/// The data in equal parts of whole lines by place from the root on; the last ones may be shorter or empty.
class RingParts {
 public:
  RingParts(std::uint64_t bytes, int ranks)
      : bytes_(bytes),
        ranks_(ranks),
        part_((bytes + static_cast<std::uint64_t>(ranks) * kLine - 1) /
              (static_cast<std::uint64_t>(ranks) * kLine) * kLine) {}

  [[nodiscard]] std::uint64_t at(int place) const {
    return std::min(bytes_, static_cast<std::uint64_t>(place) * part_);
  }
  [[nodiscard]] std::uint64_t bytes(int first, int last) const { return at(last) - at(first); }
  /// Any integer as a place.
  [[nodiscard]] int wrap(int place) const { return (place % ranks_ + ranks_) % ranks_; }

 private:
  static constexpr std::uint64_t kLine = port::Line128::kBytes;
  std::uint64_t bytes_;
  int ranks_;
  std::uint64_t part_;
};

template <port::Port P>
void scatter_parts(Rank<P>& me, const Call<P>& call, const RingParts& parts) {
  const auto node = [&](int rank) { return Knomial(me.size(), call.root, rank, 2); };
  const auto place_of = [&](int rank) { return parts.wrap(rank - call.root); };
  const auto bytes_below = [&](int rank) {
    return parts.bytes(place_of(rank), place_of(rank) + node(rank).subtree());
  };
  const Knomial tree = node(me.rank());
  if (tree.parent() != nobody) {
    receive(me, tree.parent(), call.receive + parts.at(place_of(me.rank())), bytes_below(me.rank()));
  }
  tree.for_children([&](int child) {
    me.port.compute(cost::kPeer);
    send(me, child, own_data(me, call) + parts.at(place_of(child)), bytes_below(child));
  });
}

template <port::Port P>
void circulate_parts(Rank<P>& me, const Call<P>& call, const RingParts& parts) {
  const int place = parts.wrap(me.rank() - call.root);
  const int last = me.size() - 1;
  for (int step = 0; step < last; ++step) {
    Part<typename P::ConstUserAddress> to;
    Part<typename P::UserAddress> from;
    if (place != last) {
      const int part = parts.wrap(place - step);
      to = {(me.rank() + 1) % me.size(), own_data(me, call) + parts.at(part), parts.bytes(part, part + 1)};
    }
    if (place != 0) {
      const int part = parts.wrap(place - step - 1);
      from = {(me.rank() + last) % me.size(), call.receive + parts.at(part), parts.bytes(part, part + 1)};
    }
    send_receive(me, to, from);
  }
}

template <port::Port P>
void scatter_allgather(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes > 0) {
    const RingParts parts(call.bytes, me.size());
    scatter_parts(me, call, parts);
    circulate_parts(me, call, parts);
  }
  me.close(parameters);
}

}  // namespace corewise::coll::broadcast

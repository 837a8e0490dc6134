// The paper's future work (001, section 8, i and ii) for reduce: operands travel inside the writes of the metadata
// entries, up the same tree as TREE's, and no barrier closes the call. A message lies in its slot until its reader
// has acknowledged, so fast ranks may be as many calls ahead as there are slots.
//
// Order as in tree.hpp: lower ranks on the left; an operator that does not commute has its tree at rank 0.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "coll/reduce/areas.hpp"
#include "pattern/knomial.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::reduce {

/// Two places in the stage for operands of an eager message: congruent to the send buffer, so that loading is one
/// copy. User data that lie in the local store themselves are moved by the rank itself, without the DMA engine.
template <port::Port P>
class EagerOperands {
 public:
  EagerOperands(Rank<P>& me, const Call<P>& call) : me_(me), call_(call) {
    own_ = low_bits(call.send) % P::kCopyAlignment;
    other_ = me.shape.bounce() / 2 + own_;  // half of all buffers: an eager message fits into 192 bytes
  }

  void load() {
    if (const std::byte* place = in_place(call_.send)) return move(place, own().data());
    const port::Tag tag = buffer_tag(0);
    me_.stage.load(call_.send, own_, bytes(), tag);
    me_.port.wait(port::mask_of(tag));
  }
  void store() {
    if (std::byte* place = in_place(call_.receive)) return move(own().data(), place);
    const port::Tag tag = buffer_tag(0);
    me_.stage.store(own_, call_.receive, bytes(), tag);
    me_.port.wait(port::mask_of(tag));
  }
  /// What the rank has combined so far; where the next operand goes.
  [[nodiscard]] std::span<std::byte> own() { return me_.stage.bytes(own_, bytes()); }
  [[nodiscard]] std::span<std::byte> other() { return me_.stage.bytes(other_, bytes()); }
  /// own = own OP other, and own = other OP own.
  void append() {
    me_.stage.combine(*call_.operation, own_, other_, bytes());
    std::swap(own_, other_);
  }
  void prepend() { me_.stage.combine(*call_.operation, other_, own_, bytes()); }

 private:
  [[nodiscard]] std::uint32_t bytes() const { return static_cast<std::uint32_t>(call_.bytes); }

  /// Where user data are if that is in the local store, or null.
  [[nodiscard]] std::byte* in_place(typename P::ConstUserAddress user) {
    if constexpr (port::UserMemoryInPlace<P>) {
      const auto offset = me_.port.in_place(user, bytes());
      if (offset) return me_.port.stage().data() + static_cast<std::int32_t>(*offset);
    }
    return nullptr;
  }
  void move(const std::byte* from, std::byte* to) {
    std::memcpy(to, from, bytes());
    me_.port.compute(cost::shift(bytes()));
  }

  Rank<P>& me_;
  const Call<P>& call_;
  port::StageOffset own_ = 0;
  port::StageOffset other_ = 0;
};

template <port::Port P>
void eager_tree(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes == 0) return me.close(parameters);
  const int top = call.operation->commutative ? call.root : 0;
  const pattern::schedule::Knomial place(me.size(), top, me.rank(), parameters.degree,
                                         pattern::schedule::TreeOrder::halving);
  EagerOperands<P> operands(me, call);
  operands.load();
  place.for_children_nearest_first([&](int child) {
    me.port.compute(cost::kPeer);
    me.eager.receive(child, operands.other());
    me.eager.acknowledge(child);
    operands.append();
  });
  if (me.rank() != top) me.eager.send(place.parent(), operands.own());
  if (top != call.root && me.rank() == top) me.eager.send(call.root, operands.own());
  if (me.rank() == call.root) {
    if (top != call.root) {
      me.eager.receive(top, operands.own());
      me.eager.acknowledge(top);
    }
    operands.store();
  }
  me.close(parameters);
}

}  // namespace corewise::coll::reduce

// The paper's future work (001, section 8, i and ii) for reduce: operands travel inside the writes of the metadata
// entries, up the same tree as TREE's, and no barrier closes the call. A rank takes the operands of a phase's
// children before it combines any of them: they come at about the same time, those of a later phase later. A
// predefined operator takes all that are there in one call, which no algorithm of the paper's does (see
// Operation::set_up_cycles for what that assumes). A user's is called for each pair: it may count on never getting
// more elements than its program gave to the collective. A message lies in its slot until its reader has
// acknowledged, so fast ranks may be as many calls ahead as there are slots.
//
// Order as in tree.hpp: lower ranks on the left; an operator that does not commute has its tree at rank 0.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "coll/reduce/operand_buffers.hpp"
#include "kernels/copy/copy.hpp"
#include "pattern/knomial.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::reduce {

/// Operands of an eager message in the stage, side by side, the own one congruent to the send buffer so that
/// loading it is one copy. User data that lie in the local store themselves, or are at hand, are moved by the rank,
/// without the DMA engine.
template <port::Port P>
class EagerOperands {
 public:
  EagerOperands(Rank<P>& me, const Call<P>& call)
      : me_(me), call_(call), base_(low_bits(call.send) % P::kCopyAlignment) {
    assert(base_ + 2 * bytes() <= me.shape.bounce());
  }

  void load() {
    if (const std::byte* user = in_place(call_.send, call_.send_stride)) return move(user, own().data());
    const port::Tag tag = buffer_tag(0);
    me_.stage.load_strided(call_.send, call_.send_stride, 0, place(first_), bytes(), tag);
    me_.port.wait(port::mask_of(tag));
  }
  /// Stores own(); complete after finish().
  void store() {
    if (std::byte* user = in_place(call_.receive, call_.receive_stride)) return move(own().data(), user);
    me_.stage.store_strided(place(first_), call_.receive, call_.receive_stride, 0, bytes(), buffer_tag(0));
  }
  void finish() { me_.port.wait(port::mask_of(buffer_tag(0))); }
  /// The own operand is to be combined at its rank's place among the others', and next() gives the first.
  void set_aside() {
    assert(base_ + 3 * bytes() <= me_.shape.bounce());
    start_ = first_ = 1;
    count_ = 0;
  }
  void next_is_own() { move(me_.stage.bytes(place(0), bytes()).data(), next().data()); }
  /// What the rank has combined so far.
  [[nodiscard]] std::span<std::byte> own() { return me_.stage.bytes(place(first_), bytes()); }

  /// A place for one more operand, of ranks further on than all that are there.
  [[nodiscard]] std::span<std::byte> next() {
    if (place(first_ + count_ + 1) > me_.shape.bounce()) make_room();
    return me_.stage.bytes(place(first_ + count_++), bytes());
  }
  /// Combines all that are there into own().
  void fold() {
    if (count_ > 1) me_.stage.combine_row(*call_.operation, place(first_), count_, bytes());
    first_ += count_ - 1;
    count_ = 1;
  }

  /// Where the result of all comes instead.
  [[nodiscard]] std::span<std::byte> result() { return own(); }

  /// For exchanges: a place for the one operand that comes; own = own OP other, or own = other OP own.
  [[nodiscard]] std::span<std::byte> other() { return me_.stage.bytes(place(first_ ^ 1), bytes()); }
  void append() {
    me_.stage.combine(*call_.operation, place(first_), place(first_ ^ 1), bytes());
    first_ ^= 1;
  }
  void prepend() { me_.stage.combine(*call_.operation, place(first_ ^ 1), place(first_), bytes()); }

 private:
  [[nodiscard]] std::uint32_t bytes() const { return static_cast<std::uint32_t>(call_.bytes); }

  [[nodiscard]] port::StageOffset place(std::uint32_t index) const { return base_ + index * bytes(); }
  void make_room() {
    fold();
    move(own().data(), me_.stage.bytes(place(start_), bytes()).data());
    first_ = start_;
  }

  [[nodiscard]] std::byte* in_place(typename P::ConstUserAddress user, const Stride& stride) {
    return me_.stage.in_place(user, stride, bytes());
  }
  void move(const std::byte* from, std::byte* to) {
    if (from != to) kernels::copy(to, from, bytes(), kernels::Audience::self);
    me_.port.compute(cost::shift(bytes()));
  }

  Rank<P>& me_;
  const Call<P>& call_;
  port::StageOffset base_;
  std::uint32_t start_ = 0;  ///< where the row begins
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 1;
};

template <port::Port P>
[[gnu::flatten]] void eager_tree(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes == 0) return me.close(parameters);
  const int top = call.operation->commutative ? call.root : 0;
  const int degree = me.degree(parameters);
  const pattern::schedule::Knomial place(me.size(), top, me.rank(), degree, pattern::schedule::TreeOrder::halving);
  EagerOperands<P> operands(me, call);
  operands.load();
  int next_phase = degree;
  place.for_children_nearest_first([&](int child) {
    const int distance = (child - me.rank() + me.size()) % me.size();
    if (degree > 1 && distance >= next_phase) {
      next_phase *= degree;
      operands.fold();
    }
    me.port.compute(cost::kPeer);
    me.eager.receive(child, operands.next());
  });
  operands.fold();
  if (me.rank() != top) me.eager.send(place.parent(), operands.own());
  if (top != call.root && me.rank() == top) me.eager.send(call.root, operands.own());
  if (top != call.root && me.rank() == call.root) {
    me.eager.receive(top, operands.own());
    me.eager.acknowledge(top);
  }
  if (me.rank() == call.root) operands.store();
  place.for_children_nearest_first([&](int child) { me.eager.acknowledge(child); });
  operands.finish();
  me.close(parameters);
}

}  // namespace corewise::coll::reduce

// TREEMM (paper 001, section 7): the usual tree on top of MPI_Send and MPI_Recv, each a call of a library, with
// results in main memory between the steps; for comparison. A rank that has children keeps its result in the call's
// workspace (the root in its receive buffer). Children nearest first, lower ranks on the left: any operator will
// do; one that does not commute has its tree at rank 0, which sends the result on.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "coll/building/point_to_point.hpp"
#include "coll/reduce/operand_buffers.hpp"
#include "pattern/knomial.hpp"

namespace corewise::coll::reduce {

/// Transfers of this algorithm: both ends cut them into the same pieces, of whole elements.
template <port::Port P>
class ElementTransfers {
 public:
  ElementTransfers(Rank<P>& me, const Call<P>& call)
      : me_(me),
        call_(call),
        areas_(me),
        granule_(element_step(call.operation->element_bytes, areas_.piece_bytes())) {}

  void send(int peer, typename P::ConstUserAddress from) {
    transfer(Outgoing{peer, from, call_.bytes}, Incoming{}, nothing);
  }
  void receive(int peer, typename P::UserAddress to) {
    transfer(Outgoing{}, Incoming{peer, to, call_.bytes}, nothing);
  }
  /// Receives a child's result and combines it with `own`; into `result`, which may be `own`.
  void receive_and_combine(int child, typename P::ConstUserAddress own, typename P::UserAddress result) {
    const port::StageOffset operand = areas_.sending(0);  // nothing is being sent meanwhile
    const port::Tag tag = areas_.sending_tag(0);
    transfer(Outgoing{}, Incoming{child, result, call_.bytes},
             [&](port::StageOffset arrived, std::uint64_t at, std::uint32_t bytes) {
               me_.stage.load(own + at, operand, bytes, tag);
               me_.port.wait(port::mask_of(tag));
               me_.stage.combine(*call_.operation, operand, arrived, bytes);
             });
  }

 private:
  using Outgoing = Part<typename P::ConstUserAddress>;
  using Incoming = Part<typename P::UserAddress>;
  /// A call of MPI_Send or MPI_Recv.
  template <class Arrived>
  void transfer(const Outgoing& to, const Incoming& from, Arrived arrived) {
    me_.port.compute(call_.library_call_cycles);
    send_receive(me_, to, from, granule_, arrived);
  }
  static void nothing(port::StageOffset /*arrived*/, std::uint64_t /*at*/, std::uint32_t /*bytes*/) {}

  Rank<P>& me_;
  const Call<P>& call_;
  TransferAreas<P> areas_;
  std::uint32_t granule_;
};

template <port::Port P>
void tree_main_memory(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (me.size() == 1) copy_own(me, call);
  const int top = call.operation->commutative ? call.root : 0;
  const pattern::schedule::Knomial place(me.size(), top, me.rank(), me.degree(parameters),
                                         pattern::schedule::TreeOrder::halving);
  const typename P::UserAddress result = me.rank() == call.root ? call.receive : call.workspace;
  typename P::ConstUserAddress own = call.send;
  ElementTransfers<P> transfers(me, call);
  place.for_children_nearest_first([&](int child) {
    me.port.compute(cost::kPeer);
    transfers.receive_and_combine(child, own, result);
    own = result;
  });
  if (me.rank() != top) transfers.send(place.parent(), own);
  if (top != call.root && me.rank() == top) transfers.send(call.root, own);
  if (top != call.root && me.rank() == call.root) transfers.receive(top, call.receive);
  me.close(parameters);
}

}  // namespace corewise::coll::reduce

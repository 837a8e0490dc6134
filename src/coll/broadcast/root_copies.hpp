// G (paper 001, section 6.1): the destinations' addresses are gathered up a tree; the root brings each piece into a
// buffer once and writes it to all destinations, double buffered.
//
// The gather. A rank with ranks below it keeps a table of their addresses at the start of its buffers, by place
// from the root on. A leaf's entry carries its address; any other child says that its table is ready, and the
// parent fetches it.
// Without a closing barrier a destination waits for the root's acknowledgement; by then its table has been read.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>
#include <vector>

#include "coll/broadcast/distribute.hpp"
#include "coll/broadcast/double_buffering.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::broadcast {

template <port::Port P>
  requires port::DirectWrite<P>
class RootCopies {
 public:
  RootCopies(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me), call_(call), parameters_(parameters), tree_(node(me.rank())) {}

  void operator()() {
    gather();
    if (is_root(me_, call_)) {
      copy_to_all();
    } else if (parameters_.closing == Closing::counters) {
      me_.acknowledgements.hear(call_.root);
    }
  }

 private:
  using Address = typename P::UserAddress;
  static constexpr std::uint32_t kEntry = 16;

  [[nodiscard]] Knomial node(int rank) const { return {me_.size(), call_.root, rank, parameters_.degree}; }
  [[nodiscard]] int place_of(int rank) const { return (rank - call_.root + me_.size()) % me_.size(); }
  [[nodiscard]] int rank_at(int place) const { return (place + call_.root) % me_.size(); }
  [[nodiscard]] port::StageOffset entry(int place) const { return static_cast<port::StageOffset>(place) * kEntry; }
  void enter(int rank, const Address& address) {
    std::memcpy(me_.stage.bytes(entry(place_of(rank)), kEntry).data(), &address, sizeof(Address));
  }
  [[nodiscard]] Address entered(int place) {
    Address address;
    std::memcpy(&address, me_.stage.bytes(entry(place), kEntry).data(), sizeof(Address));
    return address;
  }

  /// Addresses of all below this rank into its table; its own, or that they are there, to its parent.
  void gather() {
    // The tables' fetches first, so that no write to the table can be under way while an entry is made.
    tree_.for_children([this](int child) {
      if (node(child).children() == 0) return;
      me_.port.compute(cost::kPeer);
      me_.announcements.hear(child);
      const int place = place_of(child);
      const auto bytes = static_cast<std::uint32_t>(node(child).subtree()) * kEntry;
      me_.port.get({child, entry(place)}, entry(place), bytes, buffer_tag(0));
    });
    tree_.for_children([this](int child) {
      if (node(child).children() > 0) return;
      me_.port.compute(cost::kPeer);
      enter(child, me_.announcements.template hear_value<Address>(child));
    });
    me_.port.wait(port::mask_of(buffer_tag(0)));
    if (is_root(me_, call_)) return;
    const int parent = tree_.parent();
    if (tree_.children() == 0) {
      me_.announcements.tell_value(parent, call_.receive);
    } else {
      enter(me_.rank(), call_.receive);
      me_.announcements.tell(parent);
    }
    if (parameters_.waits) me_.port.wait(port::mask_of(metadata_tag(parent)));
  }

  void copy_to_all() {
    std::vector<Destination<Address>> destinations;  // a copy: the buffers are needed now
    for (int place = me_.size() - 1; place > 0; --place) destinations.push_back({rank_at(place), entered(place)});
    const Cuts cuts(call_.bytes, piece_limit(me_, parameters_), skew_of<P>(call_.send));
    distribute(me_, call_.root, call_.send, cuts, parameters_, destinations);
  }

  Rank<P>& me_;
  const Call<P>& call_;
  const Parameters& parameters_;
  Knomial tree_;
};

template <port::Port P>
  requires port::DirectWrite<P>
void root_copies(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes > 0 && me.size() > 1) RootCopies<P>(me, call, parameters)();
  me.close(parameters);
}

}  // namespace corewise::coll::broadcast

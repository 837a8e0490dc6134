// One copy: blocks straight between the user memories of two ranks, each byte moved once, by either end or by both.
//
// The end that the other one copies from or to announces its address; who has copied tells the other, and says
// whether all of it went. What did not (a port may refuse at any time) goes once more, whole, through the stages:
// both ends know by then, so nothing is agreed beforehand. So do blocks that are too short to ask the system for,
// but those which a caller sends another way (Ways).
//
// All has been read and written at return, and every announcement has been read before the next one to the same
// peer is made; so calls need no barrier between them. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bitset>
#include <cassert>
#include <cstdint>

#include "coll/building/block_exchange.hpp"
#include "coll/building/point_to_point.hpp"
#include "coll/rank.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll {

/// How a block goes, by its length, which both its ends know. Blocks ride only where there are two slots or more:
/// an exchange needs two.
template <port::PeerUserCopy P>
struct Ways {
  const Rank<P>& me;
  std::uint32_t least;  ///< Parameters::min_piece

  [[nodiscard]] bool copied(std::uint64_t bytes) const { return bytes >= least; }
  [[nodiscard]] bool rides(std::uint64_t bytes) const {
    return !copied(bytes) && me.shape.eager_slots >= 2 && me.eager.fits(bytes);
  }
  [[nodiscard]] bool streams(std::uint64_t bytes) const { return !copied(bytes) && !rides(bytes); }
};

/// `to(peer)` and `from(peer)` are the Parts that go to a peer and come from it; of none, `bytes` is 0. `pushed(n)`
/// says how many of a block's n bytes its sender copies, those in front: 0 where blocks go both ways between two
/// ranks. Blocks of less than `least` bytes go through the stages. Both ends know all this.
template <port::PeerUserCopy P, class To, class From, class Pushed>
class OneCopy {
 public:
  using Address = typename P::UserAddress;
  using ConstAddress = typename P::ConstUserAddress;

  OneCopy(Rank<P>& me, std::uint32_t least, To to, From from, Pushed pushed)
      : me_(me), to_(to), from_(from), pushed_(pushed), least_(least) {}
  OneCopy(const OneCopy&) = delete;
  OneCopy& operator=(const OneCopy&) = delete;

  /// `meanwhile` is done when the own addresses have been announced.
  template <class Meanwhile>
  void operator()(Meanwhile meanwhile) {
    for_peers([this](int peer) { announce(peer); });
    meanwhile();
    for_peers([this](int peer) { copy(peer); });
    for_peers([this](int peer) { hear(peer); });
    if (unsent_.any() || unreceived_.any()) move_through_stages();
  }

 private:
  template <class Visit>
  void for_peers(Visit visit) {
    me_.for_others(me_.rank(), visit);
  }
  static std::size_t bit(int peer) { return static_cast<std::size_t>(peer); }

  /// What of a block goes by one copy.
  template <class Address>
  [[nodiscard]] std::uint64_t long_enough(const Part<Address>& part) const {
    return part.bytes < least_ ? 0 : part.bytes;
  }
  [[nodiscard]] std::uint64_t to_push(int peer) const { return pushed_(long_enough(to_(peer))); }
  [[nodiscard]] std::uint64_t to_pull(int peer) const {
    const std::uint64_t bytes = long_enough(from_(peer));
    return bytes - pushed_(bytes);
  }
  [[nodiscard]] bool is_read_by(int peer) const { return to_push(peer) < long_enough(to_(peer)); }
  [[nodiscard]] bool is_written_by(int peer) const { return to_pull(peer) < long_enough(from_(peer)); }

  void announce(int peer) {
    if (!to_(peer).none() && long_enough(to_(peer)) == 0) unsent_.set(bit(peer));
    if (!from_(peer).none() && long_enough(from_(peer)) == 0) unreceived_.set(bit(peer));
    assert(!is_read_by(peer) || !is_written_by(peer));  // one address at a time
    if (is_read_by(peer)) me_.announcements.tell_value(peer, ConstAddress(to_(peer).address + to_push(peer)));
    if (is_written_by(peer)) me_.announcements.tell_value(peer, Address(from_(peer).address));
  }

  void copy(int peer) {
    if (const std::uint64_t bytes = to_push(peer); bytes > 0) {
      const auto place = me_.announcements.template hear_value<Address>(peer);
      const bool whole = me_.port.push(peer, to_(peer).address, place, bytes) == bytes;
      if (!whole) unsent_.set(bit(peer));
      me_.acknowledgements.tell_value(peer, whole);
    }
    if (const std::uint64_t bytes = to_pull(peer); bytes > 0) {
      const auto place = me_.announcements.template hear_value<ConstAddress>(peer);
      const Address own = from_(peer).address + (from_(peer).bytes - bytes);
      const bool whole = me_.port.pull(peer, place, own, bytes) == bytes;
      if (!whole) unreceived_.set(bit(peer));
      me_.acknowledgements.tell_value(peer, whole);
    }
  }

  void hear(int peer) {
    if (is_read_by(peer) && !me_.acknowledgements.template hear_value<bool>(peer)) unsent_.set(bit(peer));
    if (is_written_by(peer) && !me_.acknowledgements.template hear_value<bool>(peer)) unreceived_.set(bit(peer));
  }

  void move_through_stages() {
    for (int step = 1; step < me_.size(); ++step) {
      const int next = (me_.rank() + step) % me_.size();
      const int last = (me_.rank() - step + me_.size()) % me_.size();
      Part<ConstAddress> out;
      Part<Address> in;
      if (unsent_[bit(next)]) out = to_(next);
      if (unreceived_[bit(last)]) in = from_(last);
      exchange(me_, Parameters{}, next, one_block<P>(out.address, out.bytes), last,
               one_block<P>(in.address, in.bytes));
    }
  }

  Rank<P>& me_;
  To to_;
  From from_;
  Pushed pushed_;
  std::uint32_t least_;
  std::bitset<kMostRanks> unsent_, unreceived_;  ///< by peer
};

/// Of `bytes` that go between the root and another rank: what the root copies, so that all have as much to do;
/// nothing where its part is less than `least`.
constexpr std::uint64_t root_share(std::uint64_t bytes, int ranks, std::uint32_t least) {
  const std::uint64_t share = bytes / static_cast<std::uint64_t>(ranks) / 64 * 64;
  return share >= least ? share : 0;
}

/// Blocks between the root and all others. `block(peer)` is the root's Part; `own` is that of another rank.
template <port::PeerUserCopy P, class Block, class Meanwhile>
void copy_from_root(Rank<P>& me, int root, std::uint32_t least, Block block,
                    const Part<typename P::UserAddress>& own, Meanwhile meanwhile) {
  using To = Part<typename P::ConstUserAddress>;
  using From = Part<typename P::UserAddress>;
  const auto to = [&](int peer) { return me.rank() == root ? block(peer) : To{}; };
  const auto from = [&](int peer) { return me.rank() != root && peer == root ? own : From{}; };
  const auto pushed = [&](std::uint64_t bytes) { return root_share(bytes, me.size(), least); };
  OneCopy<P, decltype(to), decltype(from), decltype(pushed)>(me, least, to, from, pushed)(meanwhile);
}
template <port::PeerUserCopy P, class Block, class Meanwhile>
void copy_to_root(Rank<P>& me, int root, std::uint32_t least, Block block,
                  const Part<typename P::ConstUserAddress>& own, Meanwhile meanwhile) {
  using To = Part<typename P::ConstUserAddress>;
  using From = Part<typename P::UserAddress>;
  const auto to = [&](int peer) { return me.rank() != root && peer == root ? own : To{}; };
  const auto from = [&](int peer) { return me.rank() == root ? block(peer) : From{}; };
  const auto pushed = [&](std::uint64_t bytes) { return bytes - root_share(bytes, me.size(), least); };
  OneCopy<P, decltype(to), decltype(from), decltype(pushed)>(me, least, to, from, pushed)(meanwhile);
}

/// Blocks between all: every rank copies its own from all others.
template <port::PeerUserCopy P, class To, class From, class Meanwhile>
void copy_between_all(Rank<P>& me, std::uint32_t least, To to, From from, Meanwhile meanwhile) {
  const auto none = [](std::uint64_t) { return std::uint64_t{0}; };
  OneCopy<P, To, From, decltype(none)>(me, least, to, from, none)(meanwhile);
}

}  // namespace corewise::coll

// Lending: user memory that all ranks have mapped (port::MappedUserMemory) in the place of stages. Whether a rank's
// buffers lie in such memory that rank alone knows, so its first announcement of a call says it: an Offer of
// numbers by which the others reach them, or none. Only calls of P::kLeastLent bytes or more do so, which all ranks
// know.
//
// There are two agreements, by whom the algorithm tells of its first operand anyhow: Lending where all tell all,
// ClimbingLending where ranks tell one above them. Neither costs a rank that lends nothing a wait.
//
// An entry's payload is given by the first announcement to a peer in a call and by no other, and what is not given
// stays; so whoever hears it late finds the same. No rank ends a call before its offers in it have been read.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <type_traits>

#include "coll/rank.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll {

/// Numbers of port::MappedUserMemory for one buffer or two, 0 for none; as an entry's payload.
class Offer {
 public:
  Offer() = default;
  constexpr Offer(std::uint64_t first, std::uint64_t second) {
    for (std::size_t i = 0; i < kHalf; ++i) {
      words_[i] = static_cast<std::uint16_t>(first >> 16 * i);
      words_[kHalf + i] = static_cast<std::uint16_t>(second >> 16 * i);
    }
  }
  [[nodiscard]] std::uint64_t first() const { return number(0); }
  [[nodiscard]] std::uint64_t second() const { return number(kHalf); }
  [[nodiscard]] bool given() const { return first() != 0; }

 private:
  static constexpr std::size_t kHalf = 3;

  [[nodiscard]] std::uint64_t number(std::size_t at) const {
    return words_[at] | std::uint64_t{words_[at + 1]} << 16 | std::uint64_t{words_[at + 2]} << 32;
  }

  std::array<std::uint16_t, 2 * kHalf> words_;
};
static_assert(sizeof(Offer) == port::Line16::kPayloadBytes);

inline constexpr Offer kNoOffer{0, 0};

/// Whether ranks may lend memory in calls of so many bytes: the same on all of them.
template <port::Port P>
constexpr bool may_lend(std::uint64_t bytes) {
  if constexpr (port::MappedUserMemory<P>) return bytes >= P::kLeastLent;
  return false;
}

/// The offers that a rank has heard, and its own.
template <port::MappedUserMemory P>
class Offers {
 public:
  Offers(Rank<P>& me, Offer own) : me_(me) { of(me.rank()) = own; }

  /// Not filled before it is heard.
  [[nodiscard]] Offer& of(int rank) { return offers_[static_cast<std::size_t>(rank)]; }
  /// Hears a peer's.
  const Offer& hear(int peer) { return of(peer) = me_.announcements.template hear_value<Offer>(peer); }
  /// `bytes` from `at` on in what a rank lends first, and second: of any rank, the own one too.
  [[nodiscard]] typename P::UserAddress first(int rank, std::uint64_t at, std::uint64_t bytes) {
    return me_.port.reach(rank, of(rank).first() + at, bytes);
  }
  [[nodiscard]] typename P::UserAddress second(int rank, std::uint64_t at, std::uint64_t bytes) {
    return me_.port.reach(rank, of(rank).second() + at, bytes);
  }

 private:
  Rank<P>& me_;
  std::array<Offer, kMostRanks> offers_;
};

/// A call in lent memory, where all agree to lend: this rank's part of it, `combine(at, bytes)` for each piece.
/// Then what was lent is the program's again when all are here. False where they do not agree, and nothing is done.
template <port::MappedUserMemory P, class Agreement, class Combine>
bool combine_lent(Rank<P>& me, Agreement& lending, const Pieces& pieces, Combine combine) {
  if (!lending.agreed()) return false;
  for (std::uint64_t piece = 0; piece < pieces.count(); ++piece) {
    me.port.compute(cost::kPiece);
    combine(pieces.at(piece), pieces.bytes(piece));
  }
  me.for_others(me.rank(), [&me](int peer) { me.acknowledgements.tell(peer); });
  me.for_others(me.rank(), [&me](int peer) { me.acknowledgements.hear(peer); });
  ++me.lent_calls;
  return true;
}

/// How those that lend nothing say so.
enum class Decline : std::uint8_t {
  with_operand,  ///< when their first operand is in their stage: for algorithms that stage for all before they wait
  at_once        ///< apart from it
};

/// What a rank offers of a call: where it has its operand, and where it wants the result; none unless both are such
/// memory.
template <port::MappedUserMemory P>
Offer offer_of(const Rank<P>& me, const Call<P>& call) {
  if (!may_lend<P>(call.bytes)) return kNoOffer;
  const std::uint64_t send = me.port.offer(call.send, call.bytes);
  const std::uint64_t receive = me.port.offer(call.receive, call.bytes);
  return send != 0 && receive != 0 ? Offer{send, receive} : kNoOffer;
}

/// An agreement of all ranks to lend their memory, in announcements that a call begins with anyhow.
///
/// Every rank that can lend tells all others, and hears all. The others announce their first operand in their
/// stages, as they would in any case, and say that they lend nothing. So all know whether all lend; where not,
/// those that offered stage their operand now and announce it once more.
template <port::MappedUserMemory P>
class Lending {
 public:
  /// `in_play` and `decline` are the same on all ranks.
  Lending(Rank<P>& me, bool in_play, Offer own, Decline decline = Decline::with_operand)
      : me_(me),
        in_play_(in_play),
        apart_(in_play && decline == Decline::at_once),
        own_(in_play ? own : kNoOffer),
        offers_(me, own_) {}
  Lending(const Lending&) = delete;
  Lending& operator=(const Lending&) = delete;

  /// Before anything else: whether all lend. Then no operand is announced.
  bool agreed() {
    if (!own_.given() && !apart_) return false;
    me_.for_others(me_.rank(), [this](int peer) { me_.announcements.tell_value(peer, own_); });
    if (!own_.given()) return false;
    bool all = true;
    me_.for_others(me_.rank(), [&](int peer) {
      if (offers_.hear(peer).given()) return;
      all = false;
      declined_.set(static_cast<std::size_t>(peer));
    });
    return all;
  }
  /// What all lend, where all do.
  [[nodiscard]] Offers<P>& offers() { return offers_; }

  /// The first operand is in the own stage; and that of a peer in its own.
  void tell_first(int peer) {
    if (in_play_ && !apart_ && !own_.given()) {
      me_.announcements.tell_value(peer, kNoOffer);
    } else {
      me_.announcements.tell(peer);
    }
  }
  void hear_first(int peer) {
    if (own_.given()) {
      if (apart_ || !declined_[static_cast<std::size_t>(peer)]) me_.announcements.hear(peer);
    } else if (apart_) {
      me_.announcements.hear(peer, 2);
    } else if (!in_play_ || offers_.hear(peer).given()) {
      me_.announcements.hear(peer);
    }
  }

 private:
  Rank<P>& me_;
  const bool in_play_, apart_;
  const Offer own_;
  std::bitset<kMostRanks> declined_;
  Offers<P> offers_;
};

/// Ranks first .. last - 1, but for the own one.
struct Below {
  int first = 0;
  int last = 0;
};

inline constexpr int kNobodyAbove = -1;

/// The same where each rank hears the first operands of those below it and tells the one above. A rank offers its
/// memory to the one above when all below have offered theirs, and it lends, too; the highest knows whether all do.
/// The answer comes down the same way, to those who offered, and stages follow where it is no. After a yes those
/// who have not met tell each other their offers.
template <port::MappedUserMemory P>
class ClimbingLending {
 public:
  /// `in_play` is the same on all ranks. `above`: kNobodyAbove for the highest.
  ClimbingLending(Rank<P>& me, bool in_play, Offer own, Below below, int above)
      : me_(me), in_play_(in_play), lends_(own.given()), below_(below), above_(above), offers_(me, own) {}
  ClimbingLending(const ClimbingLending&) = delete;
  ClimbingLending& operator=(const ClimbingLending&) = delete;

  /// Before anything else: whether all lend. Then no operand is announced.
  bool agreed() {
    if (!in_play_) return false;
    bool all = lends_;
    for_below([&](int rank) { all = offers_.hear(rank).given() && all; });
    if (all && above_ != kNobodyAbove) {
      me_.announcements.tell_value(above_, offers_.of(me_.rank()));
      offered_ = true;
      all = offers_.hear(above_).given();
    }
    for_below([&](int rank) {
      if (offers_.of(rank).given()) me_.announcements.tell_value(rank, all ? offers_.of(me_.rank()) : kNoOffer);
    });
    if (all) meet_others();
    return all;
  }
  [[nodiscard]] Offers<P>& offers() { return offers_; }

  /// The first operand is in the own stage, for the one above; and that of one below in its own.
  void tell_first(int above) {
    if (in_play_ && !offered_) {
      me_.announcements.tell_value(above, kNoOffer);
    } else {
      me_.announcements.tell(above);
    }
  }
  void hear_first(int below) {
    if (!in_play_ || offers_.of(below).given()) me_.announcements.hear(below);
  }

 private:
  [[nodiscard]] bool met(int rank) const { return rank == above_ || (rank >= below_.first && rank < below_.last); }
  template <class Visit>
  void for_below(Visit visit) {
    for (int rank = below_.first; rank < below_.last; ++rank)
      if (rank != me_.rank()) visit(rank);
  }
  void meet_others() {
    me_.for_others(me_.rank(), [this](int peer) {
      if (!met(peer)) me_.announcements.tell_value(peer, offers_.of(me_.rank()));
    });
    me_.for_others(me_.rank(), [this](int peer) {
      if (!met(peer)) offers_.hear(peer);
    });
  }

  Rank<P>& me_;
  const bool in_play_, lends_;
  const Below below_;
  const int above_;
  bool offered_ = false;
  Offers<P> offers_;
};

/// What stands for either on a port without such memory.
template <port::Port P>
class NotLent {
 public:
  template <class... Ignored>
  explicit NotLent(Rank<P>& me, const Ignored&... /*ignored*/) : me_(me) {}
  bool operator()() { return false; }
  void tell_first(int peer) { me_.announcements.tell(peer); }
  void hear_first(int peer) { me_.announcements.hear(peer); }

 private:
  Rank<P>& me_;
};

/// Lent, a call in lent memory, or what stands for it. As a function object it says whether it has done the call;
/// where not, the first operand is announced by tell_first and heard by hear_first.
template <port::Port P, class Lent>
using LentOr = std::conditional_t<port::MappedUserMemory<P>, Lent, NotLent<P>>;

}  // namespace corewise::coll

// Lending: user memory that all ranks have mapped (port::MappedUserMemory) in the place of stages. Whether a rank's
// buffers lie in such memory that rank alone knows, so its first announcement of a call says it: an Offer of
// numbers by which the others reach them, or none. Only calls of P::kLeastLent bytes or more do so, which all ranks
// know.
//
// An entry's payload is given by the first announcement to a peer in a call and by no other, and what is not given
// stays; so whoever hears it late finds the same. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bitset>
#include <cstdint>

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

/// An agreement of all ranks to lend their memory, in announcements that a call begins with anyhow.
///
/// Every rank that can lend tells all others, and hears all. The others announce their first operand in their
/// stages, as they would in any case, and say that they lend nothing. So all know whether all lend; where not,
/// those that offered stage their operand now and announce it once more.
template <port::MappedUserMemory P>
class Lending {
 public:
  /// `in_play` is the same on all ranks.
  Lending(Rank<P>& me, bool in_play, Offer own) : me_(me), in_play_(in_play), own_(in_play ? own : kNoOffer) {}
  Lending(const Lending&) = delete;
  Lending& operator=(const Lending&) = delete;

  /// Before anything else: whether all lend. Then no operand is announced.
  bool agreed() {
    if (!own_.given()) return false;
    me_.for_others(me_.rank(), [this](int peer) { me_.announcements.tell_value(peer, own_); });
    bool all = true;
    me_.for_others(me_.rank(), [&](int peer) {
      const auto offer = me_.announcements.template hear_value<Offer>(peer);
      offers_[index(peer)] = offer;
      if (offer.given()) return;
      all = false;
      declined_.set(index(peer));
    });
    return all;
  }
  /// What a peer lends, where all do.
  [[nodiscard]] const Offer& of(int peer) const { return offers_[index(peer)]; }

  /// The first operand is in the own stage; and that of a peer in its own.
  void tell_first(int peer) {
    if (in_play_ && !own_.given()) {
      me_.announcements.tell_value(peer, kNoOffer);
    } else {
      me_.announcements.tell(peer);
    }
  }
  void hear_first(int peer) {
    if (own_.given()) {
      if (!declined_[index(peer)]) me_.announcements.hear(peer);
    } else if (!in_play_) {
      me_.announcements.hear(peer);
    } else if (me_.announcements.template hear_value<Offer>(peer).given()) {
      me_.announcements.hear(peer);
    }
  }

 private:
  static std::size_t index(int peer) { return static_cast<std::size_t>(peer); }

  Rank<P>& me_;
  const bool in_play_;
  const Offer own_;
  std::bitset<kMostRanks> declined_;
  std::array<Offer, kMostRanks> offers_;  ///< not filled before they are heard
};

}  // namespace corewise::coll

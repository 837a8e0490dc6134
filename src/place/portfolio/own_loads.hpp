// Own loads: how much of every link's time is that of each rank's messages, stored while ranks move; and by these
// which moves are certain to be too much. Owns these times.
//
// To tell what a move makes of the links takes to count on every one of them. Most moves are too much, and that
// shows sooner. Terms are convex in the time. So to take away the messages of both of two ranks saves at most what
// to take away those of each alone saves; that is known per rank until a move is carried out. What arrives on a
// link adds least where the link is emptiest: without all that both had there.
//
// Of one phase. To carry out a move costs about as much as a proposal, so it pays where most proposals are refused.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "place/cost.hpp"
#include "place/portfolio/acceptance.hpp"
#include "place/portfolio/link_term.hpp"
#include "place/portfolio/peer_messages.hpp"

namespace corewise::place {

class OwnLoads {
 public:
  /// Both outlive this.
  OwnLoads(const RoutedShares& shares, const PeerMessages& messages, int ranks);

  /// Whether there is room for so many times, and few enough proposals are accepted.
  [[nodiscard]] static bool are_worth_storing(std::size_t times, const Acceptance& proposals) {
    return times <= most_times && proposals.accepted * for_one < proposals.looked_at;
  }
  void store(Assignment unit_of_rank, std::span<const LinkTerm> links);
  void drop() { own_ns_.clear(); }
  [[nodiscard]] bool stored() const { return !own_ns_.empty(); }

  /// These moves are carried out: where all ranks are before and after.
  void move(std::span<const Relocation> moves, Assignment before, Assignment after,
            std::span<const LinkTerm> links);
  /// Loads or the power are others now.
  void terms_changed() { ++state_; }

  /// Whether one or two moves of different ranks, to units that they leave to each other or that are free, are
  /// certain to make the sum of the terms more than `room` larger.
  template <int doublings>
  [[nodiscard]] bool grow_beyond(double room, std::span<const Relocation> moves, Assignment unit_of_rank,
                                 std::span<const LinkTerm> links) {
    for (const Relocation& move : moves) room += without<doublings>(move.rank, unit_of_rank, links);
    const double* const one = row(moves.front().rank);
    const double* const other = row(moves.back().rank);
    const double others = moves.size() > 1 ? 1 : 0;
    double growth = 0;
    for (std::size_t m = 0; m < moves.size(); ++m) {
      const int partner = moves[moves.size() - 1 - m].rank;
      for (const PeerMessage& message : messages_.of(moves[m].rank)) {
        if (message.peer == partner) continue;
        const machine::UnitId there = unit_of_rank[static_cast<std::size_t>(message.peer)];
        for (const Share& share : route_of(shares_, message, moves[m].unit, there)) {
          const LinkTerm& link = links[static_cast<std::size_t>(share.link)];
          const double left = at_least_0(link.time_ns() - one[share.link] - others * other[share.link]);
          growth += raised<doublings>(left + link.time_of(message.bytes * share.parts)) - raised<doublings>(left);
        }
        if (growth > room) return true;
      }
    }
    return false;
  }

 private:
  /// Of so many proposals one may be accepted.
  static constexpr std::uint64_t for_one = 64;
  /// 8 bytes each: what a core's caches hold.
  static constexpr std::size_t most_times = std::size_t{1} << 19;

  /// What the terms are less without the messages of a rank. Known until they change.
  template <int doublings>
  double without(int rank, Assignment unit_of_rank, std::span<const LinkTerm> links) {
    Gain& gain = gains_[static_cast<std::size_t>(rank)];
    if (gain.state == state_) return gain.sum;
    gain = {0, state_};
    ++visit_;
    const double* const own = row(rank);
    const machine::UnitId here = unit_of_rank[static_cast<std::size_t>(rank)];
    for (const PeerMessage& message : messages_.of(rank)) {
      const machine::UnitId there = unit_of_rank[static_cast<std::size_t>(message.peer)];
      for (const Share& share : route_of(shares_, message, here, there)) {
        std::uint64_t& visited = visited_[static_cast<std::size_t>(share.link)];
        if (visited == visit_) continue;
        visited = visit_;
        const LinkTerm& link = links[static_cast<std::size_t>(share.link)];
        gain.sum += link.term - raised<doublings>(at_least_0(link.time_ns() - own[share.link]));
      }
    }
    return gain.sum;
  }

  /// Rounding may leave less.
  static double at_least_0(double value) { return value > 0 ? value : 0; }
  [[nodiscard]] const double* row(int rank) const {
    return own_ns_.data() + static_cast<std::size_t>(rank) * visited_.size();
  }
  void add(int rank, const PeerMessage& message, double sign, Assignment unit_of_rank,
           std::span<const LinkTerm> links);

  struct Gain {
    double sum = 0;
    std::uint64_t state = 0;
  };

  const RoutedShares& shares_;
  const PeerMessages& messages_;
  std::vector<double> own_ns_;  ///< [rank][link]; empty: not stored
  std::vector<Gain> gains_;     ///< per rank, as of that state
  std::uint64_t state_ = 1;
  std::vector<std::uint64_t> visited_;  ///< per link
  std::uint64_t visit_ = 0;
};

}  // namespace corewise::place

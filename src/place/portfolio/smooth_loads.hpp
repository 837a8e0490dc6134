// Smooth loads: link loads of a current placement under one number that moves can be compared by, and what any
// exchange of ranks would do to it. Owns the loads.
//
// The number is, summed over the phases, weight times the power mean norm (sum over links of t^p)^(1/p), t the time
// of a link. With p = 1 it is the work of all links together, a kind of hop-bytes that counts slow links more; the
// larger p, the nearer to the bottleneck, but never blind to the links below the worst one. Beside it stands the
// exact order that ends every search: bottleneck first, then all loads compared from the largest down.
//
// Invariant: loads are the exact integers that evaluate() would count, whatever the moves that led there. The same
// calls give the same numbers to the last bit.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "place/cost.hpp"
#include "place/links/objective.hpp"
#include "place/portfolio/acceptance.hpp"
#include "place/portfolio/link_term.hpp"
#include "place/portfolio/own_loads.hpp"
#include "place/portfolio/pair_costs.hpp"
#include "place/portfolio/peer_messages.hpp"

namespace corewise::place {

class SmoothLoads {
 public:
  /// `shares`: merged, outlives this. Requires check_fits. Starts with rank r on unit r and power 8.
  SmoothLoads(const RoutedShares& shares, const Workload& work);
  SmoothLoads(const SmoothLoads&) = delete;
  SmoothLoads& operator=(const SmoothLoads&) = delete;

  [[nodiscard]] int ranks() const { return static_cast<int>(unit_of_rank_.size()); }
  [[nodiscard]] int units() const { return shares_.units(); }
  [[nodiscard]] Assignment assignment() const { return unit_of_rank_; }
  /// -1: nobody.
  [[nodiscard]] int rank_on(machine::UnitId unit) const { return rank_on_unit_[static_cast<std::size_t>(unit)]; }
  /// Ranks that this one exchanges messages with, each once.
  [[nodiscard]] std::span<const int> peers_of(int rank) const { return messages_.peers_of(rank); }

  void assign(Assignment unit_of_rank);
  /// p = 2^doublings, 0 to 5.
  void set_power(int doublings);

  [[nodiscard]] double smooth() const { return smooth_; }
  /// The sum over the phases of weight times the time of the slowest link, ns.
  [[nodiscard]] double bottleneck_ns();

  /// How much farther the messages of these ranks would travel, in hop-bytes, over what a rank's messages travelled
  /// in the mean when the placement was assigned. Of moves of different ranks; messages between two of them count
  /// twice, and come to nothing where the two trade places. Costs a small part of a proposal. What was proposed
  /// last is dropped.
  [[nodiscard]] double detour(std::span<const Relocation> moves);
  /// What smooth() would be after these relocations: of different ranks, to units that they leave among themselves
  /// or that are free. Nothing is changed until accept().
  double propose(std::span<const Relocation> moves);
  /// The same; or infinity as soon as it is certain to be more than `most`, which is not less than smooth(): then
  /// there is nothing to accept.
  double propose(std::span<const Relocation> moves, double most);
  /// Whether the loads after these relocations would be less: the bottleneck, then all loads from the largest down.
  /// If not, there is nothing to accept.
  bool propose_flatter(std::span<const Relocation> moves);
  /// Carries out what was proposed last.
  void accept();

  /// The phase and link that take longest, each phase counted with its weight; -1 where nothing is carried.
  [[nodiscard]] std::int64_t slowest() const;
  /// The ranks whose messages load that link in that phase, as numbered by slowest(), in order.
  [[nodiscard]] std::vector<int> ranks_at(std::int64_t place) const;

 private:
  /// Of a message that comes or, its bytes negated, goes.
  struct Route {
    std::span<const Share> shares;
    std::size_t start;  ///< of the phase's loads
    std::uint64_t bytes;
  };
  /// Of a phase.
  struct Sum {
    double terms = 0;
    double root = 0;          ///< of the terms
    double most = -1;         ///< time of the slowest link, less than 0: not known
    std::size_t slowest = 0;  ///< so many links take it
  };
  /// Of a phase, after the proposal.
  struct Next {
    double terms = 0;  ///< more than before
    double root = 0;
    double most = 0;       ///< of links that change
    std::size_t left = 0;  ///< so many of the slowest links change
  };

  [[nodiscard]] std::span<const Share> shares_of(int rank, const PeerMessage& message,
                                                 const std::vector<int>& unit_of_rank) const {
    return route_of(shares_, message, unit_of_rank[static_cast<std::size_t>(rank)],
                    unit_of_rank[static_cast<std::size_t>(message.peer)]);
  }
  void begin(std::span<const Relocation> moves);
  void collect_routes(int rank);
  template <bool timed>
  double count(const Route& route);
  [[nodiscard]] bool grows_beyond(const Route& route, double most) const;
  [[nodiscard]] double added_terms() const;
  void settle_proposal();
  void settle_smooth();
  void drop_proposal();
  void find_slowest(std::size_t phase);
  [[nodiscard]] double next_most(std::size_t phase) const;
  [[nodiscard]] bool proposal_is_flatter();
  [[nodiscard]] bool changed_links_are_flatter();
  [[nodiscard]] double root_of(double sum) const;
  [[nodiscard]] std::size_t phase_of(std::size_t at) const { return phase_of_[at]; }
  [[nodiscard]] std::span<const std::uint32_t> changed() const { return {changed_.data(), changes_}; }
  [[nodiscard]] PairCosts hop_bytes_of_pairs() const;
  /// Whether the moves are of one rank, or of two that trade places.
  [[nodiscard]] bool is_exchange(std::span<const Relocation> moves) const;
  [[nodiscard]] double hop_bytes_more(std::span<const Relocation> moves);
  [[nodiscard]] bool is_certain_to_exceed(double most, std::span<const Relocation> moves);
  void terms_changed() {
    if (own_) own_->terms_changed();
  }

  const RoutedShares& shares_;
  std::size_t links_;
  std::vector<double> weights_;
  int doublings_ = 3;
  PeerMessages messages_;
  std::vector<int> unit_of_rank_;
  std::vector<int> rank_on_unit_;
  std::vector<LinkTerm> loads_;          ///< [phase][link]
  std::vector<std::uint32_t> phase_of_;  ///< [phase][link]: the phase; a division takes longer than this look
  std::vector<Sum> sums_;
  double smooth_ = 0;
  double hop_bytes_of_a_rank_ = 0;  ///< sent and received, when assigned
  // Made when first stored: where few moves are accepted, which is looked at now and then.
  std::optional<PairCosts> hop_bytes_;
  std::optional<OwnLoads> own_;  ///< of one phase
  Acceptance detours_, limited_;
  // Of the proposal.
  std::vector<int> next_unit_of_rank_;
  std::vector<char> moving_;
  std::vector<Relocation> moves_;
  std::vector<Route> left_, taken_;
  std::vector<char> touched_;           ///< [phase][link]
  std::vector<std::uint32_t> changed_;  ///< of them the touched ones, `changes_` of them; one place more than loads
  std::size_t changes_ = 0;
  std::vector<Next> next_;
  std::vector<std::size_t> next_phases_;  ///< that change, in order
  std::vector<char> phase_changes_;
  std::vector<double> before_, after_;
  double next_smooth_ = 0;
  int accepted_ = 0;
};

}  // namespace corewise::place

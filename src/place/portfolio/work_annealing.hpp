// Work annealing: the time that messages take on all links of their routes together, annealed by swaps of ranks.
// Owns the work of every pair of units and of the current placement.
//
// The work of a byte from unit u to v is the sum, over the links of its routes, of the part that crosses the link
// over the link's bandwidth: hops in which slow links count more. It is a sum over pairs, so a proposal costs two
// looks per message of the ranks that move and touches no link: a tenth of what link loads cost. That is where
// placements that are good as a whole are found; link loads refine them afterwards.
//
// Contract: the placement left is the best met. The same random state gives the same placement.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/rng.hpp"
#include "place/cost.hpp"
#include "place/links/objective.hpp"
#include "place/portfolio/neighbourhood.hpp"

namespace corewise::place {

class WorkAnnealing {
 public:
  /// `shares` and `near` outlive this. Requires check_fits. Starts with rank r on unit r.
  WorkAnnealing(const RoutedShares& shares, const Workload& work, const Neighbourhood& near);

  [[nodiscard]] Assignment assignment() const { return unit_of_rank_; }
  /// ns, summed over links and phases, phases by their weights.
  [[nodiscard]] double work_ns() const { return work_ns_; }
  void assign(Assignment unit_of_rank);
  /// Anneals from the current placement; `hot`: the first temperature over the work of a rank. Returns the number
  /// of proposals; `should_stop` is asked now and then.
  std::uint64_t cool(std::uint64_t proposals, double hot, Rng& rng, const std::function<bool()>& should_stop);

 private:
  struct Exchange {
    int peer;
    double out;  ///< bytes by weight
    double in;
  };
  struct Proposal {
    int rank = -1;
    machine::UnitId unit = -1;
  };

  [[nodiscard]] const double* row(const std::vector<double>& table, int unit) const {
    return table.data() + static_cast<std::size_t>(unit) * units_;
  }
  [[nodiscard]] Proposal draw(Rng& rng) const;
  /// What moving `rank` to `unit` adds; of the messages with `except` nothing.
  [[nodiscard]] double moved(int rank, machine::UnitId unit, int except) const;
  [[nodiscard]] double difference(const Proposal& proposal) const;
  void carry_out(const Proposal& proposal);

  const Neighbourhood& near_;
  std::size_t units_;
  std::vector<double> out_;  ///< [from][to], ns per byte
  std::vector<double> in_;   ///< [to][from]
  std::vector<std::size_t> first_;
  std::vector<Exchange> exchanges_;  ///< of rank r at [first_[r], first_[r + 1]), each peer once
  std::vector<int> unit_of_rank_;
  std::vector<int> rank_on_unit_;
  double work_ns_ = 0;
};

}  // namespace corewise::place

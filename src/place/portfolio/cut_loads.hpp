// Cut loads: what no placement can avoid, for any number of ranks. Owns the cuts of a machine (single stops, and
// the sides of every link) and two lower bounds on what crosses one.
//
// With j ranks on the units inside a cut, at least this leaves it: every rank inside keeps at most its j - 1
// largest messages inside, so the j ranks that have least left over give a bound (degrees); and of symmetric
// traffic with Laplacian L at least lambda_2(L) j (n - j) / n crosses in both directions together (Fiedler;
// bisection). The links that leave carry it, so their bandwidths together turn bytes into time. The bound of a
// phase is the largest over the cuts, over the numbers j that the cut allows the smallest; and no less than the
// largest message on the pair of units that suits it best.
//
// Contract: a true lower bound, rounding included: the eigenvalue is taken a little smaller than computed.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "machine/machine.hpp"
#include "place/links/objective.hpp"

namespace corewise::place {

class CutLoads {
 public:
  /// `shares`: the machine's, merged or not; outlives this.
  CutLoads(const machine::Machine& machine, const RoutedShares& shares);

  /// No placement has a smaller bottleneck: the phases' bounds, by their weights.
  [[nodiscard]] double least_bottleneck_ns(const Workload& work) const;
  /// No placement has a busiest link, phases summed, that takes less.
  [[nodiscard]] double least_busiest_link_ns(const Workload& work) const;

 private:
  struct Side {
    int units = 0;  ///< inside
    double out_gb_per_s = 0;
    double in_gb_per_s = 0;

    friend auto operator<=>(const Side&, const Side&) = default;
  };
  struct Messages;

  void note(const machine::Machine& machine, const std::vector<char>& inside, const std::vector<char>& on_route);
  [[nodiscard]] double least_ns(const Messages& messages) const;

  const RoutedShares& shares_;
  int units_ = 0;
  std::vector<Side> sides_;  ///< each kind once
};

}  // namespace corewise::place

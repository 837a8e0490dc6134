// Cut bound: what must cross between two parts of a machine, by what the links between them carry. Owns the choice
// of cuts and the tables that answer, for every set of ranks already placed, the least that any completion costs.
//
// A cut is a set of stops. Every route from a unit on one of them to a unit elsewhere crosses a link that leaves
// the set, so those links together carry at least the traffic of the ranks inside with those outside; the same for
// the links that enter it. With S the ranks inside, a phase's bottleneck is at least
//   max(out(S) / capacity out, in(S) / capacity in, largest message out * sigma out, largest message in * sigma
//   in),
// sigma the least time per byte that one message between a unit inside and one outside puts on its worst leaving
// (entering) link. Where those links are equally fast, the first two terms are rounded up: a link's load is a
// multiple of the phase's greatest common divisor times the finest share of a message that a route carries
// (quantum). The weighted sum over the phases, minimal over all S that contain the ranks known to be inside,
// exclude those known to be outside and fit both sides, bounds every completion. Sets S are enumerated once per
// class of cuts (2^ranks), the minima over the ranks not yet placed come by folding the table rank by rank. Tables
// of each phase alone are made in the same way. Their minima may belong to different sets, so their sum bounds
// less; but each can be compared with what the links of that phase carry already.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "machine/machine.hpp"
#include "place/links/objective.hpp"

namespace corewise::place {

inline constexpr int most_cut_ranks = 16;
inline constexpr int most_cut_units = 64;

struct Cut {
  std::vector<machine::StopId> stops;  ///< ascending
  std::uint64_t units = 0;             ///< bit u: unit u hangs on one of them
  int units_inside = 0;
  double capacity_out = 0;  ///< bytes per ns of the links that leave the set and are on a route; 0: none
  double capacity_in = 0;
  double sigma_out = 0;  ///< ns per byte
  double sigma_in = 0;
  int links_out = 0;  ///< that are on a route; 0 where their bandwidths differ
  int links_in = 0;
  double quantum = 0;  ///< of the machine: every share of a message on a link is a multiple of it
};

/// Cuts worth asking: single stops, the sides of every link, stops between two stops and what two such sets have in
/// common; one per set of units, the one with the least capacity. Requires at most most_cut_units units.
std::vector<Cut> find_cuts(const machine::Machine& machine, std::size_t most = 400);

/// What a phase costs in any placement, in ns: its largest message on the worst link of the pair of units that
/// suits it best. 0 where two units share a stop.
double floor_ns(const RoutedShares& shares, const std::vector<Traffic>& phase);

/// Minima over completions for ranks placed in a fixed order.
class CutTables {
 public:
  /// `order`: the ranks in the order in which they are placed; at most most_cut_ranks. `most_tables` bounds memory
  /// (8 * 2^(ranks + 1) bytes a table); cuts beyond it are left out, those listed first come first.
  /// `floors`: per phase what it costs at least (floor_ns).
  CutTables(std::vector<Cut> cuts, const Workload& work, const std::vector<int>& order, int units,
            const std::vector<double>& floors, std::size_t most_tables = 64);

  [[nodiscard]] const std::vector<Cut>& cuts() const { return cuts_; }
  /// Least cost in ns of any completion; bit k of `inside`: the k-th rank of the order is inside. `placed` ranks
  /// are placed. Infinite where no completion fits.
  [[nodiscard]] double least_ns(std::size_t cut, int placed, std::uint32_t inside) const {
    return tables_[table_of_cut_[cut]][(std::size_t{1} << static_cast<unsigned>(placed)) + inside];
  }
  /// The same for one whole set of ranks inside, and what every phase costs at least with it, in ns.
  [[nodiscard]] double set_ns(std::size_t cut, std::uint32_t inside) const {
    return tables_[table_of_cut_[cut]][(std::size_t{1} << static_cast<unsigned>(ranks_)) + inside];
  }
  [[nodiscard]] std::vector<double> phases_ns(std::size_t cut, std::uint32_t inside) const;

  /// Makes tables of every phase alone, for as many kinds of cuts, those listed first, as fit into `most_bytes`;
  /// once.
  void measure_phases(int units, std::size_t most_bytes);
  /// Raises what every phase costs at least in any completion, in ns, to what this cut says of each alone; the
  /// minima of the phases may belong to different completions. A cut without such tables says nothing.
  void raise_phases(std::size_t cut, int placed, std::uint32_t inside, std::vector<double>& least) const {
    if (table_of_cut_[cut] >= phase_tables_.size()) return;
    const double* entry = phase_tables_[table_of_cut_[cut]].data() +
                          ((std::size_t{1} << static_cast<unsigned>(placed)) + inside) * least.size();
    for (std::size_t phase = 0; phase < least.size(); ++phase) least[phase] = std::max(least[phase], entry[phase]);
  }
  /// Of the cuts with at least a quarter of the units on both sides the one that leaves fewest sets of ranks below
  /// the limit, and how many; -1 where there is none.
  [[nodiscard]] std::pair<int, std::size_t> splitting_cut(double limit_ns, int units) const;

  /// Bound at the root. Of disjoint cuts that hold all units one holds at least an average number of ranks; and of
  /// nested cuts every one holds as many ranks as the one inside it, and at most as many more as it has more units.
  [[nodiscard]] double root_ns() const { return root_ns_; }
  /// Nested cuts, innermost first, that prove root_ns() together; empty where one cut or disjoint ones do.
  [[nodiscard]] const std::vector<int>& chain() const { return chain_; }

 private:
  /// Keeps the cuts that get a table; returns one of each kind, in the order of the tables.
  std::vector<Cut> keep_cuts(std::vector<Cut> cuts, std::size_t most_tables);
  /// Per kind of cut the cost of every set of ranks inside.
  [[nodiscard]] std::vector<std::vector<double>> costs_of_kinds() const;
  /// One of `tables_`.
  [[nodiscard]] std::vector<double> least_costs(const Cut& cut, const std::vector<double>& costs, int units) const;
  [[nodiscard]] double shared_out_ns(int units) const;
  [[nodiscard]] std::vector<int> chain_from(int cut) const;
  [[nodiscard]] double chain_ns(const std::vector<int>& chain, int units) const;
  void measure_chains(int units);

  std::vector<Cut> cuts_;
  std::vector<std::size_t> table_of_cut_;
  std::vector<Cut> kinds_;                         ///< one per table
  std::vector<std::vector<double>> phase_tables_;  ///< as tables_, the entry's phases side by side
  /// Entry 2^d + mask: minimum after d ranks.
  std::vector<std::vector<double>> tables_;
  int ranks_ = 0;
  Workload work_;  ///< ranks by position
  std::vector<double> floors_;
  double root_ns_ = 0;
  std::vector<int> chain_;
  std::vector<std::vector<double>> by_count_;  ///< per table and number of ranks inside
};

}  // namespace corewise::place

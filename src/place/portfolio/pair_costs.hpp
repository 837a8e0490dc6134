// Pair costs: what the messages of every rank would cost on every unit, all other ranks as they are; stored while
// ranks move. Owns these costs.
//
// A cost is a sum over pairs of ranks and over one or two aspects: a weight that belongs to the pair times a number
// that belongs to the two units. What an exchange of two ranks costs is then four looks, whatever the number of
// their peers. To carry it out renews the costs of all peers on all units. So it pays where few exchanges are
// accepted of those that are looked at.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "place/cost.hpp"
#include "place/portfolio/acceptance.hpp"

namespace corewise::place {

class PairCosts {
 public:
  /// One kind of numbers.
  struct Aspect {
    std::vector<double> table;    ///< [peer's unit][own unit]
    std::vector<double> weights;  ///< of the pairs, in the order of the peers

    [[nodiscard]] const double* row(machine::UnitId of_peer, std::size_t units) const {
      return table.data() + static_cast<std::size_t>(of_peer) * units;
    }
  };
  /// The pairs of rank r, each with another peer, are at [begin[r], begin[r + 1]); both ranks have the pair.
  PairCosts(int units, std::vector<std::size_t> begin, std::vector<int> peers, std::vector<Aspect> aspects);

  /// Whether few enough exchanges of ranks are accepted, on so many units.
  [[nodiscard]] static bool are_worth_storing(std::size_t units, const Acceptance& exchanges) {
    const std::size_t outgrown = std::max<std::size_t>(1, units / most_cached_units);
    return exchanges.accepted * units * outgrown < looks_per_unit * exchanges.looked_at;
  }
  void store(Assignment unit_of_rank);
  void drop() { costs_.clear(); }
  [[nodiscard]] bool stored() const { return !costs_.empty(); }

  /// Of a pair, in the order of the peers; none: the two exchange nothing. Requires that costs are stored.
  [[nodiscard]] std::uint32_t pair(int rank, int other) const {
    return pair_at_[static_cast<std::size_t>(rank) * ranks_ + static_cast<std::size_t>(other)];
  }
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  /// Requires that costs are stored: a rank is elsewhere now.
  void moved(int rank, machine::UnitId from, machine::UnitId to);
  /// What it costs more that `rank` goes from `left` to `unit`, and `other`, if not negative, the other way; of the
  /// pair of the two nothing.
  [[nodiscard]] double more(int rank, machine::UnitId left, int other, machine::UnitId unit) const {
    const double one = at(rank, unit) - at(rank, left);
    return other < 0 ? one : one + at(other, left) - at(other, unit) - of_the_pair(rank, left, other, unit);
  }

 private:
  /// To renew the costs of a rank's peers takes as long as to add up those of a few exchanges for every unit; and
  /// longer on more units, as the costs outgrow a core's caches.
  static constexpr std::uint64_t looks_per_unit = 4;
  static constexpr std::size_t most_cached_units = 256;

  [[nodiscard]] double at(int rank, machine::UnitId unit) const {
    return costs_[static_cast<std::size_t>(rank) * units_ + static_cast<std::size_t>(unit)];
  }
  [[nodiscard]] double of_the_pair(int rank, machine::UnitId left, int other, machine::UnitId unit) const;
  void change_peers(int rank);

  std::size_t units_;
  std::size_t ranks_;
  std::vector<std::size_t> begin_;
  std::vector<int> peers_;
  std::vector<Aspect> aspects_;
  std::vector<double> costs_;                 ///< [rank][unit]; empty: not stored
  std::vector<std::uint32_t> pair_at_;        ///< [rank][rank] into peers_; made when first stored
  std::vector<std::vector<double>> changes_;  ///< [aspect][unit], of what a peer of a moved rank pays
};

}  // namespace corewise::place

// Symmetry: which units of a machine can trade places without any link noticing. Owns the automorphism group
// of a machine's routed link set, and the list of placements that represent all others under it.
//
// A permutation p of units is a symmetry if there is a bijection of the merged links that keeps bandwidths and
// takes the tied routes of every pair (u, v) to those of (p(u), p(v)), and if p keeps all hop counts. Then every
// placement and its image under p have the same bottleneck and the same hop-bytes, whatever the pattern. The
// group is computed from the routes, never assumed from the machine's name: a rule for ties that depends on the
// source breaks the symmetry of a ring. Every permutation reported has been checked exactly; a search that gives
// up at its node limit can only lose symmetries, which costs time and never an optimum.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "machine/machine.hpp"
#include "place/links/objective.hpp"

namespace corewise::place {

/// Image of unit u at [u].
using UnitPermutation = std::vector<machine::UnitId>;

class AutomorphismSearch;

class Symmetry {
 public:
  /// Merges the links itself; pass the shares of the machine as it is.
  explicit Symmetry(const RoutedShares& shares);

  [[nodiscard]] int units() const { return units_; }
  /// Largest 64-bit number where the order is larger (21 interchangeable units or more).
  [[nodiscard]] std::uint64_t order() const { return order_; }
  /// Generate the whole group. Empty for the trivial group.
  [[nodiscard]] const std::vector<UnitPermutation>& generators() const { return generators_; }
  /// Every element, sorted, identity first; empty where the order is over `most_listed`.
  [[nodiscard]] const std::vector<UnitPermutation>& elements() const { return elements_; }
  /// The definition above, checked exactly for one permutation.
  [[nodiscard]] bool contains(const UnitPermutation& permutation) const;

  /// Orbits under the subgroup that fixes every unit of `fixed`: the smallest unit of u's orbit at [u].
  [[nodiscard]] std::vector<machine::UnitId> orbits_fixing(std::span<const machine::UnitId> fixed) const;

  static constexpr std::uint64_t most_listed = 1024;

 private:
  void find_generators();
  void list_elements();

  int units_ = 0;
  std::uint64_t order_ = 1;
  std::vector<UnitPermutation> generators_;
  std::vector<UnitPermutation> elements_;
  std::shared_ptr<const AutomorphismSearch> search_;
};

/// One placement out of every orbit of the group, written as starts: the first ranks lie on `units`, and every
/// way of placing the remaining ranks on the remaining units is an orbit of its own of `orbit_size` placements.
/// Starts and completions in ascending order visit the lexicographically least member of each orbit, in
/// lexicographic order.
struct Representatives {
  struct Start {
    std::vector<machine::UnitId> units;
    std::uint64_t orbit_size = 1;
  };

  int units = 0;
  int ranks = 0;
  std::vector<Start> starts;
  std::uint64_t count = 0;    ///< placements to evaluate
  std::uint64_t covered = 0;  ///< placements in all: units! / (units - ranks)!
};

/// Nothing where there are more than `limit` representatives, more placements than 64 bits count, or more than
/// 3,000 sets of units to stabilise on the way.
/// Requires 1 <= ranks <= units.
std::optional<Representatives> representatives(const Symmetry& symmetry, int ranks, std::uint64_t limit);

}  // namespace corewise::place

// Symmetry: the group from a chain of stabilisers, and one placement per orbit. See symmetry.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/symmetry/symmetry.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/index.hpp"
#include "place/symmetry/automorphism.hpp"

namespace corewise::place {

namespace {

/// Sets of fixed units whose orbits may be computed before enumeration counts as out of reach: bounds the time
/// spent on machines with much local and little global symmetry.
constexpr std::size_t most_fixed_sets = 3'000;
constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? largest : product;
}

/// Classes of units that are known to trade places; each is named by its smallest unit.
class Classes {
 public:
  explicit Classes(int units) : parent_(index(units)) { std::iota(parent_.begin(), parent_.end(), 0); }

  int find(int unit) const {
    while (parent_[index(unit)] != unit) unit = parent_[index(unit)];
    return unit;
  }
  void join(const UnitPermutation& permutation) {
    for (int unit = 0; unit < static_cast<int>(permutation.size()); ++unit) {
      const auto [low, high] = std::minmax({find(unit), find(permutation[index(unit)])});
      parent_[index(high)] = low;
    }
  }
  std::uint64_t size_of(int unit) const {
    std::uint64_t size = 0;
    for (int other = 0; other < static_cast<int>(parent_.size()); ++other)
      size += find(other) == find(unit) ? 1 : 0;
    return size;
  }
  std::vector<int> smallest() const {
    std::vector<int> all;
    for (int unit = 0; unit < static_cast<int>(parent_.size()); ++unit) all.push_back(find(unit));
    return all;
  }

 private:
  std::vector<int> parent_;
};

bool fixes(const UnitPermutation& permutation, std::span<const int> fixed) {
  return std::all_of(fixed.begin(), fixed.end(), [&](int unit) { return permutation[index(unit)] == unit; });
}

/// Placements of `ranks` more ranks on `free_units` units.
std::uint64_t completions(int free_units, int ranks) {
  std::uint64_t count = 1;
  for (int k = 0; k < ranks; ++k) count = saturating_product(count, static_cast<std::uint64_t>(free_units - k));
  return count;
}

/// Grows starts rank by rank, one per orbit, until no symmetry is left or all ranks are placed.
class StartBuilder {
 public:
  StartBuilder(const Symmetry& symmetry, std::uint64_t limit, Representatives& made)
      : symmetry_(symmetry), limit_(limit), made_(made) {}

  bool grow(std::uint64_t orbit_size) {
    const int placed = static_cast<int>(start_.size());
    if (placed == made_.ranks) return emit(orbit_size);
    if (known_.size() > most_fixed_sets) return false;
    const std::vector<int>& orbits = orbits_fixing_start();
    if (is_trivial(orbits)) return emit(orbit_size);
    for (int unit = 0; unit < made_.units; ++unit) {
      if (orbits[index(unit)] != unit || std::find(start_.begin(), start_.end(), unit) != start_.end()) continue;
      const auto size = static_cast<std::uint64_t>(std::count(orbits.begin(), orbits.end(), unit));
      start_.push_back(unit);
      const bool within_limit = grow(orbit_size * size);
      start_.pop_back();
      if (!within_limit) return false;
    }
    return true;
  }

 private:
  static bool is_trivial(const std::vector<int>& orbits) {
    for (int unit = 0; unit < static_cast<int>(orbits.size()); ++unit) {
      if (orbits[index(unit)] != unit) return false;
    }
    return true;
  }

  /// The subgroup that fixes units one by one does not depend on their order.
  const std::vector<int>& orbits_fixing_start() {
    std::vector<int> set = start_;
    std::sort(set.begin(), set.end());
    const auto known = known_.find(set);
    if (known != known_.end()) return known->second;
    return known_.emplace(set, symmetry_.orbits_fixing(set)).first->second;
  }

  bool emit(std::uint64_t orbit_size) {
    const int placed = static_cast<int>(start_.size());
    const std::uint64_t below = completions(made_.units - placed, made_.ranks - placed);
    if (below > limit_ || made_.count > limit_ - below) return false;
    made_.count += below;
    made_.starts.push_back({start_, orbit_size});
    return true;
  }

  const Symmetry& symmetry_;
  std::uint64_t limit_;
  Representatives& made_;
  std::vector<int> start_;
  std::map<std::vector<int>, std::vector<int>> known_;
};

}  // namespace

Symmetry::Symmetry(const RoutedShares& shares)
    : units_(shares.units()), search_(std::make_shared<const AutomorphismSearch>(shares.merged())) {
  find_generators();
  if (order_ <= most_listed) list_elements();
}

/// Schreier's chain: level i holds the symmetries that fix units 0 to i-1. From the last level up, everything
/// found deeper also acts on the level above; the order is the product of the orbit lengths of unit i at level i.
void Symmetry::find_generators() {
  for (int level = units_ - 1; level >= 0; --level) {
    std::vector<int> fixed(index(level));
    std::iota(fixed.begin(), fixed.end(), 0);
    Classes classes(units_);
    for (const UnitPermutation& generator : generators_) classes.join(generator);
    for (int image = level + 1; image < units_; ++image) {
      if (classes.find(image) != image) continue;
      const std::optional<UnitPermutation> found = search_->find(fixed, level, image);
      if (!found) continue;
      generators_.push_back(*found);
      classes.join(*found);
    }
    order_ = saturating_product(order_, classes.size_of(level));
  }
}

void Symmetry::list_elements() {
  UnitPermutation identity(index(units_));
  std::iota(identity.begin(), identity.end(), 0);
  std::set<UnitPermutation> known{identity};
  std::vector<UnitPermutation> fresh{identity};
  while (!fresh.empty()) {
    const UnitPermutation element = std::move(fresh.back());
    fresh.pop_back();
    for (const UnitPermutation& generator : generators_) {
      UnitPermutation product(index(units_));
      for (int unit = 0; unit < units_; ++unit) product[index(unit)] = generator[index(element[index(unit)])];
      if (known.insert(product).second) fresh.push_back(std::move(product));
    }
  }
  elements_.assign(known.begin(), known.end());
}

bool Symmetry::contains(const UnitPermutation& permutation) const {
  UnitPermutation sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  for (int unit = 0; unit < units_; ++unit) {
    if (sorted.size() != index(units_) || sorted[index(unit)] != unit) return false;
  }
  return search_->is_symmetry(permutation);
}

std::vector<machine::UnitId> Symmetry::orbits_fixing(std::span<const machine::UnitId> fixed) const {
  Classes classes(units_);
  for (const UnitPermutation& known : elements_.empty() ? generators_ : elements_) {
    if (fixes(known, fixed)) classes.join(known);
  }
  if (!elements_.empty()) return classes.smallest();
  for (int unit = 0; unit < units_; ++unit) {
    if (std::find(fixed.begin(), fixed.end(), unit) != fixed.end()) continue;
    for (int image = unit + 1; image < units_ && classes.find(unit) == unit; ++image) {
      if (classes.find(image) != image) continue;
      if (std::find(fixed.begin(), fixed.end(), image) != fixed.end()) continue;
      if (const auto found = search_->find(fixed, unit, image)) classes.join(*found);
    }
  }
  return classes.smallest();
}

std::optional<Representatives> representatives(const Symmetry& symmetry, int ranks, std::uint64_t limit) {
  Representatives made;
  made.units = symmetry.units();
  made.ranks = ranks;
  made.covered = completions(made.units, ranks);
  if (made.covered == largest || made.covered / symmetry.order() > limit) return std::nullopt;
  if (!StartBuilder(symmetry, limit, made).grow(1)) return std::nullopt;
  return made;
}

}  // namespace corewise::place

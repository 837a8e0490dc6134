// Enumeration: walks the representatives of all placements depth first; private to the room. Owns the walk, the
// record of best and worst, and the accounting; what a placement costs comes from the kernel handed in.
//
// A kernel has: type Primary; extend(depth, unit_of_rank), told that rank `depth` now lies on
// unit_of_rank[depth]; primary(placed), the primary score of the ranks placed so far, which never falls when a
// rank is added; secondary(unit_of_rank), of a whole placement. Where the kernel's ranks are in another order
// than the user's, a Naming turns a placement into the user's terms.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "place/exhaustive_result.hpp"
#include "place/symmetry/symmetry.hpp"

namespace corewise::place {

/// Turns a placement of the kernel's ranks into the least placement of its orbit, in the user's ranks.
struct Naming {
  std::vector<int> position_of_rank;  ///< where the kernel places the user's rank
  const std::vector<UnitPermutation>* elements = nullptr;

  std::vector<int> operator()(const std::vector<int>& unit_at_position) const {
    std::vector<int> least;
    std::vector<int> image(position_of_rank.size());
    for (const UnitPermutation& element : *elements) {
      for (std::size_t rank = 0; rank < image.size(); ++rank) {
        const auto position = static_cast<std::size_t>(position_of_rank[rank]);
        image[rank] = element[static_cast<std::size_t>(unit_at_position[position])];
      }
      if (least.empty() || image < least) least = image;
    }
    return least;
  }
};

template <class Kernel>
class Enumeration {
 public:
  using Primary = typename Kernel::Primary;

  Enumeration(Kernel& kernel, const Representatives& representatives, const ExhaustiveOptions& options,
              const Naming* naming = nullptr)
      : kernel_(kernel),
        all_(representatives),
        options_(options),
        naming_(naming),
        next_(static_cast<std::size_t>(all_.units) + 1),
        previous_(static_cast<std::size_t>(all_.units) + 2),
        unit_of_rank_(static_cast<std::size_t>(all_.ranks)) {
    std::iota(next_.begin(), next_.end(), 1);
    std::iota(previous_.begin(), previous_.end(), -1);
    count_completions();
  }

  ExhaustiveResult run() {
    for (const Representatives::Start& start : all_.starts) {
      orbit_size_ = start.orbit_size;
      descend_start(start, 0);
    }
    result_.covered = all_.covered;
    put_best_first();
    return std::move(result_);
  }

 private:
  // Free units form a list in ascending order: entry u + 1 of next_ is the one after u, entry 0 the first.
  int first_free() const { return next_[0] - 1; }
  int free_after(int unit) const { return next_[static_cast<std::size_t>(unit) + 1] - 1; }
  void take(int unit) {
    const auto at = static_cast<std::size_t>(unit) + 1;
    next_[static_cast<std::size_t>(previous_[at])] = next_[at];
    previous_[static_cast<std::size_t>(next_[at])] = previous_[at];
  }
  void give_back(int unit) {
    const auto at = static_cast<std::size_t>(unit) + 1;
    next_[static_cast<std::size_t>(previous_[at])] = unit + 1;
    previous_[static_cast<std::size_t>(next_[at])] = unit + 1;
  }

  void count_completions() {
    completions_.assign(static_cast<std::size_t>(all_.ranks) + 1, 1);
    for (int placed = all_.ranks - 1; placed >= 0; --placed) {
      const auto at = static_cast<std::size_t>(placed);
      // Wraps for counts beyond 64 bits, which only occur above every start and are never read.
      completions_[at] = completions_[at + 1] * static_cast<std::uint64_t>(all_.units - placed);
    }
  }

  void put_best_first() {
    std::sort(result_.optimal.begin(), result_.optimal.end(),
              [](const auto& a, const auto& b) { return a.unit_of_rank < b.unit_of_rank; });
    if (result_.optimal.empty() || result_.optimal.front().unit_of_rank == result_.best.unit_of_rank) return;
    result_.optimal.insert(result_.optimal.begin(), result_.best);
    result_.optimal.pop_back();
  }

  bool exceeds_best(int placed) {
    if (options_.find_worst || !has_best_ || !(kernel_.primary(placed) > best_)) return false;
    result_.excluded += completions_[static_cast<std::size_t>(placed)];
    return true;
  }

  void descend_start(const Representatives::Start& start, std::size_t depth) {
    if (depth == start.units.size()) {
      if (static_cast<int>(depth) == all_.ranks) {
        leaf();
      } else {
        descend(static_cast<int>(depth));
      }
      return;
    }
    unit_of_rank_[depth] = start.units[depth];
    kernel_.extend(static_cast<int>(depth), unit_of_rank_.data());
    take(start.units[depth]);
    descend_start(start, depth + 1);
    give_back(start.units[depth]);
  }

  void descend(int depth) {
    for (int unit = first_free(); unit < all_.units; unit = free_after(unit)) {
      unit_of_rank_[static_cast<std::size_t>(depth)] = unit;
      kernel_.extend(depth, unit_of_rank_.data());
      if (exceeds_best(depth + 1)) continue;
      if (depth + 1 == all_.ranks) {
        leaf();
        continue;
      }
      take(unit);
      descend(depth + 1);
      give_back(unit);
    }
  }

  void leaf() {
    ++result_.evaluated;
    const Primary primary = kernel_.primary(all_.ranks);
    if (!has_best_ || !(primary > best_)) consider_best(primary);
    if (options_.find_worst && (!result_.worst || !(primary < worst_))) consider_worst(primary);
  }

  std::vector<int> named() const { return naming_ ? (*naming_)(unit_of_rank_) : unit_of_rank_; }

  // In the user's order, representatives come in lexicographic order: the first of equal scores is the least.
  void consider_best(Primary primary) {
    const double secondary = kernel_.secondary(unit_of_rank_.data());
    const bool better = !has_best_ || primary < best_ || secondary < result_.best_score.secondary;
    if (!better && secondary > result_.best_score.secondary) return;
    const std::vector<int> placement = named();
    if (better) {
      has_best_ = true;
      best_ = primary;
      result_.best_score.secondary = secondary;
      result_.optimal.clear();
      result_.optimal_count = 0;
    }
    if (better || (naming_ && placement < result_.best.unit_of_rank)) result_.best.unit_of_rank = placement;
    result_.optimal_count += orbit_size_;
    if (result_.optimal.size() < options_.keep_optimal) result_.optimal.push_back({placement});
  }

  void consider_worst(Primary primary) {
    const double secondary = kernel_.secondary(unit_of_rank_.data());
    const bool equal_primary = result_.worst && primary == worst_;
    if (equal_primary && secondary < result_.worst_score.secondary) return;
    std::vector<int> placement = named();
    const bool equal = equal_primary && secondary == result_.worst_score.secondary;
    if (equal && !(placement < result_.worst->unit_of_rank)) return;
    worst_ = primary;
    result_.worst_score.secondary = secondary;
    result_.worst = machine::Placement{std::move(placement)};
  }

  Kernel& kernel_;
  const Representatives& all_;
  const ExhaustiveOptions& options_;
  const Naming* naming_;
  std::vector<int> next_;
  std::vector<int> previous_;
  std::vector<int> unit_of_rank_;
  std::vector<std::uint64_t> completions_;
  std::uint64_t orbit_size_ = 1;
  bool has_best_ = false;
  Primary best_{};
  Primary worst_{};
  ExhaustiveResult result_;
};

}  // namespace corewise::place

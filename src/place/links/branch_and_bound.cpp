// Branch and bound: the tree, node by node. See branch_and_bound.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/links/branch_and_bound.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "base/index.hpp"
#include "place/links/assignment_bounds.hpp"
#include "place/links/placing_order.hpp"

namespace corewise::place {

namespace {

std::uint64_t bit(int unit) {
  return std::uint64_t{1} << static_cast<unsigned>(unit);
}

/// Equal phases as one of their summed weight, empty ones left out: the same
/// cost in fewer terms.
Workload grouped(const Workload& work) {
  Workload made;
  made.ranks = work.ranks;
  using Key = std::vector<std::array<std::uint64_t, 3>>;
  std::map<Key, std::size_t> known;
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    if (work.phases[phase].empty()) continue;
    Key key;
    for (const Traffic& entry : work.phases[phase]) {
      key.push_back({static_cast<std::uint64_t>(entry.from), static_cast<std::uint64_t>(entry.to), entry.bytes});
    }
    const auto [entry, is_new] = known.emplace(std::move(key), made.phases.size());
    if (is_new) {
      made.phases.push_back(work.phases[phase]);
      made.weights.push_back(0);
    }
    made.weights[entry->second] += work.weight(phase);
  }
  return made;
}

std::vector<double> floors(const RoutedShares& shares, const Workload& work) {
  std::vector<double> made;
  for (const auto& phase : work.phases) made.push_back(floor_ns(shares, phase));
  return made;
}

UnitPermutation exchange(int units, const std::vector<int>& left, const std::vector<int>& right) {
  UnitPermutation image(index(units));
  std::iota(image.begin(), image.end(), 0);
  for (std::size_t k = 0; k < left.size(); ++k) std::swap(image[index(left[k])], image[index(right[k])]);
  return image;
}

/// Blocks of units any two of which may trade places; the exchanges found are
/// added to `found`.
std::vector<std::vector<int>> exchangeable_blocks(const Symmetry& symmetry, std::vector<UnitPermutation>& found) {
  std::vector<std::vector<int>> blocks;
  for (int unit = 0; unit < symmetry.units(); ++unit) {
    bool joined = false;
    for (std::vector<int>& block : blocks) {
      UnitPermutation swap = exchange(symmetry.units(), {block.back()}, {unit});
      if (!symmetry.contains(swap)) continue;
      found.push_back(std::move(swap));
      block.push_back(unit);
      joined = true;
      break;
    }
    if (!joined) blocks.push_back({unit});
  }
  return blocks;
}

struct Mover {
  std::uint64_t moved = 0;
  UnitPermutation image;
};

std::vector<Mover> movers(const std::vector<UnitPermutation>& symmetries) {
  std::vector<Mover> made;
  for (const UnitPermutation& image : symmetries) {
    Mover mover{0, image};
    for (std::size_t unit = 0; unit < image.size(); ++unit) {
      if (index(image[unit]) != unit) mover.moved |= std::uint64_t{1} << unit;
    }
    if (mover.moved != 0) made.push_back(std::move(mover));
  }
  return made;
}

}  // namespace

namespace {

std::vector<UnitPermutation> applicable(const Symmetry& symmetry) {
  if (!symmetry.elements().empty()) return symmetry.elements();
  std::vector<UnitPermutation> found = symmetry.generators();
  const std::vector<std::vector<int>> blocks = exchangeable_blocks(symmetry, found);
  for (std::size_t a = 0; a < blocks.size(); ++a) {
    for (std::size_t b = a + 1; b < blocks.size(); ++b) {
      if (blocks[a].size() != blocks[b].size()) continue;
      UnitPermutation swap = exchange(symmetry.units(), blocks[a], blocks[b]);
      if (symmetry.contains(swap)) found.push_back(std::move(swap));
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

/// Those that fix every fixed rank.
PatternSymmetry kept(PatternSymmetry symmetry, const Limits& limits) {
  if (limits.rules().fixed.empty()) return symmetry;
  PatternSymmetry made;
  for (auto& generator : symmetry.generators) {
    const bool fixes =
        std::all_of(limits.rules().fixed.begin(), limits.rules().fixed.end(),
                    [&](const auto& fixed) { return generator.second[index(fixed.first)] == fixed.first; });
    if (fixes) made.generators.push_back(std::move(generator));
  }
  made.before = std::move(symmetry.before);
  std::erase_if(made.before, [&](const auto& pair) { return limits.is_fixed(pair.first); });
  return made;
}

}  // namespace

std::vector<UnitPermutation> usable_symmetries(const Symmetry& symmetry, const Limits& limits) {
  std::vector<UnitPermutation> found = applicable(symmetry);
  std::erase_if(found, [&](const UnitPermutation& image) { return !limits.kept_by(image); });
  return found;
}

class BranchAndBound::Tree {
 public:
  enum class Answer { found, none, unknown };

  Tree(const std::vector<Cut>& cuts, const RoutedShares& shares, const Symmetry& symmetry, const Workload& work,
       const Limits& limits)
      : limits_(limits),
        work_(grouped(work)),
        ranks_(work.ranks),
        units_(shares.units()),
        order_(placing_order(work_, limits)),
        symmetries_(usable_symmetries(symmetry, limits)),
        movers_(movers(symmetries_)),
        pattern_(kept(pattern_symmetry(work_, order_), limits)) {
    take_shares(shares.merged());
    take_messages();
    take_constraints();
    if (ranks_ <= most_cut_ranks && units_ <= most_cut_units) {
      cut_tables_.emplace(cuts, work_, order_, units_, floors(shares, work_));
      cut_inside_.assign(depths() * cut_tables_->cuts().size(), 0);
    }
    load_.assign(depths() * load_size_, 0);
    busiest_.assign(depths() * work_.phases.size(), 0);
    cost_.assign(depths(), 0);
    allowed_.assign(depths(), std::vector<std::uint64_t>(index(ranks_), 0));
    unit_at_.assign(index(ranks_), -1);
    extra_.assign(load_size_, 0);
    trial_.assign(work_.phases.size(), 0);
    lowest_.assign(work_.phases.size(), 0);
    const std::vector<double> floor = floors(shares, work_);
    std::copy(floor.begin(), floor.end(), busiest_.begin());
    take_likes(symmetry);
  }

  /// Is there a placement below the threshold? At most `budget` nodes.
  /// With a splitting cut (not -1) one tree for every set of ranks inside it
  /// that the cut's own bound leaves open.
  Answer below(double threshold_ns, int split, std::uint64_t budget, const std::function<bool()>* should_stop,
               std::string* letters, std::size_t most_letters) {
    limit_ns_ = threshold_ns * (1 - tolerance);
    nodes_left_ = budget;
    should_stop_ = should_stop;
    letters_ = letters;
    most_letters_ = most_letters;
    stopped_ = false;
    found_ = false;
    if (root_ns() >= limit_ns_) {
      if (letters_ != nullptr) letters_->assign(1, 'R');
      return Answer::none;
    }
    if (cut_tables_ && work_.phases.size() > 1) cut_tables_->measure_phases(units_, most_phase_bytes);
    const std::uint64_t all = units_ == 64 ? ~std::uint64_t{0} : bit(units_) - 1;
    for (int position = 0; position < ranks_; ++position) allowed_[0][index(position)] = domain(position, all);
    live_movers_.assign(1, {});
    for (const Mover& mover : movers_) live_movers_[0].push_back(&mover);
    sides_.assign(index(ranks_), all);
    const std::vector<double> floor(busiest_.begin(),
                                    busiest_.begin() + static_cast<std::ptrdiff_t>(work_.phases.size()));
    if (split < 0) {
      descend(0, all);
    } else {
      descend_split(static_cast<std::size_t>(split), all);
    }
    std::copy(floor.begin(), floor.end(), busiest_.begin());
    if (found_) return Answer::found;
    return stopped_ ? Answer::unknown : Answer::none;
  }

  /// The cut to split by, -1 where none leaves few enough sets.
  [[nodiscard]] int splitting_cut(double threshold_ns) const {
    if (!cut_tables_) return -1;
    const auto [cut, sets] = cut_tables_->splitting_cut(threshold_ns * (1 - tolerance), units_);
    return sets <= most_split_sets ? cut : -1;
  }

  [[nodiscard]] double root_ns() const { return cut_tables_ ? cut_tables_->root_ns() : 0; }
  [[nodiscard]] const std::vector<int>& chain() const {
    static const std::vector<int> none;
    return cut_tables_ ? cut_tables_->chain() : none;
  }
  [[nodiscard]] std::uint64_t nodes() const { return nodes_; }
  [[nodiscard]] machine::Placement found() const { return {found_unit_of_rank_}; }

  [[nodiscard]] double cost_ns(const std::vector<int>& unit_of_rank) {
    for (int depth = 0; depth < ranks_; ++depth) put(depth, unit_of_rank[index(order_[index(depth)])]);
    return cost_[index(ranks_)];
  }

  [[nodiscard]] const Limits& limits() const { return limits_; }
  [[nodiscard]] const std::vector<int>& order() const { return order_; }
  [[nodiscard]] const std::vector<UnitPermutation>& symmetries() const { return symmetries_; }
  [[nodiscard]] const PatternSymmetry& pattern() const { return pattern_; }
  [[nodiscard]] std::vector<Cut> const& cuts() const {
    static const std::vector<Cut> none;
    return cut_tables_ ? cut_tables_->cuts() : none;
  }

 private:
  static constexpr std::size_t most_split_sets = 40'000;
  static constexpr std::size_t most_phase_bytes = std::size_t{96} << 20U;

  void descend_split(std::size_t cut, std::uint64_t all) {
    const std::uint64_t within = cut_tables_->cuts()[cut].units;
    const std::uint32_t sets = std::uint32_t{1} << static_cast<unsigned>(ranks_);
    for (std::uint32_t inside = 0; inside < sets && !stopped_ && !found_; ++inside) {
      if (cut_tables_->set_ns(cut, inside) >= limit_ns_) continue;
      const std::vector<double> least = cut_tables_->phases_ns(cut, inside);
      std::copy(least.begin(), least.end(), busiest_.begin());
      for (int position = 0; position < ranks_; ++position) {
        const bool is_inside = ((inside >> static_cast<unsigned>(position)) & 1U) != 0;
        sides_[index(position)] = is_inside ? within : all & ~within;
        allowed_[0][index(position)] = domain(position, sides_[index(position)]);
      }
      descend(0, all);
    }
  }

  struct TimeShare {
    std::uint32_t link;
    double ns_per_byte;
  };
  /// With the rank at an earlier position.
  struct Message {
    int peer;
    bool outgoing;
    std::uint32_t phase;
    double bytes;
  };

  /// Of these units the ones that the limits leave to the rank.
  [[nodiscard]] std::uint64_t domain(int position, std::uint64_t units) const {
    const int rank = order_[index(position)];
    if (limits_.is_fixed(rank)) return units & bit(limits_.unit_of(rank));
    std::uint64_t left = units;
    for (int unit = 0; unit < units_; ++unit) {
      if (!limits_.is_open(unit)) left &= ~bit(unit);
    }
    return left;
  }

  /// Of these units, for the rank at `depth`, those whose core takes one more rank.
  [[nodiscard]] std::uint64_t with_room(int depth, std::uint64_t units) const {
    Limits::Filling filling(limits_);
    for (int earlier = 0; earlier < depth; ++earlier) filling.put(unit_at_[index(earlier)]);
    for (std::uint64_t rest = units; rest != 0; rest &= rest - 1) {
      const int unit = std::countr_zero(rest);
      if (!filling.has_room(unit)) units &= ~bit(unit);
    }
    return units;
  }

  [[nodiscard]] std::size_t depths() const { return index(ranks_) + 1; }

  void take_shares(const RoutedShares& merged) {
    links_ = index(merged.links());
    load_size_ = links_ * work_.phases.size();
    share_begin_.push_back(0);
    for (int from = 0; from < units_; ++from) {
      for (int to = 0; to < units_; ++to) {
        for (const Share& share : merged.shares(from, to)) {
          shares_.push_back({static_cast<std::uint32_t>(share.link), merged.time_ns(share.parts, share.link)});
        }
        share_begin_.push_back(shares_.size());
      }
    }
  }

  void take_likes(const Symmetry& symmetry) {
    for (int unit = 0; unit < units_; ++unit) {
      like_.push_back(unit);
      for (int other = 0; other < unit; ++other) {
        if (like_[index(other)] != other || !symmetry.contains(exchange(units_, {other}, {unit}))) continue;
        like_.back() = other;
        break;
      }
    }
  }

  void take_messages() {
    std::vector<int> position(index(ranks_));
    for (int k = 0; k < ranks_; ++k) position[index(order_[index(k)])] = k;
    messages_.resize(index(ranks_));
    for (std::size_t phase = 0; phase < work_.phases.size(); ++phase) {
      for (const Traffic& entry : work_.phases[phase]) {
        const int from = position[index(entry.from)];
        const int to = position[index(entry.to)];
        messages_[index(std::max(from, to))].push_back(
            {std::min(from, to), from > to, static_cast<std::uint32_t>(phase), static_cast<double>(entry.bytes)});
      }
    }
    for (auto& list : messages_) {
      std::stable_sort(list.begin(), list.end(),
                       [](const Message& a, const Message& b) { return a.peer < b.peer; });
    }
  }

  /// Per position the earlier ones whose unit must be lower.
  void take_constraints() {
    std::vector<int> position(index(ranks_));
    for (int k = 0; k < ranks_; ++k) position[index(order_[index(k)])] = k;
    above_.resize(index(ranks_));
    for (const auto& [first, second] : pattern_.before) {
      above_[index(position[index(first)])].push_back(position[index(second)]);
    }
  }

  [[nodiscard]] std::span<const TimeShare> route(int from, int to) const {
    const std::size_t pair = index(from) * index(units_) + index(to);
    return {shares_.data() + share_begin_[pair], share_begin_[pair + 1] - share_begin_[pair]};
  }
  [[nodiscard]] std::span<const TimeShare> route(const Message& message, int unit) const {
    const int peer = unit_at_[index(message.peer)];
    return message.outgoing ? route(unit, peer) : route(peer, unit);
  }

  /// Loads and cost with the rank at `depth` on `unit`.
  void put(int depth, int unit) {
    const std::size_t phases = work_.phases.size();
    const double* before = load_.data() + index(depth) * load_size_;
    double* after = load_.data() + (index(depth) + 1) * load_size_;
    std::copy(before, before + load_size_, after);
    double* busiest = busiest_.data() + (index(depth) + 1) * phases;
    std::copy(busiest - phases, busiest, busiest);
    unit_at_[index(depth)] = unit;
    for (const Message& message : messages_[index(depth)]) {
      double* load = after + message.phase * links_;
      for (const TimeShare& share : route(message, unit)) {
        load[share.link] += message.bytes * share.ns_per_byte;
        busiest[message.phase] = std::max(busiest[message.phase], load[share.link]);
      }
    }
    double sum = 0;
    for (std::size_t phase = 0; phase < phases; ++phase) sum += work_.weight(phase) * busiest[phase];
    cost_[index(depth) + 1] = sum;
  }

  bool cut_closes(int depth, int unit) {
    if (!cut_tables_) return false;
    const auto& cuts = cut_tables_->cuts();
    const std::uint32_t* before = cut_inside_.data() + index(depth) * cuts.size();
    std::uint32_t* after = cut_inside_.data() + (index(depth) + 1) * cuts.size();
    bool closes = false;
    for (std::size_t k = 0; k < cuts.size(); ++k) {
      const auto inside = static_cast<std::uint32_t>((cuts[k].units >> static_cast<unsigned>(unit)) & 1U);
      after[k] = before[k] | (inside << static_cast<unsigned>(depth));
      if (cut_tables_->least_ns(k, depth + 1, after[k]) >= limit_ns_) {
        closes = true;
        break;
      }
    }
    return closes;
  }

  /// What is known of every phase, into least_: by the loads so far, and across the cut that says most of it.
  bool phases_close(int depth) {
    const double* busiest = busiest_.data() + (index(depth) + 1) * work_.phases.size();
    least_.assign(busiest, busiest + work_.phases.size());
    least_cost_ = cost_[index(depth) + 1];
    if (!cut_tables_ || work_.phases.size() < 2) return false;
    const std::uint32_t* inside = cut_inside_.data() + (index(depth) + 1) * cut_tables_->cuts().size();
    for (std::size_t k = 0; k < cut_tables_->cuts().size(); ++k) {
      cut_tables_->raise_phases(k, depth + 1, inside[k], least_);
    }
    least_cost_ = 0;
    for (std::size_t phase = 0; phase < least_.size(); ++phase) least_cost_ += work_.weight(phase) * least_[phase];
    return least_cost_ >= limit_ns_;
  }

  /// What the busiest links of every phase carry at least when the rank at
  /// `position` lies on `unit`, into trial_ of the phases in touched_phases_;
  /// returns the cost at least, given what is known of every phase (least_).
  [[nodiscard]] double cost_with(int depth, int position, int unit) {
    const double* load = load_.data() + index(depth) * load_size_;
    touched_.clear();
    for (const std::uint32_t phase : touched_phases_) trial_[phase] = 0;
    for (const Message& message : messages_[index(position)]) {
      if (message.peer >= depth) break;
      for (const TimeShare& share : route(message, unit)) {
        const std::size_t at = message.phase * links_ + share.link;
        if (extra_[at] == 0) touched_.push_back(at);
        extra_[at] += message.bytes * share.ns_per_byte;
        trial_[message.phase] = std::max(trial_[message.phase], load[at] + extra_[at]);
      }
    }
    for (const std::size_t at : touched_) extra_[at] = 0;
    double cost = least_cost_;
    for (const std::uint32_t phase : touched_phases_) {
      cost += work_.weight(phase) * std::max(0.0, trial_[phase] - least_[phase]);
    }
    return cost;
  }

  /// Narrows what the rank may take and raises what is known of every phase by
  /// the least that it adds anywhere.
  void narrow(int depth, int position, std::uint64_t& allowed) {
    touched_phases_.clear();
    for (const Message& message : messages_[index(position)]) {
      if (message.peer >= depth) break;
      if (std::find(touched_phases_.begin(), touched_phases_.end(), message.phase) == touched_phases_.end()) {
        touched_phases_.push_back(message.phase);
        lowest_[message.phase] = std::numeric_limits<double>::infinity();
      }
    }
    if (touched_phases_.empty()) return;
    std::uint64_t seen = 0;
    std::uint64_t kept = 0;
    for (std::uint64_t rest = allowed; rest != 0; rest &= rest - 1) {
      const int unit = std::countr_zero(rest);
      const int alike = like_[index(unit)];
      if ((seen & bit(alike)) == 0) {
        seen |= bit(alike);
        if (cost_with(depth, position, unit) < limit_ns_) {
          kept |= bit(alike);
          for (const std::uint32_t phase : touched_phases_)
            lowest_[phase] = std::min(lowest_[phase], trial_[phase]);
        }
      }
      if ((kept & bit(alike)) == 0) allowed &= ~bit(unit);
    }
    if (allowed == 0) return;
    for (const std::uint32_t phase : touched_phases_) {
      if (lowest_[phase] <= least_[phase]) continue;
      least_cost_ += work_.weight(phase) * (lowest_[phase] - least_[phase]);
      least_[phase] = lowest_[phase];
    }
  }

  /// Narrows what the ranks left may take; true where they have no assignment.
  bool assignment_closes(int depth, int unit) {
    const std::vector<std::uint64_t>& before = allowed_[index(depth)];
    std::vector<std::uint64_t>& after = allowed_[index(depth) + 1];
    for (int position = depth + 1; position < ranks_; ++position) {
      after[index(position)] = before[index(position)] & ~bit(unit);
    }
    for (const int position : above_[index(depth)]) after[index(position)] &= ~(bit(unit) | (bit(unit) - 1));
    for (int position = depth + 1; position < ranks_; ++position) {
      narrow(depth + 1, position, after[index(position)]);
      if (after[index(position)] == 0 || least_cost_ >= limit_ns_) return true;
    }
    return !has_assignment({after.data() + depth + 1, index(ranks_ - depth - 1)});
  }

  /// Free units that come first of their orbit.
  [[nodiscard]] std::uint64_t least_of_orbits(int depth, std::uint64_t free_units) {
    std::uint64_t least = free_units;
    const auto& live = live_movers_[index(depth)];
    if (live.empty()) return least;
    std::array<std::uint8_t, 64> parent{};
    for (int unit = 0; unit < units_; ++unit) parent[index(unit)] = static_cast<std::uint8_t>(unit);
    const auto root = [&parent](int unit) {
      while (parent[index(unit)] != unit) unit = parent[index(unit)];
      return unit;
    };
    for (const Mover* mover : live) {
      for (std::uint64_t rest = mover->moved; rest != 0; rest &= rest - 1) {
        const int unit = std::countr_zero(rest);
        const auto [low, high] = std::minmax({root(unit), root(mover->image[index(unit)])});
        if (low == high) continue;
        parent[index(high)] = static_cast<std::uint8_t>(low);
        least &= ~bit(high);
      }
    }
    return least;
  }

  void keep_movers(int depth, int unit) {
    if (live_movers_.size() < index(depth) + 2) live_movers_.resize(index(depth) + 2);
    auto& kept = live_movers_[index(depth) + 1];
    kept.clear();
    for (const Mover* mover : live_movers_[index(depth)]) {
      if ((mover->moved & bit(unit)) == 0) kept.push_back(mover);
    }
  }

  void write(char letter) {
    if (letters_ == nullptr) return;
    letters_->push_back(letter);
    if (letters_->size() > most_letters_) stopped_ = true;
  }

  bool count_node() {
    ++nodes_;
    if (nodes_left_-- == 0) stopped_ = true;
    if (nodes_ % 1024 == 0 && should_stop_ != nullptr && *should_stop_ && (*should_stop_)()) stopped_ = true;
    return !stopped_;
  }

  /// Units above those of the ranks that come before by a symmetry of the
  /// pattern.
  [[nodiscard]] std::uint64_t candidates(int depth, std::uint64_t free_units) {
    std::uint64_t left = least_of_orbits(depth, free_units) & sides_[index(depth)];
    for (int earlier = 0; earlier < depth; ++earlier) {
      const auto& later = above_[index(earlier)];
      if (std::find(later.begin(), later.end(), depth) == later.end()) continue;
      const std::uint64_t taken = bit(unit_at_[index(earlier)]);
      left &= ~(taken | (taken - 1));
    }
    if (!limits_.any()) return left;
    left = domain(depth, left);
    return limits_.is_fixed(order_[index(depth)]) ? left : with_room(depth, left);
  }

  void descend(int depth, std::uint64_t free_units) {
    for (std::uint64_t rest = candidates(depth, free_units); rest != 0; rest &= rest - 1) {
      const int unit = std::countr_zero(rest);
      if (!count_node()) return;
      visit(depth, unit, free_units);
      if (stopped_ || found_) return;
    }
  }

  void visit(int depth, int unit, std::uint64_t free_units) {
    // What an ancestor has ruled out is closed; a reader of the letters wants a
    // reason that shows here, and the same bounds, on more load, give one.
    if (letters_ == nullptr && (allowed_[index(depth)][index(depth)] & bit(unit)) == 0) return;
    put(depth, unit);
    if (cost_[index(depth) + 1] >= limit_ns_) return write('L');
    if (depth + 1 == ranks_) {
      found_ = true;
      found_unit_of_rank_.assign(index(ranks_), -1);
      for (int k = 0; k < ranks_; ++k) found_unit_of_rank_[index(order_[index(k)])] = unit_at_[index(k)];
      return;
    }
    if (cut_closes(depth, unit)) return write('C');
    if (phases_close(depth)) return write('P');
    if (assignment_closes(depth, unit)) return write('A');
    write('(');
    keep_movers(depth, unit);
    descend(depth + 1, free_units & ~bit(unit));
  }

  Limits limits_;
  Workload work_;
  int ranks_;
  int units_;
  std::vector<int> order_;
  std::vector<UnitPermutation> symmetries_;
  std::vector<Mover> movers_;
  std::vector<int> like_;  ///< per unit the lowest that may trade places with it alone
  PatternSymmetry pattern_;
  std::optional<CutTables> cut_tables_;
  std::size_t links_ = 0;
  std::size_t load_size_ = 0;
  std::vector<std::size_t> share_begin_;
  std::vector<TimeShare> shares_;
  std::vector<std::vector<Message>> messages_;  ///< per position
  std::vector<std::vector<int>> above_;         ///< per position the later ones that need a higher unit
  // Per depth:
  std::vector<double> load_;     ///< [depth][phase][link] in ns
  std::vector<double> busiest_;  ///< [depth][phase] in ns
  std::vector<double> cost_;
  std::vector<std::uint32_t> cut_inside_;
  std::vector<std::vector<std::uint64_t>> allowed_;
  std::vector<std::vector<const Mover*>> live_movers_;
  std::vector<int> unit_at_;          ///< per position
  std::vector<std::uint64_t> sides_;  ///< per position the units of the splitting cut's side
  // Scratch of narrow; extra_ is zero between calls:
  std::vector<double> extra_;
  std::vector<double> trial_;
  std::vector<double> lowest_;
  std::vector<double> least_;  ///< per phase, of all completions of the branch
  double least_cost_ = 0;
  std::vector<std::size_t> touched_;
  std::vector<std::uint32_t> touched_phases_;
  // The question being answered:
  double limit_ns_ = 0;
  std::uint64_t nodes_ = 0;
  std::uint64_t nodes_left_ = 0;
  const std::function<bool()>* should_stop_ = nullptr;
  std::string* letters_ = nullptr;
  std::size_t most_letters_ = 0;
  bool stopped_ = false;
  bool found_ = false;
  std::vector<int> found_unit_of_rank_;
};

BranchAndBound::BranchAndBound(const machine::Machine& machine, const RoutedShares& shares,
                               const Symmetry& symmetry, const Workload& work)
    : BranchAndBound(work.ranks <= most_cut_ranks && shares.units() <= most_cut_units ? find_cuts(machine)
                                                                                      : std::vector<Cut>(),
                     shares, symmetry, work) {}

BranchAndBound::BranchAndBound(const std::vector<Cut>& cuts, const RoutedShares& shares, const Symmetry& symmetry,
                               const Workload& work, const Limits& limits)
    : tree_(std::make_unique<Tree>(cuts, shares, symmetry, work, limits)) {}

BranchAndBound::~BranchAndBound() = default;

BranchAndBoundResult BranchAndBound::minimise(const machine::Placement& start,
                                              const BranchAndBoundOptions& options) {
  BranchAndBoundResult result;
  result.best = start;
  double best_ns = tree_->cost_ns(start.unit_of_rank);
  double low_ns = tree_->root_ns();
  const std::uint64_t begin = tree_->nodes();
  const auto left = [&] {
    const std::uint64_t spent = tree_->nodes() - begin;
    return spent < options.nodes && !(options.should_stop && options.should_stop()) ? options.nodes - spent : 0;
  };
  const auto is_open = [&] { return low_ns < best_ns * (1 - tolerance); };
  const auto ask = [&](double threshold, int split, std::uint64_t budget) {
    const auto answer = tree_->below(threshold, split, budget, &options.should_stop, nullptr, 0);
    if (answer == Tree::Answer::none) low_ns = std::max(low_ns, threshold * (1 - tolerance));
    if (answer != Tree::Answer::found) return;
    result.best = tree_->found();
    best_ns = tree_->cost_ns(result.best.unit_of_rank);
  };
  // Round by round with growing budgets: one tree, split trees, then a
  // threshold half way up to the best cost.
  constexpr std::uint64_t least_split_nodes = 30'000;
  for (std::uint64_t plain = options.plain_nodes, split = std::max(plain, least_split_nodes);;
       plain *= 4, split *= 4) {
    if (is_open() && left() > 0) ask(best_ns, -1, std::min(plain, left()));
    const int cut = is_open() && left() > 0 ? tree_->splitting_cut(best_ns) : -1;
    if (cut >= 0) ask(best_ns, cut, std::min(split, left()));
    if (!is_open() || left() == 0) break;
    const double half_way = (low_ns + best_ns) / 2;
    ask(half_way, tree_->splitting_cut(half_way), std::min(split, left()));
  }
  result.closed = low_ns >= best_ns * (1 - tolerance);
  result.bound_ns = result.closed ? best_ns : low_ns;
  result.nodes = tree_->nodes() - begin;
  return result;
}

std::optional<ClosedTree> BranchAndBound::close(double bound_ns, std::size_t most_letters,
                                                std::size_t plain_letters) {
  const int cut = tree_->splitting_cut(bound_ns);
  struct Attempt {
    int split;
    std::size_t letters;
  };
  std::vector<Attempt> attempts{{-1, std::min(plain_letters, most_letters)}};
  if (cut >= 0) attempts.push_back({cut, most_letters});
  attempts.push_back({-1, most_letters});
  for (const Attempt& attempt : attempts) {
    ClosedTree closed{bound_ns, attempt.split, {}};
    const auto answer = tree_->below(bound_ns, attempt.split, std::numeric_limits<std::uint64_t>::max(), nullptr,
                                     &closed.letters, attempt.letters);
    if (answer == Tree::Answer::none) return closed;
    if (answer == Tree::Answer::found) break;
  }
  return std::nullopt;
}

const Limits& BranchAndBound::limits() const {
  return tree_->limits();
}
const std::vector<int>& BranchAndBound::order() const {
  return tree_->order();
}
const std::vector<UnitPermutation>& BranchAndBound::unit_symmetries() const {
  return tree_->symmetries();
}
const PatternSymmetry& BranchAndBound::rank_symmetries() const {
  return tree_->pattern();
}
const std::vector<Cut>& BranchAndBound::cuts() const {
  return tree_->cuts();
}
const std::vector<int>& BranchAndBound::chain() const {
  return tree_->chain();
}
double BranchAndBound::root_ns() const {
  return tree_->root_ns();
}

}  // namespace corewise::place

// Pattern symmetry: colours of pairs of ranks, and backtracking for one image at a time. See pattern.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/symmetry/pattern.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include "base/index.hpp"

namespace corewise::place {

namespace {

/// A message of one phase; phases with the same weight and the same sizes of messages are of one kind.
struct Sent {
  std::size_t phase;
  int kind;
  std::uint64_t bytes;
};

/// What is sent between every two ranks, and colours that no symmetry can change: of phases (kinds), pairs, ranks.
class Colours {
 public:
  explicit Colours(const Workload& work)
      : ranks_(work.ranks), sent_(index(work.ranks) * index(work.ranks)), pair_(sent_.size(), 0) {
    const std::vector<int> kinds = kinds_of(work);
    for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
      for (const Traffic& entry : work.phases[phase])
        sent_[at(entry.from, entry.to)].push_back({phase, kinds[phase], entry.bytes});
    }
    std::map<std::vector<std::pair<int, std::uint64_t>>, int> known;
    for (std::size_t pair = 0; pair < pair_.size(); ++pair) {
      std::vector<std::pair<int, std::uint64_t>> view;
      for (const Sent& each : sent_[pair]) view.emplace_back(each.kind, each.bytes);
      std::sort(view.begin(), view.end());
      pair_[pair] = known.emplace(std::move(view), static_cast<int>(known.size())).first->second;
    }
    refine();
  }

  [[nodiscard]] const std::vector<Sent>& sent(int from, int to) const { return sent_[at(from, to)]; }
  [[nodiscard]] int pair(int from, int to) const { return pair_[at(from, to)]; }
  [[nodiscard]] int rank(int rank) const { return rank_[index(rank)]; }
  [[nodiscard]] int ranks() const { return ranks_; }

 private:
  [[nodiscard]] std::size_t at(int from, int to) const { return index(from) * index(ranks_) + index(to); }

  static std::vector<int> kinds_of(const Workload& work) {
    std::map<std::pair<double, std::vector<std::uint64_t>>, int> known;
    std::vector<int> kinds;
    for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
      std::vector<std::uint64_t> sizes;
      for (const Traffic& entry : work.phases[phase]) sizes.push_back(entry.bytes);
      std::sort(sizes.begin(), sizes.end());
      const std::pair key{work.weight(phase), std::move(sizes)};
      kinds.push_back(known.emplace(key, static_cast<int>(known.size())).first->second);
    }
    return kinds;
  }

  /// Ranks by what they send to ranks of every colour, until nothing new is told apart.
  void refine() {
    rank_.assign(index(ranks_), 0);
    for (std::size_t colours = 0;;) {
      std::map<std::vector<std::array<int, 3>>, int> known;
      std::vector<int> next;
      for (int a = 0; a < ranks_; ++a) {
        std::vector<std::array<int, 3>> view{{-1, -1, rank(a)}};
        for (int b = 0; b < ranks_; ++b) {
          if (b != a) view.push_back({pair(a, b), pair(b, a), rank(b)});
        }
        std::sort(view.begin() + 1, view.end());
        next.push_back(known.emplace(std::move(view), static_cast<int>(known.size())).first->second);
      }
      rank_ = std::move(next);
      if (known.size() == colours) return;
      colours = known.size();
    }
  }

  int ranks_;
  std::vector<std::vector<Sent>> sent_;
  std::vector<int> pair_;
  std::vector<int> rank_;
};

/// Which phase takes the place of which, as far as the images of ranks say.
class PhaseImages {
 public:
  explicit PhaseImages(std::size_t phases) : image_(phases, none), origin_(phases, none) {}

  [[nodiscard]] std::size_t bound() const { return bound_.size(); }
  /// Forgets all but the first `count` that were bound.
  void keep(std::size_t count) {
    for (; bound_.size() > count; bound_.pop_back()) {
      origin_[image_[bound_.back()]] = none;
      image_[bound_.back()] = none;
    }
  }
  /// Whether what is sent here can be what is sent there, both by ascending phases. Where several phases may do,
  /// the first one is taken.
  bool match(const std::vector<Sent>& here, const std::vector<Sent>& there) {
    return std::all_of(here.begin(), here.end(), [&](const Sent& each) {
      if (image_[each.phase] == none) return bind(each, there);
      const auto image = std::lower_bound(there.begin(), there.end(), image_[each.phase],
                                          [](const Sent& other, std::size_t phase) { return other.phase < phase; });
      return image != there.end() && image->phase == image_[each.phase] && image->bytes == each.bytes;
    });
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  bool bind(const Sent& each, const std::vector<Sent>& there) {
    const auto to = std::find_if(there.begin(), there.end(), [&](const Sent& other) {
      return each.kind == other.kind && each.bytes == other.bytes && origin_[other.phase] == none;
    });
    if (to == there.end()) return false;
    image_[each.phase] = to->phase;
    origin_[to->phase] = each.phase;
    bound_.push_back(each.phase);
    return true;
  }

  std::vector<std::size_t> image_, origin_;
  std::vector<std::size_t> bound_;  ///< in the order in which they were
};

class RankImageSearch {
 public:
  RankImageSearch(const Colours& colours, std::size_t phases, const std::vector<int>& order,
                  std::uint64_t most_steps)
      : colours_(colours),
        order_(order),
        steps_left_(most_steps),
        phases_(phases),
        image_(order.size(), -1),
        used_(order.size(), 0) {}

  std::optional<RankPermutation> find(std::size_t fixed, int target) {
    for (std::size_t k = 0; k < fixed; ++k) {
      if (!fits(k, order_[k])) return std::nullopt;
      give(order_[k], order_[k]);
    }
    if (!fits(fixed, target)) return std::nullopt;
    give(order_[fixed], target);
    if (!extend(fixed + 1)) return std::nullopt;
    return image_;
  }

 private:
  void give(int rank, int target) {
    image_[index(rank)] = target;
    used_[index(target)] = 1;
  }

  /// Binds phases; what it has bound stays where it says no.
  bool fits(std::size_t position, int target) {
    const int rank = order_[position];
    if (used_[index(target)] || colours_.rank(rank) != colours_.rank(target)) return false;
    for (std::size_t k = 0; k < position; ++k) {
      const int other = order_[k];
      const int other_image = image_[index(other)];
      if (colours_.pair(rank, other) != colours_.pair(target, other_image)) return false;
      if (colours_.pair(other, rank) != colours_.pair(other_image, target)) return false;
      if (!phases_.match(colours_.sent(rank, other), colours_.sent(target, other_image))) return false;
      if (!phases_.match(colours_.sent(other, rank), colours_.sent(other_image, target))) return false;
    }
    return true;
  }

  bool extend(std::size_t position) {
    if (position == order_.size()) return true;
    const std::size_t bound = phases_.bound();
    for (int target = 0; target < colours_.ranks(); ++target) {
      if (steps_left_ == 0) return false;
      --steps_left_;
      phases_.keep(bound);
      if (!fits(position, target)) continue;
      give(order_[position], target);
      if (extend(position + 1)) return true;
      used_[index(target)] = 0;
    }
    return false;
  }

  const Colours& colours_;
  const std::vector<int>& order_;
  std::uint64_t steps_left_;
  PhaseImages phases_;
  RankPermutation image_;
  std::vector<char> used_;
};

using Phase = std::pair<double, std::vector<std::array<std::uint64_t, 3>>>;

/// Of every phase the weight and the messages with each rank's image in its place, in an order of their own.
std::vector<Phase> sent_under(const Workload& work, const RankPermutation& image) {
  std::vector<Phase> phases;
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    auto& messages = phases.emplace_back(work.weight(phase), Phase::second_type{}).second;
    for (const Traffic& entry : work.phases[phase]) {
      messages.push_back({static_cast<std::uint64_t>(image[index(entry.from)]),
                          static_cast<std::uint64_t>(image[index(entry.to)]), entry.bytes});
    }
    std::sort(messages.begin(), messages.end());
  }
  std::sort(phases.begin(), phases.end());
  return phases;
}

}  // namespace

PatternSymmetry pattern_symmetry(const Workload& work, const std::vector<int>& order, std::uint64_t most_steps) {
  const Colours colours(work);
  PatternSymmetry found;
  std::vector<int> class_of(order.size());
  std::iota(class_of.begin(), class_of.end(), 0);
  // From the last position up: what fixes more also fixes less, so classes only grow.
  for (std::size_t level = order.size(); level-- > 0;) {
    const int rank = order[level];
    for (std::size_t k = level + 1; k < order.size(); ++k) {
      if (class_of[index(order[k])] == class_of[index(rank)]) continue;
      const auto image = RankImageSearch(colours, work.phases.size(), order, most_steps).find(level, order[k]);
      if (!image || !is_pattern_symmetry(work, *image)) continue;
      for (std::size_t r = 0; r < image->size(); ++r) {
        const int left = class_of[r];
        const int right = class_of[index((*image)[r])];
        std::replace(class_of.begin(), class_of.end(), std::max(left, right), std::min(left, right));
      }
      found.generators.emplace_back(static_cast<int>(level), *image);
    }
    for (std::size_t k = level + 1; k < order.size(); ++k) {
      if (class_of[index(order[k])] == class_of[index(rank)]) found.before.emplace_back(rank, order[k]);
    }
  }
  return found;
}

bool is_pattern_symmetry(const Workload& work, const RankPermutation& permutation) {
  std::vector<int> sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  for (int rank = 0; rank < work.ranks; ++rank) {
    if (sorted.size() != index(work.ranks) || sorted[index(rank)] != rank) return false;
  }
  RankPermutation same(index(work.ranks));
  std::iota(same.begin(), same.end(), 0);
  return sent_under(work, permutation) == sent_under(work, same);
}

}  // namespace corewise::place

// Phases become numbers (equal phases, equal numbers), runs of steps become one, repeats are folded by numbers.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/recogniser/sequence.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "pattern/recogniser/recognise.hpp"
#include "pattern/recogniser/structure.hpp"
#include "pattern/recogniser/superpose.hpp"
#include "pattern/schedule.hpp"

namespace corewise::pattern {
namespace {

constexpr std::size_t most_period = 256;
constexpr int most_runs = 400;
constexpr int most_pairwise_ranks = 64;
constexpr int most_relabelled_ranks = 1024;

using Pairs = std::vector<std::tuple<int, int, std::uint64_t>>;

/// A phase, or a run of steps that became one.
struct Unit {
  int number;  ///< equal for equal content
  std::size_t first;
  std::size_t phases;
};

struct Named {
  std::string label;
  double degree = 0;
};

Matrix summed(const Pattern& pattern, std::size_t first, std::size_t count) {
  Pattern part{pattern.name, pattern.ranks, {}};
  for (std::size_t i = first; i < first + count; ++i) part.phases.push_back(pattern.phases[i]);
  Matrix matrix = sum(part);
  std::erase_if(matrix.entries, [](const Message& one) { return one.from == one.to || one.bytes == 0; });
  return matrix;
}

Pairs pairs_of(const Matrix& matrix) {
  Pairs pairs;
  for (const Message& entry : matrix.entries) pairs.emplace_back(entry.from, entry.to, entry.bytes);
  return pairs;
}

/// Every rank sends at most one message and receives at most one.
bool is_step(const Pairs& pairs) {
  std::set<int> senders;
  std::set<int> receivers;
  return std::all_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
    return senders.insert(std::get<0>(pair)).second && receivers.insert(std::get<1>(pair)).second;
  });
}

bool there_and_back(const Match& match) {
  return std::find(match.parameters.begin(), match.parameters.end(), Parameter{"direction", "both"}) !=
             match.parameters.end() &&
         match.family.ends_with("_tree");
}

/// The exact template of steps, collectives before halos; a relabelled one where there is no other.
const Match* exact(const std::vector<Match>& matches) {
  const auto fits = [](const Match& match) { return match.degree >= 1 && !there_and_back(match); };
  for (const char* family : {"recursive_doubling", "dissemination", "bruck", "binomial_tree"}) {
    for (const Match& match : matches) {
      if (fits(match) && match.family == family) return &match;
    }
  }
  const auto first = std::find_if(matches.begin(), matches.end(), fits);
  return first == matches.end() ? nullptr : &*first;
}

class Namer {
 public:
  explicit Namer(const Pattern& pattern) : pattern_(pattern) {
    for (std::size_t i = 0; i < pattern.phases.size(); ++i) {
      Pairs pairs = pairs_of(summed(pattern, i, 1));
      if (pairs.empty()) continue;
      const bool step = is_step(pairs);
      const auto [at, fresh] = numbers_.emplace(std::move(pairs), static_cast<int>(contents_.size()));
      if (fresh) contents_.push_back({&at->first, step});
      units_.push_back({at->second, i, 1});
    }
  }

  std::vector<Step> steps() {
    merge_runs();
    return folded(0, units_.size());
  }

 private:
  struct Content {
    const Pairs* pairs;
    bool step;
  };

  /// Longest first: a run is at most as long as a tree there and back, a pairwise exchange, or the faces of a box.
  void merge_runs() {
    const int logarithm = schedule::ceil_log2(pattern_.ranks);
    int longest = std::max(6, logarithm + 2);
    if (pattern_.ranks <= most_pairwise_ranks) longest = std::max(longest, pattern_.ranks - 1);
    std::vector<Unit> merged;
    for (std::size_t i = 0; i < units_.size();) {
      std::size_t length = std::min(disjoint_steps(i), static_cast<std::size_t>(longest));
      while (length > 1 && run_name(i, length).label.empty()) --length;
      if (length < 2) {
        merged.push_back(units_[i++]);
        continue;
      }
      const std::vector<int> key = key_of(i, length);
      const int number = static_cast<int>(contents_.size()) + run_number(key);
      names_[number] = runs_[key];
      const std::size_t end = units_[i + length - 1].first + 1;
      merged.push_back({number, units_[i].first, end - units_[i].first});
      i += length;
    }
    units_ = std::move(merged);
  }

  int run_number(const std::vector<int>& key) {
    return run_numbers_.emplace(key, static_cast<int>(run_numbers_.size())).first->second;
  }

  /// How many phases from here on are steps that share no pair.
  [[nodiscard]] std::size_t disjoint_steps(std::size_t first) const {
    std::set<std::pair<int, int>> seen;
    std::size_t i = first;
    for (; i < units_.size() && i - first < most_period; ++i) {
      const Content& content = contents_[static_cast<std::size_t>(units_[i].number)];
      if (!content.step) break;
      bool fresh = true;
      for (const auto& [from, to, bytes] : *content.pairs) fresh = seen.emplace(from, to).second && fresh;
      if (!fresh) break;
    }
    return i - first;
  }

  [[nodiscard]] std::vector<int> key_of(std::size_t first, std::size_t length) const {
    std::vector<int> key;
    for (std::size_t i = first; i < first + length; ++i) key.push_back(units_[i].number);
    return key;
  }

  const Named& run_name(std::size_t first, std::size_t length) {
    const auto [at, fresh] = runs_.try_emplace(key_of(first, length));
    if (!fresh || --runs_left_ < 0) return at->second;
    const std::size_t begin = units_[first].first;
    const Matrix matrix = summed(pattern_, begin, units_[first + length - 1].first + 1 - begin);
    const auto plain = recognise(matrix, 1.0);
    const Match* match = exact(plain);
    std::vector<Match> others;
    if (match == nullptr && pattern_.ranks <= most_relabelled_ranks) {
      for (Relabelled& one : recognise_relabelled(matrix, 1.0)) others.push_back(std::move(one.match));
      match = exact(others);
    }
    if (match != nullptr) at->second = {match->label, match->degree};
    return at->second;
  }

  const Named& name_of(const Unit& unit) {
    const auto [at, fresh] = names_.try_emplace(unit.number);
    if (!fresh) return at->second;
    const Naming naming = name(summed(pattern_, unit.first, unit.phases));
    at->second.label = headline(naming);
    for (const Component& component : naming.components) {
      const double degree = component.match.degree;
      at->second.degree = at->second.degree == 0 ? degree : std::min(at->second.degree, degree);
    }
    return at->second;
  }

  /// How often the `period` units from `first` on stand in a row.
  [[nodiscard]] std::size_t repeats(std::size_t first, std::size_t period, std::size_t end) const {
    std::size_t same = 0;
    while (first + period + same < end && units_[first + same].number == units_[first + period + same].number)
      ++same;
    return same / period + 1;
  }

  std::vector<Step> folded(std::size_t begin, std::size_t end) {
    std::vector<Step> steps;
    for (std::size_t i = begin; i < end;) {
      std::size_t best_period = 1;
      std::size_t best_times = 1;
      for (std::size_t period = 1; period <= std::min(most_period, (end - i) / 2); ++period) {
        const std::size_t times = repeats(i, period, end);
        if (times > 1 && times * period > best_times * best_period) best_period = period, best_times = times;
      }
      steps.push_back(one(i, best_period, best_times));
      i += best_period * best_times;
    }
    return steps;
  }

  Step one(std::size_t first, std::size_t period, std::size_t times) {
    const Unit& last = units_[first + period * times - 1];
    Step step{
        static_cast<int>(times), {}, 0, units_[first].first, last.first + last.phases - units_[first].first, {}};
    if (period == 1) {
      const Named& named = name_of(units_[first]);
      step.label = named.label;
      step.degree = named.degree;
      return step;
    }
    step.parts = folded(first, first + period);
    step.degree = step.parts.front().degree;
    for (const Step& part : step.parts) step.degree = std::min(step.degree, part.degree);
    return step;
  }

  const Pattern& pattern_;
  std::map<Pairs, int> numbers_;
  std::vector<Content> contents_;
  std::vector<Unit> units_;
  std::map<std::vector<int>, Named> runs_;
  std::map<std::vector<int>, int> run_numbers_;
  std::map<int, Named> names_;
  int runs_left_ = most_runs;
};

}  // namespace

std::vector<Step> name_phases(const Pattern& pattern) {
  return Namer(pattern).steps();
}

std::string sequence_text(const std::vector<Step>& steps) {
  std::string text;
  for (const Step& step : steps) {
    text.append(text.empty() ? "" : "; ");
    const std::string what = step.parts.empty() ? step.label : sequence_text(step.parts);
    text += step.times == 1 ? what : std::to_string(step.times) + " x (" + what + ")";
  }
  return text.empty() ? "none" : text;
}

}  // namespace corewise::pattern

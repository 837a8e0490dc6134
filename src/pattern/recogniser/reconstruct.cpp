// Growing a template over a graph. Seeds are a rank and its peers; growth places the rank with the most placed
// peers first and defers one whose peers disagree; what ends up at odds with its peers is lifted and placed again.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/recogniser/reconstruct.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "base/index.hpp"

namespace corewise::pattern {
namespace {

constexpr int nowhere = -1;
using Seeds = std::vector<std::pair<int, int>>;  ///< rank, position

unsigned char turned(unsigned char kind) {
  return static_cast<unsigned char>(((kind & Graph::sends) << 1) | ((kind & Graph::receives) >> 1));
}

int bits(unsigned char kind) {
  return std::popcount(kind);
}

class Grower {
 public:
  Grower(const Graph& seen, const Graph& wanted)
      : seen_(seen),
        wanted_(wanted),
        position_(index(seen.ranks()), nowhere),
        rank_at_(index(seen.ranks()), nowhere),
        known_(index(seen.ranks())),
        claims_(index(seen.ranks())),
        votes_(index(seen.ranks())) {}

  void grow(const Seeds& seeds) {
    for (const auto& [rank, position] : seeds) place(rank, position);
    spread();
    fill();
    // From the ranks that are plainly wrong to those with any fault: each round is kept only if it helps.
    if (total_agreement() < worth_improving) return;
    for (const double least : {0.34, 0.34, 0.5, 0.67, 0.99}) improve(least);
  }

  static constexpr double worth_improving = 0.4;

  [[nodiscard]] Reconstruction result() const { return {position_, total_agreement()}; }

 private:
  [[nodiscard]] double total_agreement() const {
    std::size_t shared = 0;
    std::size_t all = 0;
    for (int rank = 0; rank < seen_.ranks(); ++rank) {
      const auto [common, either] = agreement(rank);
      shared += index(common);
      all += index(either);
    }
    return all == 0 ? 0 : static_cast<double>(shared) / static_cast<double>(all);
  }

  void place(int rank, int position) {
    position_[index(rank)] = position;
    rank_at_[index(position)] = rank;
    for (const Graph::Arc& arc : seen_.arcs(rank)) {
      const int known = ++known_[index(arc.to)];
      if (position_[index(arc.to)] == nowhere) wait(arc.to, known);
    }
    for (const Graph::Arc& arc : wanted_.arcs(position)) claims_[index(arc.to)] += bits(arc.kind);
  }

  void lift(int rank) {
    const int position = std::exchange(position_[index(rank)], nowhere);
    rank_at_[index(position)] = nowhere;
    for (const Graph::Arc& arc : seen_.arcs(rank)) --known_[index(arc.to)];
    for (const Graph::Arc& arc : wanted_.arcs(position)) claims_[index(arc.to)] -= bits(arc.kind);
  }

  void wait(int rank, int known) {
    if (waiting_.size() <= index(known)) waiting_.resize(index(known) + 1);
    waiting_[index(known)].push_back(rank);
  }

  /// The rank that has the most placed peers; -1 when none waits.
  int next(std::vector<std::vector<int>>& queue) {
    while (!queue.empty()) {
      auto& most = queue.back();
      while (!most.empty()) {
        const int rank = most.back();
        most.pop_back();
        const bool current =
            position_[index(rank)] == nowhere && known_[index(rank)] == static_cast<int>(queue.size()) - 1;
        if (current) return rank;
      }
      queue.pop_back();
    }
    return nowhere;
  }

  void spread() {
    while (true) {
      const int rank = next(waiting_);
      if (rank != nowhere) {
        if (!place_by_votes(rank, false)) defer(rank);
        continue;
      }
      const int stuck = next(deferred_);
      if (stuck == nowhere) return;
      place_by_votes(stuck, true);
    }
  }

  void defer(int rank) {
    const auto known = index(known_[index(rank)]);
    if (deferred_.size() <= known) deferred_.resize(known + 1);
    deferred_[known].push_back(rank);
  }

  /// Where the placed peers want the rank; false when they want it in several places equally (unless forced).
  bool place_by_votes(int rank, bool forced) {
    touched_.clear();
    for (const Graph::Arc& arc : seen_.arcs(rank)) {
      const int peer = position_[index(arc.to)];
      if (peer == nowhere) continue;
      for (const Graph::Arc& want : wanted_.arcs(peer)) {
        if (rank_at_[index(want.to)] != nowhere) continue;
        const int common = bits(arc.kind & turned(want.kind));
        if (common == 0) continue;
        if (votes_[index(want.to)] == 0) touched_.push_back(want.to);
        votes_[index(want.to)] += common;
      }
    }
    int best = nowhere;
    int best_score = 0;
    bool alone = false;
    for (const int position : touched_) {
      const int score = 2 * std::exchange(votes_[index(position)], 0) - claims_[index(position)];
      if (best == nowhere || score > best_score) {
        best = position, best_score = score, alone = true;
      } else if (score == best_score) {
        alone = false;
        best = std::min(best, position);
      }
    }
    if (best == nowhere || (!alone && !forced)) return false;
    place(rank, best);
    return true;
  }

  /// Directed pairs of the rank in both graph and template, and in either.
  [[nodiscard]] std::pair<int, int> agreement(int rank) const {
    int common = 0;
    int all = 0;
    for (const Graph::Arc& arc : seen_.arcs(rank)) {
      all += bits(arc.kind);
      if (position_[index(rank)] == nowhere || position_[index(arc.to)] == nowhere) continue;
      common += bits(arc.kind & wanted_.kind(position_[index(rank)], position_[index(arc.to)]));
    }
    if (position_[index(rank)] == nowhere) return {0, all};
    for (const Graph::Arc& arc : wanted_.arcs(position_[index(rank)])) all += bits(arc.kind);
    return {common, all - common};
  }

  /// Lifts the ranks that agree with less than this share of their peers, and places them anew.
  void improve(double least) {
    std::vector<int> misplaced;
    for (int rank = 0; rank < seen_.ranks(); ++rank) {
      const auto [common, either] = agreement(rank);
      if (common < least * either) misplaced.push_back(rank);
    }
    if (misplaced.empty() || misplaced.size() * 2 > position_.size()) return;
    const std::vector<int> before = position_;
    const double agreed = total_agreement();
    for (const int rank : misplaced) lift(rank);
    for (const int rank : misplaced) {
      if (known_[index(rank)] > 0) wait(rank, known_[index(rank)]);
    }
    spread();
    fill();
    if (total_agreement() <= agreed) restore(before);
  }

  void restore(const std::vector<int>& positions) {
    for (int rank = 0; rank < seen_.ranks(); ++rank) lift(rank);
    for (int rank = 0; rank < seen_.ranks(); ++rank) place(rank, positions[index(rank)]);
    waiting_.clear();
    deferred_.clear();
  }

  /// Ranks that no placed peer could place take what is left.
  void fill() {
    int free = 0;
    for (int rank = 0; rank < seen_.ranks(); ++rank) {
      if (position_[index(rank)] != nowhere) continue;
      while (rank_at_[index(free)] != nowhere) ++free;
      place(rank, free);
    }
    waiting_.clear();
    deferred_.clear();
  }

  const Graph& seen_;
  const Graph& wanted_;
  std::vector<int> position_;
  std::vector<int> rank_at_;
  std::vector<int> known_;   ///< placed peers of a rank
  std::vector<int> claims_;  ///< directed pairs of a position with occupied positions
  std::vector<int> votes_;
  std::vector<int> touched_;
  std::vector<std::vector<int>> waiting_;   ///< by placed peers
  std::vector<std::vector<int>> deferred_;  ///< the same, those whose peers disagreed
};

/// How the peers of one rank relate to it and to each other.
struct Ball {
  int centre;
  std::vector<int> members;
  std::vector<int> own;       ///< relation of each member with the centre
  std::vector<int> relation;  ///< of member i with member j at i * size + j

  Ball(const Graph& graph, int rank) : centre(rank) {
    const auto arcs = graph.arcs(rank);
    for (const Graph::Arc& arc : arcs) {
      members.push_back(arc.to);
      own.push_back(arc.kind + 4 * graph.common_peers(rank, arc.to));
    }
    relation.resize(arcs.size() * arcs.size());
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const unsigned char kind = graph.kind(members[i], members[j]);
        const int common = 4 * graph.common_peers(members[i], members[j]);
        relation[i * arcs.size() + j] = kind + common;
        relation[j * arcs.size() + i] = turned(kind) + common;
      }
    }
  }
};

/// How far the relations of two ranks' peers may differ: not at all; in the numbers of shared peers, by a quarter;
/// some altogether, with some peers missing or too many.
enum class Care { exact, tolerant, faulty };

/// All ways to assign the peers of one rank to those of another so that their relations agree.
class Assignments {
 public:
  Assignments(const Ball& seen, const Ball& wanted, Care care)
      : seen_(seen), wanted_(wanted), care_(care), taken_(seen.members.size()) {
    const int wants = static_cast<int>(wanted.members.size());
    if (care != Care::faulty) return;
    faults_left_ = 1 + wants * wants / 16;
    skips_left_ = 1 + wants / 10;
  }

  /// Calls visit(seeds) until it returns true or all, or too many, have been tried.
  template <class Visit>
  bool each(Visit visit) {
    const std::size_t seen = seen_.members.size();
    const std::size_t wanted = wanted_.members.size();
    if (care_ != Care::faulty && seen != wanted) return false;
    if (seen + index(skips_left_) < wanted || seen > wanted + wanted / 4 + 1) return false;
    chosen_.clear();
    return extend(visit);
  }

 private:
  static constexpr std::size_t skipped = static_cast<std::size_t>(-1);

  /// 0 where two relations agree, 1 where only the numbers of shared peers differ, else 2.
  [[nodiscard]] int fault(int a, int b) const {
    if (a % 4 != b % 4) return 2;
    if (care_ == Care::exact) return a == b ? 0 : 1;
    return std::abs(a / 4 - b / 4) > std::max(1, std::max(a / 4, b / 4) / 4) ? 1 : 0;
  }
  /// Faults that a choice for the next wanted peer brings; more than are left as soon as that is certain.
  [[nodiscard]] int faults_of(std::size_t candidate) const {
    const std::size_t next = chosen_.size();
    const std::size_t size = taken_.size();
    if (seen_.own[candidate] % 4 != wanted_.own[next] % 4) return faults_left_ + 1;
    int faults = fault(seen_.own[candidate], wanted_.own[next]);
    for (std::size_t i = 0; i < next && faults <= faults_left_; ++i) {
      if (chosen_[i] == skipped) continue;
      const std::size_t other = i + next * wanted_.members.size();
      faults += fault(seen_.relation[candidate * size + chosen_[i]], wanted_.relation[other]);
    }
    return faults;
  }
  template <class Visit>
  bool extend(Visit& visit) {
    if (chosen_.size() == wanted_.members.size()) return visit(seeds());
    for (std::size_t candidate = 0; candidate < taken_.size(); ++candidate) {
      if (--budget_ < 0) return true;
      if (taken_[candidate]) continue;
      const int faults = faults_of(candidate);
      if (faults > faults_left_) continue;
      taken_[candidate] = true;
      const bool stop = with(candidate, faults, 0, visit);
      taken_[candidate] = false;
      if (stop) return true;
    }
    return skips_left_ > 0 && with(skipped, 0, 1, visit);
  }

  template <class Visit>
  bool with(std::size_t candidate, int faults, int skips, Visit& visit) {
    faults_left_ -= faults, skips_left_ -= skips;
    chosen_.push_back(candidate);
    const bool stop = extend(visit);
    chosen_.pop_back();
    faults_left_ += faults, skips_left_ += skips;
    return stop;
  }

  [[nodiscard]] Seeds seeds() const {
    Seeds all{{seen_.centre, wanted_.centre}};
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (chosen_[i] != skipped) all.emplace_back(seen_.members[chosen_[i]], wanted_.members[i]);
    }
    return all;
  }

  const Ball& seen_;
  const Ball& wanted_;
  Care care_;
  std::vector<bool> taken_;
  std::vector<std::size_t> chosen_;
  int budget_ = 20000;
  int faults_left_ = 0;
  int skips_left_ = 0;
};

std::vector<int> signature(const Graph& graph, int rank) {
  std::vector<int> all;
  for (const Graph::Arc& arc : graph.arcs(rank)) {
    all.push_back((graph.common_peers(rank, arc.to) * 128 + std::min(graph.degree(arc.to), 127)) * 4 + arc.kind);
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// How far two signatures are apart; those of different lengths are further than all others.
long distance(const std::vector<int>& a, const std::vector<int>& b) {
  if (a.size() != b.size()) return (std::abs(static_cast<long>(a.size()) - static_cast<long>(b.size()))) << 40;
  long sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum;
}

}  // namespace

Surroundings::Surroundings(const Graph& graph) {
  for (int rank = 0; rank < graph.ranks(); ++rank) signatures_.push_back(signature(graph, rank));
}

std::vector<int> Surroundings::like(const Graph& wanted, int position, int most) const {
  const std::vector<int> first = signature(wanted, position);
  std::vector<std::pair<long, int>> order;
  for (std::size_t rank = 0; rank < signatures_.size(); ++rank) {
    order.emplace_back(distance(signatures_[rank], first), static_cast<int>(rank));
  }
  const auto count = std::min(order.size(), index(most));
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end());
  std::vector<int> best;
  for (std::size_t i = 0; i < count; ++i) best.push_back(order[i].second);
  return best;
}

namespace {

constexpr double good_enough = 0.995;

/// Grows from one anchor; keeps what is better than `best`.
void grow_from(const Graph& seen, const Graph& wanted, const Ball& target, const std::vector<int>& starts,
               Care care, int tries, Reconstruction& best) {
  // In a small grid most peers of a rank are peers of each other, and more ways fit than are right: with three, an
  // open 4x3x3 grid with corners was missed in one of 80 numberings; with six or more in none of thousands.
  constexpr int most_ways = 8;
  for (const int start : starts) {
    if (tries == 0 || best.agreement >= good_enough) return;
    const Ball ball(seen, start);
    bool tried = false;
    int ways = most_ways;
    Assignments(ball, target, care).each([&](const Seeds& seeds) {
      tried = true;
      Grower grower(seen, wanted);
      grower.grow(seeds);
      Reconstruction result = grower.result();
      if (result.agreement > best.agreement) best = std::move(result);
      return best.agreement >= good_enough || --ways == 0;
    });
    tries -= tried ? 1 : 0;
  }
}

}  // namespace

Reconstruction grown(const Graph& seen, const Surroundings& surroundings, const Graph& wanted,
                     const std::vector<int>& anchors, int tries) {
  Reconstruction best;
  for (const Care care : {Care::exact, Care::tolerant, Care::faulty}) {
    for (const int anchor : anchors) {
      const Ball target(wanted, anchor);
      grow_from(seen, wanted, target, surroundings.like(wanted, anchor, 4 * tries), care, tries, best);
      // A start whose peers agree and that grew well needs no other one.
      if (best.agreement >= 0.8) return best;
    }
  }
  return best;
}

}  // namespace corewise::pattern

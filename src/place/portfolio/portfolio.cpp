// Portfolio: rounds, candidates, the judge. See portfolio.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/portfolio/portfolio.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "base/rng.hpp"
#include "place/portfolio/annealing.hpp"
#include "place/portfolio/neighbourhood.hpp"
#include "place/portfolio/smooth_loads.hpp"
#include "place/portfolio/work_annealing.hpp"
#include "place/references.hpp"

namespace corewise::place {

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
/// Effort of a round, in proposals: per rank, and at most.
constexpr std::uint64_t work_per_rank = 8'000;
constexpr std::uint64_t most_work = 2'000'000;
constexpr std::uint64_t smooth_per_rank = 2'000;
constexpr std::uint64_t most_smooth = 150'000;
/// Placements near a new best that are judged: so many messages in all, as a judge looks at every one.
constexpr std::uint64_t judged_messages = 15'000;
constexpr std::uint64_t most_tries_per_judged = 200;
/// Temperatures: of the work, over a rank's part; of smooth loads, over the whole.
constexpr double hot_work = 0.64;
constexpr Cooling hot_loads{0, 0.01, 0.001};
constexpr Cooling warm_loads{0, 0.004, 0.0005};
/// Powers of the two stages, as doublings of the exponent: 4, then 32.
constexpr int first_power = 2;
constexpr int last_power = 5;
constexpr std::uint64_t most_shaken = 6;
/// A neighbour is judged where its loads are at most so much worse.
constexpr double judged_slack = 1.02;

struct Candidate {
  machine::Placement placement;
  double bottleneck_ns = unbounded;
  double judged = unbounded;
  std::uint64_t hop_bytes = 0;
  std::string origin;
};

/// No link's time, phases summed, can be gone below: what carries the messages of one link carries them one by one.
double busiest_link_ns(const RoutedShares& shares, const Workload& work, Assignment unit_of_rank) {
  std::vector<double> time(static_cast<std::size_t>(shares.links()), 0);
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    for (const Traffic& each : work.phases[phase]) {
      const int from = unit_of_rank[static_cast<std::size_t>(each.from)];
      const int to = unit_of_rank[static_cast<std::size_t>(each.to)];
      for (const Share& share : shares.shares(from, to)) {
        time[static_cast<std::size_t>(share.link)] +=
            work.weight(phase) * shares.time_ns(each.bytes * share.parts, share.link);
      }
    }
  }
  return time.empty() ? 0 : *std::max_element(time.begin(), time.end());
}

class Portfolio {
 public:
  Portfolio(const RoutedShares& shares, const Workload& work, const PortfolioOptions& options)
      : shares_(shares),
        work_(work),
        options_(options),
        merged_(shares.merged()),
        near_(Neighbourhood::of(merged_)),
        loads_(merged_, work),
        total_work_(merged_, work, near_),
        rng_(options.seed) {}

  Result<PortfolioResult> run() {
    consider_starts();
    while (!finished()) round();
    if (!status_.ok()) return status_;
    result_.best = best_.placement;
    result_.bottleneck_ns = best_.bottleneck_ns;
    result_.judged = options_.judge.of ? best_.judged : 0;
    result_.origin = best_.origin;
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool finished() {
    if (options_.should_stop && options_.should_stop()) result_.stopped = true;
    const double cost = options_.judge_first ? best_.judged : best_.bottleneck_ns;
    return result_.stopped || !status_.ok() || shares_.units() == 1 || cost <= options_.enough ||
           result_.proposals >= options_.proposals ||
           (options_.judge.of && result_.timed >= options_.judge.evaluations);
  }

  /// The flattest first: where the judge is bounded by loads, the others need not be judged.
  void consider_starts() {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t at = 0; at < options_.starts.size(); ++at) {
      order.emplace_back(busiest_link_ns(shares_, work_, options_.starts[at].placement.unit_of_rank), at);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [time, at] : order) {
      consider(options_.starts[at].placement, options_.starts[at].name);
      ++result_.proposals;
      if (!seen_.insert(options_.starts[at].placement.unit_of_rank).second) continue;
      open_.push_back(at);
    }
  }

  /// Fresh annealings of the work, starts, and the best so far take turns.
  void round() {
    const std::uint64_t number = result_.rounds++;
    if (number % 3 == 1 && next_start_ < open_.size()) {
      const NamedStart& start = options_.starts[open_[next_start_++]];
      loads_.assign(start.placement.unit_of_rank);
      improve(warm_loads, start.name);
    } else if (number % 3 == 2) {
      shake_best();
      improve(warm_loads, best_.origin);
    } else {
      anneal_work();
      improve(hot_loads, "annealed work");
    }
  }

  void anneal_work() {
    total_work_.assign(random_placement(work_.ranks, shares_.units(), rng_).unit_of_rank);
    const std::uint64_t ranks = static_cast<std::uint64_t>(work_.ranks);
    result_.proposals +=
        total_work_.cool(std::min(most_work, work_per_rank * ranks), hot_work, rng_, options_.should_stop);
    consider({{total_work_.assignment().begin(), total_work_.assignment().end()}}, "annealed work");
    loads_.assign(total_work_.assignment());
  }

  void shake_best() {
    loads_.assign(best_.placement.unit_of_rank);
    Annealing moves(loads_, near_, rng_, {});
    for (std::uint64_t left = 2 + rng_.below(most_shaken - 1); left > 0; --left) moves.step();
  }

  /// Anneals and descends from the placement in the loads, then judges what is there.
  void improve(Cooling how, const std::string& origin) {
    Annealing annealing(loads_, near_, rng_, options_.should_stop);
    how.proposals = std::min(most_smooth, smooth_per_rank * static_cast<std::uint64_t>(work_.ranks)) / 2;
    for (const int power : {first_power, last_power}) {
      loads_.set_power(power);
      annealing.cool(how);
    }
    annealing.descend(most_smooth);
    result_.proposals += annealing.proposals();
    const bool better = consider({{loads_.assignment().begin(), loads_.assignment().end()}}, origin);
    if (better && !annealing.stopped()) judge_neighbours();
  }

  /// Whether it is the best now.
  bool consider(const machine::Placement& placement, const std::string& origin) {
    const Evaluation evaluation = evaluate(shares_, work_, placement.unit_of_rank);
    Candidate candidate{placement, evaluation.bottleneck_ns, unbounded, evaluation.hop_bytes, origin};
    if (!worth_judging(candidate)) return false;
    if (options_.judge.of && !judge(candidate)) return false;
    if (!best_.placement.unit_of_rank.empty() && !(key(candidate) < key(best_))) return false;
    best_ = std::move(candidate);
    return true;
  }

  [[nodiscard]] std::array<double, 3> key(const Candidate& of) const {
    const double other = options_.judge.of ? of.judged : 0;
    if (options_.judge_first) return {other, of.bottleneck_ns, static_cast<double>(of.hop_bytes)};
    return {of.bottleneck_ns, other, static_cast<double>(of.hop_bytes)};
  }

  [[nodiscard]] bool worth_judging(const Candidate& candidate) const {
    if (best_.placement.unit_of_rank.empty()) return true;
    if (candidate.placement.unit_of_rank == best_.placement.unit_of_rank) return false;
    if (!options_.judge_first) return candidate.bottleneck_ns <= best_.bottleneck_ns;
    return !options_.judge.bounded_by_loads ||
           busiest_link_ns(shares_, work_, candidate.placement.unit_of_rank) < best_.judged;
  }

  bool judge(Candidate& candidate) {
    if (!status_.ok()) return false;
    const Result<double> found = options_.judge.of(candidate.placement.unit_of_rank);
    ++result_.timed;
    if (!found.ok()) status_ = found.status();
    if (found.ok()) candidate.judged = found.value();
    return found.ok();
  }

  /// Single moves from the best that hardly change the loads: the judge may see more than loads do.
  void judge_neighbours() {
    if (!options_.judge_first) return;
    std::uint64_t messages = 1;
    for (const auto& phase : work_.phases) messages += phase.size();
    const std::uint64_t most = judged_messages / messages;
    loads_.assign(best_.placement.unit_of_rank);
    Annealing moves(loads_, near_, rng_, {});
    std::uint64_t tries = 0;
    const std::uint64_t timed = result_.timed;
    while (result_.timed - timed < most && tries++ < most * most_tries_per_judged && !finished()) {
      ++result_.proposals;
      if (!moves.draw_single() || moves.proposed() > judged_slack * loads_.smooth()) continue;
      machine::Placement placement = moves.placement();
      if (!seen_.insert(placement.unit_of_rank).second) continue;
      if (consider(placement, best_.origin)) loads_.accept();
    }
  }

  const RoutedShares& shares_;
  const Workload& work_;
  const PortfolioOptions& options_;
  RoutedShares merged_;
  Neighbourhood near_;
  SmoothLoads loads_;
  WorkAnnealing total_work_;
  Rng rng_;
  std::vector<std::size_t> open_;  ///< starts, each placement once, the flattest first
  std::size_t next_start_ = 0;
  std::set<std::vector<machine::UnitId>> seen_;
  Candidate best_;
  Status status_;
  PortfolioResult result_;
};

}  // namespace

Result<PortfolioResult> search_portfolio(const RoutedShares& shares, const Workload& work,
                                         const PortfolioOptions& options) {
  return Portfolio(shares, work, options).run();
}

}  // namespace corewise::place

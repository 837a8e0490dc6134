// Portfolio: rounds, candidates, the judge. See portfolio.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/portfolio/portfolio.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <tuple>
#include <utility>

#include "base/rng.hpp"
#include "place/portfolio/annealing.hpp"
#include "place/portfolio/dense_part.hpp"
#include "place/portfolio/neighbourhood.hpp"
#include "place/portfolio/pair_annealing.hpp"
#include "place/portfolio/smooth_loads.hpp"
#include "place/references.hpp"

namespace corewise::place {

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
/// Effort of a round, in proposals: per rank, and at most. Of pairs it grows from turn to turn.
constexpr std::uint64_t work_per_rank = 8'000;
constexpr std::uint64_t most_work = 4'000'000;
constexpr std::uint64_t stress_per_rank = 4'000;
constexpr std::uint64_t most_stress = 1'000'000;
/// Stress looks at all pairs of ranks: beyond, nothing else would get a turn.
constexpr int most_stressed = 512;
/// Of link loads per rank, beyond so many ranks by their square, and at most: there one long annealing finds more
/// than several short ones.
constexpr std::uint64_t smooth_per_rank = 8'000;
constexpr std::uint64_t many_ranks = 64;
constexpr std::uint64_t most_smooth = 2'400'000;
/// Also by what a proposal touches: so many messages' links in a round.
constexpr std::uint64_t smooth_touches = 320'000'000;
/// Placements near a new best that are judged: so many messages in all, as a judge looks at every one.
constexpr std::uint64_t judged_messages = 15'000;
/// Of those that relieve the last messages: by the square, as a time has as many instants as messages, and in each
/// as many rates.
constexpr std::uint64_t relieved_messages = 32'000'000;
/// Of the moves of one group of ranks so many are looked at, the flattest first, and so many judged.
constexpr std::ptrdiff_t most_flat = 128;
constexpr int most_judged = 16;
constexpr std::uint64_t most_tries_per_judged = 200;
/// Temperatures: of sums over pairs, over a rank's part; of smooth loads, over the whole. All loads together change
/// the more by a move the fewer links share them: their temperatures go with `few_links_`.
constexpr double hot_pairs = 0.64;
constexpr double warm_pairs = 0.1;
constexpr Cooling all_loads{0, 0.003, 0.0003};
constexpr Cooling worst_loads{0, 0.001, 0.00015, true};
constexpr double usual_units = 0.5;  ///< for a link that units share
constexpr double least_few_links = 0.5, most_few_links = 16;
constexpr double most_usual_detour = 1;
/// Where clusters move, the second stage is the shorter the fewer links units share, down to one part in so many:
/// the first leaves it little.
constexpr double most_shorter = 4;
/// With more units than that to a link the cuts of the machine decide, and no part of the pattern is too dense.
constexpr double most_dense_units = 4;
/// The best so far is not to melt.
constexpr double again = 0.5;
constexpr Cooling near_loads{0, 0.002, 0.0003, true};
constexpr Cooling dense_loads{0, 0.03, 0.001};
constexpr std::uint64_t dense_per_rank = 2'000;
constexpr int dense_power = 3;
/// Proposals around it, over those of other rounds: in the same time they find more than further rounds.
constexpr std::uint64_t dense_stay = 2;
constexpr int short_ones = 4;
/// Shapes grown in a turn, of which the one with least stress is improved: so many looks at pairs, as far as the
/// numbers go.
constexpr std::uint64_t seedling_looks = std::uint64_t{1} << 27;
constexpr std::uint64_t fewest_seedlings = 4, most_seedlings = 64;
/// Of a rank's part of the stress: less is a perfect shape.
constexpr double perfect = 1e-6;
/// Powers of the two stages, as doublings of the exponent: 4, then 32.
constexpr int first_power = 2;
constexpr int last_power = 5;
constexpr std::uint64_t most_shaken = 6;
/// A neighbour is judged where its loads are at most so much worse, and where the judge sees so much more than
/// loads.
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
        near_(Neighbourhood::of(merged_, options.limits)),
        loads_(merged_, work),
        total_work_(PairAnnealing::work_of(merged_, work, near_)),
        dense_(DensePart::of(work)),
        rng_(options.seed),
        few_links_(std::clamp(near_.units_per_shared_link / usual_units, least_few_links, most_few_links)) {
    for (const auto& phase : work.phases) messages_ += phase.size();
    one_placement_ = !options.limits.leaves_a_choice();
    if (work.ranks <= most_stressed) stress_.emplace(PairAnnealing::stress_of(merged_, work, near_));
  }

  void run() {
    consider_starts();
    while (!finished()) round();
  }

  /// Whether nobody beside it need go on.
  [[nodiscard]] bool ends_all() const { return result_.stopped || !status_.ok() || cost() <= options_.enough; }

  /// What another one has found, too.
  void take(const Portfolio& other) {
    if (status_.ok()) status_ = other.status_;
    if (!status_.ok()) return;
    for (const Candidate& each : other.leaders_) note_leader(each);
    if (key(other.best_) < key(best_)) best_ = other.best_;
    result_.proposals += other.result_.proposals;
    result_.timed += other.result_.timed;
    result_.rounds += other.result_.rounds;
  }

  Result<PortfolioResult> result() {
    if (!status_.ok()) return status_;
    result_.best = best_.placement;
    result_.bottleneck_ns = best_.bottleneck_ns;
    result_.judged = options_.judge.of ? best_.judged : 0;
    result_.origin = best_.origin;
    for (const Candidate& each : leaders_) {
      if (each.judged <= leader_slack * best_.judged) result_.leaders.push_back({each.origin, each.placement});
    }
    return std::move(result_);
  }

 private:
  /// Of the best, by the objective.
  [[nodiscard]] double cost() const { return options_.judge_first ? best_.judged : best_.bottleneck_ns; }

  [[nodiscard]] bool finished() {
    if (options_.should_stop && options_.should_stop()) result_.stopped = true;
    return result_.stopped || !status_.ok() || shares_.units() == 1 || one_placement_ ||
           cost() <= options_.enough || result_.proposals >= options_.proposals ||
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

  /// Where there is a dense part, every second round is its; where a round is short, three of four.
  void round() {
    const std::uint64_t number = result_.rounds++;
    if (dense_.ranks.empty() || near_.units_per_shared_link > most_dense_units) return other_round(number);
    const std::uint64_t every = stress_ ? 4 : 2;
    if (number % every == every - 1) return other_round(number / every);
    spread_dense_part(number - number / every);
  }

  /// What grew in the pattern's shape, starts, fresh annealings and the best so far take turns.
  void other_round(std::uint64_t number) {
    constexpr std::uint64_t kinds = 5;
    const std::uint64_t turn = number / kinds;
    switch (number % kinds) {
      case 0:
        return stress_ ? grow(turn) : anneal_work(turn, hot_pairs, "annealed work");
      case 1:
        return improve_start();
      case 2:
        return anneal_work(turn, hot_pairs, "annealed work");
      case 3:
        return improve_best();
      default:
        return stress_ ? anneal_stress(turn) : anneal_work(turn, hot_pairs, "annealed work");
    }
  }

  /// In turns a thorough annealing and several short ones that stay near.
  void improve_best() {
    if (improved_best_++ % 2 == 0) {
      shake_best();
      return improve(again, best_.origin);
    }
    for (int k = 0; k < short_ones && !finished(); ++k) {
      shake_best();
      stay_near(smooth_proposals() / short_ones, best_.origin);
    }
  }

  void stay_near(std::uint64_t proposals, const std::string& origin) {
    Annealing annealing(loads_, near_, rng_, options_.should_stop);
    Cooling how = near_loads;
    how.proposals = proposals;
    loads_.set_power(last_power);
    annealing.cool(how);
    settle(annealing, origin);
  }

  void improve_start() {
    if (next_start_ == open_.size()) return improve_best();
    const NamedStart& start = options_.starts[open_[next_start_++]];
    loads_.assign(start.placement.unit_of_rank);
    improve(1, start.name);
  }

  [[nodiscard]] std::uint64_t effort(std::uint64_t per_rank, std::uint64_t most, std::uint64_t turn) const {
    return std::min(most, per_rank * static_cast<std::uint64_t>(work_.ranks) * (turn + 2) / 2);
  }

  void grow(std::uint64_t turn) {
    const auto ranks = static_cast<std::uint64_t>(work_.ranks);
    machine::Placement best;
    double least = unbounded;
    const std::uint64_t looks = ranks * ranks * static_cast<std::uint64_t>(shares_.units());
    const std::uint64_t seedlings = std::clamp(seedling_looks / looks, fewest_seedlings, most_seedlings);
    for (std::uint64_t seedling = 0; seedling < seedlings && !finished(); ++seedling) {
      if (least < perfect * static_cast<double>(ranks)) break;
      // From the outermost first, which has the fewest ways to go on; sometimes from the innermost.
      const double place = turn > 0 && seedling % 2 == 1 ? rng_.uniform() : seedling % 4 == 3 ? 0 : 1;
      const auto [rank, unit] = stress_->alike(place);
      stress_->grow(rank, unit, rng_);
      result_.proposals += ranks;
      consider(placement_of(*stress_), "grown shape");
      if (stress_->sum() >= least) continue;
      least = stress_->sum();
      best = placement_of(*stress_);
    }
    if (best.unit_of_rank.empty()) return;
    stress_->assign(best.unit_of_rank);
    result_.proposals +=
        stress_->cool(effort(stress_per_rank, most_stress, 0) / 2, warm_pairs, rng_, options_.should_stop);
    consider(placement_of(*stress_), "grown shape");
    total_work_.assign(stress_->assignment());
    cool_work(turn, turn % 2 == 0 ? warm_pairs : hot_pairs, "grown shape");
  }

  void anneal_stress(std::uint64_t turn) {
    stress_->assign(drawn().unit_of_rank);
    result_.proposals +=
        stress_->cool(effort(stress_per_rank, most_stress, turn), hot_pairs, rng_, options_.should_stop);
    consider(placement_of(*stress_), "annealed shape");
    total_work_.assign(stress_->assignment());
    cool_work(turn, turn % 2 == 0 ? warm_pairs : hot_pairs, "annealed shape");
  }

  void anneal_work(std::uint64_t turn, double hot, const std::string& origin) {
    total_work_.assign(drawn().unit_of_rank);
    cool_work(turn, hot, origin);
  }

  /// The dense part alone, then the others around it, then all.
  void spread_dense_part(std::uint64_t turn) {
    const std::string origin = "dense part first";
    total_work_.assign(around(spread_alone()).unit_of_rank);
    total_work_.keep(dense_.ranks);
    result_.proposals +=
        total_work_.cool(effort(work_per_rank, most_work, turn) / 2, hot_pairs, rng_, options_.should_stop);
    total_work_.keep({});
    consider(placement_of(total_work_), origin);
    loads_.assign(total_work_.assignment());
    // A lower power first would pack it again.
    stay_near((stress_ ? dense_stay : 1) * smooth_proposals(), origin);
  }

  /// Units of the ranks of the dense part, as if there were no others.
  std::vector<machine::UnitId> spread_alone() {
    SmoothLoads loads(merged_, dense_.work);
    Neighbourhood anywhere = near_;
    anywhere.limits = {};
    loads.assign(random_placement(dense_.work.ranks, shares_.units(), rng_).unit_of_rank);
    loads.set_power(dense_power);
    Annealing annealing(loads, anywhere, rng_, options_.should_stop);
    Cooling how = dense_loads;
    how.proposals = dense_per_rank * dense_.ranks.size();
    annealing.cool(how);
    result_.proposals += annealing.proposals();
    return {loads.assignment().begin(), loads.assignment().end()};
  }

  /// A drawn placement with the dense part there; who had these units takes what it leaves.
  machine::Placement around(const std::vector<machine::UnitId>& unit_of_dense) {
    machine::Placement all = random_placement(work_.ranks, shares_.units(), rng_);
    for (std::size_t k = 0; k < dense_.ranks.size(); ++k) {
      machine::UnitId& unit = all.unit_of_rank[static_cast<std::size_t>(dense_.ranks[k])];
      std::replace(all.unit_of_rank.begin(), all.unit_of_rank.end(), unit_of_dense[k], unit);
      unit = unit_of_dense[k];
    }
    return options_.limits.repaired(all);
  }

  void cool_work(std::uint64_t turn, double hot, const std::string& origin) {
    result_.proposals += total_work_.cool(effort(work_per_rank, most_work, turn), hot, rng_, options_.should_stop);
    consider(placement_of(total_work_), origin);
    loads_.assign(total_work_.assignment());
    improve(1, origin);
  }

  machine::Placement drawn() {
    return options_.limits.repaired(random_placement(work_.ranks, shares_.units(), rng_));
  }

  [[nodiscard]] static machine::Placement placement_of(const PairAnnealing& annealed) {
    return {{annealed.assignment().begin(), annealed.assignment().end()}};
  }

  void shake_best() {
    loads_.assign(best_.placement.unit_of_rank);
    Annealing moves(loads_, near_, rng_, {});
    for (std::uint64_t left = 2 + rng_.below(most_shaken - 1); left > 0; --left) moves.step();
  }

  /// Anneals and descends from the placement in the loads, then judges what is there. `heat`: of the first
  /// temperature, over the usual one.
  void improve(double heat, const std::string& origin) {
    Annealing annealing(loads_, near_, rng_, options_.should_stop);
    Cooling all = all_loads;
    all.proposals = smooth_proposals() / 2;
    all.hot *= heat * few_links_;
    all.cold *= few_links_;
    all.usual_detour = std::clamp(all.usual_detour * few_links_, all.usual_detour, most_usual_detour);
    loads_.set_power(first_power);
    annealing.cool(all);
    Cooling worst = worst_loads;
    const double shorter = near_.has_large_classes() ? std::clamp(few_links_, 1.0, most_shorter) : 1;
    worst.proposals = static_cast<std::uint64_t>(static_cast<double>(all.proposals) / shorter);
    loads_.set_power(last_power);
    annealing.cool(worst);
    settle(annealing, origin);
  }

  /// Down on sorted loads, then the judge.
  void settle(Annealing& annealing, const std::string& origin) {
    annealing.descend(smooth_proposals() / 4);
    result_.proposals += annealing.proposals();
    const Verdict verdict = consider({{loads_.assignment().begin(), loads_.assignment().end()}}, origin);
    if (!options_.judge_first || annealing.stopped()) return;
    // Of a judge that loads do not bound nothing says what a placement that is not the best may come to.
    const bool promising = verdict.best || (options_.judge.bounded_by_loads && verdict.judged < unbounded);
    if (options_.judge.awaited) {
      if (promising) relieve(verdict.judged, origin);
    } else if (verdict.best) {
      judge_neighbours();
    }
  }

  [[nodiscard]] std::uint64_t smooth_proposals() const {
    const auto ranks = static_cast<std::uint64_t>(work_.ranks);
    const auto hops = static_cast<std::uint64_t>(std::max(1, merged_.longest_route_hops()));
    const std::uint64_t touched = std::max<std::uint64_t>(1, 2 * messages_ * hops / ranks);
    const std::uint64_t wanted = smooth_per_rank * ranks * std::max(many_ranks, ranks) / many_ranks;
    return std::min({most_smooth, wanted, smooth_touches / touched});
  }

  /// Whether it is the best now, and what the judge said if it was asked.
  struct Verdict {
    bool best = false;
    double judged = unbounded;
  };

  Verdict consider(const machine::Placement& placement, const std::string& origin) {
    const Evaluation evaluation = evaluate(shares_, work_, placement.unit_of_rank);
    Candidate candidate{placement, evaluation.bottleneck_ns, unbounded, evaluation.hop_bytes, origin};
    if (!worth_judging(candidate)) return {};
    if (options_.judge.of && !judge(candidate)) return {};
    note_leader(candidate);
    const Verdict verdict{best_.placement.unit_of_rank.empty() || key(candidate) < key(best_), candidate.judged};
    if (verdict.best) best_ = std::move(candidate);
    return verdict;
  }

  /// Of equal costs and equal loads one stands for the others: mostly they are the same by a symmetry.
  void note_leader(const Candidate& candidate) {
    if (options_.leaders == 0) return;
    const auto place = std::find_if(leaders_.begin(), leaders_.end(),
                                    [&](const Candidate& each) { return !(key(each) < key(candidate)); });
    if (place != leaders_.end() && key(*place) == key(candidate)) return;
    leaders_.insert(place, candidate);
    if (leaders_.size() > options_.leaders) leaders_.pop_back();
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
    const double slack = options_.leaders > 0 ? leader_slack : 1;
    return !options_.judge.bounded_by_loads ||
           busiest_link_ns(shares_, work_, candidate.placement.unit_of_rank) < slack * best_.judged;
  }

  bool judge(Candidate& candidate) {
    if (!status_.ok()) return false;
    Result<Awaited> found = asked(candidate.placement.unit_of_rank);
    ++result_.timed;
    if (!found.ok()) {
      status_ = found.status();
      return false;
    }
    candidate.judged = found.value().time;
    last_ = std::move(found.value().last);
    return true;
  }

  [[nodiscard]] Result<Awaited> asked(Assignment units) const {
    if (options_.judge.awaited) return options_.judge.awaited(units);
    const Result<double> found = options_.judge.of(units);
    if (!found.ok()) return found.status();
    return Awaited{found.value(), {}};
  }

  /// Single moves from the best that hardly change the loads: the judge may see more than loads do.
  void judge_neighbours() {
    const double least = busiest_link_ns(shares_, work_, best_.placement.unit_of_rank);
    if (options_.judge.bounded_by_loads && best_.judged < judged_slack * least) return;
    const std::uint64_t most = judged_messages / messages_;
    loads_.assign(best_.placement.unit_of_rank);
    Annealing moves(loads_, near_, rng_, {});
    std::uint64_t tries = 0;
    const std::uint64_t timed = result_.timed;
    while (result_.timed - timed < most && tries++ < most * most_tries_per_judged && !finished()) {
      ++result_.proposals;
      if (!moves.draw_single() || moves.proposed() > judged_slack * loads_.smooth()) continue;
      machine::Placement placement = moves.placement();
      if (!seen_.insert(placement.unit_of_rank).second) continue;
      if (consider(placement, best_.origin).best) loads_.accept();
    }
  }

  /// What `relieve` has reached, from where, and how many more may be judged.
  struct Relief {
    Annealing moves;
    double judged;
    const std::string& origin;
    std::uint64_t left;
  };

  /// A time is longer than that of its busiest link where a few messages still move when the others are through:
  /// mostly large ones that several full links slow at once. Their ranks move, or else those that share a link with
  /// them, as long as the judge sees less.
  void relieve(double judged, const std::string& origin) {
    Relief now{{loads_, near_, rng_, {}}, judged, origin, relieved_messages / (messages_ * messages_)};
    while (now.left > 0 && !finished() && relieve_one_of(std::vector(last_), now)) continue;
  }

  bool relieve_one_of(std::span<const std::pair<int, int>> messages, Relief& now) {
    return std::any_of(messages.begin(), messages.end(), [&](const auto& each) {
      const auto [from, to] = each;
      return move_one_of({from, to}, now) || move_one_of(on_the_way(from, to), now);
    });
  }

  /// The ranks of other messages on the links of this one, in drawn order.
  std::vector<int> on_the_way(int from, int to) {
    std::set<int> found;
    const auto unit_of = [this](int rank) { return loads_.assignment()[static_cast<std::size_t>(rank)]; };
    for (std::size_t phase = 0; phase < work_.phases.size(); ++phase) {
      for (const Share& share : merged_.shares(unit_of(from), unit_of(to))) {
        const auto place = static_cast<std::int64_t>(phase) * merged_.links() + share.link;
        for (const int rank : loads_.ranks_at(place)) found.insert(rank);
      }
    }
    found.erase(from);
    found.erase(to);
    std::vector<int> ranks(found.begin(), found.end());
    rng_.shuffle(std::span(ranks));
    return ranks;
  }

  /// The first move of one of the ranks that the judge likes better.
  bool move_one_of(const std::vector<int>& ranks, Relief& now) {
    std::vector<std::tuple<double, int, machine::UnitId>> all;
    const std::uint64_t most = smooth_proposals() / short_ones;
    for (std::size_t at = 0; at < ranks.size() && all.size() < most; ++at) {
      for (int unit = 0; unit < shares_.units(); ++unit) {
        ++result_.proposals;
        if (now.moves.propose_swap(ranks[at], unit)) all.emplace_back(now.moves.proposed(), ranks[at], unit);
      }
    }
    const auto end = all.begin() + std::min(most_flat, std::ssize(all));
    std::partial_sort(all.begin(), end, all.end());
    int tried = 0;
    for (auto move = all.begin(); move != end && tried < most_judged && now.left > 0 && !finished(); ++move) {
      now.moves.propose_swap(std::get<1>(*move), std::get<2>(*move));
      const machine::Placement placement = now.moves.placement();
      if (!seen_.insert(placement.unit_of_rank).second) continue;
      const Verdict verdict = consider(placement, now.origin);
      if (verdict.judged == unbounded) continue;
      ++tried;
      --now.left;
      if (verdict.judged >= now.judged) continue;
      now.judged = verdict.judged;
      loads_.accept();
      return true;
    }
    return false;
  }

  const RoutedShares& shares_;
  const Workload& work_;
  const PortfolioOptions& options_;
  RoutedShares merged_;
  Neighbourhood near_;
  SmoothLoads loads_;
  PairAnnealing total_work_;
  std::optional<PairAnnealing> stress_;
  DensePart dense_;
  Rng rng_;
  double few_links_;               ///< how few links share the loads; 1 is usual
  std::vector<std::size_t> open_;  ///< starts, each placement once, the flattest first
  std::size_t next_start_ = 0;
  std::uint64_t improved_best_ = 0;
  std::set<std::vector<machine::UnitId>> seen_;
  std::uint64_t messages_ = 1;
  bool one_placement_ = false;
  std::vector<std::pair<int, int>> last_;  ///< messages that what was judged last waits for
  Candidate best_;
  std::vector<Candidate> leaders_;  ///< by key, each another one
  Status status_;
  PortfolioResult result_;
};

}  // namespace

Result<PortfolioResult> search_portfolio(const RoutedShares& shares, const Workload& work,
                                         const PortfolioOptions& options) {
  std::atomic<bool> over = false;
  std::deque<PortfolioOptions> asked(1, options);
  asked.front().should_stop = [&] { return over.load() || (options.should_stop && options.should_stop()); };
  Rng seeds(options.seed);
  for (int worker = 1; worker < options.workers; ++worker) {
    asked.push_back(options);
    asked.back().seed = seeds.next();
    asked.back().should_stop = [&over] { return over.load(); };
  }
  std::deque<Portfolio> searches;
  for (const PortfolioOptions& each : asked) searches.emplace_back(shares, work, each);
  {
    std::vector<std::jthread> threads;
    const auto run = [&over](Portfolio& search) {
      search.run();
      if (search.ends_all()) over = true;
    };
    for (std::size_t worker = 1; worker < searches.size(); ++worker) {
      threads.emplace_back(run, std::ref(searches[worker]));
    }
    run(searches.front());
    if (options.should_stop) over = true;  // nobody asks it any more
  }
  for (std::size_t worker = 1; worker < searches.size(); ++worker) searches.front().take(searches[worker]);
  return searches.front().result();
}

}  // namespace corewise::place

// Search: the choice between proof and heuristic. See search.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/search.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/fnv.hpp"
#include "place/distance/search.hpp"
#include "place/links/branch_and_bound.hpp"
#include "place/links/certificate.hpp"
#include "place/links/hop_bytes_cost.hpp"
#include "place/links/link_load_cost.hpp"
#include "place/portfolio/cut_loads.hpp"
#include "place/portfolio/portfolio.hpp"

namespace corewise::place {

namespace {

/// Of a local search for the start of a proof, and of one for the worst placement.
constexpr std::uint64_t start_evaluations = 200'000;
/// Of a portfolio for the start of a proof: a round or two.
constexpr std::uint64_t start_proposals = 200'000;
constexpr std::uint64_t few_messages = 256;
constexpr double rounding = 1e-9;

machine::Placement identity(int ranks) {
  machine::Placement placement;
  placement.unit_of_rank.resize(static_cast<std::size_t>(ranks));
  std::iota(placement.unit_of_rank.begin(), placement.unit_of_rank.end(), 0);
  return placement;
}

std::unique_ptr<IncrementalCost> make_cost(Objective objective, const RoutedShares& shares, const Workload& work) {
  if (objective == Objective::hop_bytes) return std::make_unique<HopBytesCost>(shares, work);
  return std::make_unique<LinkLoadCost>(shares, work);
}

/// An effort in placements, or proportionally less where there are more than few messages.
std::uint64_t scaled(std::uint64_t effort, const Workload& work) {
  std::uint64_t messages = 1;
  for (const auto& phase : work.phases) messages += phase.size();
  return effort * few_messages / std::max(few_messages, messages);
}

WorstReference worst_locally(IncrementalCost& cost, const Workload& work, const SearchOptions& options) {
  LocalSearchOptions local;
  local.seed = options.seed;
  local.budget_evaluations = std::min(options.local_evaluations, scaled(start_evaluations, work));
  local.direction = Direction::maximise;
  local.limits = options.limits;
  LocalSearchResult found = local_search(cost, {identity(work.ranks)}, local);
  return {std::move(found.best), found.score, false};
}

/// Where every search begins: the simple references, then what the caller knows.
std::vector<NamedStart> named_starts(const RoutedShares& shares, const Workload& work,
                                     const SearchOptions& options) {
  std::vector<NamedStart> all{{"rank order", identity(work.ranks)}, {"greedy", greedy_placement(shares, work)}};
  all.insert(all.end(), options.starts.begin(), options.starts.end());
  if (options.limits.any()) all.front().placement = options.limits.in_order();
  for (NamedStart& start : all) start.placement = options.limits.repaired(start.placement);
  return all;
}

std::vector<machine::Placement> starts(const RoutedShares& shares, const Workload& work,
                                       const SearchOptions& options) {
  std::vector<machine::Placement> all;
  for (NamedStart& start : named_starts(shares, work, options)) all.push_back(std::move(start.placement));
  return all;
}

/// All phases as one; weights are kept to a thousandth.
Result<PairTraffic> traffic_of_workload(const Workload& work) {
  pattern::Pattern together;
  together.ranks = work.ranks;
  together.phases.resize(1);
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    const double scale = work.weights.empty() ? 1 : 1000 * work.weight(phase);
    for (const Traffic& each : work.phases[phase]) {
      const auto bytes = static_cast<std::uint64_t>(std::llround(scale * static_cast<double>(each.bytes)));
      together.phases[0].messages.push_back({each.from, each.to, bytes, 1});
    }
  }
  return traffic_of(together);
}

std::string name_of(const SearchOptions& options) {
  switch (options.objective) {
    case Objective::bottleneck:
      return "bottleneck";
    case Objective::hop_bytes:
      return "hop-bytes";
    case Objective::distance:
      return "distance";
    case Objective::given:
      break;
  }
  return options.given.name;
}

Status too_many(const SearchOptions& options, std::uint64_t limit) {
  return bad_field("", "method",
                   "'exhaustive' with objective " + name_of(options) + " and more than " + std::to_string(limit) +
                       " placements to look at",
                   other_methods(options.objective, options.method));
}

/// Whether units! / (units - ranks)! is at most `limit`.
bool placements_within(int units, int ranks, std::uint64_t limit) {
  std::uint64_t count = 1;
  for (int k = 0; k < ranks; ++k) {
    const auto choices = static_cast<std::uint64_t>(units - k);
    if (count > limit / choices) return false;
    count *= choices;
  }
  return true;
}

bool allowed_within(const Limits& limits, std::uint64_t most) {
  std::uint64_t count = 0;
  return limits.for_each([&](Assignment) { return ++count <= most; });
}

/// Without the rounding of sums: a proof wants whole multiples.
Distances rounded(Distances distances) {
  constexpr double steps = 1e6;
  for (double& value : distances.at) value = std::nearbyint(value * steps) / steps;
  return distances;
}

/// Nothing where weighted distance is not the objective: short searches would notice the time.
template <class Source>
Result<PairTraffic> traffic(const Source& source, const SearchOptions& options) {
  return options.objective == Objective::distance ? traffic_of(source) : PairTraffic{};
}

SearchResult proven(ExhaustiveResult found) {
  SearchResult result;
  result.placement = found.best;
  result.method = Method::exhaustive;
  result.proven_optimal = true;
  result.statement = proof_statement(found);
  result.evaluated = found.evaluated;
  result.bound = found.best_score.primary;
  result.optimal = found.optimal;
  if (found.worst) result.worst = WorstReference{*found.worst, found.worst_score, true};
  result.enumeration = std::move(found);
  return result;
}

}  // namespace

bool proof_is_certain(int ranks, int units) {
  return ranks <= most_cut_ranks && units <= most_cut_units;
}

Result<Searcher> Searcher::of(const machine::Machine& machine) {
  Result<RoutedShares> shares = RoutedShares::of(machine);
  if (!shares.ok()) return shares.status();
  return Searcher(machine, std::move(shares).value());
}

const Symmetry& Searcher::symmetry() {
  if (!symmetry_) symmetry_.emplace(shares_);
  return *symmetry_;
}

const Symmetry& Searcher::unmerged_symmetry() {
  // The routes were readable when the searcher was made, so they are now.
  if (!unmerged_symmetry_) unmerged_symmetry_.emplace(unmerged_shares(*machine_).value());
  return *unmerged_symmetry_;
}

std::optional<Representatives> Searcher::unmerged_representatives(int ranks, std::uint64_t limit) {
  return representatives(unmerged_symmetry(), ranks, limit);
}

const LinkLoadEnumeration* Searcher::enumeration(int ranks, std::uint64_t limit) {
  const std::pair key(ranks, limit);
  auto known = enumerations_.find(key);
  if (known == enumerations_.end()) {
    std::optional<LinkLoadEnumeration> made;
    if (auto chosen = representatives(symmetry(), ranks, limit)) {
      made.emplace(shares_, symmetry(), std::move(*chosen));
    }
    known = enumerations_.emplace(key, std::move(made)).first;
  }
  return known->second ? &*known->second : nullptr;
}

/// Nothing where there are too many placements to look at every one.
std::optional<ExhaustiveResult> Searcher::enumerate(const Workload& work, const SearchOptions& options) {
  ExhaustiveOptions how;
  how.find_worst = options.find_worst;
  if (options.limits.any()) return enumerate_allowed(work, options);
  if (options.objective == Objective::bottleneck) {
    const LinkLoadEnumeration* complete = enumeration(work.ranks, options.exhaustive_evaluations);
    return complete != nullptr ? std::optional(complete->run(work, how)) : std::nullopt;
  }
  // A symmetry keeps hops and link loads, so the same representatives serve.
  const auto chosen = representatives(symmetry(), work.ranks, options.exhaustive_evaluations);
  if (!chosen) return std::nullopt;
  HopBytesCost cost(shares_, work);
  const auto score = [&cost](Assignment unit_of_rank) {
    cost.assign(unit_of_rank);
    return cost.score();
  };
  return exhaustive(score, *chosen, symmetry().order(), how);
}

std::optional<ExhaustiveResult> Searcher::enumerate_allowed(const Workload& work,
                                                            const SearchOptions& options) const {
  // By bottleneck branch and bound is quicker and can be certified.
  const bool bounded = options.method == Method::automatic && can_bound(work, options);
  if (bounded || !allowed_within(options.limits, options.exhaustive_evaluations)) return std::nullopt;
  const auto cost = make_cost(options.objective, shares_, work);
  return exhaustive_within(options.limits, [&cost](Assignment unit_of_rank) {
    cost->assign(unit_of_rank);
    return cost->score();
  });
}

SearchResult Searcher::search_locally(const Workload& work, const SearchOptions& options) const {
  const auto cost = make_cost(options.objective, shares_, work);
  LocalSearchOptions local;
  local.seed = options.seed;
  local.budget_evaluations = options.local_evaluations;
  local.should_stop = options.should_stop;
  local.limits = options.limits;
  LocalSearchResult found = local_search(*cost, starts(shares_, work, options), local);
  SearchResult result;
  result.placement = std::move(found.best);
  result.evaluated = found.evaluated;
  result.statement = "not proven: best of " + std::to_string(found.evaluated) + " placements of a local search";
  return result;
}

double SearchResult::gap(double found) const {
  if (proven_optimal || found <= bound) return 0;
  return bound > 0 ? found / bound - 1 : std::numeric_limits<double>::infinity();
}

bool Searcher::can_bound(const Workload& work, const SearchOptions& options) const {
  return options.objective == Objective::bottleneck && proof_is_certain(work.ranks, shares_.units());
}

const std::vector<Cut>& Searcher::cuts() {
  if (!cuts_) cuts_ = find_cuts(*machine_);
  return *cuts_;
}

std::uint64_t Searcher::machine_digest() {
  if (!machine_digest_) machine_digest_ = fnv(machine_text(*machine_));
  return *machine_digest_;
}

/// No placement costs less by the objective; 0 where nothing is known.
double Searcher::least_cost(const Workload& work, const SearchOptions& options) const {
  const CutLoads cuts(*machine_, shares_);
  if (options.objective == Objective::bottleneck) return cuts.least_bottleneck_ns(work);
  if (!options.given.bounded_by_loads) return 0;
  const double least_ns = cuts.least_busiest_link_ns(work);
  return least_ns > 0 ? least_ns + options.given.delay : 0;
}

/// What a portfolio begins with: the named starts, and where weighted distance would put the ranks.
std::vector<NamedStart> Searcher::portfolio_starts(const Workload& work, const SearchOptions& options) const {
  std::vector<NamedStart> all = named_starts(shares_, work, options);
  const Result<PairTraffic> together = traffic_of_workload(work);
  if (!together.ok()) return all;
  SearchOptions near = options;
  near.method = Method::automatic;
  near.nodes = 0;
  near.limits = {};
  near.local_evaluations = std::min(options.local_evaluations, start_evaluations);
  Result<SearchResult> found = search_by_distance(together.value(), near);
  if (found.ok()) all.push_back({"distance", options.limits.repaired(found.value().placement)});
  return all;
}

Result<SearchResult> Searcher::search_by_portfolio(const Workload& work, const SearchOptions& options) const {
  PortfolioOptions how;
  how.starts = portfolio_starts(work, options);
  how.judge = options.given;
  how.judge_first = options.objective == Objective::given;
  how.proposals = options.proposals;
  how.leaders = options.leaders;
  how.seed = options.seed;
  how.workers = options.given.of && !options.given.concurrent ? 1 : options.workers;
  how.limits = options.limits;
  how.should_stop = options.should_stop;
  const double bound = least_cost(work, options);
  // A bound is a sum in another order than the cost.
  how.enough = bound * (1 + rounding) + (how.judge_first ? options.given.resolution : 0);
  Result<PortfolioResult> found = search_portfolio(shares_, work, how);
  if (!found.ok()) return found.status();
  PortfolioResult& best = found.value();
  SearchResult result;
  result.placement = std::move(best.best);
  result.method = Method::portfolio;
  result.evaluated = best.proposals;
  result.origin = std::move(best.origin);
  for (NamedStart& leader : best.leaders) result.leaders.push_back(std::move(leader.placement));
  result.cost = how.judge_first ? best.judged : best.bottleneck_ns;
  result.proven_optimal = bound > 0 && result.cost <= how.enough;
  result.bound = result.proven_optimal ? result.cost : bound;
  result.optimal = {result.placement};
  result.statement = result.proven_optimal
                         ? "optimal: it costs what no placement can be below (cuts of the machine); best of "
                         : "not proven: best of ";
  result.statement += std::to_string(best.proposals) + " placements in " + std::to_string(best.rounds);
  result.statement += " rounds of a portfolio";
  if (best.timed > 0) {
    result.statement.append(", ").append(std::to_string(best.timed)).append(" of them timed by ");
    result.statement.append(options.given.name);
  }
  result.statement += "; it came from " + result.origin;
  if (best.stopped && !result.proven_optimal) result.statement += "; stopped by the clock";
  return result;
}

/// A short local search and a short portfolio for a good start, then the tree.
Result<SearchResult> Searcher::search_bounded(const Workload& work, const SearchOptions& options) {
  SearchOptions first = options;
  first.local_evaluations = std::min(options.local_evaluations, scaled(start_evaluations, work));
  first.proposals = std::min(options.proposals, scaled(start_proposals, work));
  first.leaders = 0;
  first.workers = 1;
  first.starts.push_back({"local", search_locally(work, first).placement});
  Result<SearchResult> started = search_by_portfolio(work, first);
  if (!started.ok()) return started.status();
  BranchAndBound tree(cuts(), shares_, symmetry(), work, options.limits);
  const BranchAndBoundOptions how{options.nodes, options.should_stop};
  BranchAndBoundResult found = tree.minimise(started.value().placement, how);
  SearchResult result;
  result.placement = std::move(found.best);
  result.method = Method::branch_and_bound;
  result.proven_optimal = found.closed;
  result.evaluated = found.nodes;
  const double found_ns = evaluate(shares_, work, result.placement.unit_of_rank).bottleneck_ns;
  result.bound = found.closed ? found_ns : std::min(found.bound_ns, found_ns);
  if (found.closed) {
    result.statement = "optimal: closed a tree of " + std::to_string(found.nodes) + " nodes";
  } else {
    char gap_text[32];
    std::snprintf(gap_text, sizeof(gap_text), "%.1f", 100 * result.gap(found_ns));
    result.statement = "not proven: at most " + std::string(gap_text) + " % above the optimum after " +
                       std::to_string(found.nodes) + " nodes of branch and bound";
    if (result.bound <= 0) {
      result.statement = "not proven: no bound after " + std::to_string(found.nodes) + " nodes of branch and bound";
    }
    if (options.should_stop && options.should_stop()) result.statement += ", stopped from outside";
  }
  return result;
}

/// A bound for what local search found, without a tree.
void Searcher::bound(const Workload& work, const SearchOptions& options, SearchResult& result) {
  if (result.proven_optimal || result.method != Method::local || !can_bound(work, options)) return;
  result.bound = std::min(BranchAndBound(cuts(), shares_, symmetry(), work, options.limits).root_ns(),
                          evaluate(shares_, work, result.placement.unit_of_rank).bottleneck_ns);
}

Result<SearchResult> Searcher::choose(const Workload& work, const SearchOptions& options) {
  const bool may_enumerate = options.method == Method::exhaustive ||
                             (options.method == Method::automatic && work.ranks <= options.exhaustive_ranks);
  if (may_enumerate) {
    if (std::optional<ExhaustiveResult> all = enumerate(work, options)) return proven(std::move(*all));
    if (options.method == Method::exhaustive) return too_many(options, options.exhaustive_evaluations);
  }
  const bool automatic = options.method == Method::automatic;
  if ((automatic || options.method == Method::branch_and_bound) && can_bound(work, options)) {
    return search_bounded(work, options);
  }
  const bool large =
      automatic && options.objective == Objective::bottleneck && !proof_is_certain(work.ranks, shares_.units());
  return large || options.method == Method::portfolio ? search_by_portfolio(work, options)
                                                      : search_locally(work, options);
}

void Searcher::certify(const Workload& work, const SearchOptions& options, SearchResult& result) {
  if (!options.certify || result.bound <= 0 || !can_bound(work, options)) return;
  BranchAndBound tree(cuts(), shares_, symmetry(), work, options.limits);
  const std::optional<ClosedTree> closed = tree.close(result.bound, options.certificate_letters);
  if (closed) {
    result.certificate =
        certificate_json(machine_digest(), work, result.placement, result.evaluation.bottleneck_ns, tree, *closed);
  } else {
    result.statement +=
        "; no certificate: its tree has more than " + std::to_string(options.certificate_letters) + " entries";
  }
}

Status Searcher::check(const Workload& work, const SearchOptions& options) const {
  if (Status status = check_method(options.objective, options.method, name_of(options)); !status.ok())
    return status;
  if (Status status = check_fits(shares_, work); !status.ok()) return status;
  if (options.limits.any() && (options.limits.ranks() != work.ranks || options.limits.units() != shares_.units())) {
    return bad_field("", "limits",
                     std::to_string(options.limits.ranks()) + " ranks on " + std::to_string(options.limits.units()),
                     std::to_string(work.ranks) + " on " + std::to_string(shares_.units()));
  }
  for (std::size_t k = 0; k < options.starts.size(); ++k) {
    const machine::Placement& start = options.starts[k].placement;
    if (Status status = machine::check(start, *machine_); !status.ok()) return status;
    if (static_cast<int>(start.unit_of_rank.size()) != work.ranks) {
      return bad_field("", "starts[" + std::to_string(k) + "]",
                       std::to_string(start.unit_of_rank.size()) + " ranks",
                       std::to_string(work.ranks) + " (the ranks of the pattern)");
    }
  }
  if (options.objective == Objective::hop_bytes && !work.weights.empty()) {
    return bad_field("", "weights", "weights with objective hop-bytes", "no weights, or objective bottleneck");
  }
  return {};
}

Result<SearchResult> Searcher::search_link_loads(const Workload& work, const SearchOptions& options) {
  Result<SearchResult> chosen = choose(work, options);
  if (!chosen.ok()) return chosen.status();
  SearchResult result = std::move(chosen).value();
  result.evaluation = evaluate(shares_, work, result.placement.unit_of_rank);
  result.cost = options.objective == Objective::bottleneck ? result.evaluation.bottleneck_ns
                                                           : static_cast<double>(result.evaluation.hop_bytes);
  if (options.find_worst && !result.worst) {
    const auto cost = make_cost(options.objective, shares_, work);
    result.worst = worst_locally(*cost, work, options);
  }
  bound(work, options, result);
  certify(work, options, result);
  return result;
}

Result<SearchResult> Searcher::search_by_distance(const PairTraffic& traffic, const SearchOptions& options) const {
  DistanceOptions how;
  how.seed = options.seed;
  how.method = options.method;
  how.nodes = options.nodes;
  how.local_evaluations = options.local_evaluations;
  how.effort = options.effort;
  how.limits = options.limits;
  how.should_stop = options.should_stop;
  const Distances distances = options.distances ? *options.distances : rounded(distances_of(*machine_));
  if (distances.units != shares_.units()) {
    return bad_field("", "distances", std::to_string(distances.units) + " units",
                     std::to_string(shares_.units()) + ", the machine's");
  }
  Result<DistanceResult> found = search_distance(traffic, distances, how);
  if (!found.ok()) return found.status();
  SearchResult result;
  result.placement = std::move(found.value().placement);
  result.method = found.value().method;
  result.proven_optimal = found.value().proven_optimal;
  result.statement = std::move(found.value().statement);
  result.evaluated = found.value().evaluated;
  result.cost = found.value().cost;
  result.bound = found.value().bound;
  return result;
}

/// What an enumeration by a given cost looks at; nothing where that is not wanted, or too much for `automatic`.
Result<std::optional<Orbits>> Searcher::orbits(int ranks, const SearchOptions& options) {
  std::optional<Orbits> all;
  if (options.method == Method::local || options.method == Method::portfolio) return all;
  if (options.limits.any()) return all;
  // Beyond, there are too many to look at, and finding the group takes longer than a search.
  if (options.method == Method::automatic && !proof_is_certain(ranks, shares_.units())) return all;
  const std::uint64_t limit = options.given.evaluations;
  if (options.given.symmetric) {
    auto chosen = unmerged_representatives(ranks, limit);
    if (chosen) all = Orbits{std::move(*chosen), unmerged_symmetry().order()};
  } else if (placements_within(shares_.units(), ranks, limit)) {
    all = Orbits{all_placements(shares_.units(), ranks), 1};
  }
  if (!all && options.method == Method::exhaustive) return too_many(options, limit);
  return all;
}

/// Whether an enumeration by a given cost within limits is wanted and not too much.
bool Searcher::looks_at_all_allowed(const Workload& work, const SearchOptions& options) const {
  if (!options.limits.any()) return false;
  const bool wanted = options.method == Method::exhaustive ||
                      (options.method == Method::automatic && proof_is_certain(work.ranks, shares_.units()));
  return wanted && allowed_within(options.limits, options.given.evaluations);
}

Result<SearchResult> Searcher::search_by_given_cost(const Workload& work, const SearchOptions& options) {
  if (options.given.evaluations < 1) return bad_field("", "evaluations", "0", "1 or more");
  GivenCostSearch how;
  how.ranks = work.ranks;
  how.units = shares_.units();
  how.starts = starts(shares_, work, options);
  how.limits = options.limits;
  how.seed = options.seed;
  how.should_stop = options.should_stop;
  how.all_allowed = looks_at_all_allowed(work, options);
  if (options.method == Method::exhaustive && options.limits.any() && !how.all_allowed) {
    return too_many(options, options.given.evaluations);
  }
  Result<std::optional<Orbits>> all = orbits(work.ranks, options);
  if (!all.ok()) return all.status();
  const bool large = options.method == Method::automatic && !all.value() && !how.all_allowed &&
                     !proof_is_certain(work.ranks, shares_.units());
  if (large || options.method == Method::portfolio) return search_by_portfolio(work, options);
  how.all = std::move(all).value();
  Result<GivenCostResult> found = search_given_cost(options.given, how);
  if (!found.ok()) return found.status();
  GivenCostResult& given = found.value();
  SearchResult result;
  result.placement = given.best;
  result.statement = std::move(given.statement);
  result.evaluated = given.evaluated;
  result.cost = given.cost;
  result.optimal = {given.best};
  if (given.enumeration) {
    result.method = Method::exhaustive;
    result.proven_optimal = true;
    result.bound = given.cost;
    result.optimal = given.enumeration->optimal;
    if (given.enumeration->worst) {
      result.worst = WorstReference{*given.enumeration->worst, given.enumeration->worst_score, true};
    }
  }
  return result;
}

Result<SearchResult> Searcher::search(const Result<Workload>& work, const Result<PairTraffic>& traffic,
                                      const SearchOptions& options) {
  if (!work.ok()) return work.status();
  if (Status status = check(work.value(), options); !status.ok()) return status;
  if (options.objective == Objective::bottleneck || options.objective == Objective::hop_bytes) {
    return search_link_loads(work.value(), options);
  }
  if (options.objective == Objective::distance && !traffic.ok()) return traffic.status();
  Result<SearchResult> result = options.objective == Objective::distance
                                    ? search_by_distance(traffic.value(), options)
                                    : search_by_given_cost(work.value(), options);
  if (!result.ok()) return result;
  result.value().evaluation = evaluate(shares_, work.value(), result.value().placement.unit_of_rank);
  return result;
}

Result<SearchResult> Searcher::search(std::span<const pattern::Pattern> patterns, std::span<const double> weights,
                                      const SearchOptions& options) {
  const bool one = patterns.size() == 1;
  if (options.objective == Objective::distance && !one) {
    return bad_field("", "patterns", std::to_string(patterns.size()), "1 by distance");
  }
  return search(workload(patterns, weights), one ? traffic(patterns.front(), options) : PairTraffic{}, options);
}

Result<SearchResult> Searcher::search(const pattern::Matrix& matrix, const SearchOptions& options) {
  return search(workload(matrix), traffic(matrix, options), options);
}

Result<SearchResult> Searcher::search(const pattern::Pattern& pattern, const SearchOptions& options) {
  return search(workload(pattern), traffic(pattern, options), options);
}

Result<SearchResult> search(const machine::Machine& machine, const pattern::Matrix& matrix,
                            const SearchOptions& options) {
  Result<Searcher> searcher = Searcher::of(machine);
  if (!searcher.ok()) return searcher.status();
  return searcher.value().search(matrix, options);
}

Result<SearchResult> search(const machine::Machine& machine, const pattern::Pattern& pattern,
                            const SearchOptions& options) {
  Result<Searcher> searcher = Searcher::of(machine);
  if (!searcher.ok()) return searcher.status();
  return searcher.value().search(pattern, options);
}

}  // namespace corewise::place

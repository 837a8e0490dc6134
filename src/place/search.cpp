// Search: the choice between proof and heuristic. See search.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/search.hpp"

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "place/hop_bytes_cost.hpp"
#include "place/link_load_cost.hpp"

namespace corewise::place {

namespace {

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

WorstReference worst_locally(IncrementalCost& cost, const Workload& work, const SearchOptions& options) {
  LocalSearchOptions local;
  local.seed = options.seed;
  local.budget_evaluations = options.local_evaluations;
  local.direction = Direction::maximise;
  LocalSearchResult found = local_search(cost, {identity(work.ranks)}, local);
  return {std::move(found.best), found.score, false};
}

SearchResult proven(ExhaustiveResult found) {
  SearchResult result;
  result.placement = found.best;
  result.method = Method::exhaustive;
  result.proven_optimal = true;
  result.statement = proof_statement(found);
  result.evaluated = found.evaluated;
  if (found.worst) result.worst = WorstReference{*found.worst, found.worst_score, true};
  result.enumeration = std::move(found);
  return result;
}

}  // namespace

Result<Searcher> Searcher::of(const machine::Machine& machine) {
  Result<RoutedShares> shares = RoutedShares::of(machine);
  if (!shares.ok()) return shares.status();
  return Searcher(std::move(shares).value());
}

const Symmetry& Searcher::symmetry() {
  if (!symmetry_) symmetry_.emplace(shares_);
  return *symmetry_;
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
  if (work.ranks > options.exhaustive_ranks) return std::nullopt;
  ExhaustiveOptions how;
  how.find_worst = options.find_worst;
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

SearchResult Searcher::search_locally(const Workload& work, const SearchOptions& options) const {
  const auto cost = make_cost(options.objective, shares_, work);
  LocalSearchOptions local;
  local.seed = options.seed;
  local.budget_evaluations = options.local_evaluations;
  LocalSearchResult found = local_search(*cost, {identity(work.ranks), greedy_placement(shares_, work)}, local);
  SearchResult result;
  result.placement = std::move(found.best);
  result.evaluated = found.evaluated;
  result.statement = "not proven: best of " + std::to_string(found.evaluated) + " placements of a local search";
  if (options.find_worst) result.worst = worst_locally(*cost, work, options);
  return result;
}

Result<SearchResult> Searcher::search(const Result<Workload>& work, const SearchOptions& options) {
  if (!work.ok()) return work.status();
  if (Status status = check_fits(shares_, work.value()); !status.ok()) return status;
  std::optional<ExhaustiveResult> all = enumerate(work.value(), options);
  SearchResult result = all ? proven(std::move(*all)) : search_locally(work.value(), options);
  result.evaluation = evaluate(shares_, work.value(), result.placement.unit_of_rank);
  return result;
}

Result<SearchResult> Searcher::search(const pattern::Matrix& matrix, const SearchOptions& options) {
  return search(workload(matrix), options);
}

Result<SearchResult> Searcher::search(const pattern::Pattern& pattern, const SearchOptions& options) {
  return search(workload(pattern), options);
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

// Search: the choice between proof and heuristic. See search.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/search.hpp"

#include <numeric>
#include <utility>
#include <vector>

#include "place/link_load_cost.hpp"

namespace corewise::place {

namespace {

machine::Placement identity(int ranks) {
  machine::Placement placement;
  placement.unit_of_rank.resize(static_cast<std::size_t>(ranks));
  std::iota(placement.unit_of_rank.begin(), placement.unit_of_rank.end(), 0);
  return placement;
}

WorstReference worst_locally(const RoutedShares& shares, const Workload& work, const SearchOptions& options) {
  LinkLoadCost cost(shares, work);
  LocalSearchOptions local;
  local.seed = options.seed;
  local.budget_evaluations = options.local_evaluations;
  local.direction = Direction::maximise;
  LocalSearchResult found = local_search(cost, {identity(work.ranks)}, local);
  return {std::move(found.best), found.score, false};
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

SearchResult Searcher::search_all(const LinkLoadEnumeration& enumeration, const Workload& work,
                                  const SearchOptions& options) const {
  ExhaustiveOptions exhaustive_options;
  exhaustive_options.find_worst = options.find_worst;
  ExhaustiveResult found = enumeration.run(work, exhaustive_options);
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

SearchResult Searcher::search_locally(const Workload& work, const SearchOptions& options) const {
  LinkLoadCost cost(shares_, work);
  LocalSearchOptions local;
  local.seed = options.seed;
  local.budget_evaluations = options.local_evaluations;
  LocalSearchResult found = local_search(cost, {identity(work.ranks), greedy_placement(shares_, work)}, local);
  SearchResult result;
  result.placement = std::move(found.best);
  result.evaluated = found.evaluated;
  result.statement = "not proven: best of " + std::to_string(found.evaluated) + " placements of a local search";
  if (options.find_worst) result.worst = worst_locally(shares_, work, options);
  return result;
}

Result<SearchResult> Searcher::search(const Result<Workload>& work, const SearchOptions& options) {
  if (!work.ok()) return work.status();
  if (Status status = check_fits(shares_, work.value()); !status.ok()) return status;
  const int ranks = work.value().ranks;
  const LinkLoadEnumeration* complete =
      ranks <= options.exhaustive_ranks ? enumeration(ranks, options.exhaustive_evaluations) : nullptr;
  SearchResult result =
      complete ? search_all(*complete, work.value(), options) : search_locally(work.value(), options);
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

// Search: the front of the room, for every objective. Takes a machine and one or several patterns, chooses among
// enumeration, branch and bound, the multilevel mapping and local search, and says what it found, how, and what is
// proven. Owns that choice.
//
// Contract: the placement is always valid; the same input gives the same result, unless `should_stop` ends the
// search early: then the statement says so. By bottleneck a matrix is judged by its one, a pattern by the sum of
// its phases' bottlenecks, several patterns by the weighted sum. By weighted distance phases are summed. More ranks
// than units is one error, and so are a method that the objective does not have and an enumeration of too many.
// Limits (limits.hpp) hold for the result and for the worst placement; proofs are about what they allow.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "place/distance/distance.hpp"
#include "place/exhaustive.hpp"
#include "place/given_cost.hpp"
#include "place/limits.hpp"
#include "place/links/cut_bounds.hpp"
#include "place/links/objective.hpp"
#include "place/local_search.hpp"
#include "place/method.hpp"
#include "place/references.hpp"
#include "place/symmetry/symmetry.hpp"

namespace corewise::place {

/// Up to these sizes a search by bottleneck ends with a proof or a bound by branch and bound; beyond, the automatic
/// search is the portfolio.
bool proof_is_certain(int ranks, int units);

struct SearchOptions {
  Objective objective = Objective::bottleneck;
  std::uint64_t seed = 1;
  int exhaustive_ranks = 8;                          ///< enumerate up to so many ranks
  std::uint64_t exhaustive_evaluations = 2'000'000;  ///< and up to so many representatives
  std::uint64_t local_evaluations = 200'000;
  std::uint64_t proposals = 2'000'000;  ///< of the portfolio
  int workers = 1;                      ///< of the portfolio: threads, see PortfolioOptions
  bool find_worst = false;              ///< also the worst placement, as a reference
  Method method = Method::automatic;    ///< by link loads automatic is branch and bound up to 16 ranks on 64 units
  std::vector<NamedStart> starts = {};  ///< also tried; the result is never worse
  Limits limits = {};                   ///< of the result; every start is brought within them
  std::size_t leaders = 0;              ///< of the portfolio, see SearchResult
  std::uint64_t nodes = 5'000'000;      ///< budget of branch and bound
  std::function<bool()> should_stop = {};       ///< asked now and then; true ends the search with what is known
  bool certify = false;                         ///< also a certificate of the bound (docs/formats/certificate.md)
  std::size_t certificate_letters = 2'000'000;  ///< of the closed tree, at most
  std::optional<Distances> distances = {};      ///< objective distance; nothing: latencies, rounded to 10^-6 ns
  int effort = 4;                               ///< of the multilevel mapping
  GivenCost given = {};  ///< objective given; by bottleneck, where there is one, it chooses among equals
};

struct SearchResult {
  machine::Placement placement;
  Evaluation evaluation;  ///< of `placement`, on the links of the machine as described
  Method method = Method::local;
  bool proven_optimal = false;
  std::string statement;                         ///< one line: the proof, or what was tried
  std::uint64_t evaluated = 0;                   ///< placements; of branch and bound the nodes or bounds
  std::vector<machine::Placement> leaders = {};  ///< of a portfolio: within 5 % of the best, it among them
  std::string origin = {};                       ///< of a portfolio: where the placement came from
  double cost = 0;                               ///< of `placement`, by the objective
  double bound = 0;                              ///< no placement costs less; 0: nothing known
  std::vector<machine::Placement> optimal = {};  ///< where enumerated: optimal placements, one per orbit
  std::optional<std::string> certificate = {};   ///< a JSON document, where asked for and possible

  /// Found over bound, less 1; 0 where proven optimal, infinite where nothing is known.
  [[nodiscard]] double gap(double found) const;

  std::optional<ExhaustiveResult> enumeration;
  std::optional<WorstReference> worst;
};

/// A machine made ready for searching many patterns: routes reduced, symmetry and representatives computed once.
class Searcher {
 public:
  static Result<Searcher> of(const machine::Machine& machine);

  [[nodiscard]] const RoutedShares& shares() const { return shares_; }
  /// Computed at the first call.
  const Symmetry& symmetry();

  Result<SearchResult> search(const pattern::Matrix& matrix, const SearchOptions& options = {});
  Result<SearchResult> search(const pattern::Pattern& pattern, const SearchOptions& options = {});
  /// Several patterns that share one placement; see workload().
  Result<SearchResult> search(std::span<const pattern::Pattern> patterns, std::span<const double> weights,
                              const SearchOptions& options = {});

  /// The group on all stops and links, none merged: for simulated time. Computed at the first call.
  const Symmetry& unmerged_symmetry();
  /// One placement of every orbit of that group; nothing where there are more than `limit`.
  std::optional<Representatives> unmerged_representatives(int ranks, std::uint64_t limit);

 private:
  Searcher(const machine::Machine& machine, RoutedShares shares)
      : machine_(std::make_shared<const machine::Machine>(machine)), shares_(std::move(shares)) {}
  /// `traffic` is looked at where weighted distance is the objective.
  Result<SearchResult> search(const Result<Workload>& work, const Result<PairTraffic>& traffic,
                              const SearchOptions& options);
  Status check(const Workload& work, const SearchOptions& options) const;
  Result<SearchResult> search_link_loads(const Workload& work, const SearchOptions& options);
  Result<SearchResult> search_by_distance(const PairTraffic& traffic, const SearchOptions& options) const;
  Result<SearchResult> search_by_given_cost(const Workload& work, const SearchOptions& options);
  Result<std::optional<Orbits>> orbits(int ranks, const SearchOptions& options);
  const LinkLoadEnumeration* enumeration(int ranks, std::uint64_t limit);
  std::optional<ExhaustiveResult> enumerate(const Workload& work, const SearchOptions& options);
  [[nodiscard]] std::optional<ExhaustiveResult> enumerate_allowed(const Workload& work,
                                                                  const SearchOptions& options) const;
  [[nodiscard]] bool looks_at_all_allowed(const Workload& work, const SearchOptions& options) const;
  [[nodiscard]] double least_cost(const Workload& work, const SearchOptions& options) const;
  [[nodiscard]] std::vector<NamedStart> portfolio_starts(const Workload& work, const SearchOptions& options) const;
  Result<SearchResult> search_by_portfolio(const Workload& work, const SearchOptions& options) const;
  SearchResult search_locally(const Workload& work, const SearchOptions& options) const;
  Result<SearchResult> search_bounded(const Workload& work, const SearchOptions& options);
  Result<SearchResult> choose(const Workload& work, const SearchOptions& options);
  void certify(const Workload& work, const SearchOptions& options, SearchResult& result);
  void bound(const Workload& work, const SearchOptions& options, SearchResult& result);
  /// Both are found at the first call. Requires can_bound.
  const std::vector<Cut>& cuts();
  std::uint64_t machine_digest();
  [[nodiscard]] bool can_bound(const Workload& work, const SearchOptions& options) const;

  std::shared_ptr<const machine::Machine> machine_;
  RoutedShares shares_;
  std::optional<Symmetry> symmetry_;
  std::optional<Symmetry> unmerged_symmetry_;
  std::optional<std::vector<Cut>> cuts_;
  std::optional<std::uint64_t> machine_digest_;
  /// By ranks and limit; nothing where there are too many representatives.
  std::map<std::pair<int, std::uint64_t>, std::optional<LinkLoadEnumeration>> enumerations_;
};

Result<SearchResult> search(const machine::Machine& machine, const pattern::Matrix& matrix,
                            const SearchOptions& options = {});
Result<SearchResult> search(const machine::Machine& machine, const pattern::Pattern& pattern,
                            const SearchOptions& options = {});

}  // namespace corewise::place

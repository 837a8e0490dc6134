// Search: the front of the room. Takes a machine and a pattern, chooses enumeration or local search, and says
// what it found, how, and whether it is proven. Owns that choice.
//
// Contract: the placement is always valid; the same input gives the same result. A matrix is judged by its one
// bottleneck, a pattern by the sum of its phases' bottlenecks. More ranks than units is one error.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "place/exhaustive.hpp"
#include "place/local_search.hpp"
#include "place/objective.hpp"
#include "place/references.hpp"
#include "place/symmetry.hpp"

namespace corewise::place {

/// What is minimised; the other one chooses among equals.
enum class Objective { bottleneck, hop_bytes };

struct SearchOptions {
  Objective objective = Objective::bottleneck;
  std::uint64_t seed = 1;
  int exhaustive_ranks = 8;                          ///< enumerate up to so many ranks
  std::uint64_t exhaustive_evaluations = 2'000'000;  ///< and up to so many representatives
  std::uint64_t local_evaluations = 200'000;
  bool find_worst = false;  ///< also the worst placement, as a reference
};

enum class Method { exhaustive, local };

struct SearchResult {
  machine::Placement placement;
  Evaluation evaluation;  ///< of `placement`, on the links of the machine as described
  Method method = Method::local;
  bool proven_optimal = false;
  std::string statement;  ///< one line: the proof, or what was tried
  std::uint64_t evaluated = 0;
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

 private:
  explicit Searcher(RoutedShares shares) : shares_(std::move(shares)) {}
  Result<SearchResult> search(const Result<Workload>& work, const SearchOptions& options);
  const LinkLoadEnumeration* enumeration(int ranks, std::uint64_t limit);
  std::optional<ExhaustiveResult> enumerate(const Workload& work, const SearchOptions& options);
  SearchResult search_locally(const Workload& work, const SearchOptions& options) const;

  RoutedShares shares_;
  std::optional<Symmetry> symmetry_;
  /// By ranks and limit; nothing where there are too many representatives.
  std::map<std::pair<int, std::uint64_t>, std::optional<LinkLoadEnumeration>> enumerations_;
};

Result<SearchResult> search(const machine::Machine& machine, const pattern::Matrix& matrix,
                            const SearchOptions& options = {});
Result<SearchResult> search(const machine::Machine& machine, const pattern::Pattern& pattern,
                            const SearchOptions& options = {});

}  // namespace corewise::place

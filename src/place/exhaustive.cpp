// Exhaustive search: chooses the kernel for a workload and runs the enumeration. See exhaustive.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/exhaustive.hpp"

#include <limits>
#include <numeric>
#include <utility>

#include "place/enumeration.hpp"
#include "place/links/load_kernels.hpp"
#include "place/references.hpp"

namespace corewise::place {

namespace {

/// A cost about which nothing is known: no partial scores, so nothing is excluded.
class FunctionKernel {
 public:
  using Primary = double;

  FunctionKernel(const CostFunction& cost, int ranks) : cost_(cost), ranks_(ranks) {}

  void extend(int depth, const int* unit_of_rank) {
    if (depth + 1 == ranks_) score_ = cost_({unit_of_rank, static_cast<std::size_t>(ranks_)});
  }
  double primary(int) const { return score_.primary; }
  double secondary(const int*) const { return score_.secondary; }

 private:
  const CostFunction& cost_;
  int ranks_;
  Score score_;
};

std::size_t dense_lanes(int links) {
  for (const std::size_t lanes : {16U, 32U}) {
    if (static_cast<std::size_t>(links) <= lanes) return lanes;
  }
  return 0;
}

/// The largest number of bytes that every message is a multiple of.
std::uint64_t common_unit(const std::vector<Traffic>& traffic) {
  std::uint64_t unit_bytes = 0;
  for (const Traffic& entry : traffic) unit_bytes = std::gcd(unit_bytes, entry.bytes);
  return unit_bytes == 0 ? 1 : unit_bytes;
}

std::vector<int> positions_by_traffic(const Workload& work) {
  std::vector<int> position(static_cast<std::size_t>(work.ranks));
  int next = 0;
  for (const int rank : ranks_by_traffic(work)) position[static_cast<std::size_t>(rank)] = next++;
  return position;
}

Workload renumbered(const Workload& work, const std::vector<int>& position) {
  Workload moved = work;
  for (auto& phase : moved.phases) {
    for (Traffic& entry : phase) {
      entry.from = position[static_cast<std::size_t>(entry.from)];
      entry.to = position[static_cast<std::size_t>(entry.to)];
    }
  }
  return moved;
}

}  // namespace

struct LinkLoadEnumeration::Prepared {
  RoutedShares merged;
  Symmetry symmetry;
  Representatives representatives;
  std::size_t lanes = 0;  ///< 0: sparse only
  DenseShares<std::int16_t> int16_shares;
  DenseShares<float> float_shares;
  DenseShares<double> double_shares;

  template <class Kernel>
  ExhaustiveResult enumerate(Kernel&& kernel, const ExhaustiveOptions& options, const Naming* naming) const {
    return Enumeration(kernel, representatives, options, naming).run();
  }

  template <class Value>
  ExhaustiveResult dense(const DenseShares<Value>& shares, const Workload& work, std::uint64_t unit_bytes,
                         const ExhaustiveOptions& options, const Naming* naming) const {
    if (lanes == 16) return enumerate(DenseKernel<Value, 16>(merged, shares, work, unit_bytes), options, naming);
    return enumerate(DenseKernel<Value, 32>(merged, shares, work, unit_bytes), options, naming);
  }

  ExhaustiveResult run(const Workload& work, const ExhaustiveOptions& options, const Naming* naming) const;
  ExhaustiveResult search(const Workload& work, const ExhaustiveOptions& options) const;
};

ExhaustiveResult LinkLoadEnumeration::Prepared::run(const Workload& work, const ExhaustiveOptions& options,
                                                    const Naming* naming) const {
  if (lanes == 0 || work.phases.size() != 1) return enumerate(SparseKernel(merged, work), options, naming);
  const std::uint64_t unit_bytes = common_unit(work.phases.front());
  // No link can carry more than all traffic together.
  const std::uint64_t most = work.total_bytes() / unit_bytes * merged.parts_per_byte();
  if (most < (1U << 15U)) return dense(int16_shares, work, unit_bytes, options, naming);
  if (most < (1U << 24U)) return dense(float_shares, work, unit_bytes, options, naming);
  if (most < (1ULL << 53U)) return dense(double_shares, work, unit_bytes, options, naming);
  return enumerate(SparseKernel(merged, work), options, naming);
}

/// Another order of ranks pays where starts are excluded, and needs the listed group to name the least placement.
ExhaustiveResult LinkLoadEnumeration::Prepared::search(const Workload& work,
                                                       const ExhaustiveOptions& options) const {
  if (options.find_worst || symmetry.elements().empty()) return run(work, options, nullptr);
  const Naming naming{positions_by_traffic(work), &symmetry.elements()};
  return run(renumbered(work, naming.position_of_rank), options, &naming);
}

LinkLoadEnumeration::LinkLoadEnumeration(const RoutedShares& shares, const Symmetry& symmetry,
                                         Representatives representatives) {
  auto prepared =
      std::make_shared<Prepared>(Prepared{shares.merged(), symmetry, std::move(representatives), 0, {}, {}, {}});
  if (prepared->merged.has_uniform_bandwidth()) prepared->lanes = dense_lanes(prepared->merged.links());
  // Parts of one byte must fit the narrowest value type; wider machines go the sparse way.
  if (shares.parts_per_byte() >= (1U << 15U)) prepared->lanes = 0;
  if (prepared->lanes != 0) {
    prepared->int16_shares = {prepared->merged, prepared->lanes};
    prepared->float_shares = {prepared->merged, prepared->lanes};
    prepared->double_shares = {prepared->merged, prepared->lanes};
  }
  prepared_ = std::move(prepared);
}

ExhaustiveResult LinkLoadEnumeration::run(const Workload& work, const ExhaustiveOptions& options) const {
  ExhaustiveResult result = prepared_->search(work, options);
  result.group_order = prepared_->symmetry.order();
  result.best_score.primary = evaluate(prepared_->merged, work, result.best.unit_of_rank).bottleneck_ns;
  if (result.worst) {
    result.worst_score.primary = evaluate(prepared_->merged, work, result.worst->unit_of_rank).bottleneck_ns;
  }
  return result;
}

ExhaustiveResult exhaustive(const CostFunction& cost, const Representatives& representatives,
                            std::uint64_t group_order, const ExhaustiveOptions& options) {
  FunctionKernel kernel(cost, representatives.ranks);
  // Partial scores are unknown here, so every representative is evaluated and the worst comes for free.
  ExhaustiveOptions complete = options;
  complete.find_worst = true;
  ExhaustiveResult result = Enumeration(kernel, representatives, complete).run();
  result.group_order = group_order;
  result.best_score = cost(result.best.unit_of_rank);
  result.worst_score = cost(result.worst->unit_of_rank);
  if (!options.find_worst) result.worst.reset();
  return result;
}

ExhaustiveResult exhaustive_within(const Limits& limits, const CostFunction& cost,
                                   const std::function<bool()>& should_stop) {
  constexpr std::size_t kept = ExhaustiveOptions{}.keep_optimal;
  ExhaustiveResult result;
  result.within_limits = true;
  limits.for_each([&](Assignment unit_of_rank) {
    if (should_stop && should_stop()) return false;
    const Score score = cost(unit_of_rank);
    const machine::Placement placement{{unit_of_rank.begin(), unit_of_rank.end()}};
    if (result.evaluated == 0 || score < result.best_score) {
      result.best = placement;
      result.best_score = score;
      result.optimal.clear();
      result.optimal_count = 0;
    }
    if (score == result.best_score) {
      ++result.optimal_count;
      if (result.optimal.size() < kept) result.optimal.push_back(placement);
    }
    if (result.evaluated == 0 || score > result.worst_score) {
      result.worst = placement;
      result.worst_score = score;
    }
    ++result.evaluated;
    return true;
  });
  result.covered = result.evaluated;
  return result;
}

Representatives all_placements(int units, int ranks) {
  Representatives all;
  all.units = units;
  all.ranks = ranks;
  all.starts.push_back({{}, 1});
  all.covered = 1;
  for (int k = 0; k < ranks; ++k) all.covered *= static_cast<std::uint64_t>(units - k);
  all.count = all.covered;
  return all;
}

std::string proof_statement(const ExhaustiveResult& result) {
  std::string text = "optimal: " + std::to_string(result.evaluated) + " placements evaluated";
  if (result.excluded > 0) {
    text += " and " + std::to_string(result.excluded) + " excluded by a partial load above the optimum";
  }
  if (result.within_limits) return text + ", all that the limits allow";
  text += ", covering all " + std::to_string(result.covered) + " by a group of ";
  const bool saturated = result.group_order == std::numeric_limits<std::uint64_t>::max();
  return text + (saturated ? "2^64 or more" : std::to_string(result.group_order));
}

}  // namespace corewise::place

// Objective: what a placement of a pattern costs on a machine's links. Owns the routed shares of a machine
// (which link carries which part of a pair's traffic), the traffic of a pattern as the searches use it, and the
// evaluation of one placement: load per link, bottleneck, hop-bytes.
//
// Contract: traffic is split evenly over tied routes and counted in whole parts of 1/L byte, L the least common
// multiple of the numbers of alternatives, so equal loads are equal bit for bit. Times are load / bandwidth, in
// ns. A matrix has one phase; a pattern's phases run one after another and their bottlenecks add up. Self
// messages and messages between units of one stop load no link. User errors come back as Status; nothing throws.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"
#include "pattern/pattern.hpp"

namespace corewise::place {

/// `parts` of every `parts_per_byte` parts of a pair's traffic cross `link`.
struct Share {
  int link = 0;
  std::uint32_t parts = 0;

  friend bool operator==(const Share&, const Share&) = default;
};

/// The routes of a machine, reduced to what link loads need. Immutable, made once per machine.
class RoutedShares {
 public:
  /// The most units: the shares of every pair are kept, 30 MB for so many units of a tree of two levels.
  static constexpr std::size_t kMostUnits = 1024;

  /// Requires a machine that passes machine::check. Fails where it has more than kMostUnits, or where the numbers
  /// of tied routes have no usable common multiple (over 2^20).
  static Result<RoutedShares> of(const machine::Machine& machine);

  [[nodiscard]] int units() const { return units_; }
  [[nodiscard]] int links() const { return static_cast<int>(bandwidth_gb_per_s_.size()); }
  [[nodiscard]] std::uint32_t parts_per_byte() const { return parts_per_byte_; }
  [[nodiscard]] double bandwidth_gb_per_s(int link) const {
    return bandwidth_gb_per_s_[static_cast<std::size_t>(link)];
  }
  [[nodiscard]] bool has_uniform_bandwidth() const { return uniform_bandwidth_; }
  /// Sorted by link, each link once.
  [[nodiscard]] std::span<const Share> shares(int from, int to) const {
    const std::size_t pair = pair_index(from, to);
    return {shares_.data() + begin_[pair], begin_[pair + 1] - begin_[pair]};
  }
  /// Hops on the machine as described, also after merging.
  [[nodiscard]] int hops(int from, int to) const { return hops_[pair_index(from, to)]; }
  [[nodiscard]] int longest_route_hops() const;
  /// Load in parts to time. Every search and every evaluation uses this one expression.
  [[nodiscard]] double time_ns(std::uint64_t load_parts, int link) const {
    return static_cast<double>(load_parts) / (parts_per_byte_ * bandwidth_gb_per_s(link));
  }

  /// The same routes with links that always carry the same traffic (a chain through stops without units) joined
  /// into one of the least bandwidth, and links that no route uses dropped. Bottlenecks stay what they were.
  [[nodiscard]] RoutedShares merged() const;
  /// The same routes with these bandwidths, one per link.
  [[nodiscard]] RoutedShares with_bandwidths(std::vector<double> bandwidth_gb_per_s) const;
  /// For every link the lowest-numbered one that always carries the same traffic; itself where it is that one.
  [[nodiscard]] std::vector<int> twins() const;

 private:
  [[nodiscard]] std::size_t pair_index(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(units_) + static_cast<std::size_t>(to);
  }

  void note_bandwidths();

  int units_ = 0;
  std::uint32_t parts_per_byte_ = 1;
  bool uniform_bandwidth_ = true;
  std::vector<double> bandwidth_gb_per_s_;
  std::vector<std::uint32_t>
      begin_;  ///< per ordered pair into shares_, one more at the end; kMostUnits keep it small
  std::vector<Share> shares_;
  std::vector<int> hops_;
};

/// The routes of `machine` with a number per link in place of its bandwidth: equal for links that stand for equal
/// chains of links (bandwidths and latencies in the order of travel). The symmetries of these shares are those of
/// the machine on all its stops and links, none merged: what simulated time needs. Times of these shares mean
/// nothing.
Result<RoutedShares> unmerged_shares(const machine::Machine& machine);

struct Traffic {
  int from = 0;
  int to = 0;
  std::uint64_t bytes = 0;
};

/// A pattern as searches use it: per phase one entry per ordered pair, sorted, without self and empty messages.
/// Several patterns that share one placement are the phases of all, each with its pattern's weight.
struct Workload {
  int ranks = 0;
  std::vector<std::vector<Traffic>> phases;
  std::vector<double> weights = {};  ///< per phase, positive; empty: all 1

  [[nodiscard]] double weight(std::size_t phase) const { return weights.empty() ? 1.0 : weights[phase]; }

  [[nodiscard]] std::uint64_t total_bytes() const;
};

Result<Workload> workload(const pattern::Matrix& matrix);
/// Ordered phases; empty ones are kept, they cost nothing.
Result<Workload> workload(const pattern::Pattern& pattern);
/// Patterns of equal ranks that share one placement: cost is the sum of weight times bottleneck. Weights positive
/// and finite, one per pattern; none given means 1 each.
Result<Workload> workload(std::span<const pattern::Pattern> patterns, std::span<const double> weights);

/// At least one rank, no more ranks than units, and loads that stay exact in 63 bits.
Status check_fits(const RoutedShares& shares, const Workload& work);

struct Bottleneck {
  double time_ns = 0;
  machine::LinkId link = -1;  ///< lowest-numbered link that takes time_ns; -1 where no link carries anything
  double bytes = 0;
};

struct Evaluation {
  std::vector<std::uint64_t> load_parts;  ///< per link, phases summed; load in bytes = parts / parts_per_byte
  std::uint32_t parts_per_byte = 1;
  std::vector<Bottleneck> phases;
  double bottleneck_ns = 0;  ///< sum over the phases, each times its weight
  std::uint64_t hop_bytes = 0;

  [[nodiscard]] double load_bytes(machine::LinkId link) const {
    return static_cast<double>(load_parts[static_cast<std::size_t>(link)]) / parts_per_byte;
  }
};

/// Requires check_fits and a valid placement of all ranks.
Evaluation evaluate(const RoutedShares& shares, const Workload& work,
                    std::span<const machine::UnitId> unit_of_rank);

/// The whole way from user data, with every check.
Result<Evaluation> evaluate(const machine::Machine& machine, const pattern::Matrix& matrix,
                            const machine::Placement& placement);
Result<Evaluation> evaluate(const machine::Machine& machine, const pattern::Pattern& pattern,
                            const machine::Placement& placement);

}  // namespace corewise::place

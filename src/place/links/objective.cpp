// Objective: reduces routes to shares, patterns to traffic, and adds up loads. See objective.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/links/objective.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "base/index.hpp"

namespace corewise::place {

namespace {

constexpr std::uint64_t most_parts_per_byte = 1U << 20U;

Result<std::uint32_t> common_parts(const machine::Machine& machine) {
  std::uint64_t parts = 1;
  for (const auto& alternatives : machine.route_table) {
    parts = std::lcm(parts, static_cast<std::uint64_t>(alternatives.size()));
    if (parts == 0 || parts > most_parts_per_byte) {
      return bad_field(machine.name, "route_table", std::to_string(alternatives.size()) + " tied routes",
                       "numbers of tied routes, at least 1, whose least common multiple is at most 1048576");
    }
  }
  return static_cast<std::uint32_t>(parts);
}

std::map<int, std::uint32_t> shares_of(const machine::Routes& alternatives, std::uint32_t parts_per_byte) {
  const auto parts = static_cast<std::uint32_t>(parts_per_byte / alternatives.size());
  std::map<int, std::uint32_t> per_link;
  for (const machine::Route& route : alternatives) {
    for (const machine::LinkId link : route.links) per_link[link] += parts;
  }
  return per_link;
}

/// Where a link's traffic comes from: (pair, parts), in order of pairs.
using Signature = std::vector<std::pair<std::size_t, std::uint32_t>>;

std::vector<Signature> signatures(const RoutedShares& shares) {
  std::vector<Signature> all(index(shares.links()));
  for (int from = 0; from < shares.units(); ++from) {
    for (int to = 0; to < shares.units(); ++to) {
      const std::size_t pair = index(from) * index(shares.units()) + index(to);
      for (const Share& share : shares.shares(from, to)) all[index(share.link)].emplace_back(pair, share.parts);
    }
  }
  return all;
}

/// New number of each link (-1: dropped) and the bandwidth of each new link.
struct Merging {
  std::vector<int> merged_link;
  std::vector<double> bandwidth_gb_per_s;
};

Merging find_merging(const RoutedShares& shares) {
  Merging merging;
  std::map<Signature, int> known;
  const std::vector<Signature> all = signatures(shares);
  for (int link = 0; link < shares.links(); ++link) {
    if (all[index(link)].empty()) {
      merging.merged_link.push_back(-1);
      continue;
    }
    const auto [entry, is_new] = known.emplace(all[index(link)], static_cast<int>(known.size()));
    merging.merged_link.push_back(entry->second);
    const double bandwidth = shares.bandwidth_gb_per_s(link);
    if (is_new) merging.bandwidth_gb_per_s.push_back(bandwidth);
    double& least = merging.bandwidth_gb_per_s[index(entry->second)];
    least = std::min(least, bandwidth);
  }
  return merging;
}

/// (bandwidth, latency, lanes) of the links of a chain, in the order of travel.
using Chain = std::vector<std::array<double, 3>>;

/// Fills in the chains that this route is the first to show whole.
void note_chains(const machine::Machine& machine, const std::vector<int>& twin, const machine::Route& route,
                 std::vector<Chain>& chains) {
  std::map<int, Chain> seen;
  for (const machine::LinkId id : route.links) {
    const machine::Link& link = machine.links[index(id)];
    seen[twin[index(id)]].push_back({link.bandwidth_gb_per_s, link.latency_ns, static_cast<double>(link.lanes)});
  }
  for (auto& [first, chain] : seen) {
    if (chain.size() > chains[index(first)].size()) chains[index(first)] = std::move(chain);
  }
}

Status check_entry(int ranks, int from, int to, const std::string& field) {
  const int wrong = (from < 0 || from >= ranks) ? from : to;
  if (wrong >= 0 && wrong < ranks) return {};
  return bad_field("", field, "rank " + std::to_string(wrong), "ranks 0 to " + std::to_string(ranks - 1));
}

Status add_phase(const std::vector<pattern::Message>& messages, const std::string& field, Workload& work) {
  std::map<std::pair<int, int>, std::uint64_t> bytes;
  for (const pattern::Message& message : messages) {
    if (Status status = check_entry(work.ranks, message.from, message.to, field); !status.ok()) return status;
    if (message.from == message.to || message.bytes == 0) continue;
    std::uint64_t& sum = bytes[{message.from, message.to}];
    if (message.bytes > std::numeric_limits<std::uint64_t>::max() - sum) {
      return bad_field("", field, "more bytes than 64 bits hold", "a sum per pair of ranks below 2^64 bytes");
    }
    sum += message.bytes;
  }
  std::vector<Traffic> traffic;
  for (const auto& [pair, sum] : bytes) traffic.push_back({pair.first, pair.second, sum});
  work.phases.push_back(std::move(traffic));
  return {};
}

Status check_ranks(int ranks) {
  if (ranks >= 1) return {};
  return bad_field("", "ranks", std::to_string(ranks), "at least 1");
}

Bottleneck slowest(const RoutedShares& shares, const std::vector<std::uint64_t>& load_parts) {
  Bottleneck found;
  for (int link = 0; link < shares.links(); ++link) {
    const double time_ns = shares.time_ns(load_parts[index(link)], link);
    if (time_ns <= found.time_ns) continue;
    found = {time_ns, link, static_cast<double>(load_parts[index(link)]) / shares.parts_per_byte()};
  }
  return found;
}

template <class Source>
Result<Evaluation> evaluate_checked(const machine::Machine& machine, const Source& source,
                                    const machine::Placement& placement) {
  Result<RoutedShares> shares = RoutedShares::of(machine);
  if (!shares.ok()) return shares.status();
  Result<Workload> work = workload(source);
  if (!work.ok()) return work.status();
  if (Status status = check_fits(shares.value(), work.value()); !status.ok()) return status;
  if (Status status = machine::check(placement, machine); !status.ok()) return status;
  if (placement.unit_of_rank.size() != index(work.value().ranks)) {
    return bad_field("", "placement", std::to_string(placement.unit_of_rank.size()) + " ranks",
                     std::to_string(work.value().ranks) + " (the ranks of the pattern)");
  }
  return evaluate(shares.value(), work.value(), placement.unit_of_rank);
}

}  // namespace

Result<RoutedShares> RoutedShares::of(const machine::Machine& machine) {
  if (machine.units.size() > kMostUnits) {
    return bad_field(machine.name, "units", std::to_string(machine.units.size()),
                     "at most " + std::to_string(kMostUnits) + " where link loads are counted");
  }
  Result<std::uint32_t> parts = common_parts(machine);
  if (!parts.ok()) return parts.status();
  RoutedShares made;
  made.units_ = static_cast<int>(machine.units.size());
  made.parts_per_byte_ = parts.value();
  for (const machine::Link& link : machine.links) made.bandwidth_gb_per_s_.push_back(link.bandwidth_gb_per_s);
  made.begin_.push_back(0);
  for (const auto& alternatives : machine.route_table) {
    for (const auto& [link, link_parts] : shares_of(alternatives, made.parts_per_byte_)) {
      made.shares_.push_back({link, link_parts});
    }
    made.begin_.push_back(static_cast<std::uint32_t>(made.shares_.size()));
    made.hops_.push_back(static_cast<int>(alternatives.front().links.size()));
  }
  made.note_bandwidths();
  return made;
}

void RoutedShares::note_bandwidths() {
  uniform_bandwidth_ = std::adjacent_find(bandwidth_gb_per_s_.begin(), bandwidth_gb_per_s_.end(),
                                          std::not_equal_to<>{}) == bandwidth_gb_per_s_.end();
}

int RoutedShares::longest_route_hops() const {
  return hops_.empty() ? 0 : *std::max_element(hops_.begin(), hops_.end());
}

RoutedShares RoutedShares::merged() const {
  const Merging merging = find_merging(*this);
  RoutedShares made;
  made.units_ = units_;
  made.parts_per_byte_ = parts_per_byte_;
  made.hops_ = hops_;
  made.bandwidth_gb_per_s_ = merging.bandwidth_gb_per_s;
  made.begin_.push_back(0);
  for (std::size_t pair = 0; pair + 1 < begin_.size(); ++pair) {
    std::map<int, std::uint32_t> per_link;
    for (std::size_t s = begin_[pair]; s < begin_[pair + 1]; ++s) {
      per_link[merging.merged_link[index(shares_[s].link)]] = shares_[s].parts;
    }
    for (const auto& [link, parts] : per_link) made.shares_.push_back({link, parts});
    made.begin_.push_back(static_cast<std::uint32_t>(made.shares_.size()));
  }
  made.note_bandwidths();
  return made;
}

RoutedShares RoutedShares::with_bandwidths(std::vector<double> bandwidth_gb_per_s) const {
  RoutedShares made = *this;
  made.bandwidth_gb_per_s_ = std::move(bandwidth_gb_per_s);
  made.note_bandwidths();
  return made;
}

std::vector<int> RoutedShares::twins() const {
  const std::vector<Signature> all = signatures(*this);
  std::map<Signature, int> first;
  std::vector<int> twin;
  for (int link = 0; link < links(); ++link) twin.push_back(first.emplace(all[index(link)], link).first->second);
  return twin;
}

Result<RoutedShares> unmerged_shares(const machine::Machine& machine) {
  Result<RoutedShares> made = RoutedShares::of(machine);
  if (!made.ok()) return made.status();
  const std::vector<int> twin = made.value().twins();
  std::vector<Chain> chains(machine.links.size());
  for (const auto& alternatives : machine.route_table) {
    for (const machine::Route& route : alternatives) note_chains(machine, twin, route, chains);
  }
  std::map<Chain, double> known;
  std::vector<double> label;
  for (const int first : twin) {
    label.push_back(known.emplace(chains[index(first)], 1.0 + static_cast<double>(known.size())).first->second);
  }
  return made.value().with_bandwidths(std::move(label));
}

std::uint64_t Workload::total_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& phase : phases) {
    for (const Traffic& traffic : phase) sum += traffic.bytes;
  }
  return sum;
}

Result<Workload> workload(const pattern::Matrix& matrix) {
  if (Status status = check_ranks(matrix.ranks); !status.ok()) return status;
  Workload work{matrix.ranks, {}};
  if (Status status = add_phase(matrix.entries, "matrix.entries", work); !status.ok()) return status;
  return work;
}

Result<Workload> workload(const pattern::Pattern& pattern) {
  if (Status status = check_ranks(pattern.ranks); !status.ok()) return status;
  Workload work{pattern.ranks, {}};
  for (std::size_t phase = 0; phase < pattern.phases.size(); ++phase) {
    const std::string field = "phases[" + std::to_string(phase) + "].messages";
    if (Status status = add_phase(pattern.phases[phase].messages, field, work); !status.ok()) return status;
  }
  return work;
}

Result<Workload> workload(std::span<const pattern::Pattern> patterns, std::span<const double> weights) {
  if (patterns.empty()) return bad_field("", "patterns", "none", "at least one");
  if (!weights.empty() && weights.size() != patterns.size()) {
    return bad_field("", "weights", std::to_string(weights.size()),
                     "one per pattern (" + std::to_string(patterns.size()) + ")");
  }
  Workload all;
  for (std::size_t k = 0; k < patterns.size(); ++k) {
    Result<Workload> one = workload(patterns[k]);
    if (!one.ok()) return one.status();
    const double weight = weights.empty() ? 1.0 : weights[k];
    if (!(weight > 0 && std::isfinite(weight))) {
      return bad_field("", "weights[" + std::to_string(k) + "]", std::to_string(weight), "positive numbers");
    }
    if (k > 0 && one.value().ranks != all.ranks) {
      return bad_field("", "patterns[" + std::to_string(k) + "].ranks", std::to_string(one.value().ranks),
                       std::to_string(all.ranks) + ", as in the first pattern: they share one placement");
    }
    all.ranks = one.value().ranks;
    for (auto& phase : one.value().phases) {
      all.phases.push_back(std::move(phase));
      all.weights.push_back(weight);
    }
  }
  if (weights.empty()) all.weights.clear();
  return all;
}

Status check_fits(const RoutedShares& shares, const Workload& work) {
  if (Status status = check_ranks(work.ranks); !status.ok()) return status;
  if (work.ranks > shares.units()) {
    return bad_field("", "ranks", std::to_string(work.ranks),
                     "at most " + std::to_string(shares.units()) + " (one rank per unit of the machine)");
  }
  const double factor = std::max<double>(shares.parts_per_byte(), shares.longest_route_hops());
  double bytes = 0;
  for (const auto& phase : work.phases) {
    for (const Traffic& traffic : phase) bytes += static_cast<double>(traffic.bytes);
  }
  if (bytes * factor < 9.0e18) return {};
  return bad_field("", "bytes", std::to_string(bytes), "a total below " + std::to_string(9.0e18 / factor));
}

Evaluation evaluate(const RoutedShares& shares, const Workload& work,
                    std::span<const machine::UnitId> unit_of_rank) {
  Evaluation result;
  result.parts_per_byte = shares.parts_per_byte();
  result.load_parts.assign(index(shares.links()), 0);
  for (const auto& phase : work.phases) {
    std::vector<std::uint64_t> load_parts(index(shares.links()), 0);
    for (const Traffic& traffic : phase) {
      const int from = unit_of_rank[index(traffic.from)];
      const int to = unit_of_rank[index(traffic.to)];
      result.hop_bytes += traffic.bytes * static_cast<std::uint64_t>(shares.hops(from, to));
      for (const Share& share : shares.shares(from, to))
        load_parts[index(share.link)] += traffic.bytes * share.parts;
    }
    result.phases.push_back(slowest(shares, load_parts));
    result.bottleneck_ns += work.weight(result.phases.size() - 1) * result.phases.back().time_ns;
    for (std::size_t link = 0; link < load_parts.size(); ++link) result.load_parts[link] += load_parts[link];
  }
  return result;
}

Result<Evaluation> evaluate(const machine::Machine& machine, const pattern::Matrix& matrix,
                            const machine::Placement& placement) {
  return evaluate_checked(machine, matrix, placement);
}

Result<Evaluation> evaluate(const machine::Machine& machine, const pattern::Pattern& pattern,
                            const machine::Placement& placement) {
  return evaluate_checked(machine, pattern, placement);
}

}  // namespace corewise::place

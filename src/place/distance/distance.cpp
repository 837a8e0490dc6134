// Distance: inputs checked and built, J by its definition. See distance.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/distance/distance.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>

namespace corewise::place {

namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 61;

std::string as_text(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

template <class T>
Result<std::vector<T>> numbers(const std::string& text, const char* field, const char* allowed) {
  std::vector<T> values;
  std::string_view rest = text;
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string_view item = rest.substr(0, colon);
    T value{};
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), value);
    if (error != std::errc{} || end != item.data() + item.size())
      return bad_field("", field, "'" + text + "'", allowed);
    values.push_back(value);
    if (colon == std::string_view::npos) return values;
    rest.remove_prefix(colon + 1);
  }
}

Result<std::vector<int>> group_sizes(const std::string& text) {
  const char* allowed = "whole numbers of 1 or more, leaf first, as 4:8:32; at most 16384 units";
  auto sizes = numbers<int>(text, "hierarchy", allowed);
  if (!sizes.ok()) return sizes;
  std::int64_t units = 1;
  for (const int size : sizes.value()) {
    if (size < 1 || size > 16384 || (units *= size) > 16384)
      return bad_field("", "hierarchy", "'" + text + "'", allowed);
  }
  return sizes;
}

Result<std::vector<double>> level_distances(const std::string& text, std::size_t levels) {
  const std::string allowed =
      std::to_string(levels) + " numbers of 0 or more, leaf first, none below the one before";
  auto values = numbers<double>(text, "distances", allowed.c_str());
  if (!values.ok()) return values;
  double before = 0;
  bool fits = values.value().size() == levels;
  for (const double value : values.value()) {
    fits = fits && std::isfinite(value) && value >= before;
    before = value;
  }
  if (!fits) return bad_field("", "distances", "'" + text + "'", allowed);
  return values;
}

double route_length(const machine::Machine& machine, const machine::Route& route, DistanceKind kind) {
  if (kind == DistanceKind::hops) return static_cast<double>(route.links.size());
  double sum_ns = 0;
  for (const machine::LinkId link : route.links) sum_ns += machine.links[static_cast<std::size_t>(link)].latency_ns;
  return sum_ns;
}

double mean_length(const machine::Machine& machine, int from, int to, DistanceKind kind) {
  double sum = 0;
  const auto routes = machine.routes(from, to);
  for (const machine::Route& route : routes) sum += route_length(machine, route, kind);
  return sum / static_cast<double>(routes.size());
}

/// Before anything is summed: sums of more would wrap round.
Status add_bytes(const std::vector<pattern::Message>& messages, std::uint64_t& total) {
  for (const pattern::Message& message : messages) {
    if (message.bytes >= most_bytes - total) return bad_field("", "bytes", "2^61 or more", "a total below 2^61");
    total += message.bytes;
  }
  return {};
}

}  // namespace

Result<PairTraffic> traffic_of(const pattern::Pattern& pattern) {
  if (Status status = pattern::check(pattern, pattern.name); !status.ok()) return status;
  std::uint64_t total = 0;
  for (const pattern::Phase& phase : pattern.phases) {
    if (Status status = add_bytes(phase.messages, total); !status.ok()) return status;
  }
  return traffic_of(pattern::sum(pattern));
}

Result<PairTraffic> traffic_of(const pattern::Matrix& matrix) {
  if (matrix.ranks < 1) return bad_field("", "ranks", std::to_string(matrix.ranks), "1 or more");
  std::uint64_t total = 0;
  if (Status status = add_bytes(matrix.entries, total); !status.ok()) return status;
  const auto ranks = static_cast<std::size_t>(matrix.ranks);
  std::vector<std::vector<PairTraffic::Peer>> lists(ranks);
  for (const pattern::Message& entry : matrix.entries) {
    if (entry.from == entry.to || entry.bytes == 0) continue;
    lists[static_cast<std::size_t>(entry.from)].push_back({entry.to, static_cast<std::int64_t>(entry.bytes)});
    lists[static_cast<std::size_t>(entry.to)].push_back({entry.from, static_cast<std::int64_t>(entry.bytes)});
  }
  PairTraffic traffic{matrix.ranks, {0}, {}};
  for (std::vector<PairTraffic::Peer>& list : lists) {
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    for (const PairTraffic::Peer& peer : list) {
      const bool again = traffic.peers.size() > traffic.first.back() && traffic.peers.back().rank == peer.rank;
      if (again) {
        traffic.peers.back().bytes += peer.bytes;
      } else {
        traffic.peers.push_back(peer);
      }
    }
    traffic.first.push_back(traffic.peers.size());
  }
  return traffic;
}

Status check(const Distances& distances, const std::string& source) {
  const auto units = static_cast<std::size_t>(std::max(distances.units, 0));
  if (units < 1 || distances.at.size() != units * units) {
    return bad_field(source, "distances", std::to_string(distances.at.size()) + " values",
                     "a square matrix of one unit or more");
  }
  for (int from = 0; from < distances.units; ++from) {
    for (int to = 0; to < distances.units; ++to) {
      const double value = distances(from, to);
      const std::string field = "distances[" + std::to_string(from) + "][" + std::to_string(to) + "]";
      if (!std::isfinite(value) || value < 0) return bad_field(source, field, as_text(value), "0 or more, finite");
      if (from == to && value != 0) return bad_field(source, field, as_text(value), "0 on the diagonal");
      if (value != distances(to, from)) {
        return bad_field(source, field, as_text(value),
                         as_text(distances(to, from)) + " as in the other direction");
      }
    }
  }
  return {};
}

Distances distances_of(const machine::Machine& machine, DistanceKind kind) {
  const int units = static_cast<int>(machine.units.size());
  Distances distances{units, {}};
  for (int from = 0; from < units; ++from) {
    for (int to = 0; to < units; ++to) {
      // The smaller unit first, so that both directions get the same sum, bit for bit.
      const int low = std::min(from, to);
      const int high = std::max(from, to);
      const double sum = mean_length(machine, low, high, kind) + mean_length(machine, high, low, kind);
      distances.at.push_back(from == to ? 0.0 : sum / 2);
    }
  }
  return distances;
}

Result<Tree> Tree::from_text(const std::string& hierarchy, const std::string& distances) {
  auto sizes = group_sizes(hierarchy);
  if (!sizes.ok()) return sizes.status();
  auto values = level_distances(distances, sizes.value().size());
  if (!values.ok()) return values.status();
  Tree tree;
  tree.levels_ = static_cast<int>(sizes.value().size());
  tree.level_distance_ = {0};
  for (const double value : values.value()) tree.level_distance_.push_back(value);
  const int units = std::accumulate(sizes.value().begin(), sizes.value().end(), 1, std::multiplies<>());
  tree.unit_at_.resize(static_cast<std::size_t>(units));
  std::iota(tree.unit_at_.begin(), tree.unit_at_.end(), 0);
  tree.nodes_.push_back({0, units, tree.levels_, {}});
  for (std::size_t at = 0; at < tree.nodes_.size(); ++at) {
    const Node node = tree.nodes_[at];
    if (node.level == 1) continue;
    const int each = node.units / sizes.value()[static_cast<std::size_t>(node.level - 1)];
    for (int first = node.first_unit; first < node.first_unit + node.units; first += each) {
      tree.nodes_[at].children.push_back(static_cast<int>(tree.nodes_.size()));
      tree.nodes_.push_back({first, each, node.level - 1, {}});
    }
  }
  tree.finish();  // At most 14 bits: there are at most 16384 units.
  return tree;
}

Result<Tree> Tree::from_distances(const Distances& distances) {
  if (Status status = check(distances); !status.ok()) return status;
  const int units = distances.units;
  Tree tree;
  // Sorted, once each, behind the zero of a unit's distance to itself; a zero between two units is a level too.
  std::vector<double> values;
  for (int from = 0; from < units; ++from) {
    for (int to = 0; to < from; ++to) values.push_back(distances(from, to));
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  const Status no_tree = bad_field("", "distances", "a matrix that no tree of at most 64 splits has",
                                   "d(a, c) at most the larger of d(a, b) and d(b, c)");
  if (values.size() > 63) return no_tree;
  if (values.empty()) values.resize(1, 0.0);
  tree.level_distance_.resize(1, 0.0);
  tree.level_distance_.insert(tree.level_distance_.end(), values.begin(), values.end());
  tree.levels_ = static_cast<int>(tree.level_distance_.size()) - 1;
  tree.unit_at_.resize(static_cast<std::size_t>(units));
  std::iota(tree.unit_at_.begin(), tree.unit_at_.end(), 0);
  tree.nodes_.push_back({0, units, tree.levels_, {}});
  for (std::size_t at = 0; at < tree.nodes_.size(); ++at) {
    const Node node = tree.nodes_[at];
    if (node.level == 1) continue;
    const double reach = tree.level_distance_[static_cast<std::size_t>(node.level - 1)];
    const auto end = tree.unit_at_.begin() + node.first_unit + node.units;
    for (auto begin = tree.unit_at_.begin() + node.first_unit; begin != end;) {
      const int head = *begin;
      const auto split =
          std::stable_partition(begin, end, [&](int unit) { return distances(head, unit) <= reach; });
      tree.nodes_[at].children.push_back(static_cast<int>(tree.nodes_.size()));
      tree.nodes_.push_back(
          {static_cast<int>(begin - tree.unit_at_.begin()), static_cast<int>(split - begin), node.level - 1, {}});
      begin = split;
    }
  }
  if (!tree.finish()) return no_tree;
  for (int a = 0; a < units; ++a) {
    for (int b = 0; b < units; ++b) {
      if (tree.distance(a, b) != distances(tree.unit_at(a), tree.unit_at(b))) return no_tree;
    }
  }
  return tree;
}

bool Tree::finish() {
  code_.assign(unit_at_.size(), 0);
  // The widest node of a level decides how many bits the level's field has.
  std::vector<unsigned> shift(static_cast<std::size_t>(levels_) + 1, 0);
  std::vector<unsigned> width(static_cast<std::size_t>(levels_) + 1, 0);
  for (const Node& node : nodes_) {
    const auto parts = static_cast<unsigned>(node.level == 1 ? node.units : static_cast<int>(node.children.size()));
    unsigned& least = width[static_cast<std::size_t>(node.level)];
    least = std::max(least, static_cast<unsigned>(std::bit_width(parts - 1)));
  }
  by_width_.assign(65, level_distance_.back());
  by_width_[0] = 0;
  for (std::size_t level = 1; level < shift.size(); ++level) {
    shift[level] = shift[level - 1] + width[level - 1];
    if (shift[level] + width[level] > 63) return false;
    for (unsigned bit = 0; bit < width[level]; ++bit) by_width_[shift[level] + bit + 1] = level_distance_[level];
  }
  for (const Node& node : nodes_) {
    const auto field = shift[static_cast<std::size_t>(node.level)];
    if (node.level == 1) {
      for (int k = 0; k < node.units; ++k)
        code_[static_cast<std::size_t>(node.first_unit + k)] |= static_cast<std::uint64_t>(k) << field;
    }
    for (std::size_t child = 0; child < node.children.size(); ++child) {
      const Node& below = nodes_[static_cast<std::size_t>(node.children[child])];
      for (int k = 0; k < below.units; ++k)
        code_[static_cast<std::size_t>(below.first_unit + k)] |= static_cast<std::uint64_t>(child) << field;
    }
  }
  return true;
}

Distances Tree::matrix() const {
  const auto n = static_cast<std::size_t>(units());
  Distances distances{units(), std::vector<double>(n * n, 0)};
  for (int a = 0; a < units(); ++a) {
    for (int b = 0; b < units(); ++b) {
      distances.at[static_cast<std::size_t>(unit_at(a)) * n + static_cast<std::size_t>(unit_at(b))] =
          distance(a, b);
    }
  }
  return distances;
}

Result<Distances> tree_distances(const std::string& hierarchy, const std::string& distances) {
  auto tree = Tree::from_text(hierarchy, distances);
  if (!tree.ok()) return tree.status();
  return tree.value().matrix();
}

double weighted_distance(const PairTraffic& traffic, const Distances& distances, Assignment unit_of_rank) {
  double sum = 0;
  for (int rank = 0; rank < traffic.ranks; ++rank) {
    for (const PairTraffic::Peer& peer : traffic.peers_of(rank)) {
      if (peer.rank < rank) continue;
      sum += static_cast<double>(peer.bytes) * distances(unit_of_rank[static_cast<std::size_t>(rank)],
                                                         unit_of_rank[static_cast<std::size_t>(peer.rank)]);
    }
  }
  return sum;
}

}  // namespace corewise::place

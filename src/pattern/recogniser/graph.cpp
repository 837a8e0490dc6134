// Building the graph in two passes over the pairs, and the pruning of pairs that no neighbourhood supports.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/recogniser/graph.hpp"

#include <algorithm>

namespace corewise::pattern {
namespace {

/// Beyond this many ranks the table of who knows whom would take over 128 MiB: nothing is pruned.
constexpr int most_table_ranks = 1 << 15;
/// Beyond this many peers squares are too many to count, and shared peers say enough.
constexpr int most_square_peers = 64;

/// Who exchanges with whom, a bit a pair.
class Table {
 public:
  explicit Table(const Graph& graph)
      : words_((static_cast<std::size_t>(graph.ranks()) + 63) / 64),
        bits_(words_ * static_cast<std::size_t>(graph.ranks())) {
    for (int rank = 0; rank < graph.ranks(); ++rank) {
      for (const Graph::Arc& arc : graph.arcs(rank)) {
        bits_[row(rank) + static_cast<std::size_t>(arc.to) / 64] |= std::uint64_t{1} << (arc.to % 64);
      }
    }
  }
  [[nodiscard]] bool has(int a, int b) const {
    return ((bits_[row(a) + static_cast<std::size_t>(b) / 64] >> (b % 64)) & 1U) != 0;
  }

 private:
  [[nodiscard]] std::size_t row(int rank) const { return static_cast<std::size_t>(rank) * words_; }

  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

int triangles(const Graph& graph, const Table& table, int a, int b) {
  if (graph.degree(a) > graph.degree(b)) std::swap(a, b);
  int count = 0;
  for (const Graph::Arc& arc : graph.arcs(a)) count += table.has(arc.to, b);
  return count;
}

int squares(const Graph& graph, const Table& table, int a, int b) {
  int count = 0;
  for (const Graph::Arc& left : graph.arcs(a)) {
    if (left.to == b) continue;
    for (const Graph::Arc& right : graph.arcs(b)) {
      count += right.to != a && right.to != left.to && table.has(left.to, right.to);
    }
  }
  return count;
}

/// Support of every arc of a rank with a larger number, in the order of the graph.
template <class Count>
std::vector<int> supports(const Graph& graph, Count count) {
  std::vector<int> all;
  for (int rank = 0; rank < graph.ranks(); ++rank) {
    for (const Graph::Arc& arc : graph.arcs(rank)) {
      if (arc.to > rank) all.push_back(count(rank, arc.to));
    }
  }
  return all;
}

int median(std::vector<int> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Graph::Graph(int ranks, const std::vector<Message>& pairs) : first_(static_cast<std::size_t>(ranks) + 1) {
  const auto counts = [](const Message& pair) { return pair.from != pair.to && pair.bytes > 0; };
  std::vector<std::vector<Arc>> lists(static_cast<std::size_t>(ranks));
  for (const Message& pair : pairs) {
    if (counts(pair)) lists[static_cast<std::size_t>(pair.from)].push_back({pair.to, sends, pair.bytes});
  }
  // Receivers see their senders in ascending order: a merge of two sorted lists per rank.
  std::vector<std::vector<Arc>> incoming(static_cast<std::size_t>(ranks));
  for (const Message& pair : pairs) {
    if (counts(pair)) incoming[static_cast<std::size_t>(pair.to)].push_back({pair.from, receives, pair.bytes});
  }
  for (std::size_t rank = 0; rank < lists.size(); ++rank) {
    const auto& out = lists[rank];
    const auto& in = incoming[rank];
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < out.size() || j < in.size()) {
      if (j == in.size() || (i < out.size() && out[i].to < in[j].to)) {
        arcs_.push_back(out[i++]);
      } else if (i == out.size() || in[j].to < out[i].to) {
        arcs_.push_back(in[j++]);
      } else {
        arcs_.push_back({out[i].to, mutual, out[i].bytes + in[j].bytes});
        mutual_edges_ += out[i].to > static_cast<int>(rank);
        ++i, ++j;
      }
    }
    first_[rank + 1] = arcs_.size();
  }
}

unsigned char Graph::kind(int from, int to) const {
  const auto row = arcs(from);
  const auto at =
      std::lower_bound(row.begin(), row.end(), to, [](const Arc& arc, int rank) { return arc.to < rank; });
  return at != row.end() && at->to == to ? at->kind : 0;
}

int Graph::common_peers(int a, int b) const {
  const auto left = arcs(a);
  const auto right = arcs(b);
  int count = 0;
  for (std::size_t i = 0, j = 0; i < left.size() && j < right.size();) {
    if (left[i].to == right[j].to)
      ++count, ++i, ++j;
    else if (left[i].to < right[j].to)
      ++i;
    else
      ++j;
  }
  return count;
}

std::vector<int> Graph::degrees() const {
  std::vector<int> all;
  for (int rank = 0; rank < ranks(); ++rank) all.push_back(degree(rank));
  std::sort(all.begin(), all.end());
  return all;
}

Graph without_chance_pairs(const Graph& graph) {
  const bool both_ways = graph.mutual_edges() * 4 >= graph.edges() * 3;
  const auto keep_all = [&] { return graph.filtered([](int, const Graph::Arc&) { return true; }, both_ways); };
  if (graph.ranks() > most_table_ranks || graph.edges() == 0) return keep_all();
  const Table table(graph);
  std::vector<int> support = supports(graph, [&](int a, int b) { return triangles(graph, table, a, b); });
  int usual = median(support);
  if (usual < 1 && graph.degrees()[static_cast<std::size_t>(graph.ranks()) / 2] <= most_square_peers) {
    support = supports(graph, [&](int a, int b) { return squares(graph, table, a, b); });
    usual = median(support);
  }
  if (usual < 1) return keep_all();
  const int least = std::max(1, both_ways ? (usual + 1) / 2 : usual / 4);
  std::vector<std::vector<int>> dropped(static_cast<std::size_t>(graph.ranks()));
  std::size_t next = 0;
  for (int rank = 0; rank < graph.ranks(); ++rank) {
    for (const Graph::Arc& arc : graph.arcs(rank)) {
      if (arc.to <= rank) continue;
      const bool chance = support[next++] < least && !(both_ways && arc.kind == Graph::mutual);
      if (chance) dropped[static_cast<std::size_t>(rank)].push_back(arc.to);
    }
  }
  const auto keep = [&](int from, const Graph::Arc& arc) {
    const auto& row = dropped[static_cast<std::size_t>(std::min(from, arc.to))];
    return !std::binary_search(row.begin(), row.end(), std::max(from, arc.to));
  };
  return graph.filtered(keep, both_ways);
}

}  // namespace corewise::pattern

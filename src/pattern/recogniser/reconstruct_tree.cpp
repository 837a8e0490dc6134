// Reconstruction of lines and trees, the templates in which no two ranks share a peer: both keep the heaviest pairs
// first, so that light foreign pairs find no room.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/index.hpp"
#include "pattern/recogniser/reconstruct.hpp"

namespace corewise::pattern {
namespace {

constexpr int nobody = -1;

struct Edge {
  int a;
  int b;
  bool mutual;
  std::uint64_t bytes;
};

/// Those both ways first where most are, then by bytes.
std::vector<Edge> heaviest_first(const Graph& graph) {
  std::vector<Edge> edges;
  const bool both_ways = graph.mutual_edges() * 2 >= graph.edges();
  for (int rank = 0; rank < graph.ranks(); ++rank) {
    for (const Graph::Arc& arc : graph.arcs(rank)) {
      if (arc.to > rank) edges.push_back({rank, arc.to, both_ways && arc.kind == Graph::mutual, arc.bytes});
    }
  }
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& x, const Edge& y) {
    return x.mutual != y.mutual ? x.mutual : x.bytes > y.bytes;
  });
  return edges;
}

class Sets {
 public:
  explicit Sets(int count) : parent_(index(count)) { std::iota(parent_.begin(), parent_.end(), 0); }
  int find(int one) {
    while (parent_[index(one)] != one) one = parent_[index(one)] = parent_[index(parent_[index(one)])];
    return one;
  }
  bool join(int a, int b) {
    a = find(a), b = find(b);
    if (a == b) return false;
    parent_[index(std::max(a, b))] = std::min(a, b);
    return true;
  }

 private:
  std::vector<int> parent_;
};

using Lists = std::vector<std::vector<int>>;

/// Paths of the heaviest pairs: no rank gets a third peer, or on one-way lines a second receiver or sender.
Lists paths(const Graph& graph) {
  Lists peers(index(graph.ranks()));
  Sets sets(graph.ranks());
  const bool one_way = graph.mutual_edges() * 2 < graph.edges();
  std::vector<unsigned char> used(index(graph.ranks()));
  for (const Edge& edge : heaviest_first(graph)) {
    auto& left = peers[index(edge.a)];
    auto& right = peers[index(edge.b)];
    if (left.size() >= 2 || right.size() >= 2) continue;
    const unsigned char kind = graph.kind(edge.a, edge.b);
    const bool forward = (kind & Graph::sends) != 0;
    const unsigned char of_a = forward ? Graph::sends : Graph::receives;
    const unsigned char of_b = forward ? Graph::receives : Graph::sends;
    if (one_way && ((used[index(edge.a)] & of_a) != 0 || (used[index(edge.b)] & of_b) != 0)) continue;
    if (!sets.join(edge.a, edge.b)) continue;
    left.push_back(edge.b);
    right.push_back(edge.a);
    used[index(edge.a)] |= of_a;
    used[index(edge.b)] |= of_b;
  }
  return peers;
}

std::vector<int> walked(const Lists& peers, int start, std::vector<bool>& visited) {
  std::vector<int> path;
  for (int rank = start; rank != nobody;) {
    visited[index(rank)] = true;
    path.push_back(rank);
    int next = nobody;
    for (const int peer : peers[index(rank)]) {
      if (!visited[index(peer)]) next = peer;
    }
    rank = next;
  }
  return path;
}

/// Turned so that most pairs send forward.
void turn_forward(std::vector<int>& path, const Graph& graph) {
  int forward = 0;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    const unsigned char kind = graph.kind(path[i], path[i + 1]);
    forward += ((kind & Graph::sends) != 0) - ((kind & Graph::receives) != 0);
  }
  if (forward < 0) std::reverse(path.begin(), path.end());
}

/// Children and subtree sizes. Children are in falling order of rank_value; so are the roots.
struct Forest {
  Lists children;
  std::vector<int> size;
  std::vector<int> roots;

  /// `children` has no cycles, and no rank twice.
  explicit Forest(Lists given) : children(std::move(given)), size(children.size(), 1) {
    std::vector<bool> is_child(children.size());
    for (const auto& list : children) {
      for (const int child : list) is_child[index(child)] = true;
    }
    for (std::size_t rank = 0; rank < children.size(); ++rank) {
      if (is_child[rank]) continue;
      roots.push_back(static_cast<int>(rank));
      count(static_cast<int>(rank));
    }
    for (auto& list : children) sort(list);
    sort(roots);
  }

  /// How much hangs below a rank: its children count, and all below them on a logarithmic scale.
  [[nodiscard]] double value(int rank) const {
    return static_cast<double>(children[index(rank)].size()) + std::log2(static_cast<double>(size[index(rank)]));
  }

  void sort(std::vector<int>& ranks) const {
    std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) { return value(a) > value(b); });
  }

 private:
  void count(int root) {
    std::vector<int> order{root};
    std::vector<std::size_t> parents{0};
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const int child : children[index(order[i])]) {
        order.push_back(child);
        parents.push_back(i);
      }
    }
    for (std::size_t i = order.size(); i-- > 1;) size[index(order[parents[i]])] += size[index(order[i])];
  }
};

/// A spanning tree (of each part) of the heaviest pairs.
Lists spanning_tree(const Graph& graph) {
  Lists peers(index(graph.ranks()));
  Sets sets(graph.ranks());
  for (const Edge& edge : heaviest_first(graph)) {
    if (!sets.join(edge.a, edge.b)) continue;
    peers[index(edge.a)].push_back(edge.b);
    peers[index(edge.b)].push_back(edge.a);
  }
  return peers;
}

/// The children of a tree of peers as seen from a root; the other parts are seen from their first ranks.
Lists hanging_from(const Lists& peers, int root) {
  Lists children(peers.size());
  std::vector<bool> seen(peers.size());
  const auto hang = [&](int top) {
    std::vector<int> order{top};
    seen[index(top)] = true;
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const int peer : peers[index(order[i])]) {
        if (seen[index(peer)]) continue;
        seen[index(peer)] = true;
        children[index(order[i])].push_back(peer);
        order.push_back(peer);
      }
    }
  };
  hang(root);
  for (int rank = 0; rank < static_cast<int>(peers.size()); ++rank) {
    if (!seen[index(rank)]) hang(rank);
  }
  return children;
}

/// One-way trees: every rank's heaviest pair with a rank above it. Pairs far lighter than usual are left out.
Lists heaviest_parents(const Graph& graph, bool from_root) {
  Lists children(index(graph.ranks()));
  Sets sets(graph.ranks());
  std::vector<bool> has_parent(index(graph.ranks()));
  const std::vector<Edge> edges = heaviest_first(graph);
  const std::uint64_t least = edges[edges.size() / 2].bytes / 5 * 2;
  for (const Edge& edge : edges) {
    const bool sends = (graph.kind(edge.a, edge.b) & Graph::sends) != 0;
    const int parent = sends == from_root ? edge.a : edge.b;
    const int child = sends == from_root ? edge.b : edge.a;
    if (edge.bytes < least || has_parent[index(child)] || !sets.join(parent, child)) continue;
    has_parent[index(child)] = true;
    children[index(parent)].push_back(child);
  }
  return children;
}

/// For every rank, the largest part that is left when it is taken out of its tree.
std::vector<int> largest_parts(const Forest& forest) {
  std::vector<int> parts(forest.size.size());
  const int ranks = static_cast<int>(parts.size());
  for (const int root : forest.roots) {
    std::vector<int> order{root};
    for (std::size_t i = 0; i < order.size(); ++i) {
      const int rank = order[i];
      // Parts that were cut off are no place for the root.
      int part = std::max(forest.size[index(root)] - forest.size[index(rank)], ranks - forest.size[index(root)]);
      for (const int child : forest.children[index(rank)]) {
        part = std::max(part, forest.size[index(child)]);
        order.push_back(child);
      }
      parts[index(rank)] = part;
    }
  }
  return parts;
}

/// The trees that the graph may be, told apart by their roots; the root of each is its first.
std::vector<Forest> likely_forests(const Graph& graph) {
  constexpr std::size_t most = 6;
  std::vector<Forest> forests;
  if (graph.mutual_edges() * 2 < graph.edges()) {
    // Seen the wrong way round, most ranks have no parent.
    const Forest down(heaviest_parents(graph, true));
    const Forest up(heaviest_parents(graph, false));
    const Forest& forest = down.roots.size() <= up.roots.size() ? down : up;
    for (std::size_t i = 0; i < std::min(most, forest.roots.size()); ++i) {
      forests.push_back(forest);
      auto& roots = forests.back().roots;
      std::rotate(roots.begin(), roots.begin() + static_cast<std::ptrdiff_t>(i),
                  roots.begin() + static_cast<std::ptrdiff_t>(i + 1));
    }
    return forests;
  }
  const Lists peers = spanning_tree(graph);
  const std::vector<int> parts = largest_parts(Forest(hanging_from(peers, 0)));
  std::vector<int> middle(peers.size());
  std::iota(middle.begin(), middle.end(), 0);
  std::stable_sort(middle.begin(), middle.end(), [&](int a, int b) { return parts[index(a)] < parts[index(b)]; });
  for (std::size_t i = 0; i < std::min(most, middle.size()); ++i) {
    Forest& forest = forests.emplace_back(hanging_from(peers, middle[i]));
    std::stable_partition(forest.roots.begin(), forest.roots.end(), [&](int root) { return root == middle[i]; });
  }
  return forests;
}

/// Lays one tree on another; what finds no place is kept for the places left over.
class Laying {
 public:
  Laying(const Forest& seen, const Forest& wanted)
      : seen_(seen), wanted_(wanted), positions_(seen.size.size(), nobody) {}

  Positions lay() {
    left_ranks_.assign(seen_.roots.begin() + 1, seen_.roots.end());
    lay(seen_.roots.front(), wanted_.roots.front());
    while (!left_ranks_.empty()) {
      const auto largest = std::max_element(left_ranks_.begin(), left_ranks_.end(),
                                            [&](int a, int b) { return seen_.value(a) < seen_.value(b); });
      const int rank = *largest;
      left_ranks_.erase(largest);
      const auto place = std::min_element(left_positions_.begin(), left_positions_.end(), [&](int a, int b) {
        return std::abs(wanted_.value(a) - seen_.value(rank)) < std::abs(wanted_.value(b) - seen_.value(rank));
      });
      const int position = *place;
      left_positions_.erase(place);
      lay(rank, position);
    }
    return positions_;
  }

 private:
  void lay(int root, int position) {
    std::vector<std::pair<int, int>> todo{{root, position}};
    while (!todo.empty()) {
      const auto [rank, place] = todo.back();
      todo.pop_back();
      positions_[index(rank)] = place;
      align(seen_.children[index(rank)], wanted_.children[index(place)], todo);
    }
  }

  /// Both lists fall in value: the cheapest alignment that keeps their order, leaving out on either side at a
  /// price.
  void align(const std::vector<int>& ranks, const std::vector<int>& places,
             std::vector<std::pair<int, int>>& todo) {
    const std::size_t width = places.size() + 1;
    std::vector<double> cost((ranks.size() + 1) * width);
    for (std::size_t i = ranks.size() + 1; i-- > 0;) {
      for (std::size_t j = width; j-- > 0;) {
        if (i == ranks.size() && j == places.size()) continue;
        cost[i * width + j] =
            std::min({leave(i, j, cost, width, ranks, true), leave(i, j, cost, width, places, false),
                      pair(i, j, cost, width, ranks, places)});
      }
    }
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < ranks.size() || j < places.size()) {
      const double now = cost[i * width + j];
      if (now == pair(i, j, cost, width, ranks, places))
        todo.emplace_back(ranks[i++], places[j++]);
      else if (now == leave(i, j, cost, width, ranks, true))
        left_ranks_.push_back(ranks[i++]);
      else
        left_positions_.push_back(places[j++]);
    }
  }

  static constexpr double impossible = 1e300;

  [[nodiscard]] double leave(std::size_t i, std::size_t j, const std::vector<double>& cost, std::size_t width,
                             const std::vector<int>& list, bool rank) const {
    if ((rank ? i : j) >= list.size()) return impossible;
    const double price = 0.6 + 0.2 * (rank ? seen_.value(list[i]) : wanted_.value(list[j]));
    return price + cost[rank ? (i + 1) * width + j : i * width + j + 1];
  }
  [[nodiscard]] double pair(std::size_t i, std::size_t j, const std::vector<double>& cost, std::size_t width,
                            const std::vector<int>& ranks, const std::vector<int>& places) const {
    if (i >= ranks.size() || j >= places.size()) return impossible;
    const double apart = std::abs(seen_.value(ranks[i]) - wanted_.value(places[j]));
    return 0.5 * apart + cost[(i + 1) * width + j + 1];
  }

  const Forest& seen_;
  const Forest& wanted_;
  Positions positions_;
  std::vector<int> left_ranks_;
  std::vector<int> left_positions_;
};

/// Pairs of the graph that lie on the tree, in whichever direction of the tree has more of them.
std::size_t kept_pairs(const Graph& seen, const Graph& wanted, const Positions& positions) {
  std::size_t along = 0;
  std::size_t against = 0;
  for (int rank = 0; rank < seen.ranks(); ++rank) {
    for (const Graph::Arc& arc : seen.arcs(rank)) {
      const unsigned char kind = wanted.kind(positions[index(rank)], positions[index(arc.to)]);
      along += (kind & arc.kind) != 0;
      against += kind != 0 && (arc.kind == Graph::mutual || kind != arc.kind);
    }
  }
  return std::max(along, against);
}

}  // namespace

Positions along_a_line(const Graph& seen) {
  const Lists peers = paths(seen);
  std::vector<bool> visited(index(seen.ranks()));
  std::vector<int> order;
  for (const std::size_t ends : {std::size_t{1}, std::size_t{0}}) {
    for (int rank = 0; rank < seen.ranks(); ++rank) {
      if (visited[index(rank)] || peers[index(rank)].size() != ends) continue;
      std::vector<int> path = walked(peers, rank, visited);
      turn_forward(path, seen);
      order.insert(order.end(), path.begin(), path.end());
    }
  }
  Positions positions(index(seen.ranks()));
  for (std::size_t i = 0; i < order.size(); ++i) positions[index(order[i])] = static_cast<int>(i);
  return positions;
}

Positions along_a_tree(const Graph& seen, const Graph& wanted) {
  Forest places(hanging_from(spanning_tree(wanted), 0));
  Positions best;
  std::size_t best_kept = 0;
  for (const Forest& forest : likely_forests(seen)) {
    Positions positions = Laying(forest, places).lay();
    const std::size_t kept = kept_pairs(seen, wanted, positions);
    if (best.empty() || kept > best_kept) best = std::move(positions), best_kept = kept;
  }
  return best;
}

}  // namespace corewise::pattern

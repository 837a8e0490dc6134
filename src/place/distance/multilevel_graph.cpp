// Multilevel graph: coarsening, first splits, refinement. See multilevel_graph.hpp.
//
// The scheme is that of Karypis and Kumar (1998): match along heavy edges, split the small graph, refine on the way
// back with the passes of Fiduccia and Mattheyses (1982). Balance may be off by one vertex's weight on the way, on
// the finest graph a state counts only when it is exact.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/distance/multilevel_graph.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

namespace corewise::place {

namespace {

constexpr int coarsest_vertices = 30;

/// Vertices by gain, largest first; gains change while a vertex is inside. A binary heap with positions.
class GainQueue {
 public:
  void reset(std::size_t vertices) {
    heap_.clear();
    at_.assign(vertices, -1);
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] bool holds(int vertex) const { return at_[static_cast<std::size_t>(vertex)] >= 0; }
  [[nodiscard]] int top() const { return heap_.front().vertex; }
  [[nodiscard]] std::int64_t top_gain() const { return heap_.front().gain; }

  void push(int vertex, std::int64_t gain) {
    heap_.push_back({gain, vertex});
    at_[static_cast<std::size_t>(vertex)] = static_cast<int>(heap_.size()) - 1;
    rise(heap_.size() - 1);
  }
  void remove(int vertex) {
    const auto hole = static_cast<std::size_t>(at_[static_cast<std::size_t>(vertex)]);
    at_[static_cast<std::size_t>(vertex)] = -1;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (hole == heap_.size()) return;
    put(hole, last);
    settle(hole);
  }
  void change(int vertex, std::int64_t gain) {
    const auto here = static_cast<std::size_t>(at_[static_cast<std::size_t>(vertex)]);
    const bool up = gain > heap_[here].gain;
    heap_[here].gain = gain;
    if (up) {
      rise(here);
    } else {
      sink(here);
    }
  }

 private:
  struct Entry {
    std::int64_t gain;
    int vertex;
    /// Equal gains: the smaller vertex, so that the order is a total one.
    bool operator>(const Entry& other) const {
      return gain != other.gain ? gain > other.gain : vertex < other.vertex;
    }
  };

  void put(std::size_t here, const Entry& entry) {
    heap_[here] = entry;
    at_[static_cast<std::size_t>(entry.vertex)] = static_cast<int>(here);
  }
  void settle(std::size_t here) {
    rise(here);
    sink(static_cast<std::size_t>(here));
  }
  void rise(std::size_t here) {
    const Entry entry = heap_[here];
    while (here > 0 && entry > heap_[(here - 1) / 2]) {
      put(here, heap_[(here - 1) / 2]);
      here = (here - 1) / 2;
    }
    put(here, entry);
  }
  void sink(std::size_t here) {
    const Entry entry = heap_[here];
    while (2 * here + 1 < heap_.size()) {
      std::size_t child = 2 * here + 1;
      if (child + 1 < heap_.size() && heap_[child + 1] > heap_[child]) ++child;
      if (!(heap_[child] > entry)) break;
      put(here, heap_[child]);
      here = child;
    }
    put(here, entry);
  }

  std::vector<Entry> heap_;
  std::vector<int> at_;
};

/// One graph's refinement: sides, gains, weights, and passes over them.
class Refinement {
 public:
  Refinement(const SplitGraph& graph, int weight0, Sides& sides)
      : graph_(graph), sides_(sides), gain_(sides.size()), locked_(sides.size()), weight0_(weight0) {
    const auto& weights = graph.vertex_weight;
    heaviest_ = weights.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
    exact_ = heaviest_ <= 1;
    slack_ = exact_ ? 0 : heaviest_;
    patience_ = std::max(24, std::min(graph.vertices() / 6, 100));
  }

  std::int64_t run() {
    std::int64_t gained = 0;
    for (int pass = 0; pass < 12; ++pass) {
      const auto [progress, cut_lost] = one_pass();
      gained += cut_lost;
      if (!progress) break;
    }
    return gained;
  }

 private:
  int excess() const { return weight_[0] - weight0_; }
  /// How far the balance is from what counts.
  int fault() const { return std::max(0, std::abs(excess()) - slack_); }

  void count() {
    weight_[0] = weight_[1] = 0;
    queue_[0].reset(sides_.size());
    queue_[1].reset(sides_.size());
    std::fill(locked_.begin(), locked_.end(), std::uint8_t{0});
    for (int v = 0; v < graph_.vertices(); ++v) {
      const auto at = static_cast<std::size_t>(v);
      const std::uint8_t side = sides_[at];
      weight_[side] += graph_.vertex_weight[at];
      std::int64_t gain = 0;
      for (const SplitGraph::Edge& edge : graph_.edges_of(v)) {
        gain += sides_[static_cast<std::size_t>(edge.to)] == side ? -edge.weight : edge.weight;
      }
      gain_[at] = gain;
    }
    // Boundary vertices only; the others join when a neighbour moves, or when nothing else can restore balance.
    for (int v = 0; v < graph_.vertices(); ++v) {
      if (on_boundary(v)) queue_[sides_[static_cast<std::size_t>(v)]].push(v, gain_[static_cast<std::size_t>(v)]);
    }
  }

  bool on_boundary(int v) const {
    const std::uint8_t side = sides_[static_cast<std::size_t>(v)];
    for (const SplitGraph::Edge& edge : graph_.edges_of(v)) {
      if (sides_[static_cast<std::size_t>(edge.to)] != side) return true;
    }
    return false;
  }

  void admit_all(int side) {
    for (int v = 0; v < graph_.vertices(); ++v) {
      const auto at = static_cast<std::size_t>(v);
      if (sides_[at] == side && !locked_[at] && !queue_[side].holds(v)) queue_[side].push(v, gain_[at]);
    }
  }

  /// The side to move from: the heavier one when balance asks for it, else the one with the better vertex.
  int source() {
    const int reach = exact_ ? 1 : heaviest_;
    if (excess() >= reach) return 0;
    if (excess() <= -reach) return 1;
    if (queue_[0].empty() || queue_[1].empty()) return queue_[0].empty() ? 1 : 0;
    if (queue_[0].top_gain() != queue_[1].top_gain()) return queue_[0].top_gain() > queue_[1].top_gain() ? 0 : 1;
    return excess() >= 0 ? 0 : 1;
  }

  void move(int vertex) {
    const auto at = static_cast<std::size_t>(vertex);
    const std::uint8_t from = sides_[at];
    const auto to = static_cast<std::uint8_t>(1 - from);
    sides_[at] = to;
    weight_[from] -= graph_.vertex_weight[at];
    weight_[to] += graph_.vertex_weight[at];
    gain_[at] = -gain_[at];
    for (const SplitGraph::Edge& edge : graph_.edges_of(vertex)) {
      const auto next = static_cast<std::size_t>(edge.to);
      const std::uint8_t side = sides_[next];
      gain_[next] += side == from ? 2 * edge.weight : -2 * edge.weight;
      if (locked_[next]) continue;
      if (queue_[side].holds(edge.to)) {
        queue_[side].change(edge.to, gain_[next]);
      } else if (side == from) {
        queue_[side].push(edge.to, gain_[next]);
      }
    }
  }

  struct Progress {
    bool any;
    std::int64_t cut_lost;
  };

  Progress one_pass() {
    count();
    moved_.clear();
    const int fault_before = fault();
    int best_fault = fault_before;
    std::int64_t sum = 0;
    std::int64_t best_sum = 0;
    std::size_t best_length = 0;
    while (moved_.size() - best_length < static_cast<std::size_t>(patience_) || (best_fault > 0)) {
      const int side = source();
      if (queue_[side].empty()) {
        admit_all(side);
        if (queue_[side].empty()) break;
      }
      const int vertex = queue_[side].top();
      queue_[side].remove(vertex);
      locked_[static_cast<std::size_t>(vertex)] = 1;
      sum += gain_[static_cast<std::size_t>(vertex)];
      move(vertex);
      moved_.push_back(vertex);
      if (fault() < best_fault || (fault() == best_fault && sum > best_sum)) {
        best_fault = fault();
        best_sum = sum;
        best_length = moved_.size();
      }
    }
    for (std::size_t k = moved_.size(); k > best_length; --k) {
      auto& side = sides_[static_cast<std::size_t>(moved_[k - 1])];
      side = static_cast<std::uint8_t>(1 - side);
    }
    return {best_fault < fault_before || best_sum > 0, best_sum};
  }

  const SplitGraph& graph_;
  Sides& sides_;
  std::vector<std::int64_t> gain_;
  std::vector<std::uint8_t> locked_;
  std::vector<int> moved_;
  GainQueue queue_[2];
  int weight0_;
  int weight_[2] = {0, 0};
  int heaviest_ = 0;
  bool exact_ = false;
  int slack_ = 0;
  int patience_ = 0;
};

struct Coarsening {
  SplitGraph graph;
  std::vector<int> coarse_of;
};

/// Partners by the weight of the edge over the product of the vertices' weights, so that light vertices go first.
std::vector<int> match(const SplitGraph& graph, int heaviest_vertex, Rng& rng) {
  std::vector<int> partner(static_cast<std::size_t>(graph.vertices()), -1);
  std::vector<int> order(partner.size());
  std::iota(order.begin(), order.end(), 0);
  rng.shuffle(std::span(order));
  int lonely = -1;
  for (const int v : order) {
    if (partner[static_cast<std::size_t>(v)] >= 0) continue;
    int best = -1;
    double best_rating = 0;
    const int weight = graph.vertex_weight[static_cast<std::size_t>(v)];
    for (const SplitGraph::Edge& edge : graph.edges_of(v)) {
      const auto to = static_cast<std::size_t>(edge.to);
      if (partner[to] >= 0 || weight + graph.vertex_weight[to] > heaviest_vertex) continue;
      const double rating = static_cast<double>(edge.weight) / graph.vertex_weight[to];
      if (rating > best_rating) {
        best = edge.to;
        best_rating = rating;
      }
    }
    if (best < 0 && graph.edges_of(v).empty()) {
      // Vertices without edges (units that stay empty) pair up among themselves.
      if (lonely < 0 || weight + graph.vertex_weight[static_cast<std::size_t>(lonely)] > heaviest_vertex) {
        lonely = v;
        continue;
      }
      best = std::exchange(lonely, -1);
    }
    if (best < 0) continue;
    partner[static_cast<std::size_t>(v)] = best;
    partner[static_cast<std::size_t>(best)] = v;
  }
  return partner;
}

Coarsening contract(const SplitGraph& graph, const std::vector<int>& partner) {
  Coarsening result;
  result.coarse_of.assign(partner.size(), -1);
  std::vector<std::pair<int, int>> members;
  for (int v = 0; v < graph.vertices(); ++v) {
    if (result.coarse_of[static_cast<std::size_t>(v)] >= 0) continue;
    const int other = partner[static_cast<std::size_t>(v)];
    result.coarse_of[static_cast<std::size_t>(v)] = static_cast<int>(members.size());
    if (other >= 0) result.coarse_of[static_cast<std::size_t>(other)] = static_cast<int>(members.size());
    members.emplace_back(v, other);
  }
  std::vector<int> slot(members.size(), -1);
  SplitGraph& coarse = result.graph;
  coarse.edges.reserve(graph.edges.size());
  for (std::size_t c = 0; c < members.size(); ++c) {
    const auto begin = static_cast<int>(coarse.edges.size());
    int weight = 0;
    for (const int v : {members[c].first, members[c].second}) {
      if (v < 0) continue;
      weight += graph.vertex_weight[static_cast<std::size_t>(v)];
      for (const SplitGraph::Edge& edge : graph.edges_of(v)) {
        const int to = result.coarse_of[static_cast<std::size_t>(edge.to)];
        if (to == static_cast<int>(c)) continue;
        int& at = slot[static_cast<std::size_t>(to)];
        if (at < begin) {
          at = static_cast<int>(coarse.edges.size());
          coarse.edges.push_back({to, edge.weight});
        } else {
          coarse.edges[static_cast<std::size_t>(at)].weight += edge.weight;
        }
      }
    }
    coarse.vertex_weight.push_back(weight);
    coarse.first.push_back(static_cast<int>(coarse.edges.size()));
  }
  return result;
}

/// Side 0 grows from a seed, always by the vertex that is tied to it most.
Sides grow(const SplitGraph& graph, int weight0, Rng& rng) {
  const auto vertices = static_cast<std::size_t>(graph.vertices());
  Sides sides(vertices, 1);
  std::vector<std::int64_t> gain(vertices, 0);
  for (int v = 0; v < graph.vertices(); ++v) {
    for (const SplitGraph::Edge& edge : graph.edges_of(v)) gain[static_cast<std::size_t>(v)] -= edge.weight;
  }
  GainQueue frontier;
  frontier.reset(vertices);
  int weight = 0;
  std::size_t left = vertices;
  const std::size_t offset = static_cast<std::size_t>(rng.below(vertices));
  std::size_t probe = 0;
  while (weight < weight0 && left > 0) {
    int next = -1;
    if (!frontier.empty()) {
      next = frontier.top();
      frontier.remove(next);
    } else {
      while (sides[(offset + probe) % vertices] == 0) ++probe;
      next = static_cast<int>((offset + probe) % vertices);
    }
    const auto at = static_cast<std::size_t>(next);
    // The last vertex goes where the balance is better.
    if (weight + graph.vertex_weight[at] - weight0 > weight0 - weight && weight > 0) break;
    sides[at] = 0;
    weight += graph.vertex_weight[at];
    --left;
    for (const SplitGraph::Edge& edge : graph.edges_of(next)) {
      const auto to = static_cast<std::size_t>(edge.to);
      if (sides[to] == 0) continue;
      gain[to] += 2 * edge.weight;
      if (frontier.holds(edge.to)) {
        frontier.change(edge.to, gain[to]);
      } else {
        frontier.push(edge.to, gain[to]);
      }
    }
  }
  return sides;
}

int imbalance(const SplitGraph& graph, int weight0, const Sides& sides) {
  int weight = 0;
  for (std::size_t v = 0; v < sides.size(); ++v) weight += sides[v] == 0 ? graph.vertex_weight[v] : 0;
  return std::abs(weight - weight0);
}

Sides first_split(const SplitGraph& graph, int weight0, int tries, Rng& rng) {
  const int heaviest = *std::max_element(graph.vertex_weight.begin(), graph.vertex_weight.end());
  const int slack = heaviest <= 1 ? 0 : heaviest;
  Sides best;
  std::pair<int, std::int64_t> best_rank{};
  for (int k = 0; k < tries; ++k) {
    Sides sides = grow(graph, weight0, rng);
    refine(graph, weight0, sides);
    const std::pair rank{std::max(0, imbalance(graph, weight0, sides) - slack), cut_of(graph, sides)};
    if (!best.empty() && !(rank < best_rank)) continue;
    best = std::move(sides);
    best_rank = rank;
  }
  return best;
}

Sides multilevel(const SplitGraph& graph, int weight0, int tries, Rng& rng) {
  if (graph.vertices() <= coarsest_vertices) return first_split(graph, weight0, tries, rng);
  const int total = std::accumulate(graph.vertex_weight.begin(), graph.vertex_weight.end(), 0);
  const int heaviest_vertex = std::max(2, total * 3 / (2 * coarsest_vertices));
  const Coarsening coarser = contract(graph, match(graph, heaviest_vertex, rng));
  if (coarser.graph.vertices() * 20 > graph.vertices() * 19) return first_split(graph, weight0, tries, rng);
  const Sides below = multilevel(coarser.graph, weight0, tries, rng);
  Sides sides(static_cast<std::size_t>(graph.vertices()));
  for (std::size_t v = 0; v < sides.size(); ++v) sides[v] = below[static_cast<std::size_t>(coarser.coarse_of[v])];
  refine(graph, weight0, sides);
  return sides;
}

}  // namespace

SplitGraph SubgraphCutter::cut_out(std::span<const int> vertices) {
  SplitGraph part;
  part.vertex_weight.reserve(vertices.size());
  part.first.reserve(vertices.size() + 1);
  for (std::size_t k = 0; k < vertices.size(); ++k)
    name_[static_cast<std::size_t>(vertices[k])] = static_cast<int>(k);
  for (const int vertex : vertices) {
    part.vertex_weight.push_back(whole_.vertex_weight[static_cast<std::size_t>(vertex)]);
    for (const SplitGraph::Edge& edge : whole_.edges_of(vertex)) {
      const int to = name_[static_cast<std::size_t>(edge.to)];
      if (to >= 0) part.edges.push_back({to, edge.weight});
    }
    part.first.push_back(static_cast<int>(part.edges.size()));
  }
  for (const int vertex : vertices) name_[static_cast<std::size_t>(vertex)] = -1;
  return part;
}

std::int64_t cut_of(const SplitGraph& graph, const Sides& sides) {
  std::int64_t twice = 0;
  for (int v = 0; v < graph.vertices(); ++v) {
    for (const SplitGraph::Edge& edge : graph.edges_of(v)) {
      if (sides[static_cast<std::size_t>(v)] != sides[static_cast<std::size_t>(edge.to)]) twice += edge.weight;
    }
  }
  return twice / 2;
}

Sides bisect(const SplitGraph& graph, int weight0, const SplitEffort& effort, Rng& rng) {
  if (graph.vertices() == 0) return {};
  Sides best;
  std::pair<int, std::int64_t> best_rank{};
  for (int run = 0; run < std::max(1, effort.runs); ++run) {
    Sides sides = multilevel(graph, weight0, std::max(1, effort.first_splits), rng);
    const std::pair rank{imbalance(graph, weight0, sides), cut_of(graph, sides)};
    if (!best.empty() && !(rank < best_rank)) continue;
    best = std::move(sides);
    best_rank = rank;
  }
  return best;
}

std::int64_t refine(const SplitGraph& graph, int weight0, Sides& sides) {
  return Refinement(graph, weight0, sides).run();
}

}  // namespace corewise::place

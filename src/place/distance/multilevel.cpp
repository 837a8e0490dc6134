// Multilevel: the walk down the tree. See multilevel.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/distance/multilevel.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "place/distance/multilevel_graph.hpp"
#include "place/distance/multilevel_swaps.hpp"

namespace corewise::place {

namespace {

using Members = std::vector<int>;

SplitGraph graph_of(const PairTraffic& traffic, int units) {
  SplitGraph graph;
  graph.vertex_weight.assign(static_cast<std::size_t>(units), 1);
  graph.edges.reserve(traffic.peers.size());
  for (int vertex = 0; vertex < units; ++vertex) {
    if (vertex < traffic.ranks) {
      for (const PairTraffic::Peer& peer : traffic.peers_of(vertex)) graph.edges.push_back({peer.rank, peer.bytes});
    }
    graph.first.push_back(static_cast<int>(graph.edges.size()));
  }
  return graph;
}

class Mapper {
 public:
  Mapper(const SplitGraph& graph, const Tree& tree, const MultilevelOptions& options)
      : graph_(graph),
        tree_(tree),
        cutter_(graph),
        rng_(options.seed),
        effort_(std::max(1, options.effort)),
        position_(static_cast<std::size_t>(tree.units())),
        part_of_(static_cast<std::size_t>(tree.units()), -1) {}

  std::vector<int> run() {
    Members all(position_.size());
    std::iota(all.begin(), all.end(), 0);
    place(0, std::move(all));
    return std::move(position_);
  }

 private:
  const Tree::Node& node(int index) const { return tree_.nodes()[static_cast<std::size_t>(index)]; }

  void place(int index, Members members) {
    const Tree::Node& here = node(index);
    if (here.level == 1) {
      for (std::size_t k = 0; k < members.size(); ++k) {
        position_[static_cast<std::size_t>(members[k])] = here.first_unit + static_cast<int>(k);
      }
      return;
    }
    std::vector<Members> parts;
    split(here.children, std::move(members), parts);
    polish(parts);
    for (std::size_t k = 0; k < parts.size(); ++k) place(here.children[k], std::move(parts[k]));
  }

  /// Appends one part per child, as large as the child.
  void split(std::span<const int> children, Members members, std::vector<Members>& parts) {
    if (children.size() == 1) {
      parts.push_back(std::move(members));
      return;
    }
    const std::size_t half = (children.size() + 1) / 2;
    int weight0 = 0;
    for (const int child : children.first(half)) weight0 += node(child).units;
    const SplitGraph graph = cutter_.cut_out(members);
    SplitEffort effort;
    effort.runs = effort_;
    const Sides sides = bisect(graph, weight0, effort, rng_);
    Members low;
    Members high;
    for (std::size_t k = 0; k < members.size(); ++k) (sides[k] == 0 ? low : high).push_back(members[k]);
    split(children.first(half), std::move(low), parts);
    split(children.subspan(half), std::move(high), parts);
  }

  struct Contact {
    std::size_t a;
    std::size_t b;
    std::int64_t cut;
  };

  /// Pairs of parts with traffic between them, the most first.
  std::vector<Contact> contacts(const std::vector<Members>& parts) {
    for (std::size_t k = 0; k < parts.size(); ++k) {
      for (const int vertex : parts[k]) part_of_[static_cast<std::size_t>(vertex)] = static_cast<int>(k);
    }
    std::vector<Contact> list;
    std::vector<std::int64_t> cut(parts.size(), 0);
    for (std::size_t a = 0; a < parts.size(); ++a) {
      for (const int vertex : parts[a]) {
        for (const SplitGraph::Edge& edge : graph_.edges_of(vertex)) {
          const int b = part_of_[static_cast<std::size_t>(edge.to)];
          if (b > static_cast<int>(a)) cut[static_cast<std::size_t>(b)] += edge.weight;
        }
      }
      for (std::size_t b = a + 1; b < parts.size(); ++b) {
        if (cut[b] > 0) list.push_back({a, b, std::exchange(cut[b], 0)});
      }
    }
    for (const Members& part : parts) {
      for (const int vertex : part) part_of_[static_cast<std::size_t>(vertex)] = -1;
    }
    std::stable_sort(list.begin(), list.end(), [](const Contact& x, const Contact& y) { return x.cut > y.cut; });
    return list;
  }

  /// Splits pairs of parts anew, as long as cuts get smaller.
  void polish(std::vector<Members>& parts) {
    if (parts.size() < 2 || (parts.size() == 2 && effort_ == 1)) return;
    std::vector<bool> changed(parts.size(), true);
    for (int round = 0; round < 2 + 2 * effort_; ++round) {
      std::vector<bool> next(parts.size(), false);
      bool any = false;
      const std::vector<Contact> list = contacts(parts);
      for (const Contact& contact : list) {
        if (contact.cut * (effort_ > 1 ? 64 : 6) < list.front().cut) break;
        if (!changed[contact.a] && !changed[contact.b]) continue;
        if (!polish_pair(parts[contact.a], parts[contact.b])) continue;
        next[contact.a] = next[contact.b] = any = true;
      }
      if (!any) return;
      changed = next;
    }
  }

  bool polish_pair(Members& a, Members& b) {
    Members both(a);
    both.insert(both.end(), b.begin(), b.end());
    const SplitGraph graph = cutter_.cut_out(both);
    const int weight0 = static_cast<int>(a.size());
    Sides sides(both.size(), 1);
    std::fill_n(sides.begin(), a.size(), std::uint8_t{0});
    const std::int64_t before = cut_of(graph, sides);
    bool better = refine(graph, weight0, sides) > 0;
    if (effort_ > 1) {
      SplitEffort effort;
      const Sides anew = bisect(graph, weight0, effort, rng_);
      const bool exact = std::count(anew.begin(), anew.end(), 0) == weight0;
      if (exact && cut_of(graph, anew) < std::min(before, cut_of(graph, sides))) {
        sides = anew;
        better = true;
      }
    }
    if (!better) return false;
    a.clear();
    b.clear();
    for (std::size_t k = 0; k < both.size(); ++k) (sides[k] == 0 ? a : b).push_back(both[k]);
    return true;
  }

  const SplitGraph& graph_;
  const Tree& tree_;
  SubgraphCutter cutter_;
  Rng rng_;
  int effort_;
  std::vector<int> position_;
  std::vector<int> part_of_;
};

TreeSwaps one_mapping(const PairTraffic& traffic, const SplitGraph& graph, const Tree& tree, std::uint64_t seed,
                      int effort) {
  TreeSwaps swaps(traffic, tree, Mapper(graph, tree, {seed, effort}).run());
  swaps.descend();
  return swaps;
}

void keep_better(TreeSwaps& best, TreeSwaps other) {
  if (other.cost() < best.cost()) best.take(std::move(other));
}

}  // namespace

Result<MultilevelResult> multilevel(const PairTraffic& traffic, const Tree& tree,
                                    const MultilevelOptions& options) {
  if (traffic.ranks > tree.units()) {
    return bad_field("", "ranks", std::to_string(traffic.ranks), "1.." + std::to_string(tree.units()));
  }
  const SplitGraph graph = graph_of(traffic, tree.units());
  TreeSwaps best = one_mapping(traffic, graph, tree, options.seed, 1);
  for (int run = 1; run < options.effort; ++run) {
    keep_better(best, one_mapping(traffic, graph, tree, options.seed + static_cast<std::uint64_t>(run) * 1000, 1));
  }
  if (options.effort > 1) {
    keep_better(best, one_mapping(traffic, graph, tree, options.seed, options.effort));
    Rng rng(options.seed ^ 0xa11ea1U);
    best.anneal(static_cast<std::uint64_t>(options.effort) * 100 * static_cast<std::uint64_t>(tree.units()), rng);
  }
  MultilevelResult result;
  for (int rank = 0; rank < traffic.ranks; ++rank) {
    result.placement.unit_of_rank.push_back(tree.unit_at(best.positions()[static_cast<std::size_t>(rank)]));
  }
  result.cost = best.cost();
  return result;
}

}  // namespace corewise::place

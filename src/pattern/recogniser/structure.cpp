// Chooses which templates to lay on a graph, and measures what the reconstruction proposes.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/recogniser/structure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <tuple>

#include "base/index.hpp"
#include "pattern/grid.hpp"
#include "pattern/recogniser/reconstruct.hpp"
#include "pattern/recogniser/templates.hpp"
#include "pattern/schedule.hpp"

namespace corewise::pattern {
namespace {

/// Number of ranks with each number of peers, or of pairs at each distance.
using Histogram = std::vector<double>;

constexpr double satisfied = 0.9;  ///< degree at which no further halo is tried, unless it can be an equal
constexpr std::size_t most_halos = 4;
constexpr int tries = 4;
void add_to(Histogram& histogram, int bin, double amount) {
  if (histogram.size() <= index(bin)) histogram.resize(index(bin) + 1);
  histogram[index(bin)] += amount;
}

/// Mean distance that has to be covered to turn one distribution into the other.
double moved(const Histogram& a, const Histogram& b) {
  double total = 0;
  double carried = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    carried += (i < a.size() ? a[i] : 0) - (i < b.size() ? b[i] : 0);
    total += std::abs(carried);
  }
  return total;
}

Histogram peers_of(const Graph& graph) {
  Histogram peers;
  for (int rank = 0; rank < graph.ranks(); ++rank) add_to(peers, graph.degree(rank), 1.0 / graph.ranks());
  return peers;
}

/// Distances from a few ranks, spread evenly.
Histogram distances_of(const Graph& graph) {
  constexpr int most_starts = 24;
  const int starts = std::min(graph.ranks(), most_starts);
  Histogram distances;
  for (int start = 0; start < starts; ++start) {
    std::vector<int> away(index(graph.ranks()), -1);
    std::vector<int> order{static_cast<int>(static_cast<long>(start) * graph.ranks() / starts)};
    away[index(order.front())] = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      add_to(distances, away[index(order[i])], 1.0 / starts / graph.ranks());
      for (const Graph::Arc& arc : graph.arcs(order[i])) {
        if (away[index(arc.to)] >= 0) continue;
        away[index(arc.to)] = away[index(order[i])] + 1;
        order.push_back(arc.to);
      }
    }
  }
  return distances;
}

struct HaloShape {
  std::vector<int> dims;
  std::vector<bool> wrapping;
  int reach = 1;

  [[nodiscard]] bool wraps(std::size_t axis) const { return wrapping[axis] || dims[axis] == 2; }

  /// Neighbours of a position on one axis: the ends of an open axis, or of one of two ranks, have one.
  [[nodiscard]] std::array<std::pair<int, double>, 2> on_axis(std::size_t axis) const {
    const double ends = dims[axis] == 2 ? 1.0 : wrapping[axis] ? 0.0 : 2.0 / dims[axis];
    return {{{1, ends}, {2, 1 - ends}}};
  }

  [[nodiscard]] Histogram peers() const {
    Histogram peers;
    std::vector<int> counts;
    const std::function<void(double)> next = [&](double share) {
      if (share <= 0) return;
      if (counts.size() == dims.size()) return add_to(peers, peers_from(counts), share);
      for (const auto& [count, part] : on_axis(counts.size())) {
        counts.push_back(count);
        next(share * part);
        counts.pop_back();
      }
    };
    next(1);
    return peers;
  }

  [[nodiscard]] Histogram distances() const {
    Histogram distances;
    std::vector<int> steps;
    const std::function<void(double)> next = [&](double share) {
      if (steps.size() == dims.size()) return add_to(distances, distance_from(steps), share);
      const std::size_t axis = steps.size();
      const int length = dims[axis];
      for (int step = 0; step < length; ++step) {
        // On a ring the far half is as near as the near one; on an open axis long steps fit less often.
        const double pairs = wraps(axis) ? 1.0 / length
                             : step == 0 ? 1.0 / length
                                         : 2.0 * (length - step) / length / length;
        steps.push_back(wraps(axis) ? std::min(step, length - step) : step);
        next(share * pairs);
        steps.pop_back();
      }
    };
    next(1);
    return distances;
  }

 private:
  /// Sums of products of one, two, three of the axes' numbers.
  [[nodiscard]] int peers_from(const std::vector<int>& counts) const {
    std::array<int, 4> sums{1, 0, 0, 0};
    for (const int count : counts) {
      for (std::size_t k = 3; k > 0; --k) sums[k] += sums[k - 1] * count;
    }
    int peers = 0;
    for (int k = 1; k <= reach; ++k) peers += sums[index(k)];
    return peers;
  }
  [[nodiscard]] int distance_from(const std::vector<int>& steps) const {
    const int sum = std::accumulate(steps.begin(), steps.end(), 0);
    return std::max(*std::max_element(steps.begin(), steps.end()), (sum + reach - 1) / reach);
  }
};

/// Every shape on this many ranks, axes from long to short.
std::vector<HaloShape> halo_shapes(int ranks) {
  std::vector<HaloShape> shapes;
  for (int axes = 2; axes <= 3; ++axes) {
    for (const auto& dims : ordered_factorisations(ranks, axes)) {
      if (!std::is_sorted(dims.rbegin(), dims.rend())) continue;
      for (unsigned mask = 0; mask < 1U << axes; ++mask) {
        std::vector<bool> wrapping;
        bool fresh = true;
        for (std::size_t axis = 0; axis < dims.size(); ++axis) {
          wrapping.push_back(((mask >> axis) & 1U) != 0);
          // Two ranks wrap or not; of axes equally long the wrapping ones come first.
          fresh = fresh && !(wrapping[axis] && dims[axis] == 2);
          fresh = fresh && !(axis > 0 && dims[axis] == dims[axis - 1] && wrapping[axis] && !wrapping[axis - 1]);
        }
        if (!fresh) continue;
        for (int reach = 1; reach <= axes; ++reach) shapes.push_back({dims, wrapping, reach});
      }
    }
  }
  return shapes;
}

struct Chosen {
  HaloShape shape;
  double peers_apart;
  double distances_apart = 0;
};

std::vector<ExpectedPair> pairs_of(const Template& pattern, int ranks) {
  if (!pattern.group_of) return pattern.pairs;
  std::vector<ExpectedPair> pairs;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from != to && pattern.group_of(from, to) >= 0) pairs.push_back({from, to, 0, 1});
    }
  }
  return pairs;
}

Graph graph_of(const Template& pattern, int ranks) {
  std::vector<Message> messages;
  for (const ExpectedPair& pair : pairs_of(pattern, ranks)) messages.push_back({pair.from, pair.to, 1, 1});
  std::sort(messages.begin(), messages.end(),
            [](const Message& a, const Message& b) { return std::tie(a.from, a.to) < std::tie(b.from, b.to); });
  return {ranks, messages};
}

class Search {
 public:
  Search(const Matrix& matrix, double least_degree)
      : matrix_(matrix),
        least_degree_(least_degree),
        ranks_(matrix.ranks),
        raw_(matrix.ranks, matrix.entries),
        clean_(without_chance_pairs(raw_)) {}

  std::vector<Relabelled> run() {
    if (ranks_ < 3 || raw_.edges() == 0) return {};
    const double per_rank = static_cast<double>(raw_.edges()) / ranks_;
    const bool sparse = per_rank < most_edges_per_rank;
    const bool like_a_line = per_rank > 0.75 && per_rank < 1.25;
    if (like_a_line) lines();
    if (like_a_line) trees();
    const bool dense = per_rank > 0.4 * (ranks_ - 1);
    if (!dense || ranks_ <= small) transposes();
    if (sparse && per_rank > 1.2) grown_ones();
    std::stable_sort(found_.begin(), found_.end(), [](const Ranked& a, const Ranked& b) { return a.before(b); });
    std::vector<Relabelled> kept;
    for (Ranked& one : found_) kept.push_back(std::move(one.relabelled));
    return kept;
  }

 private:
  struct Ranked {
    Relabelled relabelled;
    int preference;
    [[nodiscard]] bool before(const Ranked& other) const {
      const Match& a = relabelled.match;
      const Match& b = other.relabelled.match;
      if (a.degree != b.degree) return a.degree > b.degree;
      if (a.volumes_fit != b.volumes_fit) return a.volumes_fit;
      return preference < other.preference;
    }
  };

  static constexpr double most_edges_per_rank = 40;
  static constexpr double most_tree_difference = 0.4;  ///< in peers per rank; a tree's rank has two on average
  static constexpr int small = 64;

  /// The best of the templates under the positions; its degree, 0 where it is not worth keeping.
  double keep_best(const std::vector<Template>& templates, const Positions& positions) {
    const Observed observed(renumbered(matrix_, positions));
    Ranked best{{}, 0};
    for (const Template& pattern : templates) {
      Ranked one{{compare(pattern, observed), positions}, pattern.preference};
      if (one.relabelled.match.degree == 0) continue;
      if (best.relabelled.positions.empty() || one.before(best)) best = std::move(one);
    }
    const double degree = best.relabelled.match.degree;
    if (degree < least_degree_) return 0;
    best.relabelled.match.label += ", ranks relabelled";
    found_.push_back(std::move(best));
    return degree;
  }

  void lines() {
    std::vector<Template> templates = line_templates(ranks_);
    // All that a ring's generator makes but the all-gather, whose name speaks of more than the pairs.
    if (ranks_ >= 3) templates.pop_back();
    templates.push_back(halo_template({ranks_}, {false}, 1));
    keep_best(templates, along_a_line(raw_));
  }

  void trees() {
    const std::string ranks = std::to_string(ranks_);
    const auto lay = [&](const std::string& family, const Parameters& shape, const std::string& name,
                         int preference) {
      std::vector<Template> templates;
      for (const auto& [direction, words] :
           {std::pair{"from_root", " from root 0"}, std::pair{"to_root", " to root 0"},
            std::pair{"both", " to root 0 and back"}}) {
        Parameters parameters{{"ranks", ranks}, {"root", "0"}, {"direction", direction}};
        parameters.insert(parameters.end(), shape.begin(), shape.end());
        templates.push_back(generated_template(family, parameters, name + words, preference, tight));
      }
      if (templates.front().pairs.empty()) return;
      const Graph wanted = graph_of(templates.front(), ranks_);
      if (moved(peers_of(wanted), peers_of(raw_)) > most_tree_difference) return;
      keep_best(templates, along_a_tree(raw_, wanted));
    };
    lay("binomial_tree", {{"order", "halving"}, {"payload", "whole"}}, "binomial tree", 60);
    lay("binomial_tree", {{"order", "halving"}, {"payload", "blocks"}}, "binomial tree, blocks,", 61);
    for (const int arity : {2, 3, 4, 8}) {
      if (ranks_ < arity + 2) continue;
      const std::string name = arity == 2 ? "binary" : std::to_string(arity) + "-ary";
      lay("k_ary_tree", {{"arity", std::to_string(arity)}}, name + " tree", 62);
    }
  }

  void transposes() {
    for (const bool both : {false, true}) {
      const auto grid = both ? rows_and_columns(clean_) : separate_groups(clean_);
      if (!grid || grid->rows < 2 || grid->columns < 2) continue;
      keep_best(transpose_templates({grid->rows, grid->columns}), grid->positions);
    }
  }

  void grown_ones() {
    surroundings_.emplace(clean_);
    peers_ = peers_of(clean_);
    directed_pairs_ = clean_.edges() + clean_.mutual_edges();
    halos();
    cubes();
    circulants();
    sweeps();
  }

  [[nodiscard]] double mean_peers() const { return 2.0 * static_cast<double>(clean_.edges()) / ranks_; }

  double grow(const Template& pattern, const std::vector<int>& anchors = {0}) {
    const Graph wanted = graph_of(pattern, ranks_);
    const Reconstruction proposal = grown(clean_, *surroundings_, wanted, anchors, tries);
    if (proposal.agreement < least_agreement) return 0;
    return keep_best({pattern}, proposal.positions);
  }

  /// The likeliest first: those whose numbers of peers and distances are closest to what is seen.
  std::vector<Chosen> chosen_halos() {
    std::vector<Chosen> chosen;
    for (HaloShape& shape : halo_shapes(ranks_)) {
      const double apart = moved(shape.peers(), peers_);
      if (apart <= peers_tolerance * mean_peers()) chosen.push_back({std::move(shape), apart});
    }
    if (chosen.size() > 1) {
      const Histogram seen = distances_of(clean_);
      for (Chosen& one : chosen) one.distances_apart = moved(one.shape.distances(), seen);
    }
    std::stable_sort(chosen.begin(), chosen.end(), [](const Chosen& a, const Chosen& b) {
      return a.peers_apart + a.distances_apart < b.peers_apart + b.distances_apart;
    });
    return chosen;
  }

  void halos() {
    const std::vector<Chosen> chosen = chosen_halos();
    if (chosen.empty()) return;
    double best = 0;
    const double least = chosen.front().peers_apart + chosen.front().distances_apart;
    for (std::size_t i = 0; i < std::min(chosen.size(), most_halos); ++i) {
      const double apart = chosen[i].peers_apart + chosen[i].distances_apart;
      if (best >= satisfied && apart > least + 1e-9) break;
      best = std::max(best,
                      grow(halo_template(chosen[i].shape.dims, chosen[i].shape.wrapping, chosen[i].shape.reach)));
    }
  }

  /// Grows a template whose number of directed pairs is close to what is seen.
  void grow_if_alike(const Template& pattern) {
    const auto wanted = static_cast<double>(pattern.pairs.size());
    if (std::abs(wanted - static_cast<double>(directed_pairs_)) <= 0.15 * wanted) grow(pattern);
  }

  void cubes() {
    const int axes = schedule::ceil_log2(ranks_);
    const bool whole = schedule::floor_power_of_two(ranks_) == ranks_;
    const std::string ranks = std::to_string(ranks_);
    const std::string shape = whole ? " (" + std::to_string(axes) + "D hypercube)" : " (folded hypercube)";
    grow_if_alike(generated_template("recursive_doubling", {{"ranks", ranks}, {"operation", "all_reduce"}},
                                     "recursive doubling of " + ranks + shape, 70, tight));
    if (!whole || ranks_ < 8) return;
    Template cube = generated_template("hypercube", {{"ranks", ranks}},
                                       std::to_string(axes) + "D hypercube of " + ranks, 75, loose);
    cube.about.dims.assign(index(axes), 2);
    for (ExpectedPair& pair : cube.pairs) pair.group = schedule::ceil_log2(pair.from ^ pair.to);
    grow_if_alike(cube);
  }

  void circulants() {
    const std::string ranks = std::to_string(ranks_);
    grow_if_alike(generated_template("dissemination", {{"ranks", ranks}}, "dissemination of " + ranks, 80, tight));
  }

  void sweeps() {
    if (clean_.mutual_edges() * 4 > clean_.edges()) return;
    for (const auto& dims : ordered_factorisations(ranks_, 2)) {
      if (dims[0] < dims[1]) continue;
      const HaloShape shape{dims, {false, false}, 1};
      if (moved(shape.peers(), peers_) > peers_tolerance * mean_peers()) continue;
      Template sweep = generated_template(
          "wavefront",
          {{"ranks", std::to_string(ranks_)}, {"dims", dims_text(dims)}, {"octants", "1"}, {"first_corner", "0"}},
          "2D wavefront sweep " + dims_text(dims) + " from corner (0,0)", 50, loose);
      sweep.about.dims = dims;
      for (ExpectedPair& pair : sweep.pairs) pair.group = std::abs(pair.to - pair.from) == 1 ? 1 : 0;
      if (grow(sweep, {0, ranks_ - 1, dims[1] - 1, ranks_ - dims[1]}) >= satisfied) return;
    }
  }

  static constexpr double peers_tolerance = 0.12;
  static constexpr double least_agreement = 0.5;

  const Matrix& matrix_;
  double least_degree_;
  int ranks_;
  Graph raw_;
  Graph clean_;
  std::optional<Surroundings> surroundings_;
  Histogram peers_;
  std::size_t directed_pairs_ = 0;
  std::vector<Ranked> found_;
};

}  // namespace

Matrix renumbered(const Matrix& matrix, const std::vector<int>& positions) {
  Matrix result{matrix.ranks, {}};
  result.entries.reserve(matrix.entries.size());
  // Two stable passes over buckets sort by receiver, then by sender.
  const auto pass = [&](const std::vector<Message>& from, auto key) {
    std::vector<std::size_t> next(index(matrix.ranks) + 1);
    for (const Message& message : from) ++next[index(key(message)) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::vector<Message> to(from.size());
    for (const Message& message : from) to[next[index(key(message))]++] = message;
    return to;
  };
  for (const Message& entry : matrix.entries) {
    result.entries.push_back({positions[index(entry.from)], positions[index(entry.to)], entry.bytes, entry.count});
  }
  result.entries = pass(result.entries, [](const Message& message) { return message.to; });
  result.entries = pass(result.entries, [](const Message& message) { return message.from; });
  return result;
}

std::vector<Relabelled> recognise_relabelled(const Matrix& matrix, double least_degree) {
  return Search(matrix, least_degree).run();
}

}  // namespace corewise::pattern

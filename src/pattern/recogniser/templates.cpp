// All templates but the halos. Most are what a generator makes of one-byte messages: its pairs, and its bytes as
// the weights of the volume model; the dense families decide pair by pair instead of listing ranks^2 pairs.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/recogniser/templates.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "pattern/grid.hpp"
#include "pattern/schedule.hpp"

namespace corewise::pattern {
namespace {

enum Preference {
  ring_preference = 10,
  all_to_all_preference = 20,
  // Halos: 30 to 32, see halo_templates.cpp.
  transpose_preference = 40,
  matrix_transpose_preference = 45,
  wavefront_preference = 50,
  binomial_tree_preference = 60,
  k_ary_tree_preference = 62,
  manager_worker_preference = 65,
  recursive_doubling_preference = 70,
  hypercube_preference = 75,
  dissemination_preference = 80,
  bruck_preference = 81,
  pairwise_exchange_preference = 90,
  ring_all_gather_preference = 91,
};

std::string arity_text(int arity) {
  return arity == 2 ? "binary" : std::to_string(arity) + "-ary";
}

/// A template that expects no pair yet.
Template started(const std::string& family, Parameters parameters, std::string label, int preference,
                 double tolerance) {
  Template pattern;
  pattern.about.family = family;
  pattern.about.label = std::move(label);
  pattern.about.parameters = std::move(parameters);
  pattern.preference = preference;
  pattern.tolerance = tolerance;
  return pattern;
}

/// Collects the templates of one matrix.
class Collector {
 public:
  Collector(const Observed& observed, double least_degree)
      : observed_(observed), least_degree_(least_degree), ranks_(observed.ranks()) {}

  std::vector<Template> collect() {
    const auto ranks = static_cast<std::uint64_t>(ranks_);
    const auto steps = static_cast<std::uint64_t>(schedule::ceil_log2(ranks_));
    if (worth(2 * ranks)) take(line_templates(ranks_));
    all_to_all();
    grids();
    if (worth(2 * ranks)) trees();
    if (worth(ranks * (steps + 2))) exchanges();
    return std::move(templates_);
  }

 private:
  /// Whether a template of so many pairs can reach the least degree.
  [[nodiscard]] bool worth(std::uint64_t most_pairs) const {
    return observed_.most_degree(most_pairs) >= least_degree_;
  }

  void take(std::vector<Template> more) {
    for (Template& one : more) templates_.push_back(std::move(one));
  }

  Template& generated(const std::string& family, Parameters parameters, std::string label, int preference,
                      double tolerance) {
    parameters.insert(parameters.begin(), {"ranks", std::to_string(ranks_)});
    return templates_.emplace_back(
        generated_template(family, std::move(parameters), std::move(label), preference, tolerance));
  }

  [[nodiscard]] std::string of_ranks() const { return " of " + std::to_string(ranks_); }

  void all_to_all() {
    if (ranks_ < 2) return;
    const auto dense = [this](const std::string& family, const std::string& name, int preference) {
      Template& pattern = templates_.emplace_back(
          started(family, {{"ranks", std::to_string(ranks_)}}, name + of_ranks(), preference, tight));
      pattern.group_of = [](int, int) { return 0; };
      pattern.expected_pairs = static_cast<std::uint64_t>(ranks_) * static_cast<std::uint64_t>(ranks_ - 1);
    };
    dense("all_to_all", "all-to-all", all_to_all_preference);
    dense("pairwise_exchange", "pairwise exchange", pairwise_exchange_preference);
  }

  void grids() {
    const auto ranks = static_cast<std::uint64_t>(ranks_);
    for (const auto& dims : ordered_factorisations(ranks_, 2)) {
      take(transpose_templates(dims));
      const std::string text = dims_text(dims);
      if (worth(4 * ranks)) sweeps(dims);
      if (!worth(ranks)) continue;
      generated("matrix_transpose", {{"dims", text}}, "matrix transpose on a " + text + " grid",
                matrix_transpose_preference, loose)
          .about.dims = dims;
    }
  }

  void sweeps(const std::vector<int>& dims) {
    const std::string name = "2D wavefront sweep " + dims_text(dims);
    sweep(dims, {{"octants", "4"}}, name + " from all corners");
    for (int corner = 0; corner < 4; ++corner) {
      const std::string row = std::to_string(corner / 2 == 0 ? 0 : dims[0] - 1);
      const std::string column = std::to_string(corner % 2 == 0 ? 0 : dims[1] - 1);
      sweep(dims, {{"octants", "1"}, {"first_corner", std::to_string(corner)}},
            name + " from corner (" + row + "," + column + ")");
    }
  }

  /// The pairs of a sweep's one or four corners, without generating its hundreds of phases. Neighbours on one axis
  /// are a group: the axes may differ in bytes.
  void sweep(const std::vector<int>& dims, Parameters parameters, std::string label) {
    const bool everywhere = parameters.front().value == "4";
    const int corner = everywhere ? 0 : std::stoi(parameters.back().value);
    parameters.insert(parameters.begin(), {"ranks", std::to_string(ranks_)});
    parameters.push_back({"dims", dims_text(dims)});
    Template& pattern = templates_.emplace_back(
        started("wavefront", std::move(parameters), std::move(label), wavefront_preference, loose));
    pattern.about.dims = dims;
    const auto both = [&](int low, int high, int group, bool up) {
      if (everywhere || up) pattern.pairs.push_back({low, high, group, 1});
      if (everywhere || !up) pattern.pairs.push_back({high, low, group, 1});
    };
    for (int rank = 0; rank < ranks_; ++rank) {
      if (rank % dims[1] + 1 < dims[1]) both(rank, rank + 1, 1, corner % 2 == 0);
      if (rank + dims[1] < ranks_) both(rank, rank + dims[1], 0, corner / 2 == 0);
    }
  }

  void trees() {
    if (ranks_ < 2) return;
    std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks_));
    std::vector<std::int64_t> received(sent);
    for (const Message& pair : observed_.pairs()) {
      const auto bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(pair.bytes, most_pair_bytes));
      sent[static_cast<std::size_t>(pair.from)] += bytes;
      received[static_cast<std::size_t>(pair.to)] += bytes;
    }
    trees("from_root", "from root ", "", [&](std::size_t r) { return sent[r] - received[r]; });
    trees("to_root", "to root ", "", [&](std::size_t r) { return received[r] - sent[r]; });
    trees("both", "to root ", " and back", [&](std::size_t r) { return received[r] + sent[r]; });
  }

  /// The root of a tree has the highest score of all ranks, up to ties: only a few candidates need a look.
  template <class Score>
  void trees(const std::string& direction, const std::string& to_or_from, const std::string& back, Score score) {
    std::vector<int> roots(static_cast<std::size_t>(ranks_));
    for (int rank = 0; rank < ranks_; ++rank) roots[static_cast<std::size_t>(rank)] = rank;
    std::stable_sort(roots.begin(), roots.end(), [&](int a, int b) {
      return score(static_cast<std::size_t>(a)) > score(static_cast<std::size_t>(b));
    });
    if (roots.size() > root_candidates) roots.resize(root_candidates);
    for (std::size_t i = 0; i < std::min(hub_candidates, roots.size()); ++i) manager_worker(roots[i], direction);
    // There and back the root of a complete tree has fewer peers than those below it: ranks 0 and 1 are tried.
    for (std::size_t i = 0; i < std::min(hub_candidates, roots.size()); ++i) {
      k_ary_trees(direction == "both" ? static_cast<int>(i) : roots[i], direction, to_or_from, back);
    }
    for (const int root : roots) {
      for (const std::string order : {"halving", "doubling"}) {
        const std::string label = "binomial tree " + to_or_from + std::to_string(root) + back + ", spans " + order;
        for (const std::string payload : {"whole", "blocks"}) {
          tree("binomial_tree", {{"order", order}, {"payload", payload}}, root, direction, label,
               binomial_tree_preference);
        }
      }
    }
  }

  /// A tree of any root is that of root 0, turned; that to the root is that from the root, backwards. So each shape
  /// is generated once.
  void tree(const std::string& family, const Parameters& shape, int root, const std::string& direction,
            std::string label, int preference) {
    Parameters parameters{{"ranks", std::to_string(ranks_)}};
    parameters.insert(parameters.end(), shape.begin(), shape.end());
    const auto [at, fresh] = shapes_.try_emplace(family + shape.front().value + shape.back().value);
    if (fresh) at->second = generated_template(family, parameters, {}, 0, tight).pairs;
    parameters.push_back({"root", std::to_string(root)});
    parameters.push_back({"direction", direction});
    Template& pattern =
        templates_.emplace_back(started(family, std::move(parameters), std::move(label), preference, tight));
    for (const ExpectedPair& pair : at->second) {
      const int from = (pair.from + root) % ranks_;
      const int to = (pair.to + root) % ranks_;
      if (direction != "to_root") pattern.pairs.push_back({from, to, 0, pair.weight});
      if (direction != "from_root") pattern.pairs.push_back({to, from, 0, pair.weight});
    }
  }

  void k_ary_trees(int root, const std::string& direction, const std::string& to_or_from, const std::string& back) {
    for (const int arity : {2, 3, 4, 8}) {
      if (ranks_ < arity + 2) continue;
      tree("k_ary_tree", {{"arity", std::to_string(arity)}}, root, direction,
           arity_text(arity) + " tree " + to_or_from + std::to_string(root) + back, k_ary_tree_preference);
    }
  }

  /// `direction` as the trees have it. Tasks may differ from results, and from worker to worker.
  void manager_worker(int manager, const std::string& direction) {
    if (ranks_ < 4) return;
    const std::string name = direction == "both" ? "both" : direction == "to_root" ? "to_manager" : "from_manager";
    const std::string words = direction == "both" ? "" : direction == "to_root" ? ", results only" : ", tasks only";
    Template& pattern = generated(
        "manager_worker", {{"manager", std::to_string(manager)}, {"direction", name}, {"result_bytes", "1"}},
        "manager-worker" + of_ranks() + ", manager " + std::to_string(manager) + words, manager_worker_preference,
        loose);
    for (ExpectedPair& pair : pattern.pairs) pair.group = pair.from == manager ? 0 : 1;
  }

  void exchanges() {
    if (ranks_ < 2) return;
    const bool cube = schedule::floor_power_of_two(ranks_) == ranks_;
    const std::string shape =
        cube ? " (" + std::to_string(schedule::ceil_log2(ranks_)) + "D hypercube)" : " (folded hypercube)";
    for (const std::string operation : {"all_reduce", "all_gather"}) {
      generated("recursive_doubling", {{"operation", operation}}, "recursive doubling" + of_ranks() + shape,
                recursive_doubling_preference, tight);
    }
    if (cube && ranks_ >= 8) hypercube();
    generated("dissemination", {}, "dissemination" + of_ranks(), dissemination_preference, tight);
    generated("bruck", {{"operation", "all_gather"}}, "Bruck all-gather" + of_ranks(), bruck_preference, tight);
    generated("bruck", {{"operation", "all_to_all"}}, "Bruck all-to-all" + of_ranks(), bruck_preference, tight);
  }

  /// The dimensions may differ in bytes.
  void hypercube() {
    const int axes = schedule::ceil_log2(ranks_);
    Template& pattern =
        generated("hypercube", {}, std::to_string(axes) + "D hypercube" + of_ranks(), hypercube_preference, loose);
    pattern.about.dims.assign(static_cast<std::size_t>(axes), 2);
    for (ExpectedPair& pair : pattern.pairs) pair.group = schedule::ceil_log2(pair.from ^ pair.to);
  }

  static constexpr std::size_t root_candidates = 8;
  static constexpr std::size_t hub_candidates = 2;
  /// Keeps the scores of max_ranks pairs within 63 bits.
  static constexpr std::uint64_t most_pair_bytes = std::uint64_t{1} << 38;

  std::map<std::string, std::vector<ExpectedPair>> shapes_;  ///< of trees from root 0
  const Observed& observed_;
  double least_degree_;
  int ranks_;
  std::vector<Template> templates_;
};

}  // namespace

// Without pairs, so that nothing matches it, beyond the ranks that the generator takes.
Template generated_template(const std::string& family, Parameters parameters, std::string label, int preference,
                            double tolerance) {
  Template pattern = started(family, std::move(parameters), std::move(label), preference, tolerance);
  Parameters with_bytes = pattern.about.parameters;
  with_bytes.push_back({"bytes", "1"});
  const auto made = generate(family, with_bytes);
  if (!made.ok()) return pattern;
  for (const Message& pair : sum(made.value()).entries) {
    pattern.pairs.push_back({pair.from, pair.to, 0, static_cast<double>(pair.bytes)});
  }
  return pattern;
}

std::vector<Template> line_templates(int ranks) {
  std::vector<Template> lines;
  const std::string of_ranks = " of " + std::to_string(ranks);
  const auto add = [&](Parameters parameters, const std::string& label, int preference) {
    parameters.insert(parameters.begin(), {"ranks", std::to_string(ranks)});
    lines.push_back(generated_template("ring", std::move(parameters), label, preference, loose));
  };
  add({{"direction", "both"}}, "bidirectional ring" + of_ranks, ring_preference + 1);
  for (const std::string direction : {"forward", "backward"}) {
    add({{"direction", direction}, {"periodic", "no"}}, "open chain" + of_ranks + ", " + direction,
        ring_preference + 2);
    // Two ranks on a ring are neighbours both ways.
    if (ranks < 3) continue;
    add({{"direction", direction}}, "unidirectional ring" + of_ranks + ", " + direction, ring_preference);
  }
  if (ranks < 3) return lines;
  // Its sum is a ring with ranks-1 messages per pair: listing the steps would take ranks^2 messages.
  Template& gather = lines.emplace_back(started("ring_all_gather", {{"ranks", std::to_string(ranks)}},
                                                "ring all-gather" + of_ranks, ring_all_gather_preference, tight));
  for (int rank = 0; rank < ranks; ++rank) {
    gather.pairs.push_back({rank, schedule::ring_peers(ranks, rank, 0).to, 0, 1});
  }
  return lines;
}

std::vector<Template> transpose_templates(const std::vector<int>& dims) {
  std::vector<Template> transposes;
  const int ranks = dims[0] * dims[1];
  const int columns = dims[1];
  const auto in_row = [columns](int a, int b) { return a / columns == b / columns; };
  const auto in_column = [columns](int a, int b) { return a % columns == b % columns; };
  const auto add = [&](const std::string& groups, const std::string& words, int peers, auto group_of) {
    Template& pattern = transposes.emplace_back(
        started("transpose", {{"ranks", std::to_string(ranks)}, {"dims", dims_text(dims)}, {"groups", groups}},
                "transpose in the " + words + " of a " + dims_text(dims) + " grid", transpose_preference, tight));
    pattern.about.dims = dims;
    pattern.group_of = group_of;
    pattern.expected_pairs = static_cast<std::uint64_t>(ranks) * static_cast<std::uint64_t>(peers);
  };
  add("rows", "rows", dims[1] - 1, [=](int a, int b) { return in_row(a, b) ? 0 : -1; });
  add("columns", "columns", dims[0] - 1, [=](int a, int b) { return in_column(a, b) ? 0 : -1; });
  add("both", "rows and columns", dims[0] + dims[1] - 2, [=](int a, int b) {
    return in_row(a, b) ? 0 : in_column(a, b) ? 1 : -1;
  });
  return transposes;
}

std::vector<Template> plain_templates(const Observed& observed, double least_degree) {
  return Collector(observed, least_degree).collect();
}

}  // namespace corewise::pattern

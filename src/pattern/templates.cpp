// All templates but the halos. Most are what a generator makes of one-byte messages: its pairs, and its bytes as
// the weights of the volume model; the dense families decide pair by pair instead of listing ranks^2 pairs.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/templates.hpp"

#include <algorithm>
#include <cstdlib>

#include "pattern/grid.hpp"
#include "pattern/schedule.hpp"

namespace corewise::pattern {
namespace {

// Bytes of an application's neighbours vary with uneven subdomains; those of a collective do not.
constexpr double loose = 2.0;
constexpr double tight = 1.05;

enum Preference {
  ring_preference = 10,
  all_to_all_preference = 20,
  // Halos: 30 to 32, see halo_templates.cpp.
  transpose_preference = 40,
  matrix_transpose_preference = 45,
  wavefront_preference = 50,
  binomial_tree_preference = 60,
  recursive_doubling_preference = 70,
  dissemination_preference = 80,
  bruck_preference = 81,
  pairwise_exchange_preference = 90,
  ring_all_gather_preference = 91,
};

/// Collects the templates of one matrix.
class Collector {
 public:
  explicit Collector(const Observed& observed) : observed_(observed), ranks_(observed.ranks()) {}

  std::vector<Template> collect() {
    rings();
    all_to_all();
    grids();
    trees();
    exchanges();
    return std::move(templates_);
  }

 private:
  Template& start(const std::string& family, Parameters parameters, std::string label, int preference,
                  double tolerance) {
    Template pattern;
    parameters.insert(parameters.begin(), {"ranks", std::to_string(ranks_)});
    pattern.about.family = family;
    pattern.about.label = std::move(label);
    pattern.about.parameters = std::move(parameters);
    pattern.preference = preference;
    pattern.tolerance = tolerance;
    return templates_.emplace_back(std::move(pattern));
  }

  /// A template of the pairs that the family's generator makes, all in one group. Without pairs, so that nothing
  /// matches it, beyond the ranks that the generator takes.
  Template& generated(const std::string& family, const Parameters& parameters, std::string label, int preference,
                      double tolerance) {
    Template& pattern = start(family, parameters, std::move(label), preference, tolerance);
    Parameters with_bytes = pattern.about.parameters;
    with_bytes.push_back({"bytes", "1"});
    const auto made = generate(family, with_bytes);
    if (!made.ok()) return pattern;
    for (const Message& pair : sum(made.value()).entries) {
      pattern.pairs.push_back({pair.from, pair.to, 0, static_cast<double>(pair.bytes)});
    }
    return pattern;
  }

  [[nodiscard]] std::string of_ranks() const { return " of " + std::to_string(ranks_); }

  void rings() {
    generated("ring", {{"direction", "both"}}, "bidirectional ring" + of_ranks(), ring_preference + 1, loose);
    for (const std::string direction : {"forward", "backward"}) {
      generated("ring", {{"direction", direction}, {"periodic", "no"}},
                "open chain" + of_ranks() + ", " + direction, ring_preference + 2, loose);
      // Two ranks on a ring are neighbours both ways.
      if (ranks_ < 3) continue;
      generated("ring", {{"direction", direction}}, "unidirectional ring" + of_ranks() + ", " + direction,
                ring_preference, loose);
    }
    if (ranks_ < 3) return;
    // Its sum is a ring with ranks-1 messages per pair: listing the steps would take ranks^2 messages.
    Template& gather =
        start("ring_all_gather", {}, "ring all-gather" + of_ranks(), ring_all_gather_preference, tight);
    for (int rank = 0; rank < ranks_; ++rank) {
      gather.pairs.push_back({rank, schedule::ring_peers(ranks_, rank, 0).to, 0, 1});
    }
  }

  void all_to_all() {
    if (ranks_ < 2) return;
    const auto dense = [this](const std::string& family, const std::string& name, int preference) {
      Template& pattern = start(family, {}, name + of_ranks(), preference, tight);
      pattern.group_of = [](int, int) { return 0; };
      pattern.expected_pairs = static_cast<std::uint64_t>(ranks_) * static_cast<std::uint64_t>(ranks_ - 1);
    };
    dense("all_to_all", "all-to-all", all_to_all_preference);
    dense("pairwise_exchange", "pairwise exchange", pairwise_exchange_preference);
  }

  void grids() {
    for (const auto& dims : ordered_factorisations(ranks_, 2)) {
      transposes(dims);
      const std::string text = dims_text(dims);
      generated("matrix_transpose", {{"dims", text}}, "matrix transpose on a " + text + " grid",
                matrix_transpose_preference, loose)
          .about.dims = dims;
      sweeps(dims);
    }
  }

  void transposes(const std::vector<int>& dims) {
    const int columns = dims[1];
    const auto in_row = [columns](int a, int b) { return a / columns == b / columns; };
    const auto in_column = [columns](int a, int b) { return a % columns == b % columns; };
    const auto add = [&](const std::string& groups, const std::string& words, int peers, auto group_of) {
      Template& pattern =
          start("transpose", {{"dims", dims_text(dims)}, {"groups", groups}},
                "transpose in the " + words + " of a " + dims_text(dims) + " grid", transpose_preference, tight);
      pattern.about.dims = dims;
      pattern.group_of = group_of;
      pattern.expected_pairs = static_cast<std::uint64_t>(ranks_) * static_cast<std::uint64_t>(peers);
    };
    add("rows", "rows", dims[1] - 1, [=](int a, int b) { return in_row(a, b) ? 0 : -1; });
    add("columns", "columns", dims[0] - 1, [=](int a, int b) { return in_column(a, b) ? 0 : -1; });
    add("both", "rows and columns", dims[0] + dims[1] - 2, [=](int a, int b) {
      return in_row(a, b) ? 0 : in_column(a, b) ? 1 : -1;
    });
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

  void sweep(const std::vector<int>& dims, Parameters parameters, std::string label) {
    parameters.push_back({"dims", dims_text(dims)});
    Template& pattern = generated("wavefront", parameters, std::move(label), wavefront_preference, loose);
    pattern.about.dims = dims;
    // Neighbours along the last axis have consecutive numbers; the axes may differ in bytes.
    for (ExpectedPair& pair : pattern.pairs) pair.group = std::abs(pair.to - pair.from) == 1 ? 1 : 0;
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
    for (const int root : roots) {
      for (const std::string order : {"halving", "doubling"}) {
        const std::string label = "binomial tree " + to_or_from + std::to_string(root) + back + ", spans " + order;
        for (const std::string payload : {"whole", "blocks"}) {
          generated(
              "binomial_tree",
              {{"root", std::to_string(root)}, {"direction", direction}, {"order", order}, {"payload", payload}},
              label, binomial_tree_preference, tight);
        }
      }
    }
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
    generated("dissemination", {}, "dissemination" + of_ranks(), dissemination_preference, tight);
    generated("bruck", {{"operation", "all_gather"}}, "Bruck all-gather" + of_ranks(), bruck_preference, tight);
    generated("bruck", {{"operation", "all_to_all"}}, "Bruck all-to-all" + of_ranks(), bruck_preference, tight);
  }

  static constexpr std::size_t root_candidates = 8;
  /// Keeps the scores of max_ranks pairs within 63 bits.
  static constexpr std::uint64_t most_pair_bytes = std::uint64_t{1} << 38;

  const Observed& observed_;
  int ranks_;
  std::vector<Template> templates_;
};

}  // namespace

std::vector<Template> plain_templates(const Observed& observed) {
  return Collector(observed).collect();
}

}  // namespace corewise::pattern

// The search over decompositions. A state is what is left of the matrix; a step takes one template off it.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/recogniser/superpose.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/index.hpp"
#include "pattern/recogniser/graph.hpp"
#include "pattern/recogniser/recognise.hpp"
#include "pattern/recogniser/structure.hpp"
#include "pattern/recogniser/templates.hpp"

namespace corewise::pattern {
namespace {

constexpr double price_of_component = 0.005;  ///< in shares of all bytes
constexpr double most_over_model = 1.5;       ///< bytes over the volume model that are still the component's
constexpr double least_left = 0.4;            ///< of a component's pairs that others must not have taken
constexpr double least_own_degree = 0.85;     ///< of a component that shares the matrix with others
constexpr double least_clear = 0.4;           ///< of a component's pairs that agree on its volume
constexpr std::size_t most_choices = 3;
/// Beyond this many pairs a decomposition would take minutes: only single templates are named.
constexpr std::size_t most_pairs = 600000;

std::uint64_t bytes_of(const std::vector<Message>& pairs) {
  std::uint64_t sum = 0;
  for (const Message& pair : pairs) sum += pair.bytes;
  return sum;
}

Matrix between_different_ranks(const Matrix& matrix) {
  Matrix result{matrix.ranks, {}};
  for (const Message& entry : matrix.entries) {
    if (entry.from != entry.to && entry.bytes > 0) result.entries.push_back(entry);
  }
  return result;
}

/// A template and where its ranks are.
struct Choice {
  Match match;
  std::vector<int> positions;
};

/// The weights and groups that a match's template gives the pairs of a matrix.
struct Model {
  std::vector<int> group;      ///< of each entry; -1: not expected
  std::vector<double> weight;  ///< of each entry
  std::uint64_t expected = 0;
  int groups = 0;
};

/// Position pairs, in the order of (from, to), with the bytes that the family's generator gives a one-byte message.
std::vector<Message> made_pairs(const Match& match) {
  Parameters parameters = match.parameters;
  const Family* family = find_family(match.family);
  for (const ParameterInfo& info : family->parameters) {
    const bool size = info.kind == ParameterKind::bytes || info.kind == ParameterKind::axis_bytes;
    const bool given = std::any_of(parameters.begin(), parameters.end(),
                                   [&](const Parameter& one) { return one.name == info.name; });
    if (size && !given) parameters.push_back({std::string(info.name), "1"});
  }
  const auto made = generate(match.family, parameters);
  return made.ok() ? sum(made.value()).entries : std::vector<Message>{};
}

bool has_parameter(const Match& match, const std::string& name, const std::string& value) {
  return std::find(match.parameters.begin(), match.parameters.end(), Parameter{name, value}) !=
         match.parameters.end();
}

/// Pairs of a halo that move on different axes may carry differently: told apart by the difference of the numbers.
/// Those of collectives carry alike.
int group_of(const Match& match, int from, int to) {
  // Tasks and results.
  if (match.family == "manager_worker") return has_parameter(match, "manager", std::to_string(from)) ? 0 : 1;
  if (match.dims.empty() || match.family == "transpose" || match.family == "matrix_transpose") return 0;
  int group = 0;
  int bit = 1;
  for (std::size_t axis = match.dims.size(); axis-- > 0; bit *= 2) {
    const int length = match.dims[axis];
    if (from % length != to % length) group += bit;
    from /= length, to /= length;
  }
  return group;
}

Model model_of(const Match& match, const std::vector<int>& positions, const Matrix& matrix) {
  Model model;
  const auto place = [&](int rank) { return positions.empty() ? rank : positions[index(rank)]; };
  const Matrix made{matrix.ranks, made_pairs(match)};
  model.expected = made.entries.size();
  std::map<int, int> numbers;
  for (const Message& entry : matrix.entries) {
    const Message* pair = made.find(place(entry.from), place(entry.to));
    model.weight.push_back(pair != nullptr ? static_cast<double>(pair->bytes) : 1);
    if (pair == nullptr) {
      model.group.push_back(-1);
      continue;
    }
    const int group = group_of(match, pair->from, pair->to);
    model.group.push_back(numbers.emplace(group, static_cast<int>(numbers.size())).first->second);
  }
  model.groups = static_cast<int>(numbers.size());
  return model;
}

struct Taken {
  Component component;
  double clear = 0;  ///< share of its pairs whose bytes agree on what the template's volume is
  Matrix rest;
};

/// What the volume model gives a group. Of its volumes, ascending, the lowest tenth may be outliers; from there up
/// to the first jump with a tenth of the pairs above it lies what is the template's alone.
struct Usual {
  double volume;      ///< the median of those
  double most;        ///< the largest of those
  std::size_t pairs;  ///< how many there are, outliers included

  explicit Usual(std::vector<double>& volumes) {
    std::sort(volumes.begin(), volumes.end());
    const std::size_t tenth = volumes.size() / 10;
    std::size_t end = tenth + 1;
    while (end < volumes.size() && (volumes[end] <= jump * volumes[end - 1] || volumes.size() - end < tenth)) ++end;
    volume = volumes[end / 2];
    pairs = end;
    most = std::min(volumes[end - 1], most_over_model * volume);
  }

 private:
  static constexpr double jump = 1.05;
};

/// Takes a template off what is left of the whole matrix: of every pair what the volume model says, all where it is
/// little more.
Taken take(const Choice& choice, const Matrix& matrix, const Matrix& whole) {
  const Model model = model_of(choice.match, choice.positions, matrix);
  std::vector<std::vector<double>> volumes(index(model.groups));
  for (std::size_t i = 0; i < matrix.entries.size(); ++i) {
    if (model.group[i] < 0) continue;
    volumes[index(model.group[i])].push_back(static_cast<double>(matrix.entries[i].bytes) / model.weight[i]);
  }
  std::vector<Usual> usual;
  for (auto& list : volumes) usual.emplace_back(list);
  Taken taken{{choice.match, choice.positions, 0, 0}, 0, {matrix.ranks, {}}};
  std::uint64_t matched = 0;
  for (std::size_t i = 0; i < matrix.entries.size(); ++i) {
    Message left = matrix.entries[i];
    if (model.group[i] >= 0) {
      const Usual& group = usual[index(model.group[i])];
      const double expected = group.volume * model.weight[i];
      const bool all = static_cast<double>(left.bytes) <= group.most * model.weight[i] * (1 + 1e-9);
      const std::uint64_t part = all ? left.bytes : static_cast<std::uint64_t>(expected);
      taken.component.bytes += part;
      left.bytes -= part;
      ++matched;
    }
    if (left.bytes > 0) taken.rest.entries.push_back(left);
  }
  double agreeing = 0;
  for (const Usual& group : usual) agreeing += static_cast<double>(group.pairs);
  taken.clear = matched > 0 ? agreeing / static_cast<double>(matched) : 0;
  // With m the mean of the matched pairs, bytes cancel out of the degree.
  const bool enough = static_cast<double>(matched) >= least_left * static_cast<double>(model.expected);
  const std::vector<int> groups = model_of(choice.match, choice.positions, whole).group;
  const auto present =
      static_cast<double>(groups.size() - index(static_cast<int>(std::count(groups.begin(), groups.end(), -1))));
  taken.component.match.degree = enough && matched > 0 ? present / static_cast<double>(model.expected) : 0;
  return taken;
}

/// The pairs that carry at least so much.
Matrix heavy_part(const Matrix& matrix, std::uint64_t least) {
  Matrix heavy{matrix.ranks, {}};
  for (const Message& entry : matrix.entries) {
    if (entry.bytes >= least) heavy.entries.push_back(entry);
  }
  return heavy;
}

/// Where the sizes of messages jump by half or more, with at least a sixteenth of the ranks' number of pairs above:
/// the least bytes above the jump, the widest jumps first.
std::vector<std::uint64_t> volume_steps(const Matrix& matrix) {
  std::vector<std::uint64_t> sizes;
  for (const Message& entry : matrix.entries) sizes.push_back(entry.bytes);
  std::sort(sizes.begin(), sizes.end());
  std::vector<std::pair<double, std::uint64_t>> steps;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const double jump = static_cast<double>(sizes[i]) / static_cast<double>(sizes[i - 1]);
    if (jump >= 1.4 && (sizes.size() - i) * 16 >= index(matrix.ranks)) steps.emplace_back(-jump, sizes[i]);
  }
  std::sort(steps.begin(), steps.end());
  std::vector<std::uint64_t> widest;
  for (std::size_t i = 0; i < std::min<std::size_t>(steps.size(), 3); ++i) widest.push_back(steps[i].second);
  return widest;
}

/// The best templates of a matrix: on the ranks as they are, and relabelled where those do not convince.
std::vector<Choice> choices_of(const Matrix& matrix) {
  std::vector<Choice> choices;
  constexpr double least_degree = 0.15;
  for (Match& match : recognise(matrix, least_degree)) {
    if (choices.size() == most_choices) break;
    choices.push_back({std::move(match), {}});
  }
  if (!choices.empty() && choices.front().match.degree >= 0.9) return choices;
  // On few ranks a look is cheap, and structure hardly differs from chance.
  if (matrix.ranks >= 200 && looks_random(matrix)) return choices;
  std::size_t more = 0;
  for (Relabelled& one : recognise_relabelled(matrix, 0.5)) {
    if (more++ == most_choices) break;
    choices.push_back({std::move(one.match), std::move(one.positions)});
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.match.degree > b.match.degree; });
  return choices;
}

class Decomposition {
 public:
  Decomposition(const Matrix& matrix, int most_components)
      : total_(bytes_of(matrix.entries)), most_components_(index(most_components)) {
    best_rest_ = matrix;
    whole_ = matrix;
    search(matrix, {}, 0);
  }

  [[nodiscard]] const std::vector<Component>& components() const { return best_; }
  [[nodiscard]] const Matrix& rest() const { return best_rest_; }

 private:
  void search(const Matrix& left, const std::vector<Component>& so_far, double score) {
    if (score > best_score_) best_score_ = score, best_ = so_far, best_rest_ = left;
    const double open = static_cast<double>(bytes_of(left.entries)) / static_cast<double>(total_);
    const bool hopeless = score + open - price_of_component <= best_score_ + 1e-9;
    std::multiset<std::string> labels;
    for (const Component& component : so_far) labels.insert(component.match.label);
    // A template on top of itself is one template with uneven volumes.
    std::set<std::string> tried(labels.begin(), labels.end());
    // The order in which components are taken hardly matters.
    if (!seen_.insert(std::move(labels)).second) return;
    if (so_far.size() == most_components_ || hopeless || --budget_ < 0) return;
    std::vector<Taken> steps;
    const auto consider = [&](const Matrix& part) {
      if (--looks_left_ < 0) return;
      for (const Choice& choice : choices_of(part)) {
        if (!tried.insert(choice.match.label).second) continue;
        Taken taken = take(choice, left, whole_);
        // Pieces of uneven volumes are no patterns of their own: only the first component may be uneven.
        const bool clear = so_far.empty() || taken.clear >= least_clear;
        if (clear && taken.component.match.degree >= least_own_degree) steps.push_back(std::move(taken));
      }
    };
    consider(left);
    for (const std::uint64_t least : volume_steps(left)) consider(heavy_part(left, least));
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Taken& a, const Taken& b) { return a.component.bytes > b.component.bytes; });
    if (steps.size() > most_choices + 1) steps.resize(most_choices + 1);
    for (Taken& step : steps) {
      const double gain = static_cast<double>(step.component.bytes) / static_cast<double>(total_);
      std::vector<Component> next = so_far;
      next.push_back(std::move(step.component));
      search(step.rest, next, score + gain - price_of_component);
    }
  }

  std::uint64_t total_;
  std::size_t most_components_;
  double best_score_ = 0;
  std::vector<Component> best_;
  Matrix best_rest_{1, {}};
  Matrix whole_{1, {}};
  std::set<std::multiset<std::string>> seen_;
  int looks_left_ = 24;
  int budget_ = 16;  ///< matrices looked at: the worst of cases must end
};

void fill_shares(Naming& naming) {
  for (Component& component : naming.components) {
    component.share = static_cast<double>(component.bytes) / static_cast<double>(naming.total_bytes);
  }
  std::stable_sort(naming.components.begin(), naming.components.end(),
                   [](const Component& a, const Component& b) { return a.bytes > b.bytes; });
}

/// Gives the heaviest component what is left on its pairs, then the next, and so on; returns what is left over.
Matrix give_back(std::vector<Component>& components, Matrix rest) {
  for (Component& component : components) {
    if (rest.entries.empty()) break;
    const Model model = model_of(component.match, component.positions, rest);
    Matrix left{rest.ranks, {}};
    for (std::size_t i = 0; i < rest.entries.size(); ++i) {
      if (model.group[i] < 0)
        left.entries.push_back(rest.entries[i]);
      else
        component.bytes += rest.entries[i].bytes;
    }
    rest = std::move(left);
  }
  return rest;
}

double receivers_per_rank(const Matrix& matrix) {
  return static_cast<double>(matrix.entries.size()) / matrix.ranks;
}

void name_the_rest(Naming& naming, const Matrix& rest) {
  naming.rest_bytes = bytes_of(rest.entries);
  naming.random_sparse = 2 * naming.rest_bytes >= naming.total_bytes && looks_random(rest);
  if (naming.random_sparse) naming.mean_degree = receivers_per_rank(rest);
}

/// Everything goes to the single template; foreign pairs are the rest.
Naming with_one(const Choice& choice, const Matrix& matrix) {
  Naming naming{{{choice.match, choice.positions, 0, 0}}, bytes_of(matrix.entries), 0, false, 0};
  Component& only = naming.components.front();
  // An exact match has no foreign pairs, and an all-to-all can have none: no need to list what they expect.
  if (only.match.degree >= 1 || only.match.family == "all_to_all" || only.match.family == "pairwise_exchange") {
    only.bytes = naming.total_bytes;
  } else {
    naming.rest_bytes = bytes_of(give_back(naming.components, matrix).entries);
  }
  fill_shares(naming);
  return naming;
}

std::optional<Choice> best_single(const Matrix& matrix) {
  std::optional<Choice> best;
  for (Match& match : recognise(matrix, convincing_degree)) {
    best = Choice{std::move(match), {}};
    break;
  }
  // As good as 5 % noise leaves it: relabelling the ranks can hardly do better.
  if (best && best->match.degree >= 0.9) return best;
  for (Relabelled& one : recognise_relabelled(matrix)) {
    if (!best || one.match.degree > best->match.degree + 0.02)
      best = Choice{std::move(one.match), std::move(one.positions)};
    break;
  }
  return best;
}

double variance_over_mean(const std::vector<int>& counts) {
  double sum = 0;
  double squares = 0;
  for (const int count : counts) sum += count, squares += static_cast<double>(count) * count;
  const auto n = static_cast<double>(counts.size());
  const double mean = sum / n;
  return (squares / n - mean * mean) / mean;
}

bool by_chance(double seen, double expected) {
  return seen <= 1.5 * expected + 4 * std::sqrt(expected) + 4;
}

/// Triangles and squares are no more than a random graph of as many edges has: degree^3 / 6 and degree^4 / 8.
bool local_structure_by_chance(const Graph& graph) {
  double triangles = 0;
  double squares = 0;
  std::vector<int> paths(index(graph.ranks()));  // of two edges, to each rank
  for (int rank = 0; rank < graph.ranks(); ++rank) {
    std::vector<int> ends;
    for (const Graph::Arc& first : graph.arcs(rank)) {
      for (const Graph::Arc& second : graph.arcs(first.to)) {
        if (second.to > rank && paths[index(second.to)]++ == 0) ends.push_back(second.to);
      }
    }
    for (const Graph::Arc& arc : graph.arcs(rank)) triangles += paths[index(arc.to)];
    for (const int end : ends) {
      const double count = std::exchange(paths[index(end)], 0);
      squares += count * (count - 1) / 2;
    }
  }
  const double degree = 2.0 * static_cast<double>(graph.edges()) / graph.ranks();
  return by_chance(triangles / 3, std::pow(degree, 3) / 6) && by_chance(squares / 2, std::pow(degree, 4) / 8);
}

}  // namespace

bool looks_random(const Matrix& given) {
  const Matrix matrix = between_different_ranks(given);
  const auto ranks = index(matrix.ranks);
  if (ranks < 8 || matrix.entries.size() < ranks || matrix.entries.size() * 2 > ranks * ranks) return false;
  std::vector<int> receivers(ranks);
  std::vector<int> differences(ranks);
  for (const Message& entry : matrix.entries) {
    ++receivers[index(entry.from)];
    ++differences[index((entry.to - entry.from + matrix.ranks) % matrix.ranks)];
  }
  if (variance_over_mean(receivers) > 2) return false;
  const double usual = receivers_per_rank(matrix);
  const int commonest = *std::max_element(differences.begin(), differences.end());
  if (commonest > usual + 5 * std::sqrt(usual) + 3) return false;
  return local_structure_by_chance(Graph(matrix.ranks, matrix.entries));
}

Naming name_one(const Matrix& given) {
  const Matrix matrix = between_different_ranks(given);
  if (matrix.entries.empty()) return {};
  if (const auto best = best_single(matrix)) return with_one(*best, matrix);
  Naming naming;
  naming.total_bytes = bytes_of(matrix.entries);
  name_the_rest(naming, matrix);
  return naming;
}

Naming name(const Matrix& given, int most_components) {
  const Matrix matrix = between_different_ranks(given);
  if (matrix.entries.empty()) return {};
  const auto single = best_single(matrix);
  const bool plain = single && single->match.degree >= 1 && single->match.volumes_fit;
  if (plain || matrix.entries.size() > most_pairs) return name_one(matrix);
  const Decomposition found(matrix, most_components);
  Naming naming{found.components(), bytes_of(matrix.entries), 0, false, 0};
  fill_shares(naming);
  // One component, or none: the single template says it with the degree that counts foreign pairs.
  if (naming.components.size() < 2) {
    if (single) return with_one(*single, matrix);
    if (naming.components.empty() || naming.components.front().share < 0.5) {
      naming.components.clear();
      name_the_rest(naming, matrix);
      return naming;
    }
  }
  const Matrix rest = give_back(naming.components, found.rest());
  fill_shares(naming);
  name_the_rest(naming, rest);
  return naming;
}

std::string headline(const Naming& naming) {
  std::string text;
  for (const Component& component : naming.components) {
    text.append(text.empty() ? "" : " + ").append(component.match.label);
  }
  if (naming.random_sparse) {
    std::array<char, 64> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "random sparse, mean degree %.1f", naming.mean_degree);
    text.append(text.empty() ? "" : " + ").append(buffer.data());
  }
  return text.empty() ? "none" : text;
}

}  // namespace corewise::pattern

// Cut loads: cuts, degrees, the second eigenvalue. See cut_loads.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/portfolio/cut_loads.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/index.hpp"
#include "place/links/cut_bounds.hpp"

namespace corewise::place {

namespace {

/// Up to so many ranks the eigenvalue is computed; its cost grows with their third power.
constexpr std::size_t most_spectral = 192;
constexpr std::size_t most_spectral_phases = 4;
constexpr double eigenvalue_slack = 1e-7;

using Row = std::vector<double>;

/// One rotation of Jacobi's method: zero at (p, q) of a symmetric matrix.
void rotate(std::vector<Row>& matrix, std::size_t p, std::size_t q) {
  if (matrix[p][q] == 0) return;
  const double theta = (matrix[q][q] - matrix[p][p]) / (2 * matrix[p][q]);
  const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
  const double c = 1 / std::sqrt(t * t + 1);
  const double s = t * c;
  for (Row& row : matrix) {
    const double left = row[p];
    row[p] = c * left - s * row[q];
    row[q] = s * left + c * row[q];
  }
  for (std::size_t k = 0; k < matrix.size(); ++k) {
    const double upper = matrix[p][k];
    matrix[p][k] = c * upper - s * matrix[q][k];
    matrix[q][k] = s * upper + c * matrix[q][k];
  }
}

/// Second smallest eigenvalue of a Laplacian, by Jacobi's method (Golub and Van Loan, section 8.5): every
/// eigenvalue is within the norm of what is left off the diagonal, which is taken off.
double second_eigenvalue(std::vector<Row> matrix) {
  const std::size_t size = matrix.size();
  const auto rest = [&] {
    double sum = 0;
    for (std::size_t p = 0; p < size; ++p) {
      for (std::size_t q = 0; q < size; ++q) sum += p == q ? 0 : matrix[p][q] * matrix[p][q];
    }
    return std::sqrt(sum);
  };
  double most = 0;
  for (std::size_t k = 0; k < size; ++k) most = std::max(most, matrix[k][k]);
  for (int sweep = 0; sweep < 12 && rest() > eigenvalue_slack * most; ++sweep) {
    for (std::size_t p = 0; p + 1 < size; ++p) {
      for (std::size_t q = p + 1; q < size; ++q) rotate(matrix, p, q);
    }
  }
  std::vector<double> values;
  for (std::size_t k = 0; k < size; ++k) values.push_back(matrix[k][k]);
  std::nth_element(values.begin(), values.begin() + 1, values.end());
  return std::max(0.0, values[1] - rest() - eigenvalue_slack * most);
}

/// left[j]: bytes that a rank sends beyond its j largest messages, all ranks, ascending; their first j + 1 summed.
std::vector<double> least_left_over(const std::vector<Row>& of_rank) {
  std::vector<double> least;
  for (std::size_t inside = 1; inside <= of_rank.size(); ++inside) {
    Row left;
    for (const Row& sent : of_rank) {
      double sum = 0;
      for (std::size_t k = inside - 1; k < sent.size(); ++k) sum += sent[k];
      left.push_back(sum);
    }
    std::sort(left.begin(), left.end());
    double sum = 0;
    for (std::size_t k = 0; k < inside; ++k) sum += left[k];
    least.push_back(sum);
  }
  return least;
}

}  // namespace

/// What a phase, or all of them, asks of a cut with so many ranks inside.
struct CutLoads::Messages {
  std::size_t ranks = 0;
  std::vector<double> out;  ///< [ranks inside - 1]: bytes that leave at least
  std::vector<double> in;
  double second = 0;  ///< eigenvalue

  Messages(int number, const std::vector<const std::vector<Traffic>*>& phases, const std::vector<double>& weights,
           bool spectral)
      : ranks(index(number)) {
    std::vector<Row> bytes(ranks, Row(ranks, 0));
    for (std::size_t phase = 0; phase < phases.size(); ++phase) {
      for (const Traffic& each : *phases[phase]) {
        bytes[index(each.from)][index(each.to)] += weights[phase] * static_cast<double>(each.bytes);
      }
    }
    std::vector<Row> sent(ranks);
    std::vector<Row> got(ranks);
    std::vector<Row> laplacian(ranks, Row(ranks, 0));
    for (std::size_t a = 0; a < ranks; ++a) {
      for (std::size_t b = 0; b < ranks; ++b) {
        if (bytes[a][b] == 0) continue;
        sent[a].push_back(bytes[a][b]);
        got[b].push_back(bytes[a][b]);
        laplacian[a][b] -= bytes[a][b];
        laplacian[b][a] -= bytes[a][b];
        laplacian[a][a] += bytes[a][b];
        laplacian[b][b] += bytes[a][b];
      }
    }
    for (auto* lists : {&sent, &got}) {
      for (Row& list : *lists) std::sort(list.begin(), list.end(), std::greater<>());
    }
    out = least_left_over(sent);
    in = least_left_over(got);
    if (spectral && ranks > 2 && ranks <= most_spectral) second = second_eigenvalue(std::move(laplacian));
  }

  /// Bytes that leave, bytes that enter, and both together, at least.
  [[nodiscard]] double least_ns(std::size_t inside, double out_gb_per_s, double in_gb_per_s) const {
    if (inside == 0 || inside == ranks || out_gb_per_s + in_gb_per_s <= 0) return 0;
    // What leaves the inside enters the rest.
    const double leaving = std::max(out[inside - 1], in[ranks - inside - 1]);
    const double entering = std::max(in[inside - 1], out[ranks - inside - 1]);
    const double share =
        static_cast<double>(inside) * static_cast<double>(ranks - inside) / static_cast<double>(ranks);
    double least = second * share / (out_gb_per_s + in_gb_per_s);
    if (out_gb_per_s > 0) least = std::max(least, leaving / out_gb_per_s);
    if (in_gb_per_s > 0) least = std::max(least, entering / in_gb_per_s);
    return least;
  }
};

CutLoads::CutLoads(const machine::Machine& machine, const RoutedShares& shares)
    : shares_(shares), units_(shares.units()) {
  std::vector<char> on_route(machine.links.size(), 0);
  for (const auto& alternatives : machine.route_table) {
    for (const machine::Route& route : alternatives) {
      for (const machine::LinkId link : route.links) on_route[index(link)] = 1;
    }
  }
  const std::size_t stops = machine.stops.size();
  std::vector<std::vector<int>> next(stops);
  for (const machine::Link& link : machine.links) {
    next[index(link.from)].push_back(link.to);
    next[index(link.to)].push_back(link.from);
  }
  std::vector<std::vector<int>> hops(stops);
  for (std::size_t start = 0; start < stops; ++start) {
    hops[start].assign(stops, std::numeric_limits<int>::max());
    std::vector<int> queue{static_cast<int>(start)};
    hops[start][start] = 0;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      for (const int stop : next[index(queue[head])]) {
        if (hops[start][index(stop)] != std::numeric_limits<int>::max()) continue;
        hops[start][index(stop)] = hops[start][index(queue[head])] + 1;
        queue.push_back(stop);
      }
    }
    std::vector<char> alone(stops, 0);
    alone[start] = 1;
    note(machine, alone, on_route);
  }
  for (const machine::Link& link : machine.links) {
    std::vector<char> inside(stops);
    for (std::size_t stop = 0; stop < stops; ++stop) {
      inside[stop] = hops[index(link.from)][stop] < hops[index(link.to)][stop];
    }
    note(machine, inside, on_route);
  }
}

void CutLoads::note(const machine::Machine& machine, const std::vector<char>& inside,
                    const std::vector<char>& on_route) {
  Side side;
  for (const machine::Unit& unit : machine.units) side.units += inside[index(unit.stop)];
  if (side.units == 0 || side.units == units_) return;
  for (std::size_t link = 0; link < machine.links.size(); ++link) {
    if (!on_route[link]) continue;
    const bool from = inside[index(machine.links[link].from)] != 0;
    const bool to = inside[index(machine.links[link].to)] != 0;
    if (from && !to) side.out_gb_per_s += machine.links[link].bandwidth_gb_per_s;
    if (!from && to) side.in_gb_per_s += machine.links[link].bandwidth_gb_per_s;
  }
  if (std::find(sides_.begin(), sides_.end(), side) == sides_.end()) sides_.push_back(side);
}

double CutLoads::least_ns(const Messages& messages) const {
  const int ranks = static_cast<int>(messages.ranks);
  double bound = 0;
  for (const Side& side : sides_) {
    double least = std::numeric_limits<double>::infinity();
    for (int inside = std::max(0, ranks - (units_ - side.units)); inside <= std::min(ranks, side.units); ++inside) {
      least = std::min(least, messages.least_ns(index(inside), side.out_gb_per_s, side.in_gb_per_s));
    }
    bound = std::max(bound, least);
  }
  return bound;
}

double CutLoads::least_bottleneck_ns(const Workload& work) const {
  double sum = 0;
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    const bool spectral = work.phases.size() <= most_spectral_phases;
    const double crossing_ns = least_ns(Messages(work.ranks, {&work.phases[phase]}, {1}, spectral));
    sum += work.weight(phase) * std::max(crossing_ns, floor_ns(shares_, work.phases[phase]));
  }
  return sum;
}

double CutLoads::least_busiest_link_ns(const Workload& work) const {
  std::vector<const std::vector<Traffic>*> phases;
  std::vector<double> weights;
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    phases.push_back(&work.phases[phase]);
    weights.push_back(work.weight(phase));
  }
  double bound = least_ns(Messages(work.ranks, phases, weights, true));
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    bound = std::max(bound, work.weight(phase) * floor_ns(shares_, work.phases[phase]));
  }
  return bound;
}

}  // namespace corewise::place

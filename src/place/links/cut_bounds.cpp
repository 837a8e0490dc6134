// Cut bound: which stops, and the tables. See cut_bounds.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/links/cut_bounds.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/index.hpp"

namespace corewise::place {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

using StopSet = std::vector<bool>;

class CutFinder {
 public:
  explicit CutFinder(const machine::Machine& machine)
      : machine_(machine), on_route_(machine.links.size(), false), stops_(static_cast<int>(machine.stops.size())) {
    for (const auto& alternatives : machine.route_table) {
      for (const machine::Route& route : alternatives) {
        for (const machine::LinkId link : route.links) on_route_[index(link)] = true;
      }
    }
    measure_distances();
    measure_quantum();
  }

  std::vector<Cut> run(std::size_t most) {
    std::vector<StopSet> sides;
    for (int stop = 0; stop < stops_; ++stop) note({stop_set([&](int other) { return other == stop; })});
    for (const machine::Link& link : machine_.links) {
      StopSet side = stop_set([&](int stop) { return distance(stop, link.from) < distance(stop, link.to); });
      if (std::find(sides.begin(), sides.end(), side) == sides.end()) sides.push_back(side);
    }
    for (const StopSet& side : sides) note(side);
    for (int a = 0; a < stops_; ++a) {
      for (int b = a + 1; b < stops_ && stops_ <= 64; ++b) {
        note(stop_set([&](int stop) { return distance(a, stop) + distance(stop, b) == distance(a, b); }));
      }
    }
    for (std::size_t a = 0; a < sides.size() && sides.size() <= 200; ++a) {
      for (std::size_t b = a + 1; b < sides.size(); ++b) {
        note(stop_set([&](int stop) { return sides[a][index(stop)] && sides[b][index(stop)]; }));
      }
    }
    return chosen(most);
  }

 private:
  template <class Holds>
  StopSet stop_set(const Holds& holds) const {
    StopSet set(index(stops_));
    for (int stop = 0; stop < stops_; ++stop) set[index(stop)] = holds(stop);
    return set;
  }

  void measure_distances() {
    constexpr int far = 1 << 20;
    distance_.assign(index(stops_) * index(stops_), far);
    std::vector<std::vector<int>> next(index(stops_));
    for (const machine::Link& link : machine_.links) {
      next[index(link.from)].push_back(link.to);
      next[index(link.to)].push_back(link.from);
    }
    for (int start = 0; start < stops_; ++start) {
      std::vector<int> queue{start};
      distance_[index(start) * index(stops_) + index(start)] = 0;
      for (std::size_t head = 0; head < queue.size(); ++head) {
        for (const int stop : next[index(queue[head])]) {
          if (distance(start, stop) != far) continue;
          distance_[index(start) * index(stops_) + index(stop)] = distance(start, queue[head]) + 1;
          queue.push_back(stop);
        }
      }
    }
  }
  int distance(int a, int b) const { return distance_[index(a) * index(stops_) + index(b)]; }

  void note(const StopSet& set) {
    Cut cut;
    for (int stop = 0; stop < stops_; ++stop) {
      if (set[index(stop)]) cut.stops.push_back(stop);
    }
    for (std::size_t unit = 0; unit < machine_.units.size(); ++unit) {
      if (set[index(machine_.units[unit].stop)]) cut.units |= std::uint64_t{1} << unit;
    }
    cut.units_inside = std::popcount(cut.units);
    if (cut.units_inside == 0 || index(cut.units_inside) == machine_.units.size()) return;
    for (std::size_t link = 0; link < machine_.links.size(); ++link) {
      if (!on_route_[link]) continue;
      const bool from = set[index(machine_.links[link].from)];
      const bool to = set[index(machine_.links[link].to)];
      if (from && !to) cut.capacity_out += machine_.links[link].bandwidth_gb_per_s;
      if (!from && to) cut.capacity_in += machine_.links[link].bandwidth_gb_per_s;
    }
    cut.links_out = equal_links(set, true);
    cut.links_in = equal_links(set, false);
    cut.quantum = quantum_;
    const double capacity = cut.capacity_out + cut.capacity_in;
    const auto known = found_.find(cut.units);
    if (known != found_.end()) {
      Cut& other = known->second;
      if (capacity >= other.capacity_out + other.capacity_in) return;
      const std::size_t place = order_of_.at(cut.units);
      other = std::move(cut);
      order_of_[other.units] = place;
      return;
    }
    order_of_.emplace(cut.units, order_of_.size());
    found_.emplace(cut.units, std::move(cut));
  }

  /// How many links leave (enter) the set, 0 where they are not equally fast.
  int equal_links(const StopSet& set, bool leaving) const {
    int count = 0;
    double bandwidth = 0;
    for (std::size_t link = 0; link < machine_.links.size(); ++link) {
      const machine::Link& at = machine_.links[link];
      if (!on_route_[link] || set[index(at.from)] != leaving || set[index(at.to)] == leaving) continue;
      if (count > 0 && at.bandwidth_gb_per_s != bandwidth) return 0;
      bandwidth = at.bandwidth_gb_per_s;
      ++count;
    }
    return count;
  }

  /// The shares of all routes are multiples of this.
  void measure_quantum() {
    const Result<RoutedShares> shares = RoutedShares::of(machine_);
    if (!shares.ok()) return;
    std::uint32_t common = 0;
    for (int from = 0; from < shares.value().units(); ++from) {
      for (int to = 0; to < shares.value().units(); ++to) {
        for (const Share& share : shares.value().shares(from, to)) common = std::gcd(common, share.parts);
      }
    }
    quantum_ = static_cast<double>(common) / shares.value().parts_per_byte();
  }

  /// Least over the pairs of the time per byte on the worst link that leaves (enters) the set.
  void measure_sigma(Cut& cut) const {
    StopSet set(index(stops_), false);
    for (const int stop : cut.stops) set[index(stop)] = true;
    cut.sigma_out = infinite;
    cut.sigma_in = infinite;
    const int units = static_cast<int>(machine_.units.size());
    for (int from = 0; from < units; ++from) {
      for (int to = 0; to < units; ++to) {
        const bool from_inside = ((cut.units >> static_cast<unsigned>(from)) & 1U) != 0;
        const bool to_inside = ((cut.units >> static_cast<unsigned>(to)) & 1U) != 0;
        if (from_inside == to_inside) continue;
        double& sigma = from_inside ? cut.sigma_out : cut.sigma_in;
        sigma = std::min(sigma, worst_crossing(set, from_inside, machine_.routes(from, to)));
      }
    }
  }

  double worst_crossing(const StopSet& set, bool leaving, const machine::Routes& routes) const {
    std::map<int, double> crossing;
    for (const machine::Route& route : routes) {
      for (const machine::LinkId id : route.links) {
        const machine::Link& link = machine_.links[index(id)];
        if (set[index(link.from)] != leaving || set[index(link.to)] == leaving) continue;
        crossing[id] += 1.0 / (static_cast<double>(routes.size()) * link.bandwidth_gb_per_s);
      }
    }
    double worst = 0;
    for (const auto& [id, time] : crossing) worst = std::max(worst, time);
    return worst;
  }

  std::vector<Cut> chosen(std::size_t most) const {
    std::vector<Cut> cuts(order_of_.size());
    for (const auto& [units, place] : order_of_) cuts[place] = found_.at(units);
    if (cuts.size() > most) cuts.resize(most);
    for (Cut& cut : cuts) measure_sigma(cut);
    return cuts;
  }

  const machine::Machine& machine_;
  std::vector<bool> on_route_;
  int stops_;
  std::vector<int> distance_;
  double quantum_ = 0;
  std::map<std::uint64_t, Cut> found_;
  std::map<std::uint64_t, std::size_t> order_of_;
};

/// What one phase sends across every set of ranks (bit k: the k-th rank of the order).
struct Crossing {
  std::vector<double> out, in, largest_out, largest_in;
  double divisor = 0;  ///< of all messages, in bytes
};

struct Entry {
  unsigned from;
  unsigned to;
  std::uint64_t bytes;
};

/// Bytes out of and into every set. They are added and taken away again as integers, so that a small rest of large
/// sums is exact.
void sum_crossing(const std::vector<Entry>& entries, int ranks, Crossing& made) {
  const std::size_t sets = made.out.size();
  std::vector<std::uint64_t> all_out(sets, 0), all_in(sets, 0);
  std::vector<std::vector<Entry>> of_rank(index(ranks));
  for (const Entry& entry : entries) {
    of_rank[entry.from].push_back(entry);
    of_rank[entry.to].push_back(entry);
  }
  for (std::size_t set = 1; set < sets; ++set) {
    const auto low = static_cast<unsigned>(std::countr_zero(set));
    const std::size_t rest = set & (set - 1);
    std::uint64_t out = all_out[rest];
    std::uint64_t in = all_in[rest];
    for (const Entry& entry : of_rank[low]) {
      const unsigned other = entry.from == low ? entry.to : entry.from;
      const bool other_inside = ((rest >> other) & 1U) != 0;
      if (entry.from == low) (other_inside ? in : out) += other_inside ? 0 - entry.bytes : entry.bytes;
      if (entry.to == low) (other_inside ? out : in) += other_inside ? 0 - entry.bytes : entry.bytes;
    }
    all_out[set] = out;
    all_in[set] = in;
    made.out[set] = static_cast<double>(out);
    made.in[set] = static_cast<double>(in);
  }
}

/// The largest message out of and into every set.
void find_largest(std::vector<Entry> sorted, Crossing& made) {
  std::stable_sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) { return a.bytes > b.bytes; });
  for (std::size_t set = 1; set < made.out.size(); ++set) {
    bool want_out = made.out[set] > 0;
    bool want_in = made.in[set] > 0;
    for (std::size_t k = 0; k < sorted.size() && (want_out || want_in); ++k) {
      const bool from = ((set >> sorted[k].from) & 1U) != 0;
      const bool to = ((set >> sorted[k].to) & 1U) != 0;
      if (from == to) continue;
      if (from && want_out) {
        made.largest_out[set] = static_cast<double>(sorted[k].bytes);
        want_out = false;
      } else if (to && want_in) {
        made.largest_in[set] = static_cast<double>(sorted[k].bytes);
        want_in = false;
      }
    }
  }
}

Crossing crossing_of(const std::vector<Traffic>& phase, int ranks) {
  std::vector<Entry> entries;
  for (const Traffic& each : phase) {
    entries.push_back({static_cast<unsigned>(each.from), static_cast<unsigned>(each.to), each.bytes});
  }
  const std::size_t sets = std::size_t{1} << static_cast<unsigned>(ranks);
  std::uint64_t common = 0;
  for (const Entry& entry : entries) common = std::gcd(common, entry.bytes);
  Crossing made{std::vector<double>(sets, 0), std::vector<double>(sets, 0), std::vector<double>(sets, 0),
                std::vector<double>(sets, 0), static_cast<double>(common)};
  sum_crossing(entries, ranks, made);
  find_largest(entries, made);
  return made;
}

/// Bytes, rounded up to what whole steps on equal links can be. What is a whole number of steps but for the
/// rounding of the quotient is not rounded up: of many steps the slack grows with their number.
double stepped(double bytes, int links, double step) {
  if (links == 0 || step <= 0) return bytes;
  const double unit = step * links;
  const double steps = bytes / unit;
  return std::max(bytes, std::ceil(steps - std::max(1e-9, 1e-13 * steps)) * unit);
}

void add_phase(std::vector<double>& costs, const Crossing& crossing, const Cut& cut, double weight, double floor) {
  const double step = crossing.divisor * cut.quantum;
  const double out = cut.capacity_out > 0 ? 1 / cut.capacity_out : 0;
  const double in = cut.capacity_in > 0 ? 1 / cut.capacity_in : 0;
  for (std::size_t set = 0; set < costs.size(); ++set) {
    const double total = std::max(stepped(crossing.out[set], cut.links_out, step) * out,
                                  stepped(crossing.in[set], cut.links_in, step) * in);
    const double single =
        std::max(crossing.largest_out[set] * cut.sigma_out, crossing.largest_in[set] * cut.sigma_in);
    costs[set] += weight * std::max({total, single, floor});
  }
}

}  // namespace

std::vector<Cut> find_cuts(const machine::Machine& machine, std::size_t most) {
  return CutFinder(machine).run(most);
}

double floor_ns(const RoutedShares& shares, const std::vector<Traffic>& phase) {
  double least = infinite;
  for (int from = 0; from < shares.units(); ++from) {
    for (int to = 0; to < shares.units(); ++to) {
      if (from == to) continue;
      double worst = 0;
      for (const Share& share : shares.shares(from, to)) {
        worst = std::max(worst, shares.time_ns(share.parts, share.link));
      }
      least = std::min(least, worst);
    }
  }
  std::uint64_t largest = 0;
  for (const Traffic& entry : phase) largest = std::max(largest, entry.bytes);
  return largest == 0 ? 0 : least * static_cast<double>(largest);
}

CutTables::CutTables(std::vector<Cut> cuts, const Workload& work, const std::vector<int>& order, int units,
                     const std::vector<double>& floors, std::size_t most_tables)
    : ranks_(work.ranks), work_(work), floors_(floors) {
  kinds_ = keep_cuts(std::move(cuts), most_tables);
  std::vector<unsigned> position(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) position[index(order[k])] = static_cast<unsigned>(k);
  for (auto& phase : work_.phases) {
    for (Traffic& entry : phase) {
      entry.from = static_cast<int>(position[index(entry.from)]);
      entry.to = static_cast<int>(position[index(entry.to)]);
    }
  }
  const std::vector<std::vector<double>> costs = costs_of_kinds();
  for (std::size_t k = 0; k < kinds_.size(); ++k) tables_.push_back(least_costs(kinds_[k], costs[k], units));
  for (const auto& table : tables_) root_ns_ = std::max(root_ns_, table[1]);
  root_ns_ = std::max(root_ns_, shared_out_ns(units));
  measure_chains(units);
}

std::vector<Cut> CutTables::keep_cuts(std::vector<Cut> cuts, std::size_t most_tables) {
  std::map<std::array<double, 7>, std::size_t> known;
  std::vector<Cut> classes;
  for (Cut& cut : cuts) {
    const std::array key{static_cast<double>(cut.units_inside),
                         cut.capacity_out,
                         cut.capacity_in,
                         cut.sigma_out,
                         cut.sigma_in,
                         static_cast<double>(cut.links_out),
                         static_cast<double>(cut.links_in)};
    if (known.size() == most_tables && known.find(key) == known.end()) continue;
    const auto [entry, is_new] = known.emplace(key, known.size());
    if (is_new) classes.push_back(cut);
    table_of_cut_.push_back(entry->second);
    cuts_.push_back(std::move(cut));
  }
  return classes;
}

std::vector<std::vector<double>> CutTables::costs_of_kinds() const {
  const std::size_t sets = std::size_t{1} << static_cast<unsigned>(ranks_);
  std::vector<std::vector<double>> costs(kinds_.size(), std::vector<double>(sets, 0));
  for (std::size_t phase = 0; phase < work_.phases.size(); ++phase) {
    const Crossing crossing = crossing_of(work_.phases[phase], ranks_);
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      add_phase(costs[k], crossing, kinds_[k], work_.weight(phase), floors_[phase]);
    }
  }
  return costs;
}

std::vector<double> CutTables::least_costs(const Cut& cut, const std::vector<double>& costs, int units) const {
  const std::size_t sets = costs.size();
  std::vector<double> table(2 * sets);
  for (std::size_t set = 0; set < sets; ++set) {
    const int inside = std::popcount(set);
    const bool fits = inside <= cut.units_inside && ranks_ - inside <= units - cut.units_inside;
    table[sets + set] = fits ? costs[set] : infinite;
  }
  for (int placed = ranks_ - 1; placed >= 0; --placed) {
    const std::size_t here = std::size_t{1} << static_cast<unsigned>(placed);
    for (std::size_t mask = 0; mask < here; ++mask) {
      table[here + mask] = std::min(table[2 * here + mask], table[2 * here + here + mask]);
    }
  }
  return table;
}

void CutTables::measure_phases(int units, std::size_t most_bytes) {
  if (!phase_tables_.empty()) return;
  const std::size_t sets = std::size_t{1} << static_cast<unsigned>(ranks_);
  const std::size_t phases = work_.phases.size();
  const std::size_t kinds = std::min(kinds_.size(), most_bytes / (2 * sets * phases * sizeof(double)));
  phase_tables_.assign(kinds, std::vector<double>(2 * sets * phases));
  for (std::size_t phase = 0; phase < phases && kinds > 0; ++phase) {
    const Crossing crossing = crossing_of(work_.phases[phase], ranks_);
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      std::vector<double> costs(sets, 0);
      add_phase(costs, crossing, kinds_[kind], 1, floors_[phase]);
      const std::vector<double> least = least_costs(kinds_[kind], costs, units);
      for (std::size_t k = 0; k < least.size(); ++k) phase_tables_[kind][k * phases + phase] = least[k];
    }
  }
}

std::vector<double> CutTables::phases_ns(std::size_t cut, std::uint32_t inside) const {
  std::vector<double> costs;
  for (std::size_t phase = 0; phase < work_.phases.size(); ++phase) {
    std::vector<double> cost{0};
    Crossing one{{0}, {0}, {0}, {0}, 0};
    std::uint64_t common = 0;
    for (const Traffic& entry : work_.phases[phase]) {
      const bool from = ((inside >> static_cast<unsigned>(entry.from)) & 1U) != 0;
      const bool to = ((inside >> static_cast<unsigned>(entry.to)) & 1U) != 0;
      const auto bytes = static_cast<double>(entry.bytes);
      common = std::gcd(common, entry.bytes);
      if (from == to) continue;
      (from ? one.out : one.in)[0] += bytes;
      double& largest = (from ? one.largest_out : one.largest_in)[0];
      largest = std::max(largest, bytes);
    }
    one.divisor = static_cast<double>(common);
    add_phase(cost, one, cuts_[cut], 1, floors_[phase]);
    costs.push_back(cost[0]);
  }
  return costs;
}

std::pair<int, std::size_t> CutTables::splitting_cut(double limit_ns, int units) const {
  std::pair<int, std::size_t> best{-1, 0};
  const std::size_t sets = std::size_t{1} << static_cast<unsigned>(ranks_);
  std::map<std::size_t, std::size_t> counts;
  for (std::size_t cut = 0; cut < cuts_.size(); ++cut) {
    const int inside = cuts_[cut].units_inside;
    if (4 * inside < units || 4 * (units - inside) < units) continue;
    const auto [entry, is_new] = counts.emplace(table_of_cut_[cut], 0);
    for (std::size_t set = 0; is_new && set < sets; ++set) {
      entry->second += tables_[table_of_cut_[cut]][sets + set] < limit_ns ? 1 : 0;
    }
    if (best.first < 0 || entry->second < best.second) best = {static_cast<int>(cut), entry->second};
  }
  return best;
}

void CutTables::measure_chains(int units) {
  const std::size_t sets = std::size_t{1} << static_cast<unsigned>(ranks_);
  for (const auto& table : tables_) {
    std::vector<double> least(index(ranks_) + 1, infinite);
    for (std::size_t set = 0; set < sets; ++set) {
      double& entry = least[static_cast<std::size_t>(std::popcount(set))];
      entry = std::min(entry, table[sets + set]);
    }
    by_count_.push_back(std::move(least));
  }
  for (int cut = 0; cut < static_cast<int>(cuts_.size()); ++cut) {
    std::vector<int> chain = chain_from(cut);
    const double proven_ns = chain_ns(chain, units);
    if (proven_ns <= root_ns_) continue;
    root_ns_ = proven_ns;
    chain_ = std::move(chain);
  }
}

/// From a cut outwards, each time the smallest one around, of equals the one with least capacity.
std::vector<int> CutTables::chain_from(int cut) const {
  std::vector<int> chain{cut};
  for (;;) {
    const Cut& inner = cuts_[index(chain.back())];
    int next = -1;
    for (int k = 0; k < static_cast<int>(cuts_.size()); ++k) {
      const Cut& outer = cuts_[index(k)];
      if (outer.units == inner.units || (outer.units & inner.units) != inner.units) continue;
      const auto key = [this](int which) {
        const Cut& at = cuts_[index(which)];
        return std::pair(at.units_inside, at.capacity_out + at.capacity_in);
      };
      if (next < 0 || key(k) < key(next)) next = k;
    }
    if (next < 0) return chain;
    chain.push_back(next);
  }
}

double CutTables::chain_ns(const std::vector<int>& chain, int units) const {
  // least[k]: of the cuts so far, the last of which holds k ranks.
  std::vector<double> least(index(ranks_) + 1, infinite);
  least[0] = 0;
  int inside = 0;
  for (const int cut : chain) {
    const int more = cuts_[index(cut)].units_inside - inside;
    inside += more;
    std::vector<double> next(least.size(), infinite);
    for (int count = 0; count <= ranks_; ++count) {
      for (int before = std::max(0, count - more); before <= count; ++before) {
        next[index(count)] = std::min(next[index(count)], least[index(before)]);
      }
      next[index(count)] = std::max(next[index(count)], by_count_[table_of_cut_[index(cut)]][index(count)]);
    }
    least = std::move(next);
  }
  double proven_ns = infinite;
  for (int count = std::max(0, ranks_ - (units - inside)); count <= ranks_; ++count) {
    proven_ns = std::min(proven_ns, least[index(count)]);
  }
  return proven_ns;
}

/// Cuts of equal size that hold every unit once: the fullest holds at least the average.
double CutTables::shared_out_ns(int units) const {
  std::map<int, std::vector<std::size_t>> by_size;
  for (std::size_t k = 0; k < cuts_.size(); ++k) by_size[cuts_[k].units_inside].push_back(k);
  const std::size_t sets = std::size_t{1} << static_cast<unsigned>(ranks_);
  double best = 0;
  for (const auto& [size, members] : by_size) {
    if (units % size != 0) continue;
    std::uint64_t covered = 0;
    std::set<std::size_t> used;
    for (const std::size_t k : members) {
      if ((covered & cuts_[k].units) != 0) continue;
      covered |= cuts_[k].units;
      used.insert(table_of_cut_[k]);
    }
    if (std::popcount(covered) != units) continue;
    const int average = (ranks_ * size + units - 1) / units;
    double least = infinite;
    for (const std::size_t table : used) {
      for (std::size_t set = 0; set < sets; ++set) {
        if (std::popcount(set) >= average) least = std::min(least, tables_[table][sets + set]);
      }
    }
    best = std::max(best, least);
  }
  return best;
}

}  // namespace corewise::place

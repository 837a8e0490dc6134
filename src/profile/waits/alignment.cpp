// Node clocks and their comparisons; see alignment.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/waits/alignment.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "profile/waits/causal.hpp"

namespace corewise::profile {
namespace {

using trace::FileHeader;
using trace::Reader;

/// Two readings of one clock that contradict each other by more are not of one clock, whatever the node's name.
constexpr double kSameClock_ns = 1e6;

/// A comparison is carried beyond the first and last one only if the rate it gives is known at least this well.
constexpr double kTrustedRate = 2e-5;

/// a - b, whatever a damaged header holds.
double difference(std::int64_t a, std::int64_t b) {
  return static_cast<double>(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)));
}

double difference(std::uint64_t a, std::uint64_t b) {
  return a >= b ? static_cast<double>(a - b) : -static_cast<double>(b - a);
}

struct Comparison {
  double node_ns;  ///< since the node's first reading
  double offset_ns;
  double uncertainty_ns;
};

/// One moment of a rank by its clocks.
struct Reading {
  std::uint64_t ticks = 0;
  std::int64_t ns = 0;
  std::int64_t realtime_ns = 0;
};

/// What the ranks of a node say together. `rate` is the best of all ranks with the node's name.
struct Node {
  Reading first;
  double rate = 1;
  bool holds_root = false;
  std::vector<const Reader*> readers;

  [[nodiscard]] double ns_at(std::uint64_t ticks) const { return difference(ticks, first.ticks) * rate; }

  /// Whether this rank reads the same clock.
  [[nodiscard]] bool agrees(const FileHeader& header) const {
    return std::abs(difference(header.start_ns, first.ns) - ns_at(header.start_ticks)) <= kSameClock_ns;
  }
};

Reading first_reading(const FileHeader& header) {
  return {header.start_ticks, header.start_ns, header.start_realtime_ns};
}

/// ns per tick by the rank that lived longest among those of one name: they read one counter.
double best_rate(std::span<const Reader* const> readers) {
  const Reader* best = readers.front();
  for (const Reader* each : readers)
    if (each->clock().known && (!best->clock().known || each->clock().span_ns > best->clock().span_ns)) best = each;
  return best->clock().ns_per_tick;
}

/// The node, from `from` on, whose clock this rank reads; a new one where there is none.
Node& node_for(const Reader& reader, std::vector<Node>& nodes, std::size_t from, double rate) {
  for (std::size_t i = from; i < nodes.size(); ++i)
    if (nodes[i].agrees(reader.header())) return nodes[i];
  nodes.emplace_back();
  nodes.back().first = first_reading(reader.header());
  nodes.back().rate = rate;
  return nodes.back();
}

/// The ranks of one name: one node, or several where they contradict each other. Earliest rank first.
void split_by_clock(std::vector<const Reader*> readers, std::vector<Node>& nodes) {
  std::stable_sort(readers.begin(), readers.end(), [](const Reader* a, const Reader* b) {
    return a->header().start_ticks < b->header().start_ticks;
  });
  const std::size_t from = nodes.size();
  const double rate = best_rate(readers);
  for (const Reader* reader : readers) {
    Node& node = node_for(*reader, nodes, from, rate);
    node.readers.push_back(reader);
    node.holds_root = node.holds_root || reader->header().rank == 0;
  }
}

std::vector<Node> find_nodes(std::span<const Reader* const> ranks) {
  std::map<std::pair<std::string, trace::Clock>, std::vector<const Reader*>> by_name;
  for (const Reader* reader : ranks) by_name[{reader->node(), reader->header().clock}].push_back(reader);
  std::vector<Node> nodes;
  for (auto& [name, readers] : by_name) split_by_clock(readers, nodes);
  return nodes;
}

/// Sorted, one per moment (every rank of a node holds its leader's), and such that time keeps going forward.
std::vector<Comparison> comparisons_of(const Node& node) {
  std::vector<Comparison> all;
  for (const Reader* reader : node.readers)
    for (const trace::ClockSync& sync : reader->clock_syncs())
      all.push_back({difference(sync.local_ns, node.first.ns), static_cast<double>(sync.offset_ns),
                     static_cast<double>(sync.uncertainty_ns)});
  std::sort(all.begin(), all.end(), [](const Comparison& a, const Comparison& b) {
    return std::pair(a.node_ns, a.uncertainty_ns) < std::pair(b.node_ns, b.uncertainty_ns);
  });
  std::vector<Comparison> kept;
  for (const Comparison& each : all) {
    const bool forward =
        kept.empty() || (each.node_ns > kept.back().node_ns &&
                         each.node_ns + each.offset_ns > kept.back().node_ns + kept.back().offset_ns);
    if (forward) kept.push_back(each);
  }
  return kept;
}

double rate_between(const Comparison& a, const Comparison& b) {
  return 1 + (b.offset_ns - a.offset_ns) / (b.node_ns - a.node_ns);
}

/// The rate before the first and after the last comparison.
double rate_beyond(const std::vector<Comparison>& found) {
  const Comparison& first = found.front();
  const Comparison& last = found.back();
  const double doubt = first.uncertainty_ns + last.uncertainty_ns;
  const bool trusted = found.size() > 1 && doubt <= kTrustedRate * (last.node_ns - first.node_ns);
  return trusted ? rate_between(first, last) : 1;
}

}  // namespace

/// Builds the clock of one node after the other.
class Aligner {
 public:
  explicit Aligner(std::span<const Reader* const> ranks) : nodes_(find_nodes(ranks)) { choose_root(); }

  std::map<const Reader*, RankClock> run() {
    std::vector<RankClock> clocks;
    double zero = std::numeric_limits<double>::max();
    for (const Node& node : nodes_) {
      clocks.push_back(clock_of(node));
      zero = std::min(zero, clocks.back().ns(node.first.ticks));
    }
    std::map<const Reader*, RankClock> out;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (RankClock::Knot& knot : clocks[i].knots_) knot.world_ns -= zero;
      clocks[i].node_ = static_cast<int>(i);
      for (const Reader* reader : nodes_[i].readers) out[reader] = clocks[i];
    }
    return out;
  }

 private:
  /// Rank 0's node, whose clock all were compared with. Where it left no file, the first that was compared: its
  /// first reading, by rank 0's clock, is where the others' offsets and CLOCK_REALTIME meet.
  void choose_root() {
    for (const Node& node : nodes_)
      if (node.holds_root) root_ = &node;
    for (const Node& node : nodes_)
      if (root_ == nullptr && !comparisons_of(node).empty()) root_ = &node;
    if (root_ == nullptr) root_ = &nodes_.front();
    const std::vector<Comparison> found = comparisons_of(*root_);
    if (!root_->holds_root && !found.empty()) root_offset_ns_ = offset_at_first(found);
  }

  /// A node's offset at its first reading.
  static double offset_at_first(const std::vector<Comparison>& found) {
    const Comparison& first = found.front();
    return first.offset_ns - first.node_ns * (rate_beyond(found) - 1);
  }

  /// In ns since the reference node's first reading.
  [[nodiscard]] RankClock clock_of(const Node& node) const {
    RankClock clock;
    clock.origin_ticks_ = node.first.ticks;
    clock.ns_per_tick_ = node.rate;
    if (node.holds_root) return clock;
    const std::vector<Comparison> found = comparisons_of(node);
    if (found.empty() && &node == root_) return clock;
    if (found.empty()) {
      clock.source_ = ClockSource::realtime;
      clock.knots_.front().world_ns = difference(node.first.realtime_ns, root_->first.realtime_ns);
      return clock;
    }
    clock.source_ = ClockSource::compared;
    add_knots(clock, found, difference(node.first.ns, root_->first.ns) - root_offset_ns_);
    return clock;
  }

  /// The first comparison makes two knots: the one before it has another rate.
  static void add_knots(RankClock& clock, const std::vector<Comparison>& found, double shift) {
    const double beyond = rate_beyond(found);
    const auto knot = [&](const Comparison& at, double rate) {
      clock.knots_.push_back({at.node_ns, at.node_ns + at.offset_ns + shift, rate});
      clock.uncertainty_ns_ = std::max(clock.uncertainty_ns_, at.uncertainty_ns);
    };
    clock.knots_.clear();
    knot(found.front(), beyond);
    for (std::size_t i = 0; i + 1 < found.size(); ++i) knot(found[i], rate_between(found[i], found[i + 1]));
    knot(found.back(), beyond);
  }

  std::vector<Node> nodes_;
  const Node* root_ = nullptr;
  double root_offset_ns_ = 0;  ///< of rank 0's clock to the reference node's at its first reading
};

double RankClock::ns(std::uint64_t ticks) const {
  const double node_ns = difference(ticks, origin_ticks_) * ns_per_tick_;
  const Knot* knot = knots_.data();
  if (knots_.size() > 1) {
    const auto next = std::upper_bound(knots_.begin() + 1, knots_.end(), node_ns,
                                       [](double value, const Knot& each) { return value < each.node_ns; });
    knot = &*(next - 1);
  }
  const double aligned_ns = knot->world_ns + (node_ns - knot->node_ns) * knot->rate;
  return correction_ == nullptr ? aligned_ns : correction_->corrected(aligned_ns);
}

std::vector<RankClock> align(std::span<const Reader* const> ranks) {
  const std::map<const Reader*, RankClock> clocks = Aligner(ranks).run();
  std::vector<RankClock> out;
  for (const Reader* reader : ranks) out.push_back(clocks.at(reader));
  return out;
}

}  // namespace corewise::profile

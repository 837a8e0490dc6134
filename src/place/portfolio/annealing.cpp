// Annealing: moves, cooling, descent. See annealing.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/portfolio/annealing.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/index.hpp"
#include "place/portfolio/acceptance.hpp"

namespace corewise::place {

namespace {

/// One proposal in so many exchanges whole blocks; the fewer the larger the classes of alike units, and with them
/// the blocks.
constexpr std::uint64_t block_every = 64;
/// Where there are large classes, one move of a rank in so many is of a group.
constexpr std::uint64_t group_every = 4;
constexpr std::uint64_t ask_every = 1024;
/// One move of ranks in so many is of one at the slowest link, where that is wanted. Few of them are accepted, and
/// they cost most: other ranks' moves are looked at only where the detour is small.
constexpr std::uint64_t worst_every = 4;
constexpr std::uint64_t look_every = 512;

}  // namespace

Annealing::Annealing(SmoothLoads& loads, const Neighbourhood& near, Rng& rng, std::function<bool()> should_stop)
    : loads_(loads), near_(near), rng_(rng), should_stop_(std::move(should_stop)) {}

bool Annealing::count_proposal() {
  ++proposals_;
  if (proposals_ % ask_every == 0 && should_stop_ && should_stop_()) stopped_ = true;
  return !stopped_;
}

void Annealing::exchange(machine::UnitId one, machine::UnitId other) {
  if (const int rank = loads_.rank_on(one); rank >= 0) moves_.push_back({rank, other});
  if (const int rank = loads_.rank_on(other); rank >= 0) moves_.push_back({rank, one});
}

void Annealing::draw_swap(int rank, machine::UnitId unit, bool alike_too) {
  const machine::UnitId left = loads_.assignment()[index(rank)];
  moves_.clear();
  if (alike_too ? left == unit : near_.are_alike(left, unit)) return;
  const auto rank_on = [this](machine::UnitId at) { return loads_.rank_on(at); };
  if (near_.limits.allows(rank, left, unit, rank_on)) exchange(left, unit);
}

/// Where single ranks of a cluster would only lengthen their routes, all together may shorten them. As many move as
/// the smaller group has.
void Annealing::draw_groups(machine::UnitId one, machine::UnitId other) {
  moves_.clear();
  if (near_.are_alike(one, other)) return;
  const std::size_t most = 1 + std::min(near_.alike[index(one)].size(), near_.alike[index(other)].size());
  const std::size_t size = most < 4 ? 1 : 2 + rng_.fast_below(most / 2 - 1);
  collect_group(one, size, group_);
  collect_group(other, size, other_group_);
  for (std::size_t k = 0; k < std::min(group_.size(), other_group_.size()); ++k)
    exchange(group_[k], other_group_[k]);
}

/// The unit and others that are alike, up to `size` in all: of ranks that talk to those of the group so far, then
/// free ones.
void Annealing::collect_group(machine::UnitId unit, std::size_t size, std::vector<machine::UnitId>& group) {
  group.assign(1, unit);
  const auto add = [&](machine::UnitId other) {
    if (group.size() < size && std::ranges::find(group, other) == group.end()) group.push_back(other);
  };
  for (std::size_t at = 0; at < group.size() && group.size() < size && loads_.rank_on(group[at]) >= 0; ++at) {
    const auto peers = loads_.peers_of(loads_.rank_on(group[at]));
    const std::size_t first = peers.empty() ? 0 : rng_.fast_below(peers.size());
    for (std::size_t k = 0; k < peers.size(); ++k) {
      const machine::UnitId there = loads_.assignment()[index(peers[(first + k) % peers.size()])];
      if (near_.are_alike(unit, there)) add(there);
    }
  }
  for (const machine::UnitId other : near_.alike[index(unit)]) {
    if (loads_.rank_on(other) < 0) add(other);
  }
}

bool Annealing::draw_blocks() {
  moves_.clear();
  looked_for_ = true;
  const auto& same_size = near_.blocks[rng_.fast_below(near_.blocks.size())];
  const auto& one = same_size[rng_.fast_below(same_size.size())];
  const auto& other = same_size[rng_.fast_below(same_size.size())];
  if (&one == &other) return false;
  const bool mirrored = rng_.fast_below(2) == 0;
  for (std::size_t k = 0; k < one.size(); ++k) exchange(one[k], other[mirrored ? one.size() - 1 - k : k]);
  if (near_.limits.any() && !near_.limits.hold(placement().unit_of_rank)) moves_.clear();
  return !moves_.empty();
}

bool Annealing::draw() {
  constexpr std::size_t few = Neighbourhood::few_alike;
  const std::uint64_t every = block_every * std::max(few, near_.most_alike) / few;
  return !near_.blocks.empty() && rng_.fast_below(every) == 0 ? draw_blocks() : draw_ranks(false);
}

bool Annealing::draw_ranks(bool alike_too) {
  looked_for_ = !at_the_worst_.empty() && rng_.fast_below(worst_every) == 0;
  const int rank = looked_for_ ? at_the_worst_[rng_.fast_below(at_the_worst_.size())]
                               : static_cast<int>(rng_.fast_below(index(loads_.ranks())));
  const auto peers = loads_.peers_of(rank);
  const std::uint64_t way = rng_.fast_below(3);
  machine::UnitId unit = 0;
  if (way == 0 || (way == 1 && peers.empty())) {
    unit = static_cast<int>(rng_.fast_below(index(loads_.units())));
  } else {
    const int where = way == 1 ? peers[rng_.fast_below(peers.size())] : rank;
    const auto& near = near_.aims(loads_.assignment()[index(where)], way == 1, rng_);
    if (near.empty()) return false;
    unit = near[rng_.fast_below(near.size())];
  }
  if (!alike_too && near_.has_large_classes() && rng_.fast_below(group_every) == 0) {
    draw_groups(loads_.assignment()[index(rank)], unit);
  } else {
    draw_swap(rank, unit, alike_too);
  }
  return !moves_.empty();
}

/// Most exchanges only lengthen routes, and that is cheaper to see than what becomes of the links. Who crowds the
/// slowest link has to give way, however far.
bool Annealing::is_hopeless(double usual_detour) {
  if (looked_for_) return false;
  const double detour = loads_.detour(moves_);
  return detour > 0 && exponential_is_less(detour / usual_detour, rng_);
}

void Annealing::look_at_the_worst() {
  at_the_worst_.clear();
  if (const std::int64_t slowest = loads_.slowest(); slowest >= 0) at_the_worst_ = loads_.ranks_at(slowest);
}

void Annealing::step() {
  if (!draw()) return;
  loads_.propose(moves_);
  loads_.accept();
}

bool Annealing::draw_single() {
  if (!draw_ranks(true)) return false;
  proposed_ = loads_.propose(moves_);
  return true;
}

bool Annealing::propose_swap(int rank, machine::UnitId unit) {
  draw_swap(rank, unit, false);
  if (moves_.empty()) return false;
  proposed_ = loads_.propose(moves_);
  return true;
}

machine::Placement Annealing::placement() const {
  machine::Placement placement{{loads_.assignment().begin(), loads_.assignment().end()}};
  for (const Relocation& move : moves_) placement.unit_of_rank[index(move.rank)] = move.unit;
  return placement;
}

void Annealing::cool(const Cooling& how) {
  std::vector<machine::UnitId> best(loads_.assignment().begin(), loads_.assignment().end());
  double least = loads_.smooth();
  double temperature = how.hot;
  constexpr std::uint64_t steps = 200;
  const std::uint64_t each = std::max<std::uint64_t>(1, how.proposals / steps);
  const double factor = std::pow(how.cold / how.hot, 1.0 / steps);
  Acceptance acceptance;
  for (std::uint64_t step = 0; step < steps; ++step, temperature *= factor) {
    for (std::uint64_t k = 0; k < each; ++k) {
      if (!count_proposal()) break;
      if (how.at_the_worst && k % look_every == 0) look_at_the_worst();
      if (!draw()) continue;
      ++acceptance.looked_at;
      if (is_hopeless(how.usual_detour)) continue;
      const double here = loads_.smooth();
      const double most = here * (1 - std::log(1 - rng_.uniform()) * temperature);
      if (loads_.propose(moves_, most) > most) continue;
      loads_.accept();
      ++acceptance.accepted;
      if (loads_.smooth() >= least) continue;
      least = loads_.smooth();
      best.assign(loads_.assignment().begin(), loads_.assignment().end());
    }
    if (stopped_ || ((step + 1) % (steps / 8) == 0 && acceptance.is_frozen())) break;
  }
  at_the_worst_.clear();
  loads_.assign(best);
}

void Annealing::descend(std::uint64_t most) {
  std::vector<std::pair<int, machine::UnitId>> all;
  for (int rank = 0; rank < loads_.ranks(); ++rank) {
    for (int unit = 0; unit < loads_.units(); ++unit) all.emplace_back(rank, unit);
  }
  rng_.shuffle(std::span(all));
  const std::uint64_t end = proposals_ + most;
  std::uint64_t since = 0;
  for (std::size_t at = 0; since < all.size() && proposals_ < end; at = (at + 1) % all.size(), ++since) {
    if (!count_proposal()) return;
    draw_swap(all[at].first, all[at].second, false);
    if (moves_.empty()) continue;
    if (!loads_.propose_flatter(moves_)) continue;
    loads_.accept();
    since = 0;
  }
}

}  // namespace corewise::place

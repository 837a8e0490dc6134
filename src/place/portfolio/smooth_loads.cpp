// Smooth loads: loads, powers, proposals. See smooth_loads.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/portfolio/smooth_loads.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "base/index.hpp"

namespace corewise::place {

namespace {

/// Sums of terms that come and go collect rounding errors: after so many changes they are added up anew.
constexpr int most_accepted = 1024;
/// Of such a sum, as a part of it, and far more.
constexpr double rounding = 1e-9;
/// Proposals between two decisions whether to store costs, or times.
constexpr std::uint64_t decide_every = 1024;
constexpr double beyond = std::numeric_limits<double>::infinity();

template <class Stored>
bool is_stored(const std::optional<Stored>& one) {
  return one && one->stored();
}

}  // namespace

SmoothLoads::SmoothLoads(const RoutedShares& shares, const Workload& work)
    : shares_(shares),
      links_(std::max<std::size_t>(1, index(shares.links()))),
      messages_(work),
      unit_of_rank_(index(work.ranks)),
      moving_(index(work.ranks), 0) {
  loads_.resize(work.phases.size() * links_);
  for (std::size_t phase = 0; phase < work.phases.size(); ++phase) {
    weights_.push_back(work.weight(phase));
    for (int link = 0; link < shares.links(); ++link) {
      loads_[phase * links_ + index(link)].ns_per_part = shares.time_ns(1, link);
    }
    phase_of_.resize(phase_of_.size() + links_, static_cast<std::uint32_t>(phase));
  }
  touched_.assign(loads_.size(), 0);
  changed_.resize(loads_.size() + 1);
  sums_.resize(work.phases.size());
  next_.resize(work.phases.size());
  phase_changes_.assign(work.phases.size(), 0);
  std::iota(unit_of_rank_.begin(), unit_of_rank_.end(), 0);
  assign(std::vector<int>(unit_of_rank_));
}

PairCosts SmoothLoads::hop_bytes_of_pairs() const {
  PairCosts::Aspect aspect;
  for (int peer = 0; peer < units(); ++peer) {
    for (int own = 0; own < units(); ++own) aspect.table.push_back(shares_.hops(own, peer));
  }
  std::vector<double> bytes(unit_of_rank_.size(), 0);
  for (int rank = 0; rank < ranks(); ++rank) {
    for (const PeerMessage& message : messages_.of(rank)) {
      bytes[index(message.peer)] += static_cast<double>(message.bytes);
    }
    for (const int peer : peers_of(rank)) aspect.weights.push_back(std::exchange(bytes[index(peer)], 0));
  }
  return {units(), messages_.first_peer(), messages_.peers(), {aspect}};
}

void SmoothLoads::assign(Assignment unit_of_rank) {
  unit_of_rank_.assign(unit_of_rank.begin(), unit_of_rank.end());
  rank_on_unit_.assign(index(units()), -1);
  drop_proposal();
  for (LinkTerm& load : loads_) load.parts = 0;
  for (Sum& sum : sums_) sum = {};
  double hop_bytes = 0;
  for (int rank = 0; rank < ranks(); ++rank) {
    rank_on_unit_[index(unit_of_rank_[index(rank)])] = rank;
    for (const PeerMessage& message : messages_.of(rank)) {
      if (!message.outgoing) continue;
      hop_bytes += static_cast<double>(message.bytes) *
                   shares_.hops(unit_of_rank_[index(rank)], unit_of_rank_[index(message.peer)]);
      LinkTerm* load = loads_.data() + message.phase * links_;
      for (const Share& share : shares_of(rank, message, unit_of_rank_)) {
        load[share.link].parts += message.bytes * share.parts;
      }
    }
  }
  hop_bytes_of_a_rank_ = 2 * hop_bytes / ranks();
  next_unit_of_rank_ = unit_of_rank_;
  if (hop_bytes_) hop_bytes_->drop();
  if (own_) own_->drop();
  detours_ = limited_ = {};
  settle_smooth();
}

void SmoothLoads::set_power(int doublings) {
  doublings_ = doublings;
  settle_smooth();
}

double SmoothLoads::root_of(double sum) const {
  sum = std::max(sum, 0.0);
  for (int k = 0; k < doublings_; ++k) sum = std::sqrt(sum);
  return sum;
}

void SmoothLoads::settle_smooth() {
  smooth_ = 0;
  for (std::size_t phase = 0; phase < sums_.size(); ++phase) {
    double terms = 0;
    with_constant(doublings_, [&](auto doublings) {
      for (LinkTerm& load : std::span(loads_).subspan(phase * links_, links_)) {
        load.term = raised<doublings>(load.time_ns());
        terms += load.term;
      }
    });
    sums_[phase].terms = terms;
    sums_[phase].root = root_of(terms);
    smooth_ += weights_[phase] * sums_[phase].root;
  }
  next_smooth_ = smooth_;
  accepted_ = 0;
  terms_changed();
}

void SmoothLoads::find_slowest(std::size_t phase) {
  Sum& sum = sums_[phase];
  if (sum.most >= 0) return;
  const auto loads = std::span<const LinkTerm>(loads_).subspan(phase * links_, links_);
  sum.most = 0;
  for (const LinkTerm& load : loads) sum.most = std::max(sum.most, load.time_ns());
  sum.slowest = static_cast<std::size_t>(
      std::count_if(loads.begin(), loads.end(), [&](const LinkTerm& load) { return load.time_ns() == sum.most; }));
}

double SmoothLoads::bottleneck_ns() {
  double total = 0;
  for (std::size_t phase = 0; phase < sums_.size(); ++phase) {
    find_slowest(phase);
    total += weights_[phase] * sums_[phase].most;
  }
  return total;
}

/// The routes that messages of a rank leave and take.
void SmoothLoads::collect_routes(int rank) {
  const auto note = [this](std::vector<Route>& routes, std::span<const Share> shares, std::uint32_t phase,
                           std::uint64_t bytes) {
    if (shares.empty()) return;
    __builtin_prefetch(shares.data());
    routes.push_back({shares, phase * links_, bytes});
    if (std::exchange(phase_changes_[phase], 1) == 0) next_phases_.push_back(phase);
  };
  for (const PeerMessage& message : messages_.of(rank)) {
    // Between two ranks that both move, the sender's entry stands for the message.
    if (!message.outgoing && moving_[index(message.peer)]) continue;
    note(left_, shares_of(rank, message, unit_of_rank_), message.phase, 0 - message.bytes);
    note(taken_, shares_of(rank, message, next_unit_of_rank_), message.phase, message.bytes);
  }
}

/// Adds a route's part to the differences. Returns, where that is wanted, the time of its slowest link with what
/// was counted so far.
template <bool timed>
double SmoothLoads::count(const Route& route) {
  // Pointers of its own, which no write to a byte can change; and no branch: which links were met before is
  // anybody's guess.
  char* const touched = touched_.data();
  std::uint32_t* const changed = changed_.data();
  std::size_t changes = changes_;
  LinkTerm* const loads = loads_.data() + route.start;
  double most = 0;
  for (const Share& share : route.shares) {
    const std::size_t at = route.start + index(share.link);
    changed[changes] = static_cast<std::uint32_t>(at);
    changes += touched[at] == 0 ? 1 : 0;
    touched[at] = 1;
    LinkTerm& load = loads[share.link];
    load.difference += route.bytes * share.parts;
    if constexpr (timed) most = std::max(most, load.next_time_ns());
  }
  changes_ = changes;
  return most;
}

/// Whether the terms of the route's links grow by more than `most`, one link alone. What a message left makes its
/// term no larger than it was before.
bool SmoothLoads::grows_beyond(const Route& route, double most) const {
  bool grows = false;
  with_constant(doublings_, [&](auto doublings) {
    for (const Share& share : route.shares) {
      const LinkTerm& load = loads_[route.start + index(share.link)];
      grows = grows || raised<doublings>(load.next_time_ns()) - load.term > most;
    }
  });
  return grows;
}

void SmoothLoads::drop_proposal() {
  for (const Relocation& move : moves_) next_unit_of_rank_[index(move.rank)] = unit_of_rank_[index(move.rank)];
  for (const std::uint32_t at : changed()) {
    loads_[at].difference = 0;
    touched_[at] = 0;
  }
  changes_ = 0;
  moves_.clear();
  for (const std::size_t phase : next_phases_) phase_changes_[phase] = 0;
  next_phases_.clear();
  next_smooth_ = smooth_;
}

double SmoothLoads::detour(std::span<const Relocation> moves) {
  drop_proposal();
  if (++detours_.looked_at == decide_every) {
    if (!is_stored(hop_bytes_) && PairCosts::are_worth_storing(index(units()), detours_)) {
      if (!hop_bytes_) hop_bytes_.emplace(hop_bytes_of_pairs());
      hop_bytes_->store(unit_of_rank_);
    }
    detours_ = {};
  }
  return hop_bytes_of_a_rank_ > 0 ? hop_bytes_more(moves) / hop_bytes_of_a_rank_ : 0;
}

bool SmoothLoads::is_exchange(std::span<const Relocation> moves) const {
  const auto takes_the_place = [&](const Relocation& one, const Relocation& other) {
    return one.unit == unit_of_rank_[index(other.rank)];
  };
  return moves.size() == 1 || (moves.size() == 2 && takes_the_place(moves.front(), moves.back()) &&
                               takes_the_place(moves.back(), moves.front()));
}

double SmoothLoads::hop_bytes_more(std::span<const Relocation> moves) {
  if (is_stored(hop_bytes_) && is_exchange(moves)) {
    // Between two that trade places the ways there and back change places, too: nothing more.
    const int other = moves.size() == 1 ? -1 : moves.back().rank;
    const Relocation& one = moves.front();
    return hop_bytes_->more(one.rank, unit_of_rank_[index(one.rank)], other, one.unit);
  }
  for (const Relocation& move : moves) next_unit_of_rank_[index(move.rank)] = move.unit;
  double more = 0;
  for (const Relocation& move : moves) {
    const int before = unit_of_rank_[index(move.rank)];
    for (const PeerMessage& message : messages_.of(move.rank)) {
      more +=
          static_cast<double>(message.bytes) * (shares_.hops(move.unit, next_unit_of_rank_[index(message.peer)]) -
                                                shares_.hops(before, unit_of_rank_[index(message.peer)]));
    }
  }
  for (const Relocation& move : moves) next_unit_of_rank_[index(move.rank)] = unit_of_rank_[index(move.rank)];
  return more;
}

/// Notes the moves, the phases that they change, and counts what they leave; what they take waits in taken_.
void SmoothLoads::begin(std::span<const Relocation> moves) {
  drop_proposal();
  moves_.assign(moves.begin(), moves.end());
  for (const Relocation& move : moves) {
    moving_[index(move.rank)] = 1;
    next_unit_of_rank_[index(move.rank)] = move.unit;
  }
  left_.clear();
  taken_.clear();
  for (const Relocation& move : moves) collect_routes(move.rank);
  for (const Relocation& move : moves) moving_[index(move.rank)] = 0;
  std::sort(next_phases_.begin(), next_phases_.end());
  for (const std::size_t phase : next_phases_) next_[phase] = {};
  for (const Route& route : left_) count<false>(route);
}

double SmoothLoads::propose(std::span<const Relocation> moves) {
  begin(moves);
  for (const Route& route : taken_) count<false>(route);
  settle_proposal();
  return next_smooth_;
}

bool SmoothLoads::is_certain_to_exceed(double most, std::span<const Relocation> moves) {
  if (++limited_.looked_at == decide_every) {
    if (!is_stored(own_) && OwnLoads::are_worth_storing(unit_of_rank_.size() * links_, limited_)) {
      if (!own_) own_.emplace(shares_, messages_, ranks());
      own_->store(unit_of_rank_, loads_);
    }
    limited_ = {};
  }
  if (!is_stored(own_) || moves.empty() || moves.size() > 2) return false;
  bool exceeds = false;
  with_constant(doublings_, [&](auto doublings) {
    const double room = raised<doublings>(most / weights_.front()) * (1 + rounding) - sums_.front().terms;
    exceeds = own_->grow_beyond<doublings>(room, moves, unit_of_rank_, loads_);
  });
  return exceeds;
}

double SmoothLoads::propose(std::span<const Relocation> moves, double most) {
  if (sums_.size() != 1) return propose(moves);
  if (is_certain_to_exceed(most, moves)) {
    drop_proposal();
    return beyond;
  }
  begin(moves);
  // What the terms of the links may grow by, after those that messages leave have shrunk.
  double room = most / weights_.front();
  for (int k = 0; k < doublings_; ++k) room *= room;
  room = room * (1 + rounding) - sums_.front().terms - added_terms();
  const double most_ns = root_of(room);
  for (const Route& route : taken_) {
    if (count<true>(route) > most_ns && grows_beyond(route, room)) return beyond;
  }
  settle_proposal();
  return next_smooth_;
}

/// What the changed links' terms of one phase grow by.
double SmoothLoads::added_terms() const {
  double added = 0;
  with_constant(doublings_, [&](auto doublings) {
    double sum = 0;  // its own: kept in a register
    for (const std::uint32_t at : changed()) {
      const LinkTerm& load = loads_[at];
      sum += raised<doublings>(load.next_time_ns()) - load.term;
    }
    added = sum;
  });
  return added;
}

/// What the changed links' terms come to.
void SmoothLoads::settle_proposal() {
  if (sums_.size() == 1) {
    next_.front().terms = added_terms();
  } else {
    with_constant(doublings_, [this](auto doublings) {
      for (const std::uint32_t at : changed()) {
        const LinkTerm& load = loads_[at];
        next_[phase_of(at)].terms += raised<doublings>(load.next_time_ns()) - load.term;
      }
    });
  }
  next_smooth_ = smooth_;
  for (const std::size_t phase : next_phases_) {
    next_[phase].root = root_of(sums_[phase].terms + next_[phase].terms);
    next_smooth_ += weights_[phase] * (next_[phase].root - sums_[phase].root);
  }
}

/// Of one phase: a link that is only taken gets slower than it was, so where a link gets slower than all that were
/// left have been, the slowest of the changed links does.
bool SmoothLoads::propose_flatter(std::span<const Relocation> moves) {
  begin(moves);
  double most_ns = sums_.size() == 1 ? 0 : beyond;
  for (const std::uint32_t at : changed()) most_ns = std::max(most_ns, loads_[at].time_ns());
  for (const Route& route : taken_) {
    if (count<true>(route) > most_ns) return false;
  }
  if (!proposal_is_flatter()) return false;
  settle_proposal();
  return true;
}

/// Time of the slowest link after the proposal. Unchanged ones are looked at only where all that were slowest
/// change.
double SmoothLoads::next_most(std::size_t phase) const {
  const Sum& sum = sums_[phase];
  const Next& next = next_[phase];
  if (next.most >= sum.most || next.left < sum.slowest) return std::max(next.most, sum.most);
  double most = next.most;
  for (std::size_t at = phase * links_; at < (phase + 1) * links_; ++at) {
    if (loads_[at].difference == 0) most = std::max(most, loads_[at].time_ns());
  }
  return most;
}

bool SmoothLoads::proposal_is_flatter() {
  for (const std::size_t phase : next_phases_) {
    find_slowest(phase);
    next_[phase].most = 0;
    next_[phase].left = 0;
  }
  for (const std::uint32_t at : changed()) {
    const std::size_t phase = phase_of(at);
    Next& next = next_[phase];
    next.most = std::max(next.most, loads_[at].next_time_ns());
    if (loads_[at].difference != 0 && loads_[at].time_ns() == sums_[phase].most) ++next.left;
  }
  double difference_ns = 0;
  for (const std::size_t phase : next_phases_)
    difference_ns += weights_[phase] * (next_most(phase) - sums_[phase].most);
  return difference_ns != 0 ? difference_ns < 0 : changed_links_are_flatter();
}

bool SmoothLoads::changed_links_are_flatter() {
  before_.clear();
  after_.clear();
  for (const std::uint32_t at : changed()) {
    if (loads_[at].difference == 0) continue;
    before_.push_back(weights_[phase_of(at)] * loads_[at].time_ns());
    after_.push_back(weights_[phase_of(at)] * loads_[at].next_time_ns());
  }
  if (before_.empty()) return false;
  const double most_before = *std::max_element(before_.begin(), before_.end());
  const double most_after = *std::max_element(after_.begin(), after_.end());
  if (most_before != most_after) return most_after < most_before;
  std::sort(before_.begin(), before_.end(), std::greater<>());
  std::sort(after_.begin(), after_.end(), std::greater<>());
  return after_ < before_;
}

void SmoothLoads::accept() {
  if (is_stored(own_)) own_->move(moves_, unit_of_rank_, next_unit_of_rank_, loads_);
  if (hop_bytes_ && moves_.size() > 2) hop_bytes_->drop();  // as many renewals as ranks move
  ++detours_.accepted;
  ++limited_.accepted;
  for (const Relocation& move : moves_) {
    const int left = unit_of_rank_[index(move.rank)];
    if (is_stored(hop_bytes_)) hop_bytes_->moved(move.rank, left, move.unit);
    if (rank_on_unit_[index(left)] == move.rank) rank_on_unit_[index(left)] = -1;
    unit_of_rank_[index(move.rank)] = move.unit;
    rank_on_unit_[index(move.unit)] = move.rank;
  }
  with_constant(doublings_, [this](auto doublings) {
    for (const std::uint32_t at : changed()) {
      LinkTerm& load = loads_[at];
      load.parts += load.difference;
      load.term = raised<doublings>(load.time_ns());
    }
  });
  for (const std::size_t phase : next_phases_) {
    sums_[phase] = {sums_[phase].terms + next_[phase].terms, next_[phase].root};
  }
  smooth_ = next_smooth_;
  drop_proposal();
  terms_changed();
  if (++accepted_ >= most_accepted) settle_smooth();
}

std::int64_t SmoothLoads::slowest() const {
  std::int64_t found = -1;
  double most = 0;
  for (std::size_t at = 0; at < loads_.size(); ++at) {
    const double time = weights_[phase_of(at)] * loads_[at].time_ns();
    if (time <= most) continue;
    most = time;
    found = static_cast<std::int64_t>(at);
  }
  return found;
}

std::vector<int> SmoothLoads::ranks_at(std::int64_t place) const {
  const auto phase = static_cast<std::uint32_t>(static_cast<std::size_t>(place) / links_);
  const int link = static_cast<int>(static_cast<std::size_t>(place) % links_);
  std::vector<char> there(unit_of_rank_.size(), 0);
  for (int rank = 0; rank < ranks(); ++rank) {
    for (const PeerMessage& message : messages_.of(rank)) {
      if (!message.outgoing || message.phase != phase) continue;
      const std::span<const Share> shares = shares_of(rank, message, unit_of_rank_);
      // Routes are short, and nothing predicts the branches of a binary search.
      bool crosses = false;
      for (const Share& share : shares) crosses |= share.link == link;
      if (crosses) there[index(rank)] = there[index(message.peer)] = 1;
    }
  }
  std::vector<int> found;
  for (int rank = 0; rank < ranks(); ++rank) {
    if (there[index(rank)] != 0) found.push_back(rank);
  }
  return found;
}

}  // namespace corewise::place

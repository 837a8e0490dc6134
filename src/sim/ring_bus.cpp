// The arbiter as an event-driven machine: for every waiting head and every ring, `earliest_` holds the first cycle
// in which nothing but the ring's start slots would stop it. A start changes these only for packets that share its
// way, its source or its destination, so that is all that is computed again; the next arbitration is the earliest
// slot at or after any of them. Packets of one ring are booked in the order of their starts, and a later packet
// never passes a stop before an earlier one, so one time per stop (the end of its last booking) says all about the
// ring. That holds while a packet is longer than any way plus its start and end (stops / 2 + 2): with shorter ones
// the ring would have free gaps before its last booking, which one time per stop cannot tell.
//
// The limit of transfers is not part of `earliest_`: a ring is full until the first of its last
// `transfers_per_ring` transfers has arrived, and until then takes packets of those transfers only.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/ring_bus.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace corewise::sim {
namespace {

constexpr Time kNever = kForever / 4;  // sums with cycles must not overflow

int lowest(std::uint64_t bits) {
  return std::countr_zero(bits);
}
/// The shift that divides by `divisor`, -1 where none does: divisions cost more than a start's other arithmetic.
int shift_of(Time divisor) {
  const auto bits = static_cast<std::uint64_t>(divisor);
  return std::has_single_bit(bits) ? std::countr_zero(bits) : -1;
}
std::size_t sz(int value) {
  return static_cast<std::size_t>(value);
}

}  // namespace

RingBus::RingBus(Engine& engine, const RingBusSpec& spec)
    : engine_(engine), spec_(spec), rings_(2 * spec.rings_per_direction), rng_(spec.seed) {
  assert(spec_.packet_beats >= spec_.stops / 2 + 2 && spec_.half_way_packets >= 1);
  const std::size_t stops = sz(spec_.stops), rings = sz(rings_);
  spec_.priority.resize(stops, 0);
  queues_.resize(stops);
  for (auto& ring : earliest_) ring.fill(kNever);
  if (std::has_single_bit(static_cast<std::uint64_t>(spec_.start_period))) slot_mask_ = spec_.start_period - 1;
  ranks_.resize(stops);
  cycle_shift_ = shift_of(spec_.cycle_ticks);
  if (spec_.age_step > 0) age_shift_ = shift_of(spec_.age_step * spec_.cycle_ticks);
  transfers_.resize(rings * sz(spec_.transfers_per_ring));
  sent_since_rest_.assign(stops, 0);
  half_way_.resize(stops);
  hops_.assign(stops * stops, 0);
  way_.assign(2 * stops * stops, 0);
  loads_.resize(rings * stops * stops);
  busy_until_.assign(rings, 0);
  busy_.assign(rings, 0);
  wait_ticks_.assign(stops, 0);
  for (int source = 0; source < spec_.stops; ++source) {
    for (int destination = 0; destination < spec_.stops; ++destination) {
      const int up = (destination - source + spec_.stops) % spec_.stops, down = spec_.stops - up;
      hops_[index(source, destination)] = static_cast<std::int8_t>(std::min(up, down));
      for (const int ring : {0, spec_.rings_per_direction}) {
        const int hops = upwards(ring) ? up : down;
        if (source == destination || 2 * hops > spec_.stops) continue;
        std::uint64_t& way = way_[(upwards(ring) ? 0 : stops * stops) + index(source, destination)];
        for (int k = 0; k < hops + (spec_.end_ramps ? 1 : 0); ++k) {
          way |= std::uint64_t{1} << ((place(ring, source) + k) % spec_.stops);
        }
      }
    }
  }
}

int RingBus::hops(int source, int destination) const {
  return hops_[index(source, destination)];
}

bool RingBus::Queue::insert(const Entry& entry) {
  if (count == entries.size()) {
    std::vector<Entry> larger(std::max<std::size_t>(32, 2 * entries.size()));
    for (std::size_t i = 0; i < count; ++i) larger[i] = at(i);
    entries.swap(larger);
    head = 0;
  }
  std::size_t place = count++;
  for (; place > 0 && at(place - 1).packet.ready > entry.packet.ready; --place) at(place) = at(place - 1);
  at(place) = entry;
  return place == 0;
}

void RingBus::send(const Packet& packet) {
  Queue& queue = queues_[sz(packet.source)];
  const Time ready = std::max(packet.ready, engine_.now());
  Entry entry{packet, cycle_from(ready), order_++};
  entry.packet.ready = ready;
  ++waiting_;
  if (!queue.insert(entry)) return;
  heads_ |= std::uint64_t{1} << packet.source;
  refresh_head(packet.source);
  schedule(next_start_of(packet.source));
}

Time RingBus::way_free(int ring, int source, int hops) const {
  const Time* free = &free_at_[sz(ring)][sz(place(ring, source))];
  const int last = hops - (spec_.end_ramps ? 0 : 1);
  Time from = 0;
  for (int k = 0; k <= last; ++k) from = std::max(from, free[k] - k);
  return from;
}

/// What the head of `source` must wait for on each ring.
void RingBus::refresh_head(int source) {
  const Entry& entry = queues_[sz(source)].front();
  const int destination = entry.packet.destination, hops = hops_[index(source, destination)];
  const Time since = std::max(entry.ready_cycle, out_free_[sz(source)]);
  rivals_[sz(ranks_[sz(source)].destination)] &= ~(std::uint64_t{1} << source);  // an overtaken head's
  // Without steps, exact readiness decides, and then the order of sending.
  ranks_[sz(source)] = spec_.age_step > 0
                           ? Rank{age_step_of(entry.packet.ready), since, since, entry.order, destination}
                           : Rank{entry.packet.ready, 0, since, entry.order, destination};
  rivals_[sz(destination)] |= std::uint64_t{1} << source;
  const Time ports = std::max(since, in_free_[sz(destination)] - hops);
  const std::size_t pairs = sz(spec_.stops * spec_.stops), pair = index(source, destination);
  for (const int direction : {0, 1}) {
    const std::uint64_t way = way_[sz(direction) * pairs + pair];
    head_way_[sz(direction)][sz(source)] = way;
    const int first = direction * spec_.rings_per_direction;
    for (int ring = first; ring < first + spec_.rings_per_direction; ++ring) {
      earliest_[sz(ring)][sz(source)] = way != 0 ? std::max(ports, way_free(ring, source, hops)) : kNever;
    }
  }
  if (2 * hops == spec_.stops) keep_direction(source, since);
}

/// The half-way head of `source`, which is first in line since `since`, does not leave the direction yet that those
/// before it took.
void RingBus::keep_direction(int source, Time since) {
  const HalfWay& kept = half_way_[sz(source)];
  if (kept.direction < 0) return;
  const Time from = kept.left > 0 ? kNever : since + spec_.half_way_wait;
  const int first = (1 - kept.direction) * spec_.rings_per_direction;
  for (int ring = first; ring < first + spec_.rings_per_direction; ++ring) {
    Time& earliest = earliest_[sz(ring)][sz(source)];
    earliest = std::max(earliest, from);
  }
}

void RingBus::count_half_way(int ring, int source, int hops) {
  if (2 * hops != spec_.stops) return;
  HalfWay& kept = half_way_[sz(source)];
  if (kept.left == 0) kept = {upwards(ring) ? 0 : 1, spec_.half_way_packets};
  --kept.left;
}

/// The source has no packet.
void RingBus::forget_head(int source) {
  head_way_[0][sz(source)] = head_way_[1][sz(source)] = 0;
  for (int ring = 0; ring < rings_; ++ring) earliest_[sz(ring)][sz(source)] = kNever;
}

/// The ring's first slot for the head of `source`, as far as is known now.
Time RingBus::slot_of(int ring, int source) const {
  const Time full_until = full_until_[sz(ring)];
  const Time slot = next_slot(ring, std::max(earliest_[sz(ring)][sz(source)], ring_gate_[sz(ring)]));
  if (slot >= full_until) return slot;
  for (const Transfer& transfer : transfers_of(ring)) {
    if (transfer.source == source) return slot;
  }
  return next_slot(ring, full_until);
}

Time RingBus::next_start_of(int source) const {
  Time best = kNever;
  for (int ring = 0; ring < rings_; ++ring) {
    const Time earliest = earliest_[sz(ring)][sz(source)];
    if (earliest < best) best = std::min(best, slot_of(ring, source));
  }
  return best;
}

Time RingBus::next_start() const {
  Time best = kNever;
  const int stops = spec_.stops;
  for (int ring = 0; ring < rings_; ++ring) {
    const Time* earliest = earliest_[sz(ring)].data();
    Time first = kNever;
    for (int source = 0; source < stops; ++source) {
      const bool counts = (refused_ >> source & 1) == 0;
      first = counts && earliest[source] < first ? earliest[source] : first;
    }
    if (first >= best) continue;
    Time slot = next_slot(ring, std::max(first, ring_gate_[sz(ring)]));
    if (slot < full_until_[sz(ring)]) {  // for a new transfer; those under way may be earlier
      slot = next_slot(ring, full_until_[sz(ring)]);
      for (const Transfer& transfer : transfers_of(ring)) {
        if (transfer.source < 0 || (refused_ >> transfer.source & 1) != 0) continue;
        if (earliest[transfer.source] < slot) slot = std::min(slot, slot_of(ring, transfer.source));
      }
    }
    best = std::min(best, slot);
  }
  return best;
}

/// Only the earliest event counts; one that was overtaken finds another cycle in `scheduled_` and does nothing.
void RingBus::schedule(Time cycle) {
  if (cycle >= scheduled_ || cycle >= kNever) return;
  scheduled_ = cycle;
  engine_.at(std::max(cycle * spec_.cycle_ticks, engine_.now()),
             {&arbitrate_at, this, static_cast<std::uint64_t>(cycle)});
}

void RingBus::arbitrate_at(void* self, std::uint64_t cycle) {
  auto& bus = *static_cast<RingBus*>(self);
  if (bus.scheduled_ != static_cast<Time>(cycle)) return;
  bus.arbitrate(static_cast<Time>(cycle));
}

void RingBus::arbitrate(Time cycle) {
  const int period = spec_.start_period;
  const Time phase = slot_mask_ >= 0 ? cycle & slot_mask_ : cycle % period;
  for (int ring = static_cast<int>(phase); ring < rings_; ring += period) start_one(ring, cycle);
  scheduled_ = kForever;
  schedule(next_start());
}

void RingBus::start_one(int ring, Time cycle) {
  if (ring_gate_[sz(ring)] > cycle) return;
  const int source = best_head(ring, cycle);
  if (source >= 0) start(ring, source, cycle);
}

bool RingBus::goes_before(int source, int other) const {
  const int above = spec_.priority[sz(source)] - spec_.priority[sz(other)];
  if (above != 0) return above > 0;
  const Rank& a = ranks_[sz(source)];
  const Rank& b = ranks_[sz(other)];
  if (a.step != b.step) return a.step < b.step;
  if (a.leads_since != b.leads_since) return a.leads_since < b.leads_since;
  return a.order < b.order;
}

/// Whether the port of the head's destination is kept for a ready head that goes before it.
bool RingBus::port_is_anothers(int source, Time cycle) const {
  const std::uint64_t rivals = rivals_[sz(ranks_[sz(source)].destination)] & heads_;
  for (std::uint64_t left = rivals & ~(std::uint64_t{1} << source); left != 0; left &= left - 1) {
    const int rival = lowest(left);
    if (ranks_[sz(rival)].ready <= cycle && goes_before(rival, source)) return true;
  }
  return false;
}

/// The head that may start and goes before all others that may; -1: none.
int RingBus::best_head(int ring, Time cycle) {
  if (spec_.port_to_oldest) return best_with_port(admitted(ring, cycle) & ~refused_, ring, cycle);
  int best = -1;
  const Time* earliest = earliest_[sz(ring)].data();
  for (std::uint64_t left = admitted(ring, cycle); left != 0; left &= left - 1) {
    const int source = lowest(left);
    if (earliest[source] > cycle) continue;
    if (best < 0 || goes_before(source, best)) best = source;
  }
  return best;
}

/// The same where ports are kept.
int RingBus::best_with_port(std::uint64_t sources, int ring, Time cycle) {
  int best = -1;
  const Time* earliest = earliest_[sz(ring)].data();
  for (std::uint64_t left = sources; left != 0; left &= left - 1) {
    const int source = lowest(left);
    if (earliest[source] > cycle || (best >= 0 && !goes_before(source, best))) continue;
    if (port_is_anothers(source, cycle)) {
      refused_ |= std::uint64_t{1} << source;
    } else {
      best = source;
    }
  }
  return best;
}

int RingBus::rest() {
  if (spec_.rest_spread == 0) return spec_.rest_cycles;
  const auto draw = rng_.below(static_cast<std::uint64_t>(2 * spec_.rest_spread + 1));
  return std::max(0, spec_.rest_cycles - spec_.rest_spread + static_cast<int>(draw));
}

void RingBus::start(int ring, int source, Time cycle) {
  Queue& queue = queues_[sz(source)];
  const Entry entry = queue.front();
  const int destination = entry.packet.destination, hops = hops_[index(source, destination)];
  rivals_[sz(destination)] &= ~(std::uint64_t{1} << source);
  refused_ = 0;
  count_half_way(ring, source, hops);
  const bool last = entry.packet.bytes_to_follow == 0;
  if (last) {
    queue.pop();
    --waiting_;
  } else {
    next_of_message(queue, cycle);
  }
  Time resting = 0;
  if (spec_.rest_after > 0 && ++sent_since_rest_[sz(source)] == spec_.rest_after) {
    sent_since_rest_[sz(source)] = 0;
    resting = rest();
  }
  out_free_[sz(source)] = cycle + spec_.packet_beats + resting;
  in_free_[sz(destination)] = cycle + hops + spec_.packet_beats;
  book(ring, source, hops, cycle);
  account(ring, entry, hops, cycle);
  if (queue.count == 0) heads_ &= ~(std::uint64_t{1} << source);
  constrain(ring, source, destination, hops, cycle);
  if (queue.count != 0) {
    refresh_head(source);
  } else {
    forget_head(source);
  }
  if (last && entry.packet.delivered.call != nullptr) {
    engine_.at((cycle + hops + spec_.packet_beats) * spec_.cycle_ticks, entry.packet.delivered);
  }
  if (entry.packet.started.call != nullptr) entry.packet.started();
}

/// The packet that starts makes room for the next one of its message, at the end of the line.
void RingBus::next_of_message(Queue& queue, Time cycle) {
  Entry& front = queue.front();
  Packet& packet = front.packet;
  packet.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(packet.bytes, packet.bytes_to_follow));
  packet.bytes_to_follow -= packet.bytes;
  packet.ready = cycle * spec_.cycle_ticks;
  front.ready_cycle = cycle;
  front.order = order_++;
  if (queue.count == 1) return;
  const Entry next = front;
  queue.pop();
  queue.insert(next);
}

void RingBus::book(int ring, int source, int hops, Time cycle) {
  Time* free = free_at_[sz(ring)].data();
  const int first = place(ring, source), last = first + hops - (spec_.end_ramps ? 0 : 1);
  Time end = cycle + spec_.packet_beats;
  for (int at = first; at <= last; ++at, ++end) {
    free[at] = end;
    free[at < spec_.stops ? at + spec_.stops : at - spec_.stops] = end;
  }
  Time& gate = ring_gate_[sz(ring)];
  gate = cycle + 1;
  if (spec_.transfers_per_ring != 0) count_transfer(ring, source, cycle + hops + spec_.packet_beats);
}

/// Keeps the last ones to arrive: any other of the ring's transfers has arrived by now, or this could not start.
void RingBus::count_transfer(int ring, int source, Time until) {
  const std::span<Transfer> transfers = transfers_of(ring);
  const auto earlier = [](const Transfer& a, const Transfer& b) { return a.until < b.until; };
  auto own = std::ranges::find(transfers, source, &Transfer::source);
  if (own == transfers.end()) own = std::ranges::min_element(transfers, earlier);
  *own = {until, source};
  full_until_[sz(ring)] = std::ranges::min_element(transfers, earlier)->until;
}

/// The sources that may start packets on the ring.
std::uint64_t RingBus::admitted(int ring, Time cycle) const {
  if (full_until_[sz(ring)] <= cycle) return heads_;
  std::uint64_t sources = 0;
  for (const Transfer& transfer : transfers_of(ring)) sources |= std::uint64_t{1} << transfer.source;
  return heads_ & sources;
}

/// The start just booked delays other heads that share its way or its destination. Where ways overlap, the train's
/// end is d cycles later d stops on: a head there waits that much longer, one d stops before that much less.
void RingBus::constrain(int ring, int source, int destination, int hops, Time cycle) {
  const auto& ways = head_way_[upwards(ring) ? 0 : 1];
  const std::uint64_t way = ways[sz(source)];
  const int stops = spec_.stops, sign = upwards(ring) ? 1 : -1, last = hops - (spec_.end_ramps ? 0 : 1);
  const Time end = cycle + spec_.packet_beats;
  Time* earliest = earliest_[sz(ring)].data();
  for (std::uint64_t left = heads_ & ~(std::uint64_t{1} << source); left != 0; left &= left - 1) {
    const int other = lowest(left);
    if ((ways[sz(other)] & way) == 0) continue;
    int ahead = sign * (other - source);
    if (ahead < 0) ahead += stops;
    if (ahead > last) ahead -= stops;
    earliest[other] = std::max(earliest[other], end + ahead);
  }
  delay_rivals(destination);
}

/// The destination takes no other packet before it has this one whole.
void RingBus::delay_rivals(int destination) {
  for (std::uint64_t left = rivals_[sz(destination)]; left != 0; left &= left - 1) {
    const int rival = lowest(left);
    const Time until = in_free_[sz(destination)] - hops_[index(rival, destination)];
    for (int ring = 0; ring < rings_; ++ring) {
      Time& earliest = earliest_[sz(ring)][sz(rival)];
      earliest = std::max(earliest, until);
    }
  }
}

void RingBus::account(int ring, const Entry& entry, int hops, Time cycle) {
  const Packet& packet = entry.packet;
  PairLoad& load = loads_[sz(ring * spec_.stops * spec_.stops) + index(packet.source, packet.destination)];
  ++load.packets;
  load.bytes += packet.bytes;
  wait_ticks_[sz(packet.source)] += cycle * spec_.cycle_ticks - packet.ready;
  const Time end = cycle + hops + spec_.packet_beats;
  Time& until = busy_until_[sz(ring)];
  if (end > until) {
    busy_[sz(ring)] += end - std::max(until, cycle);
    until = end;
  }
  if (observer_ != nullptr) {
    observer_->on_start(ring, packet, cycle * spec_.cycle_ticks, end * spec_.cycle_ticks);
  }
}

RingLinkLoad RingBus::link_load(int ring, int from) const {
  RingLinkLoad total;
  const int stretch = place(ring, from);
  for (int source = 0; source < spec_.stops; ++source) {
    const int before = (stretch - place(ring, source) + spec_.stops) % spec_.stops;
    for (int destination = 0; destination < spec_.stops; ++destination) {
      if (before >= hops_[index(source, destination)]) continue;
      const PairLoad& load = loads_[sz(ring * spec_.stops * spec_.stops) + index(source, destination)];
      total.packets += load.packets;
      total.bytes += load.bytes;
    }
  }
  total.busy_ticks = static_cast<Time>(total.packets) * spec_.packet_beats * spec_.cycle_ticks;
  return total;
}

RingLinkLoad RingBus::ring_load(int ring) const {
  RingLinkLoad total;
  const std::size_t pairs = sz(spec_.stops * spec_.stops);
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    total.packets += loads_[sz(ring) * pairs + pair].packets;
    total.bytes += loads_[sz(ring) * pairs + pair].bytes;
  }
  total.busy_ticks = busy_[sz(ring)] * spec_.cycle_ticks;
  return total;
}

RingStopLoad RingBus::stop_load(int stop) const {
  RingStopLoad total;
  for (int ring = 0; ring < rings_; ++ring) {
    for (int other = 0; other < spec_.stops; ++other) {
      const std::size_t base = sz(ring * spec_.stops * spec_.stops);
      const PairLoad& out = loads_[base + index(stop, other)];
      const PairLoad& in = loads_[base + index(other, stop)];
      total.sent_packets += out.packets;
      total.sent_bytes += out.bytes;
      total.received_packets += in.packets;
      total.received_bytes += in.bytes;
    }
  }
  total.waiting_ticks = wait_ticks_[sz(stop)];
  return total;
}

}  // namespace corewise::sim

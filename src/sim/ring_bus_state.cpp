// What decides the future of a ring bus. SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "sim/ring_bus.hpp"

namespace corewise::sim {

void RingBus::append_state(State& state, const HandlerNames& names) const {
  const Time now = engine_.now(), cycle = now / spec_.cycle_ticks;
  // A run that draws its rests never repeats: the counter of packets says so.
  if (spec_.rest_spread != 0 && spec_.rest_after > 0) state.push_back(static_cast<std::int64_t>(order_));
  state.push_back(now % (spec_.cycle_ticks * spec_.start_period));
  state.push_back(scheduled_ == kForever ? -1 : scheduled_ - cycle);
  if (spec_.age_step > 0) state.push_back(now % (spec_.cycle_ticks * spec_.age_step));
  append_waiting(state, names);
  for (std::uint64_t left = heads_; left != 0; left &= left - 1) {
    const Rank& rank = ranks_[static_cast<std::size_t>(std::countr_zero(left))];
    state.push_back(spec_.age_step > 0 ? rank.leads_since - cycle : 0);
  }
  const auto append = [&](const Time* times, int count) {
    for (int i = 0; i < count; ++i) state.push_back(until(times[i], cycle));
  };
  state.push_back(static_cast<std::int64_t>(refused_));
  append(out_free_.data(), spec_.stops);
  append(in_free_.data(), spec_.stops);
  append(ring_gate_.data(), rings_);
  for (int ring = 0; ring < rings_; ++ring) append(free_at_[static_cast<std::size_t>(ring)].data(), spec_.stops);
  if (spec_.transfers_per_ring > 0) {
    // Neither which of a ring's places a transfer has nor whose it was matters once it has arrived.
    std::vector<std::pair<Time, int>> left;
    for (const Transfer& transfer : transfers_) {
      const Time time = until(transfer.until, cycle);
      left.emplace_back(time, time > 0 ? transfer.source : -1);
    }
    for (auto first = left.begin(); first != left.end(); first += spec_.transfers_per_ring) {
      std::sort(first, first + spec_.transfers_per_ring);
    }
    for (const auto& [time, source] : left) {
      state.push_back(time);
      state.push_back(source);
    }
  }
  append_half_way(state, cycle);
  if (spec_.rest_after > 0) state.insert(state.end(), sent_since_rest_.begin(), sent_since_rest_.end());
}

/// Which way each source's half-way packets go and for how long, and how long its head still waits for the other
/// one.
void RingBus::append_half_way(State& state, Time cycle) const {
  if (spec_.half_way_packets == 1 && spec_.half_way_wait == 0) return;  // they go where they can start first
  for (std::size_t source = 0; source < half_way_.size(); ++source) {
    state.push_back(half_way_[source].direction);
    state.push_back(half_way_[source].left);
    const bool half_way = head_way_[0][source] != 0 && head_way_[1][source] != 0;
    state.push_back(half_way ? until(ranks_[source].ready + spec_.half_way_wait, cycle) : 0);
  }
}

/// The packets that have not started, and the order in which they were sent.
void RingBus::append_waiting(State& state, const HandlerNames& names) const {
  std::vector<std::uint64_t> orders;
  for (const Queue& queue : queues_) {
    for (std::size_t i = 0; i < queue.count; ++i) orders.push_back(queue.at(i).order);
  }
  std::sort(orders.begin(), orders.end());
  for (std::size_t source = 0; source < queues_.size(); ++source) {
    const Queue& queue = queues_[source];
    state.push_back(static_cast<std::int64_t>(queue.count));
    for (std::size_t i = 0; i < queue.count; ++i) {
      const Entry& entry = queue.at(i);
      state.push_back(entry.packet.destination);
      state.push_back(static_cast<std::int64_t>(entry.packet.bytes_to_follow));
      state.push_back(entry.packet.ready - engine_.now());
      state.push_back(std::lower_bound(orders.begin(), orders.end(), entry.order) - orders.begin());
      names.append(entry.packet.delivered, state);
      names.append(entry.packet.started, state);
    }
  }
}

bool RingBus::name_event(const Handler& handler, State& state) const {
  if (handler.self != this) return false;
  const auto cycle = static_cast<Time>(handler.argument);
  state.push_back(cycle == scheduled_ ? -2 : -3);  // an overtaken one does nothing
  return true;
}

}  // namespace corewise::sim

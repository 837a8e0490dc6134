// The two phases of a bus request. Delays that are constant are summed, not simulated: a request to an immediate
// target costs no event before its packet starts. SPDX-License-Identifier: BSD-3-Clause
#include "cell/eib.hpp"

#include <algorithm>
#include <bit>

namespace corewise::cell {
namespace {

/// Requests that start later than this wait in the event queue instead of taking a slot ahead of time.
constexpr sim::Time kFarAhead = 2048;

BusRequest& request_of(std::uint64_t argument) {
  return *reinterpret_cast<BusRequest*>(static_cast<std::uintptr_t>(argument));
}
std::uint64_t argument_of(BusRequest& request) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&request));
}

sim::RingBusSpec ring_spec(const Parameters& parameters, int chip) {
  sim::RingBusSpec spec;
  spec.stops = kStops;
  spec.rings_per_direction = static_cast<int>(parameters.rings_per_direction);
  spec.cycle_ticks = kBusCycle;
  spec.packet_beats = static_cast<int>(parameters.packet_beats);
  spec.start_period = static_cast<int>(parameters.ring_start_period);
  spec.transfers_per_ring = static_cast<int>(parameters.transfers_per_ring);
  spec.age_step = static_cast<int>(parameters.ring_age_step_bus_cycles);
  spec.half_way_packets = static_cast<int>(parameters.half_way_packets);
  spec.half_way_wait = static_cast<int>(parameters.half_way_wait_bus_cycles);
  spec.port_to_oldest = parameters.ring_port_to_oldest != 0;
  spec.rest_after = static_cast<int>(parameters.rest_after_packets);
  spec.rest_cycles = static_cast<int>(parameters.rest_bus_cycles);
  if (parameters.jitter_seed != 0) spec.rest_spread = static_cast<int>(parameters.rest_spread_bus_cycles);
  std::uint64_t seed = static_cast<std::uint64_t>(parameters.jitter_seed) * kMaxChips + static_cast<unsigned>(chip);
  spec.seed = splitmix64(seed);
  spec.priority.assign(kStops, 0);
  spec.priority[kStopMic] = 1;
  return spec;
}

}  // namespace

Answer BusTarget::command(BusRequest& request) {
  const sim::Time now = request.eib->engine().now();
  if (request.kind == BusKind::read) request.eib->data_ready(request, now + traits_.access_ticks);
  if (request.kind == BusKind::write) request.eib->write_granted(request, now);
  return Answer::accept;
}

CommandSlots::CommandSlots(sim::Time interval_ticks) : interval_(interval_ticks) {
  const auto bits = static_cast<std::uint64_t>(interval_ticks);
  if (std::has_single_bit(bits)) shift_ = std::countr_zero(bits);
}

void CommandSlots::forget_before(sim::Time word) {
  const sim::Time words = std::min<sim::Time>(word - horizon_, static_cast<sim::Time>(kWords));
  for (sim::Time i = 0; i < words; ++i) taken_[static_cast<std::size_t>(horizon_ + i) % kWords] = 0;
  horizon_ = word;
  const sim::Time end = (horizon_ + static_cast<sim::Time>(kWords)) * 64;
  const auto near_end = std::lower_bound(far_.begin(), far_.end(), end);
  for (auto slot = far_.begin(); slot != near_end; ++slot) {
    if (*slot / 64 < horizon_) continue;
    taken_[static_cast<std::size_t>(*slot / 64) % kWords] |= std::uint64_t{1} << (*slot % 64);
  }
  far_.erase(far_.begin(), near_end);
}

/// The first free slot from `slot` on, all beyond the circle.
sim::Time CommandSlots::take_far(sim::Time slot) {
  auto at = std::lower_bound(far_.begin(), far_.end(), slot);
  for (; at != far_.end() && *at == slot; ++at) ++slot;
  far_.insert(at, slot);
  return slot;
}

sim::Time CommandSlots::take(sim::Time when, sim::Time now) {
  constexpr sim::Time kBits = 64, kSlots = kBits * static_cast<sim::Time>(kWords);
  const sim::Time oldest = slots_in(now) / kBits;
  if (oldest > horizon_) forget_before(oldest);
  sim::Time slot = slots_in(std::max(when, now) + interval_ - 1);
  const sim::Time last = horizon_ * kBits + kSlots - 1;
  while (slot <= last) {
    std::uint64_t& word = taken_[static_cast<std::size_t>(slot / kBits) % kWords];
    const int bit = static_cast<int>(slot % kBits);
    const std::uint64_t open = ~word & (~std::uint64_t{0} << bit);
    if (open != 0) {
      const int found = std::countr_zero(open);
      word |= std::uint64_t{1} << found;
      return (slot - bit + found) * interval_;
    }
    slot += kBits - bit;
  }
  return take_far(slot) * interval_;
}

Eib::Eib(sim::Engine& engine, const Parameters& parameters, int chip, CommandSlots* ac0)
    : engine_(engine),
      parameters_(parameters),
      chip_(chip),
      rings_(engine, ring_spec(parameters, chip)),
      ac1_(parameters.command_interval_cycles),
      ac0_(ac0) {
  if (engine.timeline() == nullptr) return;
  recorder_ = std::make_unique<sim::RingBusRecorder>(*engine.timeline(), rings_.spec(),
                                                     std::vector<std::string>(kStopNames.begin(), kStopNames.end()),
                                                     chip_prefix());
  rings_.observe(recorder_.get());
}

std::string Eib::chip_prefix() const {
  return parameters_.chips > 1 ? "cell" + std::to_string(chip_) + "." : std::string();
}

void Eib::attach(Location::Kind kind, int index, BusTarget& target) {
  (kind == Location::Kind::memory ? memory_[static_cast<std::size_t>(index)]
                                  : spe_[static_cast<std::size_t>(index)]) = &target;
}

BusTarget* Eib::target_of(EffectiveAddress ea) const {
  const Location at = locate(ea);
  if (at.kind == Location::Kind::none) return nullptr;
  const auto index = static_cast<std::size_t>(at.index);
  return at.kind == Location::Kind::memory ? memory_[index] : spe_[index];
}

void Eib::issue_late(void* self, std::uint64_t request) {
  static_cast<Eib*>(self)->again(request_of(request));
}

void Eib::issue(BusRequest& request, sim::Time when) {
  request.eib = this;
  request.target = request.ea == 0 ? nullptr : target_of(request.ea);
  request.retries = 0;
  request.issued = when;
  if (when - engine_.now() > kFarAhead) {
    engine_.at(when, {&issue_late, this, argument_of(request)});
  } else {
    again(request);
  }
}

/// Sends the command (once more) at request.issued.
void Eib::again(BusRequest& request) {
  const sim::Time response = response_time(request, request.issued);
  if (request.target == nullptr) {
    engine_.at(response, {&deliver_address, this, argument_of(request)});
  } else if (!request.target->traits().immediate) {
    engine_.at(response, {&respond, this, argument_of(request)});
  } else if (request.kind == BusKind::read) {
    data_ready(request, response + request.target->traits().access_ticks);
  } else if (request.kind == BusKind::write) {
    write_granted(request, response);
  } else {
    engine_.at(response, {&deliver_address, this, argument_of(request)});
  }
}

/// What a command takes longer one way because of where its unit sits.
sim::Time Eib::position_cycles(const BusRequest& request) const {
  if (parameters_.command_hop_cycles == 0 || request.stop == kStopMic) return 0;
  return parameters_.command_hop_cycles * rings_.hops(request.stop, kStopMic);
}

/// When all snoopers have answered a command that is sent at `when`.
sim::Time Eib::response_time(const BusRequest& request, sim::Time when) {
  const sim::Time asked = when + parameters_.command_send_cycles + position_cycles(request);
  sim::Time slot = ac1_.take(asked, engine_.now());
  statistics_.command_wait_ticks += slot - asked;
  ++statistics_.commands;
  if (ac0_ != nullptr && (request.target == nullptr || request.target->traits().global)) {
    const sim::Time way = chip_ == 0 ? parameters_.global_command_cycles : parameters_.global_crossing_cycles;
    const sim::Time there = slot + way;
    slot = ac0_->take(there, engine_.now());
    statistics_.command_wait_ticks += slot - there;
    ++statistics_.global_commands;
    slot += way;
  }
  return slot + parameters_.command_snoop_cycles;
}

void Eib::respond(void* self, std::uint64_t argument) {
  auto& eib = *static_cast<Eib*>(self);
  BusRequest& request = request_of(argument);
  if (request.target->command(request) == Answer::accept) {
    if (request.kind == BusKind::address_only) deliver_address(self, argument);
    return;
  }
  ++request.retries;
  ++eib.statistics_.retries;
  const sim::Time delay =
      eib.retry_policy_ == nullptr ? eib.parameters_.retry_cycles : eib.retry_policy_->delay(request);
  eib.issue_again(request, delay);
}

void Eib::issue_again(BusRequest& request, sim::Time delay) {
  request.issued = engine_.now() + delay + position_cycles(request);
  if (delay > kFarAhead) {
    engine_.at(request.issued, {&issue_late, this, argument_of(request)});
  } else {
    again(request);
  }
}

void Eib::data_ready(BusRequest& request, sim::Time when) {
  send(request, request.target->traits().stop, request.stop, when, &deliver_read);
}

void Eib::write_granted(BusRequest& request, sim::Time when) {
  send(request, request.stop, request.target->traits().stop, when + request.send_ticks, &deliver_write);
}

/// A unit that addresses itself needs no ring, but its port for as long.
void Eib::send(BusRequest& request, int from, int to, sim::Time ready, sim::Handler::Call delivered) {
  const sim::Handler handler{delivered, this, argument_of(request)};
  if (from == to) {
    sim::Time& free = own_port_free_[static_cast<std::size_t>(from)];
    free = std::max(free, ready) + parameters_.packet_beats * kBusCycle;
    engine_.at(free, handler);
    return;
  }
  rings_.send({.source = from, .destination = to, .bytes = request.bytes, .ready = ready, .delivered = handler});
}

void Eib::deliver_read(void*, std::uint64_t argument) {
  BusRequest& request = request_of(argument);
  request.target->fill(request);
  request.requester->delivered(request);
}

void Eib::deliver_write(void*, std::uint64_t argument) {
  BusRequest& request = request_of(argument);
  request.target->arrived(request);
  request.requester->delivered(request);
}

void Eib::deliver_address(void*, std::uint64_t argument) {
  BusRequest& request = request_of(argument);
  request.requester->delivered(request);
}

}  // namespace corewise::cell

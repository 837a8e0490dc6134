// Commands on main memory: conflicts, queue places, slots, data. Invariant: a line is held from an accepted read or
// write to its fill or arrival. SPDX-License-Identifier: BSD-3-Clause
#include "cell/memory/target.hpp"

#include <algorithm>
#include <cstring>

namespace corewise::cell {
namespace {

std::uint64_t argument_of(BusRequest& request) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&request));
}
BusRequest& request_of(std::uint64_t argument) {
  return *reinterpret_cast<BusRequest*>(static_cast<std::uintptr_t>(argument));
}
/// In target_cookie: the command has had its unit's credit.
constexpr std::uint64_t kSlotPassed = 1;

int unit_of(const BusRequest& request) {
  return static_cast<int>(request.cookie & 0xff);
}

}  // namespace

bool LinesInFlight::hold(EffectiveAddress line, bool write) {
  const auto [held, is_new] = readers_.try_emplace(line, write ? -1 : 1);
  if (is_new) return true;
  if (write || held->second < 0) return false;
  ++held->second;
  return true;
}

void LinesInFlight::release(EffectiveAddress line, bool write) {
  const auto held = readers_.find(line);
  if (held == readers_.end() || (!write && --held->second > 0)) return;
  readers_.erase(held);
}

MemoryTarget::MemoryTarget(Eib& eib, int memory, MemoryBytes& bytes, CoherentLines& lines, RetryPolicy& retry)
    : BusTarget({.stop = kStopMic, .global = true}),
      eib_(eib),
      p_(eib.parameters()),
      bytes_(bytes),
      lines_(lines),
      retry_(retry),
      controller_(eib.engine(), eib.parameters()) {
  eib.attach(Location::Kind::memory, memory, *this);
}

std::uint64_t MemoryTarget::offset_of(const BusRequest& request) const {
  return locate(request.ea).offset;
}

std::byte* MemoryTarget::bytes_at(EffectiveAddress ea, std::size_t count) {
  if (is_interleaved(ea)) return interleaved_->at(ea - kInterleavedBase, count).data();
  return bytes_.at(locate(ea).offset, count).data();
}

bool MemoryTarget::reserve_place(const BusRequest& request) {
  if (request.kind == BusKind::read) return controller_.reserve_read(offset_of(request));
  return controller_.reserve_write(offset_of(request));
}

Answer MemoryTarget::command(BusRequest& request) {
  if (request.kind == BusKind::address_only) return claim(request);
  const bool write = request.kind == BusKind::write;
  const EffectiveAddress line = line_of(request.ea);
  if (p_.line_conflicts != 0 && !in_flight_.hold(line, write)) {
    ++statistics_.conflicts;
    return Answer::retry;
  }
  if (intervene(request)) return Answer::accept;
  if (request.target_cookie == 0) {
    eib_.engine().at(slot_end(request.stop, write), {&MemoryTarget::slot_passed, this, argument_of(request)});
    return Answer::accept;
  }
  if (!reserve_place(request)) {
    release(request);
    ++statistics_.full_queues;
    return Answer::retry;
  }
  enter(request);
  return Answer::accept;
}

bool MemoryTarget::intervene(BusRequest& request) {
  if (request.kind != BusKind::read) return false;
  const int owner = lines_.owner(line_of(request.ea));
  if (owner < 0) return false;
  BusTarget* const target = interveners_[static_cast<std::size_t>(owner)];
  if (target == nullptr || target->traits().stop == request.stop) return false;
  ++statistics_.interventions;
  request.target = target;
  eib_.data_ready(request, eib_.engine().now() + target->traits().access_ticks);
  return true;
}

Answer MemoryTarget::claim(BusRequest& request) {
  if (request.flavour == kPlain) return Answer::accept;
  const EffectiveAddress line = line_of(request.ea);
  if (p_.line_conflicts != 0 && !in_flight_.hold(line, true)) {
    ++statistics_.conflicts;
    return Answer::retry;
  }
  release(request);
  const int unit = unit_of(request);
  // The combined response is the moment at which the line changes hands; who lost the reservation by then lost.
  request.target_cookie = request.flavour == kClaim || lines_.reserved(unit, line) ? 1 : 0;
  if (request.target_cookie == 0) return Answer::accept;
  std::memcpy(bytes_at(line, kLineBytes), request.data, kLineBytes);
  lines_.owned(unit, line);
  return Answer::accept;
}

sim::Time MemoryTarget::slot_end(int stop, bool write) {
  const std::int64_t wanted = stop == kStopIoif0 ? p_.memory_link_slots : p_.memory_unit_slots;
  const sim::Time now = eib_.engine().now();
  if (wanted == 0) return now + p_.memory_slot_cycles;
  const auto count =
      static_cast<std::uint32_t>(std::min<std::int64_t>(wanted, static_cast<std::int64_t>(kMaxSlots)));
  const bool own = write && p_.memory_write_credits != 0;
  const auto index = static_cast<std::size_t>(own ? kStops + stop : stop);
  std::uint32_t& next = next_slot_[index];
  sim::Time& slot = slots_[index][next];
  next = (next + 1) % count;
  slot = std::max(slot, now) + p_.memory_slot_cycles;
  return slot;
}

void MemoryTarget::slot_passed(void* self, std::uint64_t argument) {
  MemoryTarget& target = *static_cast<MemoryTarget*>(self);
  BusRequest& request = request_of(argument);
  if (target.reserve_place(request)) {
    target.enter(request);
  } else {
    target.refuse_late(request);
  }
}

/// The command has its place in a queue.
void MemoryTarget::enter(BusRequest& request) {
  if (request.kind == BusKind::write) {
    eib_.write_granted(request, eib_.engine().now());
  } else {
    controller_.read(offset_of(request), request.bytes, {&MemoryTarget::read_done, this, argument_of(request)});
  }
}

/// RETRY at the end of the slot: the command goes over the bus again, but needs no credit again.
void MemoryTarget::refuse_late(BusRequest& request) {
  release(request);
  ++statistics_.full_queues;
  ++request.retries;
  request.target_cookie = kSlotPassed;
  eib_.issue_again(request, retry_.delay(request));
}

void MemoryTarget::read_done(void* self, std::uint64_t argument) {
  MemoryTarget& target = *static_cast<MemoryTarget*>(self);
  target.eib_.data_ready(request_of(argument), target.eib_.engine().now());
}

void MemoryTarget::release(const BusRequest& request) {
  if (p_.line_conflicts == 0) return;
  in_flight_.release(line_of(request.ea), request.kind != BusKind::read);
}

void MemoryTarget::fill(BusRequest& request) {
  std::memcpy(request.data, bytes_at(request.ea, request.bytes), request.bytes);
  release(request);
  request.target_cookie = 0;
  if (request.flavour != kLockRead) return;
  lines_.copied(unit_of(request), line_of(request.ea));
  lines_.reserve(unit_of(request), line_of(request.ea));
}

void MemoryTarget::arrived(BusRequest& request) {
  release(request);
  request.target_cookie = 0;
  if (request.flavour != kWriteBack) {
    std::memcpy(bytes_at(request.ea, request.bytes), request.data, request.bytes);
    lines_.written(line_of(request.ea));
  }
  controller_.write(offset_of(request), request.bytes);
}

}  // namespace corewise::cell

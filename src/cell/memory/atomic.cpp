// Atomic commands. Invariant: the bytes of a line change only while its writer holds it alone, at one instant: a
// store in place, or a claim's combined response. SPDX-License-Identifier: BSD-3-Clause
#include "cell/memory/atomic.hpp"

#include <cstring>

namespace corewise::cell {

AtomicUnit::AtomicUnit(Eib& eib, int spe, LocalStore& store, CoherentLines& lines,
                       std::span<MemoryTarget* const> memories, std::span<MemoryBytes* const> bytes)
    : eib_(eib),
      p_(eib.parameters()),
      unit_(spe),
      store_(store),
      lines_(lines),
      bytes_(bytes.begin(), bytes.end()),
      own_memory_(memories[static_cast<std::size_t>(spe / kSpesPerChip)]),
      intervener_({.stop = kSpeStop[static_cast<std::size_t>(spe % kSpesPerChip)],
                   .global = true,
                   .access_ticks = eib.parameters().atomic_intervention_cycles},
                  own_memory_) {
  own_memory_->set_intervener(spe, &intervener_);
}

void AtomicUnit::start(AtomicOp op, LsAddress ls, EffectiveAddress ea) {
  op_ = op;
  ls_ = ls;
  line_ = line_of(ea);
  busy_ = true;
  has_status_ = false;
  const CoherentLines::Copy copy = lines_.copy(unit_, line_);
  const bool alone = copy == CoherentLines::Copy::modified;
  switch (op) {
    case AtomicOp::getllar:
      ++statistics_.getllars;
      if (copy == CoherentLines::Copy::none) return send(BusKind::read, kLockRead);
      ++statistics_.getllar_hits;
      break;
    case AtomicOp::putllc:
      ++statistics_.putllcs;
      if (lines_.reserved(unit_, line_) && !alone) return send(BusKind::address_only, kConditionalClaim);
      break;
    case AtomicOp::putlluc:
      ++statistics_.putllucs;
      if (!alone) return send(BusKind::address_only, kClaim);
      break;
  }
  eib_.engine().after(p_.atomic_hit_cycles, {&AtomicUnit::hit, this, 0});
}

void AtomicUnit::send(BusKind kind, std::uint8_t flavour) {
  if (kind == BusKind::address_only) ++statistics_.claims;
  request_.kind = kind;
  request_.flavour = flavour;
  request_.stop = static_cast<std::uint8_t>(intervener_.traits().stop);
  request_.bytes = kLineBytes;
  request_.ea = line_;
  request_.data = store_.at(ls_, kLineBytes).data();
  request_.requester = this;
  request_.cookie = static_cast<std::uint64_t>(unit_);
  request_.target_cookie = 0;
  eib_.issue(request_, eib_.engine().now() + p_.atomic_hit_cycles);
}

void AtomicUnit::hit(void* self, std::uint64_t) {
  static_cast<AtomicUnit*>(self)->finish_hit();
}

void AtomicUnit::finish_hit() {
  // Time has passed since the look-up: others may have taken the line meanwhile, then the bus must be asked.
  const CoherentLines::Copy copy = lines_.copy(unit_, line_);
  const bool alone = copy == CoherentLines::Copy::modified;
  switch (op_) {
    case AtomicOp::getllar: {
      if (copy == CoherentLines::Copy::none) return send(BusKind::read, kLockRead);
      const Location at = locate(line_);
      const std::span<std::byte> line = bytes_[static_cast<std::size_t>(at.index)]->at(at.offset, kLineBytes);
      lines_.reserve(unit_, line_);
      store_.write(ls_, line.data(), kLineBytes);
      return finish(MFC_GETLLAR_STATUS);
    }
    case AtomicOp::putllc:
      if (!lines_.reserved(unit_, line_)) {
        ++statistics_.putllc_failures;
        lines_.drop_reservation(unit_);
        return finish(MFC_PUTLLC_STATUS);
      }
      if (!alone) return send(BusKind::address_only, kConditionalClaim);
      store_in_place();
      return finish(0);
    case AtomicOp::putlluc:
      if (!alone) return send(BusKind::address_only, kClaim);
      store_in_place();
      return finish(MFC_PUTLLUC_STATUS);
  }
}

void AtomicUnit::store_in_place() {
  const Location at = locate(line_);
  std::memcpy(bytes_[static_cast<std::size_t>(at.index)]->at(at.offset, kLineBytes).data(),
              store_.at(ls_, kLineBytes).data(), kLineBytes);
  lines_.owned(unit_, line_);
}

void AtomicUnit::delivered(BusRequest& request) {
  switch (op_) {
    case AtomicOp::getllar:
      store_.written(ls_, kLineBytes);
      return finish(MFC_GETLLAR_STATUS);
    case AtomicOp::putllc:
      if (request.target_cookie == 0) ++statistics_.putllc_failures;
      lines_.drop_reservation(unit_);
      return finish(request.target_cookie == 0 ? MFC_PUTLLC_STATUS : 0);
    case AtomicOp::putlluc:
      return finish(MFC_PUTLLUC_STATUS);
  }
}

void AtomicUnit::finish(std::uint32_t status) {
  busy_ = false;
  has_status_ = true;
  status_ = status;
  waiters_.wake_all(eib_.engine());
}

std::uint32_t AtomicUnit::read_status(const sim::Wait& wait) {
  while (!has_status_) waiters_.wait(eib_.engine(), wait);
  has_status_ = false;
  return status_;
}

void AtomicUnit::wait_idle(const sim::Wait& wait) {
  while (busy_) waiters_.wait(eib_.engine(), wait);
}

}  // namespace corewise::cell

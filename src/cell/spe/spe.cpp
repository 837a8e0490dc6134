// The SPE on the bus, its problem-state registers, and what its MFC tells it.
// SPDX-License-Identifier: BSD-3-Clause
#include "cell/spe/spe.hpp"

#include <cmath>
#include <cstring>
#include <utility>

namespace corewise::cell {
namespace {

BusTarget::Traits traits_of(int id, const Parameters& parameters) {
  BusTarget::Traits traits;
  traits.stop = kSpeStop[static_cast<std::size_t>(id % kSpesPerChip)];
  traits.immediate = true;
  traits.access_ticks = parameters.local_store_read_cycles;
  return traits;
}

}  // namespace

std::string name_of(Opcode opcode, Order order) {
  static constexpr std::string_view kNames[] = {"get", "put", "getl", "putl", "sndsig", "barrier", "eieio", "sync"};
  static constexpr std::string_view kOrders[] = {"", "f", "b"};
  std::string name = "mfc_";
  return name.append(kNames[static_cast<std::size_t>(opcode)]).append(kOrders[static_cast<std::size_t>(order)]);
}

Spe::Spe(int id, Eib& eib, const AddressSpace& addresses)
    : BusTarget(traits_of(id, eib.parameters())),
      id_(id),
      eib_(eib),
      engine_(eib.engine()),
      parameters_(eib.parameters()),
      addresses_(addresses),
      mfc_(eib, id % kSpesPerChip, store_.at(0, kLocalStoreBytes), *this),
      signal1_(engine_),
      signal2_(engine_),
      in_mbox_(engine_, 4),
      out_mbox_(engine_, 1),
      out_intr_mbox_(engine_, 1),
      decrementer_(std::llround(parameters_.decrementer_hz), std::llround(parameters_.core_clock_ghz * 1e9)) {
  eib.attach(Location::Kind::local_store, id, *this);
}

std::uint32_t Spe::read_register(std::uint64_t offset) {
  switch (offset) {
    case kOutMbox:
      return out_mbox_.count() > 0 ? out_mbox_.read() : 0;
    case kMboxStat:
      return out_mbox_.count() | in_mbox_.space() << 8 | out_intr_mbox_.count() << 16;
    default:
      return 0;
  }
}

void Spe::write_register(std::uint64_t offset, std::uint32_t value) {
  switch (offset) {
    case kInMbox:
      in_mbox_.write(value);
      break;
    case kSignal1:
    case kSignal2:
      signal(offset, value);
      break;
    default:
      break;
  }
}

void Spe::signal(std::uint64_t offset, std::uint32_t value) {
  const std::uint64_t which_and_value = std::uint64_t{offset == kSignal1 ? 1U : 2U} << 32 | value;
  if (parameters_.signal_write_cycles == 0) return signal_written(this, which_and_value);
  engine_.after(parameters_.signal_write_cycles, {&signal_written, this, which_and_value});
}

void Spe::signal_written(void* self, std::uint64_t which_and_value) {
  static_cast<Spe*>(self)
      ->signal(static_cast<int>(which_and_value >> 32))
      .write(static_cast<std::uint32_t>(which_and_value));
}

bool Spe::holds(Until until, std::uint32_t mask) {
  switch (until) {
    case Until::nothing:
      return true;
    case Until::free_entry:
      return mfc_.free_entries() > 0;
    case Until::any_tag:
      return (mfc_.complete_tags() & mask) != 0;
    case Until::all_tags:
      return (mfc_.complete_tags() & mask) == mask;
    case Until::stalled_list:
      return new_stalls() != 0;
  }
  return true;
}

void Spe::wait_for_mfc(Until until, std::uint32_t mask, const sim::Wait& wait) {
  while (!holds(until, mask)) {
    until_ = until;
    until_mask_ = mask;
    engine_.block(wait);
  }
  until_ = Until::nothing;
}

std::uint32_t Spe::new_stalls() {
  return mfc_.stalled_tags() & ~told_stalls_;
}

void Spe::on_mfc_change() {
  if (until_ == Until::nothing || !holds(until_, until_mask_)) return;
  engine_.wake(*program_);
}

bool Spe::on_list_element(const Command& command, std::uint32_t element, LsAddress ls, EffectiveAddress ea,
                          std::uint32_t size) {
  const Access access = command.opcode == Opcode::get_list ? Access::read : Access::write;
  Violation found = check_list_element(ls, ea, size);
  if (!found.any()) found = addresses_.check(ea, size, access);
  if (!found.any()) return true;
  found.text = "list element " + std::to_string(element) + ": " + found.text;
  const std::string_view program = program_ != nullptr ? program_->name() : std::string_view("PPE");
  engine_.stop(fault_status(found, name_of(command.opcode, command.order), program, command.where, engine_));
  return false;
}

void Spe::fail(const Violation& violation, std::string_view command, const std::source_location& where) {
  engine_.fail(fault_status(violation, command, engine_.current()->name(), where, engine_));
}

void Spe::fill(BusRequest& request) {
  const Location place = locate(request.ea);
  if (place.kind == Location::Kind::local_store) {
    std::memcpy(request.data, store_.data() + place.offset, request.bytes);
    return;
  }
  const std::uint32_t value = read_register(place.offset);
  std::memcpy(request.data, &value, sizeof value);
}

void Spe::arrived(BusRequest& request) {
  const Location place = locate(request.ea);
  if (place.kind == Location::Kind::local_store) {
    store_.write(static_cast<LsAddress>(place.offset), request.data, request.bytes);
    return;
  }
  std::uint32_t value = 0;
  std::memcpy(&value, request.data, sizeof value);
  write_register(place.offset, value);
}

}  // namespace corewise::cell

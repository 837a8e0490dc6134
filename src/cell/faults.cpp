// The rules of the MFC's commands (CBEA, MFC Commands; MFC Command Parameter Registers) as checks, and their texts.
// SPDX-License-Identifier: BSD-3-Clause
#include "cell/faults.hpp"

#include <cstdio>
#include <limits>

#include "cell/spe/local_store.hpp"

namespace corewise::cell {
namespace {

Violation violation(Fault fault, std::string text) {
  return {fault, std::move(text)};
}

bool small(std::uint32_t size) {
  return size == 1 || size == 2 || size == 4 || size == 8;
}

Violation check_size(std::uint32_t size) {
  if (size > kMaxDmaBytes) {
    return violation(Fault::invalid_command,
                     "size " + std::to_string(size) + ", allowed: at most 16384 bytes in one transfer");
  }
  if (small(size) || size % 16 == 0) return {};
  return violation(Fault::dma_alignment,
                   "size " + std::to_string(size) + ", allowed: 1, 2, 4, 8 or a multiple of 16 bytes");
}

Violation check_alignment(std::uint64_t ls, EffectiveAddress ea, std::uint32_t size) {
  std::string_view allowed;
  if (!small(size)) {
    if (ls % 16 == 0 && ea % 16 == 0) return {};
    allowed = "both addresses multiples of 16";
  } else if (ls % size != 0 || ea % size != 0) {
    allowed = "both addresses multiples of the size";
  } else {
    if (ls % 16 == ea % 16) return {};
    allowed = "both addresses with equal low 4 bits";
  }
  return violation(Fault::dma_alignment, "local store address " + hex_text(ls) + ", effective address " +
                                             hex_text(ea) + ", size " + std::to_string(size) +
                                             ", allowed: " + std::string(allowed));
}

/// Registers that others may read or write (CBEA, Problem State Memory Map).
bool reachable(std::uint64_t offset, Access access) {
  if (access == Access::read) return offset == kOutMbox || offset == kMboxStat;
  return offset == kInMbox || offset == kSignal1 || offset == kSignal2;
}

Violation check_register(const Location& place, EffectiveAddress ea, std::uint32_t size, Access access) {
  if (size == 4 && reachable(place.offset, access)) return {};
  const std::string what = access == Access::read ? "a mailbox register that can be read"
                                                  : "the inbound mailbox or a signal notification register";
  return violation(Fault::data_storage, std::to_string(size) + " bytes at " + hex_text(ea) +
                                            " among the registers of SPE " + std::to_string(place.index) +
                                            ", allowed: 4 bytes of " + what);
}

}  // namespace

std::string hex_text(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%05llx", static_cast<unsigned long long>(value));
  return text;
}

std::string_view name_of(Fault fault) {
  switch (fault) {
    case Fault::none:
      return "no fault";
    case Fault::dma_alignment:
      return "DMA alignment error";
    case Fault::invalid_command:
      return "invalid DMA command";
    case Fault::data_segment:
      return "MFC data segment error";
    case Fault::data_storage:
      return "MFC data storage error";
    case Fault::local_store_limit:
      return "local store overrun";
    case Fault::channel_use:
      return "SPU channel misuse";
  }
  return "no fault";
}

Violation check_effective_address(EffectiveAddress ea, std::uint32_t size, Access access) {
  if (size == 0) return {};
  const Location place = locate(ea);
  if (place.kind == Location::Kind::none) {
    return violation(Fault::data_segment, "nothing at effective address " + hex_text(ea) +
                                              ", allowed: main memory, a local store or a problem-state register");
  }
  if (place.kind == Location::Kind::registers) return check_register(place, ea, size, access);
  const Location last = locate(ea + size - 1);
  const bool by_turns = is_interleaved(ea) && is_interleaved(ea + size - 1);
  if (by_turns || (last.kind == place.kind && last.index == place.index)) return {};
  return violation(Fault::data_segment, std::to_string(size) + " bytes at effective address " + hex_text(ea) +
                                            ", allowed: inside one memory or one local store");
}

Violation check_local_store(std::uint64_t ls, std::uint64_t bytes) {
  if (LocalStore::holds(ls, bytes)) return {};
  return violation(Fault::local_store_limit, std::to_string(bytes) + " bytes at local store address " +
                                                 hex_text(ls) + ", allowed: inside 0x00000 .. 0x3ffff");
}

Violation check_list_element(std::uint64_t ls, EffectiveAddress ea, std::uint32_t size) {
  if (size == 0) return {};
  if (Violation found = check_shape(ls, ea, size); found.any()) return found;
  if ((ea & 0xffffffff) + size <= std::uint64_t{1} << 32) return {};
  return violation(Fault::invalid_command, std::to_string(size) + " bytes at effective address " + hex_text(ea) +
                                               ", allowed: elements that do not cross a 4 GB boundary");
}

Violation check_shape(std::uint64_t ls, EffectiveAddress ea, std::uint32_t size) {
  if (Violation found = check_size(size); found.any()) return found;
  if (Violation found = check_alignment(ls, ea, size); found.any()) return found;
  return check_local_store(ls, size);
}

Violation check_tag(std::uint32_t tag) {
  if (tag < kTags) return {};
  return violation(Fault::invalid_command, "tag " + std::to_string(tag) + ", allowed: 0 .. 31");
}

Violation check_list(std::uint64_t ls, std::uint64_t list, std::uint32_t list_size) {
  if (list_size % 8 != 0 || list_size > kMaxListElements * 8) {
    return violation(Fault::invalid_command, "list size " + std::to_string(list_size) +
                                                 ", allowed: a multiple of 8, at most 16384 (2048 elements)");
  }
  if (list % 8 != 0) {
    return violation(Fault::dma_alignment, "list address " + hex_text(list) + ", allowed: a multiple of 8");
  }
  if (Violation found = check_local_store(list, list_size); found.any()) return found;
  return check_local_store(ls, 0);
}

Violation check_signal(std::uint64_t ls, EffectiveAddress ea) {
  if (Violation found = check_alignment(ls, ea, 4); found.any()) return found;
  if (Violation found = check_local_store(ls, 4); found.any()) return found;
  const Location place = locate(ea);
  const bool signal =
      place.kind == Location::Kind::registers && (place.offset == kSignal1 || place.offset == kSignal2);
  if (signal) return {};
  if (place.kind == Location::Kind::none) return check_effective_address(ea, 4, Access::write);
  return violation(Fault::data_storage,
                   "effective address " + hex_text(ea) + ", allowed: a signal notification register");
}

Violation check_atomic(std::uint64_t ls, EffectiveAddress ea) {
  if (ls % kLineBytes != 0 || ea % kLineBytes != 0) {
    return violation(Fault::dma_alignment, "local store address " + hex_text(ls) + ", effective address " +
                                               hex_text(ea) + ", allowed: both multiples of 128");
  }
  if (Violation found = check_local_store(ls, kLineBytes); found.any()) return found;
  const Location::Kind kind = locate(ea).kind;
  if (kind == Location::Kind::registers || kind == Location::Kind::local_store) {
    return violation(Fault::data_storage, "effective address " + hex_text(ea) + ", allowed: a line of main memory");
  }
  return check_effective_address(ea, kLineBytes, Access::write);
}

Status fault_status(const Violation& violation, std::string_view command, std::string_view program,
                    const std::source_location& where, const sim::Engine& engine) {
  std::string text(name_of(violation.fault));
  text.append(": ").append(command).append(": ").append(violation.text);
  text.append("; program '").append(program).append("' at ").append(sim::place_of(where));
  text.append(", ").append(engine.time_text(engine.now()));
  return invalid_input(std::move(text));
}

}  // namespace corewise::cell

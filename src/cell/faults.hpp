// Faults: what the hardware calls each broken rule, and the one text in which every rule is reported. Checks of
// commands live here too, as pure functions, so that the SPU queue, the proxy queue and the list processing of the
// MFC enforce the same rules.
//
// Contract: a check returns an empty Violation when the rule holds. The text of a fault names the fault, what was
// found and what is allowed, the program, its line and the simulated time. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "cell/address.hpp"
#include "sim/engine.hpp"

namespace corewise::cell {

/// The exceptions of the CBE architecture that a command can raise, and the misuses that it leaves undefined.
enum class Fault : std::uint8_t {
  none,
  dma_alignment,      ///< MFC DMA alignment exception: size or alignment
  invalid_command,    ///< invalid MFC DMA command exception: size over 16 KB, tag, list size, command not for this
                      ///< queue
  data_segment,       ///< MFC data segment exception: nobody has this effective address
  data_storage,       ///< MFC data storage exception: the address exists and may not be accessed so
  local_store_limit,  ///< an access beyond the 256 KB local store
  channel_use,        ///< a channel is used so that it could never answer, or the answer is undefined
};

/// "0x00040": how addresses are written in errors.
std::string hex_text(std::uint64_t value);

/// "DMA alignment error" and so on.
std::string_view name_of(Fault fault);

/// A broken rule: which, and what was found and allowed. Without fault: nothing is wrong.
struct Violation {
  Fault fault = Fault::none;
  std::string text;
  [[nodiscard]] bool any() const { return fault != Fault::none; }
};

/// What a command does with its effective address.
enum class Access : std::uint8_t { read, write };

/// A transfer of one command or one list element, without looking who has `ea`: `size`, alignment of both
/// addresses, the local store's end.
Violation check_shape(std::uint64_t ls, EffectiveAddress ea, std::uint32_t size);
/// Whether somebody has all of `size` bytes at `ea` (memory, a local store or, 4 bytes, a register that can be read
/// or written), and no more than one; size 0 does nothing.
Violation check_effective_address(EffectiveAddress ea, std::uint32_t size, Access access);
/// Tag 0 .. 31.
Violation check_tag(std::uint32_t tag);
/// One element of a list at the addresses the MFC works out for it; size 0 does nothing.
Violation check_list_element(std::uint64_t ls, EffectiveAddress ea, std::uint32_t size);
/// `bytes` at `ls` inside the local store.
Violation check_local_store(std::uint64_t ls, std::uint64_t bytes);
/// A list command: its list address and size.
Violation check_list(std::uint64_t ls, std::uint64_t list, std::uint32_t list_size);
/// A signal: 4 bytes to a signal notification register.
Violation check_signal(std::uint64_t ls, EffectiveAddress ea);
/// An atomic command: 128 bytes, both addresses aligned to 128, in main memory.
Violation check_atomic(std::uint64_t ls, EffectiveAddress ea);

/// "DMA alignment error: mfc_put: size 24, allowed: ...; program 'a' at file.cpp:12, 1234.5 ns". `command` is the
/// call's name.
Status fault_status(const Violation& violation, std::string_view command, std::string_view program,
                    const std::source_location& where, const sim::Engine& engine);

}  // namespace corewise::cell

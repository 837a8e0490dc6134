// What ranks say to the coordinator on the PPE by their mailboxes (lab/collectives/ppe_service.hpp serves them). A
// request is one word that says what is wanted, and its arguments, addresses as two words, the upper one first:
//
//   barrier     -
//   copy_from   own user address: the source of this copy, of the rank that has it
//   copy_to     own user address, bytes (one word): where this rank wants it; 0 bytes: nowhere
//   leave       - and no answer: this rank asks for nothing more
//
// All ranks ask for the same at the same time: a barrier, a copy, or to leave. The answer is one word, kPpeDone: to
// each rank when its copy is there and to the source's rank last; in a barrier to all when all have asked.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "port/capabilities.hpp"

namespace corewise::coll {

enum class PpeRequest : std::uint32_t { barrier = 1, copy_from = 2, copy_to = 3, leave = 4 };
inline constexpr std::uint32_t kPpeDone = 1;

inline std::uint64_t address_bits(std::uint64_t address) {
  return address;
}
inline std::uint64_t address_bits(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

template <port::Mailboxes P>
void ask_ppe(P& port, PpeRequest request) {
  port.write_mailbox(static_cast<std::uint32_t>(request));
}
/// An argument.
template <port::Mailboxes P>
void tell_ppe_address(P& port, typename P::ConstUserAddress address) {
  const std::uint64_t bits = address_bits(address);
  port.write_mailbox(static_cast<std::uint32_t>(bits >> 32));
  port.write_mailbox(static_cast<std::uint32_t>(bits));
}
/// Blocks until the request is done.
template <port::Mailboxes P>
void hear_ppe(P& port) {
  port.read_mailbox();
}
/// The last thing that a rank says; each rank of a job with a service must.
template <port::Mailboxes P>
void leave_ppe(P& port) {
  ask_ppe(port, PpeRequest::leave);
}

}  // namespace corewise::coll

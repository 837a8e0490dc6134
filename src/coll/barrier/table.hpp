// The barriers of paper 001, section 5. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

#include "coll/barrier/atomic_increment.hpp"
#include "coll/barrier/exchange_steps.hpp"
#include "coll/barrier/one_to_all.hpp"
#include "coll/barrier/ppe_mailbox.hpp"
#include "coll/barrier/signal_register.hpp"
#include "coll/barrier/tree.hpp"
#include "coll/table.hpp"

namespace corewise::coll::barrier {

/// The algorithms. What the port cannot do has no `run`.
template <port::Port P>
consteval auto make_rows() {
  constexpr std::uint32_t kRelease = kWaits | (port::DmaLists<P> ? kList : kNothing);
  constexpr auto kSignalRegister = []() -> Run<P> {
    if constexpr (port::SignalRegister<P>) return &signal_register<P>;
    return nullptr;
  };
  constexpr auto kAtomicIncrement = []() -> Run<P> {
    if constexpr (port::AtomicWords<P>) return &atomic_increment<P>;
    return nullptr;
  };
  constexpr auto kPpeMailbox = []() -> Run<P> {
    if constexpr (port::Mailboxes<P>) return &ppe_mailbox<P>;
    return nullptr;
  };
  return std::array{
      Row<P>{"one_to_all", "OTA: flags at rank 0, which then sets one at every rank (001, 5.1)", kRelease,
             kAllPairs, &one_to_all<P>},
      Row<P>{"signal_register", "SIG: bits in rank 0's signal register, then as one_to_all (001, 5.1)", kRelease,
             kAllPairs, kSignalRegister()},
      Row<P>{"tree", "TREE: flags up a tree of degree k and down again (001, 5.1)", kDegree | kWaits, kAnything,
             &tree<P>},
      Row<P>{"pairwise_exchange", "PE: with the neighbours of a hypercube (001, 5.1)", kWaits, kAnything,
             &pairwise_exchange<P>},
      Row<P>{"dissemination", "DIS: to the rank 2^i further on, step by step (001, 5.1)", kWaits, kAnything,
             &dissemination<P>},
      Row<P>{"atomic_increment", "a counter in main memory (001, 5.3)", kNothing, kAtomicWord, kAtomicIncrement()},
      Row<P>{"ppe_mailbox", "words to the PPE, which answers all (001, 5.3)", kNothing, kPpe, kPpeMailbox()},
  };
}

/// In the namespace of every collective: its rows on port P.
template <port::Port P>
inline constexpr auto kRows = make_rows<P>();

}  // namespace corewise::coll::barrier

// Messages from core to core: two threads of this process, each bound to a processor, move a block from the memory
// of one to the memory of the other, and the ways of doing so take turns.
//
// Contract: a message's time begins when its source is written and its receiver waits, and ends when the sender has
// seen that the receiver holds all of it: every way pays for the same two flags. Before each message the sender
// rewrites one word of every line of its source; behind each the receiver looks at every line of its target, and
// what is not the message's is an error. Both are outside the time. In a round every way sends `repeats` messages
// and one before them that is not timed; the round's value is their median. Threads that wait look again at once
// for a while and then give their processor away, so that one processor is enough, if not quick.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "kernels/copy/copy.hpp"

namespace corewise::probe {

enum class MessageWay : std::uint8_t {
  slot,      ///< the sender copies all of it into a slot that both see, the receiver copies it out
  pipeline,  ///< the same chunk by chunk: the receiver copies out while the sender copies in
  direct,    ///< the receiver copies from the sender's memory: one copy
  halves,    ///< one copy too: the sender copies the last part into the receiver's memory meanwhile
};

struct MessageMethod {
  MessageWay way = MessageWay::slot;
  kernels::CopyFunction in = nullptr;   ///< by the sender; not used by `direct`
  kernels::CopyFunction out = nullptr;  ///< by the receiver
  std::size_t chunk = 0;                ///< bytes; `pipeline`: at least 1; `halves`: the sender's part, 0: half
};

struct MessagePlan {
  std::size_t bytes = 0;  ///< at least 1
  int rounds = 1;
  int repeats = 5;
  std::uint64_t seed = 1;  ///< of the orders
  bool read = false;       ///< the time holds the receiver's reading of every line, too
  int sender = 0;          ///< processor, as the operating system counts them
  int receiver = 0;
};

/// Nanoseconds per message: for each method, one value per round. An error for a processor that this process may
/// not use, and where memory is short or a message arrived wrong.
Result<std::vector<std::vector<double>>> time_messages(std::span<const MessageMethod> methods,
                                                       const MessagePlan& plan);

/// Nanoseconds from one core to another: half of what a word takes there and back, the least of several tries.
/// Where a hypervisor moves processors from die to die this changes several times. Errors as above.
Result<double> core_to_core_ns(int one, int other);

/// Processors that this process may use, rising.
std::vector<int> usable_processors();

}  // namespace corewise::probe

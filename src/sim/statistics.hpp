// Statistics of a run, per link and per unit: what a network counts while it carries messages. Plain data; times
// are the engine's ticks, bytes are bytes of messages. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "sim/event_queue.hpp"

namespace corewise::sim {

struct LinkStatistics {
  std::uint64_t bytes = 0;
  std::uint64_t packets = 0;  ///< of the flow model: transfers
  Time busy = 0;              ///< during which at least one packet (or flow) occupied the link
  /// Most packets that waited for the link at once; of the flow model: most transfers that shared it.
  std::int64_t largest_queue = 0;
};

struct UnitStatistics {
  std::uint64_t sent_bytes = 0;
  std::uint64_t sent_messages = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t received_messages = 0;
  /// Time lost to others, summed over the messages it sent: delivery minus what an idle network would have taken.
  Time waiting = 0;
};

}  // namespace corewise::sim

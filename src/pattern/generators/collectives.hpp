// The one loop that turns peer arithmetic into a pattern: a phase per step, a message per sender. Private to this
// room.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "pattern/generators/families.hpp"

namespace corewise::pattern::generators {

/// `peers(rank, step)` gives schedule::Peers, `bytes(rank, step)` what the rank sends then.
template <class PeersOf, class BytesOf>
Pattern from_schedule(std::string_view name, int ranks, int steps, PeersOf peers, BytesOf bytes) {
  Pattern pattern{std::string(name), ranks, {}};
  for (int step = 0; step < steps; ++step) {
    Phase phase{numbered("step", step), {}};
    for (int rank = 0; rank < ranks; ++rank) {
      const int to = peers(rank, step).to;
      if (to != schedule::nobody) add(phase, rank, to, bytes(rank, step));
    }
    pattern.phases.push_back(std::move(phase));
  }
  return pattern;
}

/// Refuses bytes per block that would wrap when all ranks' blocks travel in one message.
inline Status check_blocks(std::string_view family, std::uint64_t bytes, int ranks) {
  if (bytes <= UINT64_MAX / static_cast<std::uint64_t>(ranks)) return {};
  return bad_field("pattern " + std::string(family), "bytes", std::to_string(bytes),
                   "bytes times ranks within 64 bits");
}

}  // namespace corewise::pattern::generators

// What the barriers share: how a flag is set, and the waits for its write. A flag is an entry of the barriers' own
// metadata array (Rank::barrier_flags): a number that grows, never set back, so a barrier may follow another at
// once. Every barrier here lets a rank be one barrier ahead of another and no further, which is what "this number
// or a later one" needs. Beside the array there is one flag more, the line kReleaseLine that rank 0 writes to all
// by one DMA list (one_to_all.hpp); its number, Rank::releases, grows likewise.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/call.hpp"
#include "coll/rank.hpp"

namespace corewise::coll::barrier {

/// The tags under which flags of these peers are written.
class FlagTags {
 public:
  void add(int peer) { mask_ |= port::mask_of(metadata_tag(peer)); }
  [[nodiscard]] port::TagMask mask() const { return mask_; }

 private:
  port::TagMask mask_ = 0;
};

/// Waits for the writes under these tags, as a program must that has one copy of the flag's bytes and wants to
/// change it; others go on.
template <port::Port P>
void settle(Rank<P>& me, port::TagMask tags, const Parameters& parameters) {
  if (parameters.waits) me.port.wait(tags);
}

/// Sets one flag.
template <port::Port P>
void raise(Rank<P>& me, int peer, const Parameters& parameters) {
  me.barrier_flags.tell(peer);
  settle(me, port::mask_of(metadata_tag(peer)), parameters);
}

}  // namespace corewise::coll::barrier

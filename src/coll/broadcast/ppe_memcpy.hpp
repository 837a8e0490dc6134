// The PPE copies (paper 001, section 6.3): every rank sends its data's place to the PPE by mailbox; the PPE copies
// from the root's to all others with memcpy and answers. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "coll/broadcast/double_buffering.hpp"
#include "coll/building/ppe_requests.hpp"

namespace corewise::coll::broadcast {

template <port::Port P>
  requires port::Mailboxes<P>
void ppe_memcpy(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes > 0) {
    if (is_root(me, call)) {
      ask_ppe(me.port, PpeRequest::copy_from);
      tell_ppe_address(me.port, call.send);
    } else {
      ask_ppe(me.port, PpeRequest::copy_to);
      tell_ppe_address(me.port, call.receive);
      me.port.write_mailbox(static_cast<std::uint32_t>(call.bytes));
    }
    hear_ppe(me.port);
  }
  me.close(parameters);
}

}  // namespace corewise::coll::broadcast

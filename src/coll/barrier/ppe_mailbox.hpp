// The barrier by mailboxes (paper 001, section 5.3): every rank writes a word to the PPE, which answers all when it
// has heard from all (lab/collectives/ppe_service.hpp). SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "coll/building/ppe_requests.hpp"
#include "coll/rank.hpp"

namespace corewise::coll::barrier {

template <port::Port P>
  requires port::Mailboxes<P>
void ppe_mailbox(Rank<P>& me, const Call<P>& /*call*/, const Parameters& /*parameters*/) {
  me.port.compute(cost::kCall);
  ask_ppe(me.port, PpeRequest::barrier);
  hear_ppe(me.port);
}

}  // namespace corewise::coll::barrier

// Waits, last step: a world's sums as rows with names, and what is missing from them as sentences.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "profile/waits/collectives.hpp"
#include "profile/waits/ledger.hpp"
#include "profile/waits/messages.hpp"
#include "profile/waits/preparation.hpp"
#include "profile/waits/waits.hpp"

namespace corewise::profile {

/// After the last record.
WaitWorld write_results(const PreparedWorld& world, const WaitLedger& ledger, const MessageWaits& messages,
                        const CollectiveWaits& collectives);

}  // namespace corewise::profile

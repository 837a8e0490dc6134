// The waits of one world, as a listener to its records: every record goes to the step that it concerns.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/stream.hpp"
#include "profile/waits/alignment.hpp"
#include "profile/waits/causal.hpp"
#include "profile/waits/collectives.hpp"
#include "profile/waits/ledger.hpp"
#include "profile/waits/messages.hpp"
#include "profile/waits/preparation.hpp"
#include "profile/waits/results.hpp"
#include "profile/waits/share.hpp"
#include "profile/waits/waits.hpp"
#include "trace/reader.hpp"

namespace corewise::profile {

/// What the records are read for: the waits, or only what must have come before what on different nodes.
enum class Purpose : std::uint8_t { waits, causes };

class WorldWaits : public RecordListener {
 public:
  WorldWaits(std::span<const trace::Reader* const> ranks, std::span<const RankClock> clocks, Purpose purpose,
             const WaitShare& share = {});

  void take(const StreamedRecord& streamed) override;
  void end_slot(std::size_t rank, std::size_t slot, std::uint64_t damaged_bytes) override;

  // After the last record.
  std::vector<Cause> causes();
  /// What the share has.
  WorldShare waits();

 private:
  void take_for_others(const StreamedRecord& streamed, WaitRank& rank);
  void begin_phase(const StreamedRecord& streamed, WaitRank& rank);
  void call(const StreamedRecord& streamed, WaitRank& rank);
  void begin_call(const StreamedRecord& streamed, WaitRank& rank);

  PreparedWorld world_;
  const WaitShare share_;
  WaitLedger ledger_;
  CauseLedger causes_;
  MessageWaits messages_;
  CollectiveWaits collectives_;
  std::vector<std::vector<CompletingCall>> calls_;  ///< the newest call of every rank's slots
};

}  // namespace corewise::profile

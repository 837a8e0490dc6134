// Waits, last step: the sums of a world's shares, with names, are added up and become rows; what is missing from
// them becomes sentences.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "profile/waits/collectives.hpp"
#include "profile/waits/ledger.hpp"
#include "profile/waits/messages.hpp"
#include "profile/waits/preparation.hpp"
#include "profile/waits/share.hpp"
#include "profile/waits/waits.hpp"

namespace corewise::profile {

/// Where somebody waited: kind, rank, cause, procedure, file, offset, phase. One place in the program is one,
/// however a rank numbers it.
using WaitPlace = std::tuple<WaitKind, int, int, std::string, std::string, std::uint64_t, std::string>;

/// What a share says; of several, everything adds up.
struct WaitSums {
  std::map<WaitPlace, WaitSum> waits;
  std::map<std::pair<std::string, int>, ArrivalSum> arrivals;  ///< by procedure and communicator
  std::map<int, std::vector<PhaseTime>> phases;                ///< by position among the ranks, those of the share
  MatchCounts messages;
  std::uint64_t collectives = 0;
  std::uint64_t incomplete_collectives = 0;
  std::uint64_t contradictions = 0;

  void add(const WaitSums& other);
};

/// A share of a world; all but the sums, and the gaps that are counted by message or collective, is the same in
/// all.
struct WorldShare {
  WaitWorld world;  ///< without what comes from sums
  std::vector<std::string> communicators;
  WaitGaps gaps;
  WaitSums sums;

  /// Another share of the same world.
  void add(const WorldShare& other);
};

/// After the last record.
WorldShare share_of(const PreparedWorld& world, const WaitShare& share, const WaitLedger& ledger,
                    const MessageWaits& messages, const CollectiveWaits& collectives);

/// Of all shares together.
WaitWorld finish_waits(WorldShare all);

}  // namespace corewise::profile

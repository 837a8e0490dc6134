// Waits: how long ranks stood still in MPI because another one was not there yet, and how unevenly they worked.
//
// Kinds and names follow Scalasca's wait states (docs/recording/waits.md has the definitions): a wait never exceeds
// the call it happened in, and waits of one call for several messages are not added up. Observed from outside MPI:
// what the library does inside a call is not seen. Contract: times are ns on the world's common line
// (alignment.hpp). Files are streamed once, side by side; memory grows with call sites, pairs and messages in
// flight. What could not be matched is counted, and what that means stands in `notes`, a sentence each.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "profile/stream.hpp"
#include "profile/waits/alignment.hpp"

namespace corewise::profile {

enum class WaitKind : std::uint8_t {
  late_sender,     ///< a receive waited for its message to be sent
  late_receiver,   ///< a send waited for its receive to be posted
  barrier,         ///< for the last rank to come to a barrier
  all_to_all,      ///< for the last rank of a collective in which everyone gets something from everyone
  early_reduce,    ///< a root for the last of those it gathers from
  late_broadcast,  ///< for a root to begin
  early_scan,      ///< for the last of the ranks before it
};
inline constexpr int kWaitKinds = 7;
const char* wait_kind_name(WaitKind kind);

/// All waits of one kind of a rank for another at one call site in one phase.
struct Wait {
  WaitKind kind = WaitKind::late_sender;
  int rank = 0;              ///< that waited
  int cause = 0;             ///< that was late
  std::string procedure;     ///< that waited
  std::string object;        ///< file of the code, empty when unknown
  std::uint64_t offset = 0;  ///< of the return address in it
  std::string phase;         ///< empty before the first one
  std::uint64_t count = 0;
  double wait_ns = 0;
  double longest_ns = 0;
};

/// A rank's share of a phase; the name is empty before the first phase. Starting and stopping MPI is in neither.
struct PhaseTime {
  int rank = 0;
  std::string phase;
  double span_ns = 0;
  double mpi_ns = 0;
};

/// How far apart the ranks came to the collectives of one kind and communicator.
struct Arrivals {
  std::string procedure;
  std::string communicator;
  std::uint64_t count = 0;
  double spread_ns = 0;  ///< last minus mean arrival, summed
  int latest = 0;        ///< the rank that was last most often
  std::uint64_t latest_count = 0;
};

struct RankClockInfo {
  int rank = 0;
  std::string node;
  std::string source;  ///< reference, compared or realtime
  double uncertainty_ns = 0;
};

struct WaitWorld {
  std::string name;
  int size = 0;
  std::int64_t started_realtime_ns = 0;  ///< of the first rank; 0: unknown
  std::vector<int> ranks;
  std::vector<Wait> waits;
  std::vector<PhaseTime> phases;
  std::vector<Arrivals> arrivals;
  std::vector<RankClockInfo> clocks;
  std::uint64_t matched = 0;
  std::uint64_t unmatched_sends = 0;
  std::uint64_t unmatched_receives = 0;
  std::uint64_t collectives = 0;
  std::uint64_t incomplete_collectives = 0;
  std::uint64_t corrections = 0;  ///< effects before their cause, by the clocks as compared
  double largest_correction_ns = 0;
  std::uint64_t contradictions = 0;  ///< that are left
  std::vector<std::string> notes;
};

/// What it took to bring causes before their effects.
struct CausalReport {
  bool streamed = false;  ///< the records were read for it
  std::uint64_t violated = 0;
  double largest_ns = 0;
};

/// `align`, and then such corrections that no message arrives before it was sent and no collective ends before the
/// last one it needs has begun. Streams the records once where the ranks are on several nodes; `also` listens.
std::vector<RankClock> align_causally(std::span<const trace::Reader* const> ranks, CausalReport* report = nullptr,
                                      RecordListener* also = nullptr);

}  // namespace corewise::profile

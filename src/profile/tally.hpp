// One rank's totals: its records streamed once into counters whose number depends on peers, sites and procedures
// only. Times are still clock ticks, communicators and phases still the rank's own; `assemble` brings ranks
// together. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/procedures.hpp"
#include "profile/profile.hpp"
#include "profile/stream.hpp"
#include "trace/reader.hpp"

namespace corewise::profile {

struct Ticks {
  std::uint64_t calls = 0;
  std::uint64_t misses = 0;
  std::uint64_t bytes = 0;
  std::uint64_t time = 0;
  std::uint64_t polling = 0;
  std::uint64_t longest = 0;
};

/// A pair's traffic as this rank knows it; the rank itself is the other end.
struct PeerKey {
  Traffic kind;
  bool to_peer;  ///< false: from the peer to this rank
  std::uint16_t comm;
  std::int32_t peer;
  std::uint32_t phase;  ///< index into RankTally::phases
  friend bool operator==(const PeerKey&, const PeerKey&) = default;
};

struct PeerHash {
  std::size_t operator()(const PeerKey& key) const {
    const std::uint64_t ends = std::uint64_t{static_cast<std::uint32_t>(key.peer)} << 32 | key.phase;
    const std::uint64_t rest =
        static_cast<std::uint64_t>(key.kind) << 17 | (key.to_peer ? 1U << 16 : 0U) | key.comm;
    std::uint64_t mixed = (ends ^ (rest * 0x9e3779b97f4a7c15)) * 0xff51afd7ed558ccd;
    mixed ^= mixed >> 32;
    return static_cast<std::size_t>(mixed);
  }
};

struct Amount {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t time = 0;
};

/// What goes on between two moments; sums that only grow, so that two of them can be subtracted.
struct Activity {
  std::uint64_t calls = 0;
  std::uint64_t time = 0;     ///< in MPI calls, except those that start and stop MPI
  std::uint64_t startup = 0;  ///< in those
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t collective_bytes = 0;
  std::uint64_t one_sided_bytes = 0;
  std::uint64_t file_bytes = 0;

  Activity& operator+=(const Activity& more);
};
Activity operator-(const Activity& later, const Activity& earlier);

/// A phase, or all visits of a region.
struct SectionTally {
  std::uint64_t entered = 0;
  std::uint64_t unclosed = 0;
  std::uint64_t wall = 0;
  Activity activity;
};

struct RankTally {
  Rank rank;
  int world_size = 0;
  bool spawned = false;
  std::string library;
  trace::Calibration clock;
  std::uint64_t end_ticks = 0;  ///< newest sign of life
  /// Of the procedures that are named below, by number.
  std::map<std::uint16_t, std::string> names;
  std::map<std::uint16_t, Ticks> procedures;  ///< by number, those that were called
  std::map<std::tuple<std::string, std::uint64_t, std::uint16_t>, Ticks> sites;  ///< object, offset, procedure
  std::vector<std::string> phases;                                               ///< the unnamed one first
  std::vector<SectionTally> phase_totals;                                        ///< as `phases`
  std::map<std::string, SectionTally> regions;
  std::uint64_t stopped = 0;  ///< ticks during which the program had recording switched off
  std::unordered_map<PeerKey, Amount, PeerHash> peers;
  std::map<std::pair<std::uint16_t, std::uint32_t>, Spread> spreads;  ///< by the rank's own communicator, phase
  std::map<std::uint32_t, trace::Communicator> communicators;
  std::map<std::uint32_t, DatatypeTotals> datatypes;  ///< by the rank's own index
  std::uint64_t last_end = 0;                         ///< ticks; of Rank::end.last
  std::uint64_t exit_ticks = 0;                       ///< 0: none
  Histogram sent_sizes;
  Histogram received_sizes;
  Histogram collective_sizes;
};

/// Adds up one rank's records; whoever streams them, calls `finish` once after the last one.
class TallyListener : public RecordListener {
 public:
  virtual RankTally finish() = 0;
};

/// `file` is the name to report; the reader must outlive the listener. `ended_realtime_ns` is when the launcher saw
/// the run end, 0 where nobody says.
std::unique_ptr<TallyListener> tally_listener(const trace::Reader& reader, const std::string& file,
                                              std::int64_t ended_realtime_ns = 0);

}  // namespace corewise::profile

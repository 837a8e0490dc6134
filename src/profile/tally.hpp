// One rank's totals: a trace file streamed once into counters whose number depends on peers, sites and procedures
// only. Times are still clock ticks and communicators still the rank's own; `assemble` brings ranks together.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "profile/collectives.hpp"
#include "profile/profile.hpp"
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
  friend auto operator<=>(const PeerKey&, const PeerKey&) = default;
};

struct Amount {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};

struct RankTally {
  Rank rank;
  int world_size = 0;
  bool spawned = false;
  std::string library;
  trace::Calibration clock;
  std::uint64_t end_ticks = 0;     ///< newest sign of life
  std::vector<std::string> names;  ///< of the procedures in `procedures`
  std::vector<Ticks> procedures;   ///< by procedure number
  std::map<std::tuple<std::string, std::uint64_t, std::uint16_t>, Ticks> sites;  ///< object, offset, procedure
  std::map<PeerKey, Amount> peers;
  std::map<std::uint16_t, Spread> spreads;  ///< by the rank's own communicator index
  std::map<std::uint32_t, trace::Communicator> communicators;
  Histogram sent_sizes;
  Histogram received_sizes;
  Histogram collective_sizes;
};

/// Streams one open file. `file` is the name to report.
RankTally tally_rank(const trace::Reader& reader, const std::string& file);

}  // namespace corewise::profile

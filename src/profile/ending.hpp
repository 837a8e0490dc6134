// Where a rank was when its file ends: the calls that its threads had not left, the signal that ended it, and which
// collectives it had made. Places and names are resolved here; communicators and datatypes are still the rank's
// own, times are ticks: `assemble` turns them into the world's. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "profile/addresses.hpp"
#include "profile/profile.hpp"
#include "trace/reader.hpp"

namespace corewise::profile {

/// A rank's collectives by its own communicators, counted while its records are streamed.
class CollectiveLog {
 public:
  void add(const trace::Record& record);
  [[nodiscard]] std::vector<CollectivesMade> made(const trace::Reader& reader) const;

 private:
  static constexpr std::size_t kKept = 32;
  struct Made {
    std::uint64_t count = 0;
    std::deque<std::pair<std::uint16_t, std::int32_t>> newest;  ///< procedure, root
  };
  std::map<std::uint16_t, Made> by_comm_;
};

Ending ending_of(trace::State state);

/// The open calls of a file. `last_start` is the start of the newest call of each slot that is recorded: an open
/// call that began then was just over.
std::vector<OpenCall> open_calls(const trace::Reader& reader, const Mappings& mappings,
                                 const std::vector<std::uint64_t>& last_start);

/// At most one.
std::vector<Crash> crash_of(const trace::Reader& reader, const Mappings& mappings);

Place place_of(const Mappings& mappings, std::uint64_t address);

}  // namespace corewise::profile

// Waits, third step: collectives. The calls of one collective on all members are brought together by their order on
// the communicator; what they waited for follows from how the collective makes ranks meet.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profile/stream.hpp"
#include "profile/waits/ledger.hpp"
#include "profile/waits/preparation.hpp"
#include "profile/waits/share.hpp"

namespace corewise::profile {

/// How far apart the ranks came to the collectives of one procedure and communicator.
struct ArrivalSum {
  std::uint64_t count = 0;
  SummedTime spread;
  std::map<int, std::uint64_t> last;  ///< by rank, how often it was the last

  void add(const ArrivalSum& other) {
    count += other.count;
    spread.add(other.spread);
    for (const auto& [rank, times] : other.last) last[rank] += times;
  }
};

class CollectiveWaits {
 public:
  /// `causes` nullptr: waits go to `ledger`; otherwise causes are collected and there are no waits.
  CollectiveWaits(PreparedWorld& world, WaitLedger& ledger, CauseLedger* causes, const WaitShare& share)
      : world_(world), ledger_(ledger), causes_(causes), share_(share) {}

  void collective(const StreamedRecord& streamed, WaitRank& rank);

  [[nodiscard]] std::uint64_t complete() const { return complete_; }
  /// So far given up, or still not reached by every member.
  [[nodiscard]] std::uint64_t incomplete() const;
  [[nodiscard]] const std::map<std::pair<std::string, int>, ArrivalSum>& arrivals() const { return arrivals_; }

 private:
  struct Entry {
    int rank;
    double start_ns;
    double end_ns;
    std::uint64_t origin;
  };
  struct Instance {
    std::string procedure;
    std::string stem;
    Meeting meeting = Meeting::none;
    bool mixed = false;
    int root = trace::kNoPeer;
    std::vector<Entry> entries;
  };
  /// Collectives that follow each other in order: a communicator's, or a persistent one's starts.
  using Line = std::pair<int, std::string>;

  void finished(const WaitCommunicator& comm, int comm_index, const Instance& instance);
  void causes_of(const Instance& instance);
  void wait_in(WaitKind kind, const Entry& entry, const Entry& cause);
  void wait_for_last(WaitKind kind, const Instance& instance);
  void wait_of_root(const Instance& instance);
  void wait_for_root(const Instance& instance);
  void wait_for_lower(const WaitCommunicator& comm, const Instance& instance);
  void note_arrivals(int comm, const Instance& instance);
  static const Entry& last_of(const Instance& instance);
  static const Entry* root_of(const Instance& instance);

  PreparedWorld& world_;
  WaitLedger& ledger_;
  CauseLedger* causes_;
  const WaitShare share_;
  std::map<std::pair<int, Line>, std::uint64_t> next_;                              ///< by rank and line
  std::map<std::pair<Line, std::size_t>, std::map<std::uint64_t, Instance>> open_;  ///< by line and group
  std::map<std::pair<std::string, int>, ArrivalSum> arrivals_;
  std::uint64_t complete_ = 0;
  std::uint64_t given_up_ = 0;
};

}  // namespace corewise::profile

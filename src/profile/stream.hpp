// One pass over the records of several ranks, for any number of listeners at once.
//
// Contract: records come in the order of their ends on the ranks' common time line, which within a thread slot is
// the order in which they were recorded; of records that end at one time the first slot's comes first. A listener
// that looks at one rank or one slot only gets the same records in the same order whoever else is streamed. Memory
// is a decoded chunk per slot. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "profile/waits/alignment.hpp"
#include "trace/reader.hpp"

namespace corewise::profile {

/// A record and where it comes from.
struct StreamedRecord {
  std::size_t rank;  ///< position among the streamed ranks
  std::size_t slot;  ///< position among the reader's slots
  const trace::Record& record;
  const RankClock& clock;

  [[nodiscard]] double start_ns() const { return clock.ns(record.start_ticks); }
  [[nodiscard]] double end_ns() const { return clock.ns(record.start_ticks + record.duration_ticks); }
};

class RecordListener {
 public:
  RecordListener() = default;
  RecordListener(const RecordListener&) = delete;
  RecordListener& operator=(const RecordListener&) = delete;
  virtual ~RecordListener() = default;

  virtual void take(const StreamedRecord& streamed) = 0;
  /// No record of this slot comes any more; `damaged_bytes` of its records could not be decoded.
  virtual void end_slot(std::size_t rank, std::size_t slot, std::uint64_t damaged_bytes) = 0;
};

/// Hands the records of every rank to the listeners of that rank, which may be none.
class PerRank : public RecordListener {
 public:
  explicit PerRank(std::vector<std::vector<RecordListener*>> listeners) : listeners_(std::move(listeners)) {}

  void take(const StreamedRecord& streamed) override {
    for (RecordListener* listener : listeners_[streamed.rank]) listener->take(streamed);
  }
  void end_slot(std::size_t rank, std::size_t slot, std::uint64_t damaged_bytes) override {
    for (RecordListener* listener : listeners_[rank]) listener->end_slot(rank, slot, damaged_bytes);
  }

 private:
  std::vector<std::vector<RecordListener*>> listeners_;  ///< by position among the streamed ranks
};

/// `clocks` are those of `ranks`.
void stream_records(std::span<const trace::Reader* const> ranks, std::span<const RankClock> clocks,
                    std::span<RecordListener* const> listeners);

}  // namespace corewise::profile

// Calls: the records of one rank as the calls that its program made, in order.
//
// A call is its first record, further operations that it started (records of equal start), and the messages that it
// completed (arrivals that end when it ends). Memory is what one call needs. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "trace/reader.hpp"

namespace corewise::replay {

struct Call {
  trace::Record record;                  ///< the first one, which has the duration
  std::vector<trace::Record> more;       ///< operations and shares of the same call
  std::vector<trace::Record> completed;  ///< arrivals and cancellations
  std::uint64_t number = 0;              ///< from 1

  [[nodiscard]] std::uint64_t end_ticks() const { return record.start_ticks + record.duration_ticks; }
};

class CallReader {
 public:
  explicit CallReader(trace::RecordStream records) : records_(std::move(records)) { advance(); }

  /// False at the end.
  bool next(Call& call);

 private:
  void advance();
  [[nodiscard]] bool belongs(const Call& call) const;

  trace::RecordStream records_;
  trace::Record head_;
  bool more_ = false;
  std::uint64_t number_ = 0;
};

/// Who completed what: finds the arrival of a receive that is posted now, further on in the same records.
class Foresight {
 public:
  explicit Foresight(trace::RecordStream records) : records_(std::move(records)) {}

  /// The message that came for the receive posted at `start_ticks` with this peer and tag (wildcards negative);
  /// null where none did. Valid until the next call.
  const trace::Record* arrival_of(const trace::Record& post);

 private:
  bool take(const trace::Record& post, const trace::Record& arrival);

  trace::RecordStream records_;
  std::vector<trace::Record> met_;  ///< arrivals that no call has asked for, in the order of the records
  trace::Record found_;
};

}  // namespace corewise::replay

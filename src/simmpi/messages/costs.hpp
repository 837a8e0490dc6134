// MessageCosts: what messages of a real MPI cost inside a node, as a table that was measured
// (docs/formats/messages.md).
//
// A row is a size. Times depend on where the buffers are: the columns are by how many bytes a rank had sent and
// received since the buffer was used last. In between both are interpolated linearly; beyond the longest row time
// grows with the size. Plain data. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.hpp"

namespace corewise::simmpi {

struct MessageCosts {
  /// From the start of the send to the end of the receive.
  struct Times {
    double one_way_ns = 0;
    double both_ns = 0;  ///< the same while a message of this size goes the other way; may be less
  };
  struct Row {
    double bytes = 0;
    double send_ns = 0;        ///< of it, the sender's own
    std::vector<Times> times;  ///< by column
  };

  std::vector<double> moved_bytes;  ///< of each column, rising
  std::vector<Row> rows;            ///< sizes rise; empty: nothing was measured
  double touched_bytes_per_ns = 0;  ///< memory that a rank uses while it computes

  [[nodiscard]] bool empty() const { return rows.empty(); }
  [[nodiscard]] double send_ns(double bytes) const;
  /// `moved`: bytes that the rank sent, received and used otherwise since the buffer's last use.
  [[nodiscard]] Times times(double bytes, double moved) const;
};

/// Refuses a table that is not rectangular, does not rise or has a negative time.
Status check(const MessageCosts& costs);

}  // namespace corewise::simmpi

// Interpolation. SPDX-License-Identifier: BSD-3-Clause
#include "simmpi/messages/costs.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>

namespace corewise::simmpi {
namespace {

using Times = MessageCosts::Times;
using Row = MessageCosts::Row;

double between(double a, double b, double share) {
  return a + (b - a) * share;
}

Times between(const Times& a, const Times& b, double share) {
  return {between(a.one_way_ns, b.one_way_ns, share), between(a.both_ns, b.both_ns, share)};
}

/// A message moves itself and the one that answers it: less than that lies between no two uses of a buffer.
double column_at(double moved, double bytes) {
  return std::max(moved, 2 * bytes);
}

Times of_row(const std::vector<double>& columns, const Row& row, double moved) {
  for (std::size_t i = 1; i < columns.size(); ++i) {
    const double low = column_at(columns[i - 1], row.bytes);
    const double high = column_at(columns[i], row.bytes);
    if (moved >= high) continue;
    const double share = high > low ? std::max(0.0, moved - low) / (high - low) : 0;
    return between(row.times[i - 1], row.times[i], share);
  }
  return row.times.back();
}

/// The rows around a size, and how far between them it lies. Below the first row both are the first.
struct Place {
  const Row& low;
  const Row& high;
  double share = 0;
  double scale = 1;  ///< beyond the last row
};

Place place_of(const std::vector<Row>& rows, double bytes) {
  const auto above = std::upper_bound(rows.begin(), rows.end(), bytes,
                                      [](double size, const Row& row) { return size < row.bytes; });
  if (above == rows.begin()) return {rows.front(), rows.front()};
  const Row& low = *(above - 1);
  if (above == rows.end()) return {low, low, 0, low.bytes > 0 ? bytes / low.bytes : 1};
  return {low, *above, (bytes - low.bytes) / (above->bytes - low.bytes)};
}

Status row_status(const MessageCosts& costs, std::size_t index) {
  const Row& row = costs.rows[index];
  const std::string field = "row[" + std::to_string(index) + "]";
  const bool rises = index == 0 || row.bytes > costs.rows[index - 1].bytes;
  if (!(row.bytes >= 0) || !rises)
    return bad_field("", field + ".bytes", std::to_string(row.bytes), "rising sizes");
  if (row.times.size() != costs.moved_bytes.size()) {
    return bad_field("", field, std::to_string(row.times.size()) + " times",
                     std::to_string(costs.moved_bytes.size()) + ", one per column");
  }
  for (const Times& each : row.times) {
    const bool good = std::isfinite(each.one_way_ns) && std::isfinite(each.both_ns) && row.send_ns >= 0 &&
                      each.one_way_ns >= row.send_ns && each.both_ns >= row.send_ns;
    if (!good) return bad_field("", field, "times less than sending", "send <= one way, both ways");
  }
  return {};
}

}  // namespace

double MessageCosts::send_ns(double bytes) const {
  const Place place = place_of(rows, bytes);
  return between(place.low.send_ns, place.high.send_ns, place.share);
}

Times MessageCosts::times(double bytes, double moved) const {
  const Place place = place_of(rows, bytes);
  const Times found =
      between(of_row(moved_bytes, place.low, moved), of_row(moved_bytes, place.high, moved), place.share);
  return {found.one_way_ns * place.scale, found.both_ns * place.scale};
}

Status check(const MessageCosts& costs) {
  if (costs.rows.empty()) return {};
  if (costs.moved_bytes.empty()) return bad_field("", "moved_bytes", "none", "one or more columns");
  if (!std::is_sorted(costs.moved_bytes.begin(), costs.moved_bytes.end(), std::less_equal<>())) {
    return bad_field("", "moved_bytes", "columns that do not rise", "rising numbers of bytes");
  }
  for (std::size_t index = 0; index < costs.rows.size(); ++index) {
    if (Status status = row_status(costs, index); !status.ok()) return status;
  }
  return {};
}

}  // namespace corewise::simmpi

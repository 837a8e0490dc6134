// The table and its text; contract in cost.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/plans/cost.hpp"

#include <algorithm>
#include <charconv>

namespace corewise::kernels {
namespace {

constexpr std::string_view kSparse = ".sparse";

const PackingRow* row_of(const PackingTable& table, PackingUse use, const PackedMessage& message) {
  const auto& rows = table.rows[static_cast<std::size_t>(use)][static_cast<std::size_t>(packing_lines(message))];
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const PackingRow& row) { return message.bytes <= row.bytes; });
  return found == rows.end() ? nullptr : &*found;
}

/// Cuts `text` at the first `mark`; the piece before it is returned.
std::string_view cut(std::string_view& text, char mark) {
  const std::size_t at = std::min(text.find(mark), text.size());
  const std::string_view piece = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return piece;
}

bool read_number(std::string_view text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number >= 0;
}

/// A range, LEAST-MOST or MOST.
bool read_range(std::string_view piece, PackingRuns& runs) {
  if (piece.find('-') == std::string_view::npos) return read_number(piece, runs.most) && runs.most > 0;
  const std::string_view least = cut(piece, '-');
  return read_number(least, runs.least) && read_number(piece, runs.most) && runs.least > 0 &&
         runs.least <= runs.most;
}

bool read_ranges(std::string_view text, std::vector<PackingRuns>& ranges) {
  if (text == "0") return true;
  if (text.empty() || text.back() == '+') return false;
  while (!text.empty()) {
    PackingRuns runs;
    if (!read_range(cut(text, '+'), runs)) return false;
    if (!ranges.empty() && runs.least <= ranges.back().most) return false;
    ranges.push_back(runs);
  }
  return true;
}

bool read_rows(std::string_view text, PackingTable::Rows& rows) {
  if (text.empty() || text.back() == ',') return false;
  while (!text.empty()) {
    std::string_view piece = cut(text, ',');
    const std::string_view bytes = cut(piece, ':');
    PackingRow row;
    if (!read_number(bytes, row.bytes) || !read_ranges(piece, row.runs)) return false;
    if (!rows.empty() && row.bytes <= rows.back().bytes) return false;
    rows.push_back(std::move(row));
  }
  return true;
}

/// The rows that a name, "send" or "send.sparse", means; null where there are none.
PackingTable::Rows* rows_named(PackingTable& table, std::string_view name) {
  const bool sparse = name.ends_with(kSparse);
  if (sparse) name.remove_suffix(kSparse.size());
  const auto* use = std::find(kPackingUses.begin(), kPackingUses.end(), name);
  if (use == kPackingUses.end()) return nullptr;
  return &table.rows[static_cast<std::size_t>(use - kPackingUses.begin())][sparse ? 1 : 0];
}

}  // namespace

PackingLines packing_lines(const PackedMessage& message) {
  return message.line_density < kDenseLine || message.pages_per_line * kDensePage >= 1 ? PackingLines::sparse
                                                                                       : PackingLines::dense;
}

bool packed_by_us(const PackingTable& table, PackingUse use, const PackedMessage& message) {
  const PackingRow* row = row_of(table, use, message);
  return row != nullptr && std::any_of(row->runs.begin(), row->runs.end(), [&](const PackingRuns& runs) {
           return message.mean_run >= static_cast<double>(runs.least) &&
                  message.mean_run <= static_cast<double>(runs.most);
         });
}

std::string packing_reason(const PackingTable& table, PackingUse use, const PackedMessage& message) {
  const PackingRow* row = row_of(table, use, message);
  std::string text(kPackingUses[static_cast<std::size_t>(use)]);
  if (packing_lines(message) == PackingLines::sparse) text += ", sparse";
  if (row == nullptr) return text + ": no row for " + std::to_string(message.bytes) + " B";
  text += ": up to " + std::to_string(row->bytes) + " B, runs of ";
  if (row->runs.empty()) return text + "no length";
  for (const PackingRuns& runs : row->runs) {
    if (&runs != row->runs.data()) text += ", or ";
    text += runs.least == 0 ? std::string("at most ") : std::to_string(runs.least).append(" to ");
    text += std::to_string(runs.most).append(" B");
  }
  return text;
}

std::optional<PackingTable> parse_packing_table(std::string_view text) {
  PackingTable table;
  if (text.empty() || text.back() == ';') return std::nullopt;
  while (!text.empty()) {
    std::string_view rows = cut(text, ';');
    PackingTable::Rows* const target = rows_named(table, cut(rows, '='));
    if (target == nullptr || !target->empty() || !read_rows(rows, *target)) return std::nullopt;
  }
  return table;
}

}  // namespace corewise::kernels

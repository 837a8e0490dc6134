// The table, its text, and how measurements become one; see packing_cost.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/plans/cost.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace corewise::kernels {
namespace {

constexpr std::string_view kSparse = ".sparse";
constexpr std::string_view kRotate = "rotate";

const PackingRow* row_of(const PackingCosts& costs, PackingUse use, const PackedMessage& message) {
  const auto& rows = costs.of(use, message.lines);
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

bool read_rows(std::string_view text, PackingCosts::Rows& rows) {
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
PackingCosts::Rows* rows_named(PackingCosts& costs, std::string_view name) {
  const bool sparse = name.ends_with(kSparse);
  if (sparse) name.remove_suffix(kSparse.size());
  const auto* use = std::find(kPackingUses.begin(), kPackingUses.end(), name);
  if (use == kPackingUses.end()) return nullptr;
  return &costs.rows[static_cast<std::size_t>(use - kPackingUses.begin())][sparse ? 1 : 0];
}

std::string ranges_text(const std::vector<PackingRuns>& ranges) {
  std::string text;
  for (const PackingRuns& runs : ranges) {
    if (!text.empty()) text += "+";
    if (runs.least > 0) text += std::to_string(runs.least) + "-";
    text += std::to_string(runs.most);
  }
  return text.empty() ? "0" : text;
}

std::string rows_text(const PackingCosts::Rows& rows) {
  std::string text;
  for (const PackingRow& row : rows)
    text += (text.empty() ? "" : ",") + std::to_string(row.bytes) + ":" + ranges_text(row.runs);
  return text;
}

}  // namespace

PackingLines packing_lines(double line_density, double pages_per_line) {
  return line_density < kDenseLine || pages_per_line * kDensePage >= 1 ? PackingLines::sparse : PackingLines::dense;
}

bool packed_by_us(const PackingCosts& costs, PackingUse use, const PackedMessage& message) {
  const PackingRow* row = row_of(costs, use, message);
  return row != nullptr && std::any_of(row->runs.begin(), row->runs.end(), [&](const PackingRuns& runs) {
           return message.mean_run >= static_cast<double>(runs.least) &&
                  message.mean_run <= static_cast<double>(runs.most);
         });
}

bool side_packs(const PackingCosts& costs, PackingUse side, OtherSide other, const PackedMessage& message) {
  if (other == OtherSide::strided) return packed_by_us(costs, PackingUse::both, message);
  return packed_by_us(costs, side, message) &&
         (other == OtherSide::contiguous || packed_by_us(costs, PackingUse::both, message));
}

std::string packing_reason(const PackingCosts& costs, PackingUse use, const PackedMessage& message) {
  const PackingRow* row = row_of(costs, use, message);
  std::string text(kPackingUses[static_cast<std::size_t>(use)]);
  if (message.lines == PackingLines::sparse) text += ", sparse";
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

std::string packing_text(const PackingCosts& costs) {
  std::string text;
  for (std::size_t use = 0; use < kPackingUses.size(); ++use) {
    for (std::size_t sparse = 0; sparse < 2; ++sparse) {
      const PackingCosts::Rows& rows = costs.rows[use][sparse];
      if (rows.empty()) continue;
      if (!text.empty()) text += ";";
      text += std::string(kPackingUses[use]).append(sparse == 1 ? kSparse : "").append("=").append(rows_text(rows));
    }
  }
  if (costs.rotate > 0)
    text += std::string(text.empty() ? "" : ";")
                .append(kRotate)
                .append("=")
                .append(std::to_string(costs.rotate))
                .append(":")
                .append(std::to_string(costs.rotate_from));
  return text;
}

std::optional<PackingCosts> parse_packing_costs(std::string_view text) {
  PackingCosts costs;
  if (text.empty() || text.back() == ';') return std::nullopt;
  bool rotates = false;
  while (!text.empty()) {
    std::string_view rows = cut(text, ';');
    const std::string_view name = cut(rows, '=');
    if (name == kRotate) {
      const std::string_view turn = cut(rows, ':');
      if (std::exchange(rotates, true) || !read_number(turn, costs.rotate) || !read_number(rows, costs.rotate_from))
        return std::nullopt;
      continue;
    }
    PackingCosts::Rows* target = rows_named(costs, name);
    if (target == nullptr || !target->empty() || !read_rows(rows, *target)) return std::nullopt;
  }
  const bool lonely = std::any_of(costs.rows.begin(), costs.rows.end(),
                                  [](const auto& both) { return both[0].empty() && !both[1].empty(); });
  if (lonely) return std::nullopt;
  return costs;
}

std::vector<PackingRow> packing_rows(const std::vector<PackingSample>& samples, double gain,
                                     std::int64_t most_bytes) {
  std::map<std::int64_t, std::map<std::int64_t, bool>> gains;
  for (const PackingSample& sample : samples) gains[sample.bytes][sample.run] = sample.theirs >= gain * sample.ours;
  std::vector<PackingRow> rows;
  for (const auto& [bytes, by_run] : gains) {
    PackingRow row{bytes, {}};
    bool open = false;
    for (const auto& [run, won] : by_run) {
      if (won && open) row.runs.back().most = run;
      if (won && !open) row.runs.push_back({run == by_run.begin()->first ? 0 : run, run});
      open = won;
    }
    rows.push_back(std::move(row));
  }
  if (!rows.empty()) rows.back().bytes = std::max(rows.back().bytes, most_bytes);
  return rows;
}

}  // namespace corewise::kernels

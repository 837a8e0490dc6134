// The table, its text, and how measurements become one; see packing_cost.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing_cost.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace corewise::kernels {
namespace {

const PackingCrossing* row_of(const PackingCosts& costs, PackingUse use, std::int64_t bytes) {
  const auto& rows = costs.crossings[static_cast<std::size_t>(use)];
  const auto found =
      std::find_if(rows.begin(), rows.end(), [bytes](const PackingCrossing& row) { return bytes <= row.bytes; });
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

bool read_rows(std::string_view text, std::vector<PackingCrossing>& rows) {
  if (text.empty() || text.back() == ',') return false;
  while (!text.empty()) {
    std::string_view piece = cut(text, ',');
    const std::string_view bytes = cut(piece, ':');
    PackingCrossing row;
    if (!read_number(bytes, row.bytes) || !read_number(piece, row.run)) return false;
    if (!rows.empty() && row.bytes <= rows.back().bytes) return false;
    rows.push_back(row);
  }
  return true;
}

}  // namespace

bool packed_by_us(const PackingCosts& costs, PackingUse use, std::int64_t bytes, double mean_run) {
  const PackingCrossing* row = row_of(costs, use, bytes);
  return row != nullptr && mean_run <= static_cast<double>(row->run);
}

std::string packing_reason(const PackingCosts& costs, PackingUse use, std::int64_t bytes) {
  const PackingCrossing* row = row_of(costs, use, bytes);
  const std::string name(kPackingUses[static_cast<std::size_t>(use)]);
  if (row == nullptr) return name + ": no row for " + std::to_string(bytes) + " B";
  return name + ": up to " + std::to_string(row->bytes) + " B, runs of at most " + std::to_string(row->run) + " B";
}

std::string packing_text(const PackingCosts& costs) {
  std::string text;
  for (std::size_t use = 0; use < kPackingUses.size(); ++use) {
    if (costs.crossings[use].empty()) continue;
    if (!text.empty()) text += ";";
    text += std::string(kPackingUses[use]).append("=");
    for (const PackingCrossing& row : costs.crossings[use])
      text += (text.back() == '=' ? "" : ",") + std::to_string(row.bytes) + ":" + std::to_string(row.run);
  }
  return text;
}

std::optional<PackingCosts> parse_packing_costs(std::string_view text) {
  PackingCosts costs;
  if (text.empty() || text.back() == ';') return std::nullopt;
  while (!text.empty()) {
    std::string_view rows = cut(text, ';');
    const std::string_view name = cut(rows, '=');
    const auto* use = std::find(kPackingUses.begin(), kPackingUses.end(), name);
    if (use == kPackingUses.end()) return std::nullopt;
    auto& target = costs.crossings[static_cast<std::size_t>(use - kPackingUses.begin())];
    if (!target.empty() || !read_rows(rows, target)) return std::nullopt;
  }
  return costs;
}

std::vector<PackingCrossing> crossings_of(const std::vector<PackingSample>& samples, double gain,
                                          std::int64_t most_bytes) {
  std::map<std::int64_t, std::map<std::int64_t, double>> gains;
  for (const PackingSample& sample : samples)
    gains[sample.bytes][sample.run] += std::log(sample.theirs / (gain * sample.ours));
  std::vector<PackingCrossing> rows;
  for (const auto& [bytes, by_run] : gains) {
    PackingCrossing row{bytes, 0};
    double sum = 0, best = 0;
    for (const auto& [run, won] : by_run) {
      sum += won;
      if (sum <= best || won <= 0) continue;
      best = sum;
      row.run = run;
    }
    rows.push_back(row);
  }
  if (!rows.empty()) rows.back().bytes = std::max(rows.back().bytes, most_bytes);
  return rows;
}

}  // namespace corewise::kernels

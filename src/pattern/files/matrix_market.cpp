// Patterns as Matrix Market files (coordinate format, one-based indices; Boisvert, Pozo, Remington, "The Matrix
// Market Exchange Formats", NIST 1996). Row = sender, column = receiver, value = bytes. Strict: exactly as many
// entries as the size line says, each pair once, whole numbers that are not negative; a symmetric file holds its
// lower triangle only.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cctype>
#include <cmath>

#include "pattern/files/files.hpp"
#include "pattern/files/text_lines.hpp"

namespace corewise::pattern {
namespace {

constexpr std::string_view banner_allowed =
    "%%MatrixMarket matrix coordinate integer|real|pattern general|symmetric";

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// A whole number that is not negative, also when written as a real ("12.0", "1e3").
std::optional<std::uint64_t> whole_real(std::string_view text) {
  if (const auto exact = whole_number(text)) return exact;
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool read = error == std::errc{} && end == text.data() + text.size();
  if (!read || !(number >= 0) || number >= 0x1p64 || number != std::floor(number)) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

class MatrixMarketReader {
 public:
  MatrixMarketReader(std::string_view text, std::string_view source) : lines_(text), source_(source) {}

  Result<Pattern> read() {
    if (auto status = banner(); !status.ok()) return status;
    if (auto status = size(); !status.ok()) return status;
    if (auto status = all_entries(); !status.ok()) return status;
    auto matrix = Matrix::from_entries(ranks_, std::move(entries_), source_);
    if (!matrix.ok()) return matrix.status();
    return as_pattern(matrix.value(), name_);
  }

 private:
  Status wrong(std::string_view field, std::string_view found, std::string_view allowed) const {
    return bad_field(at_line(source_, std::max(lines_.number(), 1)), field, found, allowed);
  }

  Status banner() {
    std::string_view line;
    lines_.next(line);
    const auto parts = words(lower_line_ = lower(line));
    if (parts.size() != 5 || parts[0] != "%%matrixmarket" || parts[1] != "matrix" || parts[2] != "coordinate") {
      return wrong("banner", quoted(line), banner_allowed);
    }
    values_ = parts[3] != "pattern";
    symmetric_ = parts[4] == "symmetric";
    const bool known_values = parts[3] == "integer" || parts[3] == "real" || parts[3] == "pattern";
    if (!known_values || !(symmetric_ || parts[4] == "general")) {
      return wrong("banner", quoted(line), banner_allowed);
    }
    return {};
  }

  /// The next line that is neither empty nor a comment.
  bool next_data(std::string_view& line) {
    while (lines_.next(line)) {
      if (line.empty()) continue;
      if (line.front() != '%') return true;
      const auto text = trimmed(line.substr(1));
      if (text.substr(0, 5) == "name=") name_ = text.substr(5);
    }
    return false;
  }

  Status size() {
    name_ = stem(source_);
    std::string_view line;
    if (!next_data(line)) return wrong("size", "the end of the file", "a line ROWS COLUMNS ENTRIES");
    const auto parts = words(line);
    if (parts.size() != 3) return wrong("size", quoted(line), "a line ROWS COLUMNS ENTRIES");
    const auto rows = whole_number(parts[0]);
    const auto columns = whole_number(parts[1]);
    const auto count = whole_number(parts[2]);
    if (!rows || !columns || !count) return wrong("size", quoted(line), "three integers that are not negative");
    if (*rows != *columns) {
      return wrong("size", std::string(parts[0]) + " rows and " + std::string(parts[1]) + " columns",
                   "a square matrix");
    }
    if (*rows < 1 || *rows > max_ranks) {
      return wrong("size", std::string(parts[0]) + " rows", "1 to " + std::to_string(max_ranks) + " rows");
    }
    ranks_ = static_cast<int>(*rows);
    expected_ = *count;
    return {};
  }

  Status all_entries() {
    std::string_view line;
    std::uint64_t read = 0;
    while (next_data(line)) {
      if (read == expected_) {
        return wrong("entries", "entry " + std::to_string(read + 1), std::to_string(expected_) + " entries");
      }
      if (auto status = entry(line); !status.ok()) return status;
      ++read;
    }
    if (read == expected_) return {};
    return wrong("entries", "the end of the file after " + std::to_string(read) + " entries",
                 std::to_string(expected_) + " entries");
  }

  Status entry(std::string_view line) {
    const auto parts = words(line);
    if (parts.size() != (values_ ? 3U : 2U)) {
      return wrong("entry", quoted(line), values_ ? "ROW COLUMN VALUE" : "ROW COLUMN");
    }
    Message message{0, 0, 1, 1};
    if (auto status = index(parts[0], "row", message.from); !status.ok()) return status;
    if (auto status = index(parts[1], "column", message.to); !status.ok()) return status;
    if (values_) {
      const auto bytes = whole_real(parts[2]);
      if (!bytes) return wrong("value", quoted(parts[2]), "a whole number of bytes from 0 to 2^64-1");
      message.bytes = *bytes;
    }
    return add(message);
  }

  Status index(std::string_view text, std::string_view field, int& rank) const {
    const auto number = whole_number(text);
    if (!number || *number < 1 || *number > static_cast<std::uint64_t>(ranks_)) {
      return wrong(field, quoted(text), "an index from 1 to " + std::to_string(ranks_));
    }
    rank = static_cast<int>(*number) - 1;
    return {};
  }

  Status add(Message message) {
    if (symmetric_ && message.to > message.from) {
      return wrong("entry", "an entry above the diagonal", "the lower triangle of a symmetric matrix");
    }
    entries_.push_back(message);
    if (symmetric_ && message.from != message.to) {
      std::swap(message.from, message.to);
      entries_.push_back(message);
    }
    return {};
  }

  Lines lines_;
  std::string source_;
  std::string lower_line_;
  std::string name_;
  bool values_ = true;
  bool symmetric_ = false;
  int ranks_ = 0;
  std::uint64_t expected_ = 0;
  std::vector<Message> entries_;
};

}  // namespace

Result<Pattern> from_matrix_market(std::string_view text, std::string_view source) {
  return MatrixMarketReader(text, source).read();
}

std::string to_matrix_market(const Matrix& matrix) {
  const std::string n = std::to_string(matrix.ranks);
  std::string text = "%%MatrixMarket matrix coordinate integer general\n";
  text += "% row = sending rank + 1, column = receiving rank + 1, value = bytes\n";
  text += n + " " + n + " " + std::to_string(matrix.entries.size()) + "\n";
  for (const Message& m : matrix.entries) {
    text += std::to_string(m.from + 1) + " " + std::to_string(m.to + 1) + " " + std::to_string(m.bytes) + "\n";
  }
  return text;
}

}  // namespace corewise::pattern

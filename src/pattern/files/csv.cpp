// Patterns as comma-separated rows, one message a row: from,to,bytes[,count][,phase]. A header line names the
// columns; the comments `# name=...` and `# ranks=N` carry what rows cannot. Strict: a row with more or fewer
// fields than the header, or a field that is not a whole number, is an error with its line.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <map>

#include "base/json.hpp"
#include "base/utf8.hpp"
#include "pattern/files/files.hpp"
#include "pattern/files/text_lines.hpp"

namespace corewise::pattern {
namespace {

constexpr std::array<std::string_view, 5> column_names{"from", "to", "bytes", "count", "phase"};
enum Column : std::size_t { from_column, to_column, bytes_column, count_column, phase_column };
constexpr std::size_t required_columns = 3;
constexpr std::string_view header_allowed = "a header line from,to,bytes[,count][,phase]";
constexpr std::string_view default_phase = "all";

/// Splits at commas outside double quotes; a doubled quote inside quotes is one quote. False: a quote stays open or
/// closes before the field's end.
bool split(std::string_view line, std::vector<std::string>& fields) {
  fields.clear();
  std::size_t at = 0;
  while (true) {
    std::string field;
    if (at < line.size() && line[at] == '"') {
      for (++at; at < line.size(); ++at) {
        if (line[at] != '"') {
          field += line[at];
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
          field += line[at++];
        } else {
          break;
        }
      }
      if (at == line.size()) return false;
      ++at;
    } else {
      const auto end = std::min(line.find(',', at), line.size());
      field = trimmed(line.substr(at, end - at));
      at = end;
    }
    fields.push_back(std::move(field));
    if (at == line.size()) return true;
    if (line[at] != ',') return false;
    ++at;
  }
}

std::string as_field(const std::string& text) {
  const bool plain = text.find_first_of(",\"") == std::string::npos && trimmed(text) == text && !text.empty() &&
                     text.front() != '#';
  if (plain) return text;
  std::string field = "\"";
  for (const char c : text) field.append(c == '"' ? 2 : 1, c == '\n' || c == '\r' ? ' ' : c);
  return field + "\"";
}

class CsvReader {
 public:
  explicit CsvReader(std::string_view source) : source_(source) { pattern_.name = stem(source); }

  Result<Pattern> read(std::string_view text) {
    Lines lines(text);
    std::string_view line;
    while (lines.next(line)) {
      line_ = lines.number();
      if (line.empty()) continue;
      if (!is_utf8(line)) return bad_field(here(), "line", "bytes that are not UTF-8", "UTF-8");
      auto status = line.front() == '#' ? comment(line.substr(1)) : columns_.empty() ? header(line) : row(line);
      if (!status.ok()) return status;
    }
    return finish();
  }

 private:
  [[nodiscard]] std::string here() const { return at_line(source_, line_); }

  Status comment(std::string_view text) {
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) return {};
    const auto key = trimmed(text.substr(0, equals));
    const auto value = trimmed(text.substr(equals + 1));
    if (key == "name") pattern_.name = value;
    if (key != "ranks") return {};
    const auto ranks = whole_number(value);
    if (!ranks || *ranks < 1 || *ranks > max_ranks) {
      return bad_field(here(), "ranks", quoted(value), "an integer from 1 to " + std::to_string(max_ranks));
    }
    declared_ranks_ = static_cast<int>(*ranks);
    return {};
  }

  Status header(std::string_view line) {
    std::vector<std::string> names;
    const bool whole = split(line, names);
    for (std::size_t i = 0; whole && i < names.size(); ++i) {
      const auto at = std::find(column_names.begin(), column_names.end(), names[i]) - column_names.begin();
      const auto column = static_cast<std::size_t>(at);
      const bool again = std::find(columns_.begin(), columns_.end(), column) != columns_.end();
      if (column == column_names.size() || again) return bad_field(here(), "header", quoted(line), header_allowed);
      columns_.push_back(column);
    }
    for (std::size_t column = 0; column < required_columns; ++column) {
      const bool missing = std::find(columns_.begin(), columns_.end(), column) == columns_.end();
      if (missing) return bad_field(here(), "header", quoted(line), header_allowed);
    }
    return {};
  }

  Status row(std::string_view line) {
    std::vector<std::string> fields;
    if (!split(line, fields)) return bad_field(here(), "row", quoted(line), "fields with closed quotes");
    if (fields.size() != columns_.size()) {
      return bad_field(here(), "row", std::to_string(fields.size()) + " fields",
                       std::to_string(columns_.size()) + " fields, as in the header");
    }
    Message message;
    std::string phase(default_phase);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (columns_[i] == phase_column) {
        phase = fields[i];
      } else if (auto status = number(columns_[i], fields[i], message); !status.ok()) {
        return status;
      }
    }
    remember_highest(message);
    phase_named(phase).messages.push_back(message);
    return {};
  }

  Status number(std::size_t column, const std::string& field, Message& message) {
    const auto value = whole_number(field);
    const bool rank = column == from_column || column == to_column;
    if (!value || (rank && *value >= static_cast<std::uint64_t>(max_ranks))) {
      return bad_field(
          here(), column_names[column], quoted(field),
          rank ? "a rank from 0 to " + std::to_string(max_ranks - 1) : "an integer from 0 to 18446744073709551615");
    }
    if (column == from_column) message.from = static_cast<int>(*value);
    if (column == to_column) message.to = static_cast<int>(*value);
    if (column == bytes_column) message.bytes = *value;
    if (column == count_column) message.count = *value;
    return {};
  }

  /// The highest rank is remembered with its line, as `# ranks=N` may follow the rows.
  void remember_highest(const Message& message) {
    const int rank = std::max(message.from, message.to);
    if (rank <= highest_rank_) return;
    highest_rank_ = rank;
    highest_line_ = line_;
  }

  Phase& phase_named(const std::string& name) {
    const auto [at, fresh] = phase_index_.try_emplace(name, pattern_.phases.size());
    if (fresh) pattern_.phases.push_back({name, {}});
    return pattern_.phases[at->second];
  }

  Result<Pattern> finish() {
    if (columns_.empty()) return bad_field(source_, "header", "nothing", header_allowed);
    pattern_.ranks = declared_ranks_ > 0 ? declared_ranks_ : highest_rank_ + 1;
    if (highest_rank_ >= pattern_.ranks) {
      return bad_field(at_line(source_, highest_line_), "row", "rank " + std::to_string(highest_rank_),
                       "a rank from 0 to " + std::to_string(pattern_.ranks - 1) +
                           " (# ranks=" + std::to_string(pattern_.ranks) + ")");
    }
    if (pattern_.ranks == 0) return bad_field(source_, "ranks", "no rows", "rows, or a comment # ranks=N");
    if (auto status = check(pattern_, source_); !status.ok()) return status;
    return std::move(pattern_);
  }

  std::string source_;
  Pattern pattern_;
  std::vector<std::size_t> columns_;
  std::map<std::string, std::size_t> phase_index_;
  int line_ = 0;
  int declared_ranks_ = 0;
  int highest_rank_ = -1;
  int highest_line_ = 0;
};

}  // namespace

Result<Pattern> from_csv(std::string_view text, std::string_view source) {
  return CsvReader(source).read(text);
}

std::string to_csv(const Pattern& pattern) {
  std::string name = pattern.name;
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  std::string text = "# name=" + name + "\n# ranks=" + std::to_string(pattern.ranks) + "\n";
  text += "from,to,bytes,count,phase\n";
  for (const Phase& phase : pattern.phases) {
    const std::string last = "," + as_field(phase.name) + "\n";
    for (const Message& m : phase.messages) {
      text += std::to_string(m.from) + "," + std::to_string(m.to) + "," + std::to_string(m.bytes) + "," +
              std::to_string(m.count) + last;
    }
  }
  return text;
}

Result<Pattern> from_text(std::string_view text, std::string_view source) {
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && text[start] == '{') return from_json(text, source);
  if (text.substr(0, 2) == "%%") return from_matrix_market(text, source);
  return from_csv(text, source);
}

Result<Pattern> from_file(const std::string& path) {
  const auto text = json::read_file(path);
  if (!text.ok()) return text.status();
  return from_text(text.value(), path);
}

}  // namespace corewise::pattern

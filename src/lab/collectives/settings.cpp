// The table of settings. SPDX-License-Identifier: BSD-3-Clause
#include "lab/collectives/settings.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/units.hpp"
#include "lab/collectives/kinds.hpp"

namespace corewise::lab {
namespace {

constexpr std::int64_t kMegabyte = 1 << 20;

constexpr std::array kRows = {
    SettingRow{"degree", SettingKind::number, coll::kDegree, 1, 16, 1,
               "of a tree: in each phase who has it tells degree - 1 others; 1: a chain"},
    SettingRow{"min_piece", SettingKind::bytes, coll::kMinPiece, 16, kMegabyte, 16,
               "least bytes that a rank handles; fewer ranks share smaller data"},
    SettingRow{"far_percent", SettingKind::number, coll::kFarPercent, 10, 100, 1,
               "of a share: what a rank handles whose data are in the other chip's memory"},
    SettingRow{"shift", SettingKind::bytes, coll::kShift, 0, kMegabyte, 16,
               "rank i begins i times so many bytes further on"},
    SettingRow{"piece", SettingKind::bytes, coll::kPieceBytes, 0, 16384, 16,
               "bytes moved at a time; 0: what a buffer holds"},
    SettingRow{"buffering", SettingKind::number, coll::kBuffering, 1, 2, 1, "1: one buffer; 2: two in turn"},
    SettingRow{"ahead", SettingKind::flag, coll::kAhead, 0, 1, 1, "load the next piece before this one is done"},
    SettingRow{"list", SettingKind::flag, coll::kList, 0, 1, 1, "DMA lists instead of single commands"},
    SettingRow{"fenced", SettingKind::flag, coll::kFenced, 0, 1, 1,
               "data and flag under one fence, without a wait between"},
    SettingRow{"waits", SettingKind::flag, coll::kWaits, 0, 1, 1,
               "wait until the write of a flag is complete before going on"},
    SettingRow{"child_ahead", SettingKind::flag, coll::kChildAhead, 0, 1, 1,
               "fetch the first child's next operand while this one is combined"},
    SettingRow{"far_first", SettingKind::flag, coll::kFarFirst, 0, 1, 1,
               "take children in the broadcast's order, large subtrees first, if the operator commutes"},
    SettingRow{"closing", SettingKind::closing, coll::kClosing, 0, 1, 1,
               "how a call ends: barrier, as the paper's do; counters: serial numbers keep calls apart"},
    SettingRow{"buffer", SettingKind::bytes, 0, 1024, 16384, 128, "of each buffer in the local store"},
    SettingRow{"buffers", SettingKind::number, 0, 1, 4, 1, "in the local store"},
    SettingRow{"room", SettingKind::bytes, 0, 36864, 98304, 128,
               "of a local store for buffers and metadata; the paper's ranks have 36 KB"},
    SettingRow{"eager_slots", SettingKind::number, 0, 0, 8, 1,
               "messages inside metadata entries that a peer may be behind in reading: 0, 1, 2, 4, 8"},
    SettingRow{"eager_128", SettingKind::flag, 0, 0, 1, 1, "entries of 128 bytes beside those of 16"},
};

std::int64_t get(const SettingRow& row, const Configuration& from) {
  const coll::Parameters& p = from.parameters;
  switch (row.taken_as) {
    case coll::kDegree:
      return p.degree;
    case coll::kMinPiece:
      return p.min_piece;
    case coll::kFarPercent:
      return p.far_percent;
    case coll::kShift:
      return p.shift;
    case coll::kPieceBytes:
      return p.piece_bytes;
    case coll::kBuffering:
      return p.buffering;
    case coll::kAhead:
      return p.ahead ? 1 : 0;
    case coll::kList:
      return p.list ? 1 : 0;
    case coll::kFenced:
      return p.fenced ? 1 : 0;
    case coll::kWaits:
      return p.waits ? 1 : 0;
    case coll::kChildAhead:
      return p.child_ahead ? 1 : 0;
    case coll::kFarFirst:
      return p.far_first ? 1 : 0;
    case coll::kClosing:
      return p.closing == coll::Closing::counters ? 1 : 0;
    default:
      break;
  }
  if (row.name == "buffer") return from.shape.buffer_bytes;
  if (row.name == "buffers") return from.shape.buffers;
  if (row.name == "room") return from.room;
  if (row.name == "eager_slots") return from.shape.eager_slots;
  return from.shape.eager_lines128;
}

void set(const SettingRow& row, std::int64_t value, Configuration& into) {
  coll::Parameters& p = into.parameters;
  const auto bytes = static_cast<std::uint32_t>(value);
  switch (row.taken_as) {
    case coll::kDegree:
      p.degree = static_cast<int>(value);
      return;
    case coll::kMinPiece:
      p.min_piece = bytes;
      return;
    case coll::kFarPercent:
      p.far_percent = static_cast<int>(value);
      return;
    case coll::kShift:
      p.shift = bytes;
      return;
    case coll::kPieceBytes:
      p.piece_bytes = bytes;
      return;
    case coll::kBuffering:
      p.buffering = static_cast<int>(value);
      return;
    case coll::kAhead:
      p.ahead = value != 0;
      return;
    case coll::kList:
      p.list = value != 0;
      return;
    case coll::kFenced:
      p.fenced = value != 0;
      return;
    case coll::kWaits:
      p.waits = value != 0;
      return;
    case coll::kChildAhead:
      p.child_ahead = value != 0;
      return;
    case coll::kFarFirst:
      p.far_first = value != 0;
      return;
    case coll::kClosing:
      p.closing = value != 0 ? coll::Closing::counters : coll::Closing::barrier;
      return;
    default:
      break;
  }
  if (row.name == "buffer") into.shape.buffer_bytes = bytes;
  if (row.name == "buffers") into.shape.buffers = static_cast<int>(value);
  if (row.name == "room") into.room = bytes;
  if (row.name == "eager_slots") into.shape.eager_slots = bytes;
  if (row.name == "eager_128") into.shape.eager_lines128 = static_cast<std::uint32_t>(value);
}

std::string names_taken(const Algorithm& algorithm) {
  std::string text;
  for (const SettingRow& row : kRows) {
    if (takes(algorithm, row)) text.append(text.empty() ? "" : ", ").append(row.name);
  }
  return text;
}

Status check_value(const SettingRow& row, std::int64_t value) {
  const bool power = row.name != "eager_slots" || (value & (value - 1)) == 0;
  if (value >= row.least && value <= row.most && value % row.step == 0 && power) return {};
  return bad_field("", row.name, std::to_string(value), allowed_text(row));
}

constexpr std::array<std::string_view, 2> kClosings = {"barrier", "counters"};

bool is_digits(std::string_view text) {
  constexpr std::size_t kMostDigits = 18;
  return !text.empty() && text.size() <= kMostDigits && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace

std::span<const SettingRow> setting_rows() {
  return kRows;
}

std::int64_t value_of(const SettingRow& row, const Configuration& configuration) {
  return get(row, configuration);
}

Settings settings_of(const Algorithm& algorithm, const Configuration& configuration) {
  Settings settings;
  for (const SettingRow& row : kRows) {
    if (takes(algorithm, row)) settings.emplace_back(row.name, get(row, configuration));
  }
  return settings;
}

std::string allowed_text(const SettingRow& row) {
  if (row.kind == SettingKind::flag) return "true, false";
  if (row.kind == SettingKind::closing) return std::string(kClosings[0]) + ", " + std::string(kClosings[1]);
  if (row.name == "eager_slots") return "0, 1, 2, 4, 8";
  std::string allowed = std::to_string(row.least) + " to " + std::to_string(row.most);
  if (row.step > 1) allowed += " in steps of " + std::to_string(row.step);
  return allowed;
}

std::span<const std::string_view> closing_names() {
  return kClosings;
}

Result<std::int64_t> parse_value(const SettingRow& row, const std::string& text) {
  if (row.kind == SettingKind::flag) {
    if (text == "true" || text == "false") return text == "true" ? 1 : 0;
  } else if (row.kind == SettingKind::closing) {
    const auto found = std::ranges::find(kClosings, text);
    if (found != kClosings.end()) return found - kClosings.begin();
  } else if (is_digits(text)) {
    return static_cast<std::int64_t>(std::stoull(text));
  } else if (row.kind == SettingKind::bytes) {
    const Result<std::uint64_t> bytes = parse_size_bytes(text, "", row.name);
    if (!bytes.ok()) return bytes.status();
    return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes.value(), INT64_MAX));
  }
  return bad_field("", row.name, quoted(text), allowed_text(row));
}

Result<SettingRow> setting_named(std::string_view name) {
  std::string allowed;
  for (const SettingRow& row : kRows) {
    if (row.name == name) return row;
    allowed.append(allowed.empty() ? "" : ", ").append(row.name);
  }
  return bad_field("", "set", quoted(name), allowed);
}

bool takes(const Algorithm& algorithm, const SettingRow& row) {
  return row.taken_as == 0 || (algorithm.takes & row.taken_as) != 0;
}

Configuration default_configuration(const Algorithm& algorithm, int ranks) {
  Configuration configuration;
  const bool eager = (algorithm.needs & (coll::kFitsEager | coll::kEagerSlots)) != 0;
  configuration.shape = eager ? coll::Shape::eager(ranks) : coll::Shape::paper(ranks);
  if ((algorithm.needs & coll::kAtomicWord) != 0) configuration.shape.atomic_words = 2;
  return configuration;
}

Result<Configuration> configure(const Algorithm& algorithm, int ranks, const Settings& settings) {
  Configuration configuration = default_configuration(algorithm, ranks);
  std::vector<std::string_view> seen;
  for (const auto& [name, value] : settings) {
    const auto row = std::ranges::find(kRows, std::string_view(name), &SettingRow::name);
    if (row == kRows.end() || !takes(algorithm, *row)) {
      return bad_field("", "set", quoted(name),
                       names_taken(algorithm) + " for the algorithm " + std::string(algorithm.name));
    }
    if (std::ranges::find(seen, row->name) != seen.end())
      return bad_field("", "set", quoted(name) + " twice", "once");
    seen.push_back(row->name);
    if (Status status = check_value(*row, value); !status.ok()) return status;
    set(*row, value, configuration);
  }
  return configuration;
}

Status check_usable(const Algorithm& algorithm, const coll::Shape& shape, const coll::Facts& facts) {
  using coll::Lacks;
  const auto no = [&](std::string_view field, const std::string& found, const std::string& allowed) {
    return bad_field("", field, found, allowed + " for the algorithm " + std::string(algorithm.name));
  };
  const auto up_to = [](std::uint64_t most) { return "0 to " + std::to_string(most); };
  switch (coll::lacking(algorithm.needs, shape, facts)) {
    case Lacks::nothing:
      return {};
    case Lacks::fewer_ranks:
      return no("ranks", std::to_string(shape.ranks), "1 to " + std::to_string(coll::kMostRanks));
    case Lacks::port:
      return no("port", "one without the capability", "one that has it");
    case Lacks::element_room:
      return no("element", std::to_string(facts.element_bytes) + " bytes", up_to(shape.most_element_bytes()));
    case Lacks::commutative:
      return no("operation", "one that does not commute", "one that does");
    case Lacks::any_slots:
      return no("eager_slots", std::to_string(shape.eager_slots), "1 or more");
    case Lacks::eager_bytes:
      return no("bytes", std::to_string(facts.bytes), up_to(shape.eager_bytes()));
    case Lacks::two_slots:
      return no("eager_slots", std::to_string(shape.eager_slots), "2 or more");
    case Lacks::contiguous:
      return no("stride", "strided data", "contiguous data");
    case Lacks::ppe:
      return no("ppe", "none that serves", "one that serves");
    case Lacks::atomic_word:
      return no("atomic_words", std::to_string(shape.atomic_words), "1 or more");
    case Lacks::workspace:
      return no("workspace", "none", "one on every rank");
    case Lacks::peer_memory:
      return no("peer memory", "closed to other ranks", "open");
    case Lacks::all_pairs:
      return no("lines", "partners", "all");
  }
  return {};
}

}  // namespace corewise::lab

// Which functions and lines an address belongs to; see debug_info.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/debug/debug_info.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "profile/debug/bytes.hpp"
#include "profile/debug/entries.hpp"
#include "profile/debug/lines.hpp"

namespace corewise::profile {
namespace {

using namespace debug;

/// One unit's answers.
class UnitSearch {
 public:
  UnitSearch(const DebugSections& sections, DebugUnits& units, const UnitHead& unit)
      : s_(sections),
        units_(units),
        unit_(unit),
        directory_(units.text(unit, unit.entry.directory)),
        lines_(sections, unit_, directory_) {}

  /// `addresses` ascend.
  std::vector<SourcePlace> find(const std::vector<std::uint64_t>& addresses) {
    chains_.assign(addresses.size(), {});
    addresses_ = &addresses;
    walk();
    const std::vector<Line> lines = lines_.find(addresses);
    std::vector<SourcePlace> places;
    for (std::size_t i = 0; i < addresses.size(); ++i) places.push_back(place(chains_[i], lines[i]));
    return places;
  }

 private:
  struct Named {
    std::string_view name;
    std::string_view linkage;
    std::string file;
    int line = 0;
  };

  /// Goes through the unit's entries in file order, which is outer before inner.
  void walk() {
    Bytes cursor(s_.info, unit_.first_entry);
    cursor.limit(unit_.end);
    while (!cursor.done()) {
      const std::optional<Entry> entry = units_.entry(unit_, cursor);
      if (!entry) return;
      if (entry->tag == 0 || entry->tag == kCompileUnit) continue;
      const bool wanted = visit(*entry);
      const std::uint64_t sibling = entry->sibling.number;
      if (!wanted && entry->children && entry->sibling.there() && sibling > cursor.at()) cursor.seek(sibling);
    }
  }

  /// Whether code that is asked for may lie below the entry.
  bool visit(const Entry& entry) {
    if (entry.tag == kNamespace || entry.tag == kModule) return true;
    if (entry.tag != kSubprogram && entry.tag != kInlined && entry.tag != kLexicalBlock) return false;
    const Ranges ranges = units_.ranges(unit_, entry);
    // Blocks without a range of their own, and functions nested in others, say nothing about what is below.
    bool any = ranges.empty() && entry.tag == kLexicalBlock;
    for (const auto& [first, end] : ranges) {
      auto at = std::lower_bound(addresses_->begin(), addresses_->end(), first);
      for (; at != addresses_->end() && *at < end; ++at) {
        any = true;
        std::vector<Entry>& chain = chains_[static_cast<std::size_t>(at - addresses_->begin())];
        if (entry.tag == kSubprogram) chain.clear();
        if (entry.tag != kLexicalBlock) chain.push_back(entry);
      }
    }
    return any || (entry.tag == kSubprogram && unit_.fortran());
  }

  SourcePlace place(const std::vector<Entry>& chain, Line at) {
    SourcePlace found;
    for (auto entry = chain.rbegin(); entry != chain.rend(); ++entry) {
      const Named named = name(unit_, *entry);
      found.frames.push_back(
          {std::string(named.name), std::string(named.linkage), lines_.path(at.file), at.line, unit_.fortran()});
      if (entry->tag == kInlined) {
        at = {entry->call_file.number, static_cast<int>(entry->call_line.number)};
      } else {
        found.declared_file = named.file;
        found.declared_line = named.line;
      }
    }
    if (chain.empty() && at.line != 0)
      found.frames.push_back({{}, {}, lines_.path(at.file), at.line, unit_.fortran()});
    return found;
  }

  /// Names stand in the abstract instance and in the declaration; what is found first counts.
  Named name(const UnitHead& unit, const Entry& entry, int depth = 0) {
    Named found{units_.text(unit, entry.name), units_.text(unit, entry.linkage), {}, 0};
    if (entry.line.there()) {
      found.file = path(unit, entry.file);
      found.line = static_cast<int>(entry.line.number);
    }
    const Value& next = entry.origin.there() ? entry.origin : entry.specification;
    if (next.kind != Value::Kind::reference || depth > 8) return found;
    const Named more = follow(unit, next.number, depth);
    if (found.name.empty()) found.name = more.name;
    if (found.linkage.empty()) found.linkage = more.linkage;
    if (found.line == 0) std::tie(found.file, found.line) = std::pair(more.file, more.line);
    // A definition that stands on another line of the same file as its declaration names only the line.
    if (!entry.file.there() && found.line != 0) found.file = more.file;
    return found;
  }

  /// Files are numbered by the unit's own table; link-time optimisation lets entries refer to other units.
  std::string path(const UnitHead& unit, const Value& file) {
    if (!file.there()) return {};
    if (unit.offset == unit_.offset) return lines_.path(file.number);
    return LineTable(s_, unit, units_.text(unit, unit.entry.directory)).path(file.number);
  }

  Named follow(const UnitHead& from, std::uint64_t offset, int depth) {
    if (offset >= from.offset && offset < from.end) return named_at(from, offset, depth);
    std::uint64_t end = 0;
    for (std::uint64_t at = 0; at < s_.info.size() && at <= offset; at = end) {
      end = s_.info.size();
      const std::optional<UnitHead> unit = units_.unit(at, end);
      if (offset < end) return unit ? named_at(*unit, offset, depth) : Named{};
      if (end <= at) break;
    }
    return {};
  }

  Named named_at(const UnitHead& unit, std::uint64_t offset, int depth) {
    Bytes cursor(s_.info, offset);
    cursor.limit(unit.end);
    const std::optional<Entry> entry = units_.entry(unit, cursor);
    return entry && entry->tag != 0 ? name(unit, *entry, depth + 1) : Named{};
  }

  const DebugSections& s_;
  DebugUnits& units_;
  const UnitHead& unit_;
  std::string_view directory_;
  LineTable lines_;
  const std::vector<std::uint64_t>* addresses_ = nullptr;
  std::vector<std::vector<Entry>> chains_;
};

}  // namespace

DebugInfo::DebugInfo(const DebugSections& sections) : sections_(sections) {
  DebugUnits units(sections_);
  for (std::uint64_t at = 0; at < sections_.info.size();) {
    std::uint64_t end = 0;
    const std::optional<UnitHead> unit = units.unit(at, end);
    if (end <= at) break;
    if (unit) {
      for (const auto& [first, last] : units.ranges(*unit, unit->entry))
        if (first < last) ranges_.push_back({first, last, units_.size()});
      units_.push_back({at, end});
    }
    at = end;
  }
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
}

const DebugInfo::Range* DebugInfo::range_of(std::uint64_t address) const {
  auto at = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                             [](std::uint64_t value, const Range& range) { return value < range.first; });
  // Ranges of different units overlap only where something is wrong; a few are looked at.
  for (int tries = 0; tries < 8 && at != ranges_.begin(); ++tries)
    if (address < (--at)->end) return &*at;
  return nullptr;
}

std::vector<SourcePlace> DebugInfo::find(std::span<const std::uint64_t> addresses) const {
  std::unordered_map<std::size_t, std::vector<std::uint64_t>> by_unit;
  for (const std::uint64_t address : addresses)
    if (const Range* range = range_of(address)) by_unit[range->unit].push_back(address);
  std::unordered_map<std::uint64_t, SourcePlace> known;
  DebugUnits units(sections_);
  for (auto& [index, wanted] : by_unit) {
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    std::uint64_t end = 0;
    const std::optional<UnitHead> unit = units.unit(units_[index].offset, end);
    if (!unit) continue;
    std::vector<SourcePlace> found = UnitSearch(sections_, units, *unit).find(wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) known[wanted[i]] = std::move(found[i]);
  }
  std::vector<SourcePlace> places;
  for (const std::uint64_t address : addresses) {
    const auto found = known.find(address);
    places.push_back(found == known.end() ? SourcePlace{} : found->second);
  }
  return places;
}

}  // namespace corewise::profile

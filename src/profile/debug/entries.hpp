// Units and entries of .debug_info, by their abbreviations and forms. Section numbers are those of the DWARF 5
// standard; version 4's differ where it says so.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/debug/bytes.hpp"
#include "profile/debug/debug_info.hpp"

namespace corewise::profile::debug {

enum Tag : std::uint64_t {
  kLexicalBlock = 0x0b,
  kCompileUnit = 0x11,
  kInlined = 0x1d,
  kModule = 0x1e,
  kSubprogram = 0x2e,
  kNamespace = 0x39,
};

enum Attribute : std::uint64_t {
  kSibling = 0x01,
  kName = 0x03,
  kStatements = 0x10,
  kLowPc = 0x11,
  kHighPc = 0x12,
  kLanguage = 0x13,
  kDirectory = 0x1b,
  kOrigin = 0x31,
  kDeclaredFile = 0x3a,
  kDeclaredLine = 0x3b,
  kSpecification = 0x47,
  kRanges = 0x55,
  kCallFile = 0x58,
  kCallLine = 0x59,
  kLinkageName = 0x6e,
  kStringBase = 0x72,
  kAddressBase = 0x73,
  kRangeListBase = 0x74,
  kOldLinkageName = 0x2007,
};

struct Value {
  enum class Kind : std::uint8_t {
    none,
    number,
    text,
    address,
    address_index,
    text_index,
    reference,
    offset,
    list_index
  };
  Kind kind = Kind::none;
  std::uint64_t number = 0;
  std::string_view text;
  [[nodiscard]] bool there() const { return kind != Kind::none; }
};

// ---- forms (7.5.6) ---------------------------------------------------------------------------------------

inline constexpr std::uint64_t kReferenceAnywhere = 0x10;
inline constexpr std::uint64_t kIndirect = 0x16;
inline constexpr std::uint64_t kConstant = 0x21;

/// What a form's bytes are.
enum class Content : std::uint8_t {
  value,      ///< a number of the row's kind
  in_unit,    ///< a reference, from the beginning of the unit
  text,       ///< an offset in .debug_str
  line_text,  ///< an offset in .debug_line_str
  text_here,
  constant,  ///< it stands in the abbreviation
  flag,      ///< there is no byte: the attribute's presence is the value
  skipped,   ///< nobody asks
};

enum Width : std::uint8_t { kBytes, kUleb, kSleb, kAddress, kOffset, kLength, kLengthUleb };

struct FormRow {
  std::uint64_t form;
  Content content;
  Value::Kind kind;
  Width width;
  std::uint8_t count = 0;  ///< of bytes; with kLength, of the length's own
};

using enum Value::Kind;

/// With the GNU forms of split and shared debug files, whose content is somewhere else.
inline constexpr FormRow kForms[] = {
    {0x01, Content::value, address, kAddress},
    {0x03, Content::skipped, none, kLength, 2},
    {0x04, Content::skipped, none, kLength, 4},
    {0x05, Content::value, number, kBytes, 2},
    {0x06, Content::value, number, kBytes, 4},  // before version 4 also an offset in a section
    {0x07, Content::value, number, kBytes, 8},
    {0x08, Content::text_here, none, kBytes},
    {0x09, Content::skipped, none, kLengthUleb},
    {0x0a, Content::skipped, none, kLength, 1},
    {0x0b, Content::value, number, kBytes, 1},
    {0x0c, Content::value, number, kBytes, 1},
    {0x0d, Content::value, number, kSleb},
    {0x0e, Content::text, none, kOffset},
    {0x0f, Content::value, number, kUleb},
    {kReferenceAnywhere, Content::value, reference, kOffset},
    {0x11, Content::in_unit, none, kBytes, 1},
    {0x12, Content::in_unit, none, kBytes, 2},
    {0x13, Content::in_unit, none, kBytes, 4},
    {0x14, Content::in_unit, none, kBytes, 8},
    {0x15, Content::in_unit, none, kUleb},
    {0x17, Content::value, offset, kOffset},
    {0x18, Content::skipped, none, kLengthUleb},
    {0x19, Content::flag, none, kBytes},
    {0x1a, Content::value, text_index, kUleb},
    {0x1b, Content::value, address_index, kUleb},
    {0x1c, Content::skipped, none, kBytes, 4},
    {0x1d, Content::skipped, none, kOffset},
    {0x1e, Content::skipped, none, kBytes, 16},
    {0x1f, Content::line_text, none, kOffset},
    {0x20, Content::skipped, none, kBytes, 8},
    {kConstant, Content::constant, none, kBytes},
    {0x22, Content::value, number, kUleb},
    {0x23, Content::value, list_index, kUleb},
    {0x24, Content::skipped, none, kBytes, 8},
    {0x25, Content::value, text_index, kBytes, 1},
    {0x26, Content::value, text_index, kBytes, 2},
    {0x27, Content::value, text_index, kBytes, 3},
    {0x28, Content::value, text_index, kBytes, 4},
    {0x29, Content::value, address_index, kBytes, 1},
    {0x2a, Content::value, address_index, kBytes, 2},
    {0x2b, Content::value, address_index, kBytes, 3},
    {0x2c, Content::value, address_index, kBytes, 4},
    {0x1f01, Content::value, address_index, kUleb},
    {0x1f02, Content::value, text_index, kUleb},
    {0x1f20, Content::skipped, none, kOffset},
    {0x1f21, Content::skipped, none, kOffset},
};

/// By form, for those below 0x40; nearly all are.
inline const FormRow* form_row(std::uint64_t form) {
  static const auto rows = [] {
    std::array<const FormRow*, 0x40> by_form{};
    for (const FormRow& row : kForms)
      if (row.form < by_form.size()) by_form[row.form] = &row;
    return by_form;
  }();
  if (form < rows.size()) return rows[form];
  const auto* found =
      std::find_if(std::begin(kForms), std::end(kForms), [&](const FormRow& row) { return row.form == form; });
  return found == std::end(kForms) ? nullptr : found;
}

struct Field {
  std::uint64_t attribute;
  std::uint64_t form;
  std::int64_t constant;
};

struct Abbreviation {
  std::uint64_t tag = 0;  ///< 0: no such code
  bool children = false;
  std::vector<Field> fields;
};

/// One entry, as far as anyone here asks.
struct Entry {
  std::uint64_t tag = 0;  ///< 0: ends a list of siblings
  bool children = false;
  Value name, linkage, low, high, ranges, origin, specification, file, line, call_file, call_line, statements,
      directory, sibling, language, string_base, address_base, list_base;
};

inline Value* field_of(Entry& entry, std::uint64_t attribute) {
  switch (attribute) {
    case kSibling:
      return &entry.sibling;
    case kName:
      return &entry.name;
    case kStatements:
      return &entry.statements;
    case kLowPc:
      return &entry.low;
    case kHighPc:
      return &entry.high;
    case kLanguage:
      return &entry.language;
    case kDirectory:
      return &entry.directory;
    case kOrigin:
      return &entry.origin;
    case kDeclaredFile:
      return &entry.file;
    case kDeclaredLine:
      return &entry.line;
    case kSpecification:
      return &entry.specification;
    case kRanges:
      return &entry.ranges;
    case kCallFile:
      return &entry.call_file;
    case kCallLine:
      return &entry.call_line;
    case kLinkageName:
    case kOldLinkageName:
      return &entry.linkage;
    case kStringBase:
      return &entry.string_base;
    case kAddressBase:
      return &entry.address_base;
    case kRangeListBase:
      return &entry.list_base;
    default:
      return nullptr;
  }
}

/// 7.5.1: what stands before a unit's first entry, and what that entry says about the others.
struct UnitHead {
  std::uint64_t offset = 0;
  std::uint64_t end = 0;
  std::uint64_t first_entry = 0;
  std::uint64_t abbreviations = 0;
  std::uint64_t version = 0;
  std::uint64_t address_bytes = 8;
  bool wide = false;
  Entry entry;
  std::uint64_t low = 0;

  [[nodiscard]] std::uint64_t offset_bytes() const { return wide ? 8 : 4; }
  [[nodiscard]] bool fortran() const {
    const std::uint64_t language = entry.language.number;
    return language == 0x07 || language == 0x08 || language == 0x0e || language == 0x22 || language == 0x23;
  }
};

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

/// Reads units; has no state but what it remembers of abbreviations.
class DebugUnits {
 public:
  explicit DebugUnits(const DebugSections& sections) : s_(sections) {}

  /// The unit whose header starts at `offset`; nothing where none can be read. `end` is set as soon as it is known.
  std::optional<UnitHead> unit(std::uint64_t offset, std::uint64_t& end) {
    Bytes cursor(s_.info, offset);
    UnitHead head;
    head.offset = offset;
    const std::uint64_t length = cursor.length(head.wide);
    if (!cursor.ok() || length > s_.info.size() - cursor.at()) return {};
    end = head.end = cursor.at() + length;
    head.version = cursor.fixed(2);
    if (head.version < 2 || head.version > 5) return {};
    if (head.version == 5) {
      const std::uint64_t type = cursor.fixed(1);
      head.address_bytes = cursor.fixed(1);
      head.abbreviations = cursor.fixed(head.offset_bytes());
      if (type == 4 || type == 5) cursor.skip(8);
      if (type == 2 || type == 6) cursor.skip(8 + head.offset_bytes());
    } else {
      head.abbreviations = cursor.fixed(head.offset_bytes());
      head.address_bytes = cursor.fixed(1);
    }
    head.first_entry = cursor.at();
    if (!cursor.ok() || (head.address_bytes != 4 && head.address_bytes != 8)) return {};
    const std::optional<Entry> entry = this->entry(head, cursor, /*only_first=*/true);
    if (!entry || entry->tag == 0) return {};
    head.entry = *entry;
    head.low = address(head, head.entry.low).value_or(0);
    return head;
  }

  std::optional<Entry> entry(const UnitHead& unit, Bytes& cursor, bool only_first = false) {
    Entry entry;
    const std::uint64_t code = cursor.uleb();
    if (!cursor.ok()) return {};
    if (code == 0) return entry;
    Abbreviation first;
    if (only_first) first = first_abbreviation(unit.abbreviations, code);
    const Abbreviation* shape = only_first ? &first : abbreviation(unit.abbreviations, code);
    if (shape == nullptr || shape->tag == 0) return {};
    entry.tag = shape->tag;
    entry.children = shape->children;
    for (const Field& field : shape->fields) {
      const Value value = read(unit, cursor, field.form, field.constant);
      if (Value* wanted = field_of(entry, field.attribute)) *wanted = value;
    }
    if (!cursor.ok()) return {};
    return entry;
  }

  // ---- values ----

  std::optional<std::uint64_t> address(const UnitHead& unit, const Value& value) const {
    if (value.kind == Value::Kind::address) return value.number;
    if (value.kind == Value::Kind::address_index) return indexed_address(unit, value.number);
    return {};
  }

  std::string_view text(const UnitHead& unit, const Value& value) const {
    if (value.kind == Value::Kind::text) return value.text;
    if (value.kind != Value::Kind::text_index) return {};
    const std::uint64_t base =
        unit.entry.string_base.there() ? unit.entry.string_base.number : 2 * unit.offset_bytes();
    Bytes cursor(s_.str_offsets, base + value.number * unit.offset_bytes());
    const std::uint64_t offset = cursor.fixed(unit.offset_bytes());
    return cursor.ok() ? text_at(s_.str, offset) : std::string_view{};
  }

  /// Where the entry's code lies (2.17).
  Ranges ranges(const UnitHead& unit, const Entry& entry) const {
    if (entry.ranges.there()) return unit.version >= 5 ? range_list(unit, entry) : old_ranges(unit, entry);
    const std::optional<std::uint64_t> low = address(unit, entry.low);
    if (!low || !entry.high.there()) return {};
    const std::uint64_t high = entry.high.kind == Value::Kind::number ? *low + entry.high.number
                                                                      : address(unit, entry.high).value_or(*low);
    return {{*low, high}};
  }

 private:
  std::optional<std::uint64_t> indexed_address(const UnitHead& unit, std::uint64_t index) const {
    const std::uint64_t base = unit.entry.address_base.there() ? unit.entry.address_base.number : 8;
    Bytes cursor(s_.addr, base + index * unit.address_bytes);
    const std::uint64_t found = cursor.fixed(unit.address_bytes);
    if (!cursor.ok()) return {};
    return found;
  }

  /// Version 4, 2.17.3.
  Ranges old_ranges(const UnitHead& unit, const Entry& entry) const {
    Ranges found;
    std::uint64_t base = unit.low;
    const std::uint64_t top = unit.address_bytes == 8 ? ~std::uint64_t{0} : 0xffffffff;
    for (Bytes cursor(s_.ranges, entry.ranges.number);;) {
      const std::uint64_t first = cursor.fixed(unit.address_bytes);
      const std::uint64_t end = cursor.fixed(unit.address_bytes);
      if (!cursor.ok() || (first == 0 && end == 0)) return found;
      if (first == top)
        base = end;
      else
        found.emplace_back(base + first, base + end);
    }
  }

  /// 7.25.
  Ranges range_list(const UnitHead& unit, const Entry& entry) const {
    std::uint64_t offset = entry.ranges.number;
    if (entry.ranges.kind == Value::Kind::list_index) {
      const std::uint64_t table =
          unit.entry.list_base.there() ? unit.entry.list_base.number : (unit.wide ? 20 : 12);
      Bytes cursor(s_.rnglists, table + offset * unit.offset_bytes());
      offset = table + cursor.fixed(unit.offset_bytes());
    }
    Ranges found;
    std::uint64_t base = unit.low;
    for (Bytes cursor(s_.rnglists, offset); cursor.ok();) {
      std::uint64_t first = 0;
      switch (cursor.fixed(1)) {
        case 1:
          base = indexed_address(unit, cursor.uleb()).value_or(0);
          break;
        case 2:
          first = indexed_address(unit, cursor.uleb()).value_or(0);
          found.emplace_back(first, indexed_address(unit, cursor.uleb()).value_or(0));
          break;
        case 3:
          first = indexed_address(unit, cursor.uleb()).value_or(0);
          found.emplace_back(first, first + cursor.uleb());
          break;
        case 4:
          first = cursor.uleb();
          found.emplace_back(base + first, base + cursor.uleb());
          break;
        case 5:
          base = cursor.fixed(unit.address_bytes);
          break;
        case 6:
          first = cursor.fixed(unit.address_bytes);
          found.emplace_back(first, cursor.fixed(unit.address_bytes));
          break;
        case 7:
          first = cursor.fixed(unit.address_bytes);
          found.emplace_back(first, first + cursor.uleb());
          break;
        default:
          return found;
      }
    }
    return found;
  }

  [[nodiscard]] std::uint64_t width_of(const FormRow& row, const UnitHead& unit, Bytes& cursor) const {
    switch (row.width) {
      case kAddress:
        return unit.address_bytes;
      case kOffset:
        return unit.offset_bytes();
      case kLength:
        return cursor.fixed(row.count);
      case kLengthUleb:
        return cursor.uleb();
      default:
        return row.count;
    }
  }

  /// 7.5.6.
  Value read(const UnitHead& unit, Bytes& cursor, std::uint64_t form, std::int64_t constant) const {
    if (form == kIndirect) form = cursor.uleb();
    const FormRow* row = form_row(form);
    if (row == nullptr) {  // its length is unknown: nothing behind it can be read
      cursor.skip(~std::uint64_t{0});
      return {};
    }
    if (row->content == Content::text_here) return {Value::Kind::text, 0, cursor.text()};
    if (row->content == Content::constant) return {Value::Kind::number, static_cast<std::uint64_t>(constant), {}};
    if (row->content == Content::flag) return {Value::Kind::number, 1, {}};
    if (row->content == Content::skipped) {
      cursor.skip(width_of(*row, unit, cursor));
      return {};
    }
    const std::uint64_t number = read_number(*row, unit, cursor);
    switch (row->content) {
      case Content::text:
        return {Value::Kind::text, 0, text_at(s_.str, number)};
      case Content::line_text:
        return {Value::Kind::text, 0, text_at(s_.line_str, number)};
      case Content::in_unit:
        return {Value::Kind::reference, unit.offset + number, {}};
      default:
        return {row->kind, number, {}};
    }
  }

  [[nodiscard]] std::uint64_t read_number(const FormRow& row, const UnitHead& unit, Bytes& cursor) const {
    if (row.width == kUleb) return cursor.uleb();
    if (row.width == kSleb) return static_cast<std::uint64_t>(cursor.sleb());
    // In version 2 a reference to another unit is as wide as an address.
    if (row.form == kReferenceAnywhere && unit.version == 2) return cursor.fixed(unit.address_bytes);
    return cursor.fixed(width_of(row, unit, cursor));
  }

  // ---- abbreviations (7.5.3) ----

  static bool next_abbreviation(Bytes& cursor, std::uint64_t& code, Abbreviation& found) {
    code = cursor.uleb();
    if (code == 0 || !cursor.ok()) return false;
    found = {};
    found.tag = cursor.uleb();
    found.children = cursor.fixed(1) != 0;
    while (cursor.ok()) {
      Field field{cursor.uleb(), cursor.uleb(), 0};
      if (field.attribute == 0 && field.form == 0) return cursor.ok();
      if (field.form == kConstant) field.constant = cursor.sleb();
      found.fields.push_back(field);
    }
    return false;
  }

  /// Of a unit's first entry, mostly the first of its table: the rest need not be read to index a unit.
  Abbreviation first_abbreviation(std::uint64_t table, std::uint64_t wanted) const {
    Bytes cursor(s_.abbrev, table);
    Abbreviation found;
    for (std::uint64_t code = 0; next_abbreviation(cursor, code, found);)
      if (code == wanted) return found;
    return {};
  }

  const Abbreviation* abbreviation(std::uint64_t table, std::uint64_t code) {
    const auto [at, fresh] = tables_.try_emplace(table);
    if (fresh) {
      Bytes cursor(s_.abbrev, table);
      Abbreviation found;
      for (std::uint64_t each = 0; next_abbreviation(cursor, each, found);) at->second[each] = std::move(found);
    }
    const auto found = at->second.find(code);
    return found == at->second.end() ? nullptr : &found->second;
  }

  const DebugSections& s_;
  std::unordered_map<std::uint64_t, std::unordered_map<std::uint64_t, Abbreviation>> tables_;
};

}  // namespace corewise::profile::debug

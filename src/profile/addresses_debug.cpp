// Reading DWARF: entries of .debug_info, ranges, and line number programs; see addresses_debug.hpp. Section numbers
// are those of the DWARF 5 standard; version 4's differ where it says so.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/addresses_debug.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

namespace corewise::profile {
namespace {

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

// ---- bytes -----------------------------------------------------------------------------------------------

/// Reads forward; past the end everything is 0 and `ok` false.
class Cursor {
 public:
  Cursor(std::string_view data, std::uint64_t at)
      : data_(data), at_(std::min<std::uint64_t>(at, data.size())), ok_(at <= data.size()) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool done() const { return !ok_ || at_ >= data_.size(); }
  [[nodiscard]] std::uint64_t at() const { return at_; }

  std::uint64_t fixed(std::uint64_t bytes) {
    std::uint64_t value = 0;
    if (!has(bytes)) return 0;
    std::memcpy(&value, data_.data() + at_, std::min<std::uint64_t>(bytes, 8));
    at_ += bytes;
    return value;
  }
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; has(1); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(data_[at_++]);
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) break;
    }
    return value;
  }
  std::int64_t sleb() {
    std::uint64_t value = 0;
    unsigned shift = 0;
    std::uint8_t byte = 0x80;
    while ((byte & 0x80) != 0 && has(1)) {
      byte = static_cast<std::uint8_t>(data_[at_++]);
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      shift += 7;
    }
    if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(value);
  }
  std::string_view text() {
    const std::size_t end = ok_ ? data_.find('\0', at_) : std::string_view::npos;
    if (end == std::string_view::npos) {
      ok_ = false;
      return {};
    }
    const std::string_view found = data_.substr(at_, end - at_);
    at_ = end + 1;
    return found;
  }
  void skip(std::uint64_t bytes) {
    if (has(bytes)) at_ += bytes;
  }
  void seek(std::uint64_t at) {
    ok_ = ok_ && at <= data_.size();
    if (ok_) at_ = at;
  }
  /// Nothing behind `end` belongs to what is read.
  void limit(std::uint64_t end) { data_ = data_.substr(0, std::min<std::uint64_t>(end, data_.size())); }
  /// A length that also says how wide offsets are.
  std::uint64_t length(bool& wide) {
    const std::uint64_t value = fixed(4);
    wide = value == 0xffffffff;
    return wide ? fixed(8) : value;
  }

 private:
  bool has(std::uint64_t bytes) {
    ok_ = ok_ && bytes <= data_.size() - at_;
    return ok_;
  }

  std::string_view data_;
  std::uint64_t at_;
  bool ok_;
};

std::string_view text_at(std::string_view section, std::uint64_t offset) {
  Cursor cursor(section, offset);
  const std::string_view found = cursor.text();
  return cursor.ok() ? found : std::string_view{};
}

// ---- entries ---------------------------------------------------------------------------------------------

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

constexpr std::uint64_t kReferenceAnywhere = 0x10;
constexpr std::uint64_t kIndirect = 0x16;
constexpr std::uint64_t kConstant = 0x21;

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
constexpr FormRow kForms[] = {
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
const FormRow* form_row(std::uint64_t form) {
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

Value* field_of(Entry& entry, std::uint64_t attribute) {
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

}  // namespace

/// Reads units; has no state but what it remembers of abbreviations.
class DebugUnits {
 public:
  explicit DebugUnits(const DebugSections& sections) : s_(sections) {}

  /// The unit whose header starts at `offset`; nothing where none can be read. `end` is set as soon as it is known.
  std::optional<UnitHead> unit(std::uint64_t offset, std::uint64_t& end) {
    Cursor cursor(s_.info, offset);
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

  std::optional<Entry> entry(const UnitHead& unit, Cursor& cursor, bool only_first = false) {
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
    Cursor cursor(s_.str_offsets, base + value.number * unit.offset_bytes());
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
    Cursor cursor(s_.addr, base + index * unit.address_bytes);
    const std::uint64_t found = cursor.fixed(unit.address_bytes);
    if (!cursor.ok()) return {};
    return found;
  }

  /// Version 4, 2.17.3.
  Ranges old_ranges(const UnitHead& unit, const Entry& entry) const {
    Ranges found;
    std::uint64_t base = unit.low;
    const std::uint64_t top = unit.address_bytes == 8 ? ~std::uint64_t{0} : 0xffffffff;
    for (Cursor cursor(s_.ranges, entry.ranges.number);;) {
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
      Cursor cursor(s_.rnglists, table + offset * unit.offset_bytes());
      offset = table + cursor.fixed(unit.offset_bytes());
    }
    Ranges found;
    std::uint64_t base = unit.low;
    for (Cursor cursor(s_.rnglists, offset); cursor.ok();) {
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

  [[nodiscard]] std::uint64_t width_of(const FormRow& row, const UnitHead& unit, Cursor& cursor) const {
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
  Value read(const UnitHead& unit, Cursor& cursor, std::uint64_t form, std::int64_t constant) const {
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

  [[nodiscard]] std::uint64_t read_number(const FormRow& row, const UnitHead& unit, Cursor& cursor) const {
    if (row.width == kUleb) return cursor.uleb();
    if (row.width == kSleb) return static_cast<std::uint64_t>(cursor.sleb());
    // In version 2 a reference to another unit is as wide as an address.
    if (row.form == kReferenceAnywhere && unit.version == 2) return cursor.fixed(unit.address_bytes);
    return cursor.fixed(width_of(row, unit, cursor));
  }

  // ---- abbreviations (7.5.3) ----

  static bool next_abbreviation(Cursor& cursor, std::uint64_t& code, Abbreviation& found) {
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
    Cursor cursor(s_.abbrev, table);
    Abbreviation found;
    for (std::uint64_t code = 0; next_abbreviation(cursor, code, found);)
      if (code == wanted) return found;
    return {};
  }

  const Abbreviation* abbreviation(std::uint64_t table, std::uint64_t code) {
    const auto [at, fresh] = tables_.try_emplace(table);
    if (fresh) {
      Cursor cursor(s_.abbrev, table);
      Abbreviation found;
      for (std::uint64_t each = 0; next_abbreviation(cursor, each, found);) at->second[each] = std::move(found);
    }
    const auto found = at->second.find(code);
    return found == at->second.end() ? nullptr : &found->second;
  }

  const DebugSections& s_;
  std::unordered_map<std::uint64_t, std::unordered_map<std::uint64_t, Abbreviation>> tables_;
};

namespace {

// ---- line tables (6.2) -----------------------------------------------------------------------------------

struct Line {
  std::uint64_t file = 0;
  int line = 0;
};

class LineTable {
 public:
  LineTable(const DebugSections& sections, const UnitHead& unit, std::string_view directory)
      : s_(sections), unit_(unit), directory_(directory) {
    if (!unit.entry.statements.there()) return;
    cursor_ = Cursor(s_.line, unit.entry.statements.number);
    usable_ = read_header();
  }

  /// The line of every address; `addresses` ascend.
  std::vector<Line> find(const std::vector<std::uint64_t>& addresses) {
    std::vector<Line> found(addresses.size());
    if (usable_) run(addresses, found);
    return found;
  }

  [[nodiscard]] std::string path(std::uint64_t file) const {
    const std::uint64_t index = version_ >= 5 ? file : file - 1;
    if ((version_ < 5 && file == 0) || index >= files_.size()) return {};
    const auto& [name, folder] = files_[index];
    if (name.starts_with("/")) return std::string(name);
    std::string path(folder_path(folder));
    if (!path.empty()) path += '/';
    return path.append(name);
  }

 private:
  [[nodiscard]] std::string folder_path(std::uint64_t folder) const {
    std::string_view found = directory_;
    if (version_ >= 5 ? folder < folders_.size() : folder > 0 && folder <= folders_.size())
      found = folders_[version_ >= 5 ? folder : folder - 1];
    if (found.starts_with("/") || found == directory_ || directory_.empty()) return std::string(found);
    return std::string(directory_).append("/").append(found);
  }

  bool read_header() {
    const std::uint64_t length = cursor_.length(wide_);
    if (!cursor_.ok()) return false;
    cursor_.limit(cursor_.at() + std::min<std::uint64_t>(length, s_.line.size()));
    version_ = cursor_.fixed(2);
    if (version_ < 2 || version_ > 5) return false;
    if (version_ >= 5) cursor_.skip(2);  // sizes of addresses and segment selectors
    const std::uint64_t header = cursor_.fixed(wide_ ? 8 : 4);
    program_ = cursor_.at() + header;
    smallest_step_ = cursor_.fixed(1);
    if (version_ >= 4) cursor_.skip(1);  // operations per instruction: no VLIW here
    cursor_.skip(1);                     // is_stmt at the start
    line_base_ = static_cast<std::int8_t>(cursor_.fixed(1));
    line_range_ = static_cast<int>(cursor_.fixed(1));
    opcode_base_ = cursor_.fixed(1);
    for (std::uint64_t i = 1; i < opcode_base_ && cursor_.ok(); ++i) arguments_.push_back(cursor_.fixed(1));
    if (!cursor_.ok() || line_range_ == 0 || opcode_base_ == 0) return false;
    version_ >= 5 ? read_lists() : read_old_lists();
    return cursor_.ok();
  }

  void read_old_lists() {
    for (std::string_view folder = cursor_.text(); !folder.empty(); folder = cursor_.text())
      folders_.push_back(folder);
    for (std::string_view name = cursor_.text(); !name.empty(); name = cursor_.text()) {
      files_.emplace_back(name, cursor_.uleb());
      cursor_.uleb();
      cursor_.uleb();
    }
  }

  void read_lists() {
    for (const auto& [name, folder] : read_list()) folders_.push_back(name);
    files_ = read_list();
  }

  std::vector<std::pair<std::string_view, std::uint64_t>> read_list() {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> format(cursor_.fixed(1));
    for (auto& [content, form] : format) {
      content = cursor_.uleb();
      form = cursor_.uleb();
    }
    std::vector<std::pair<std::string_view, std::uint64_t>> list;
    const std::uint64_t count = cursor_.uleb();
    while (list.size() < count && cursor_.ok() && !format.empty()) {
      auto& [name, folder] = list.emplace_back();
      for (const auto& [content, form] : format) read_field(content, form, name, folder);
    }
    return list;
  }

  void read_field(std::uint64_t content, std::uint64_t form, std::string_view& name, std::uint64_t& folder) {
    std::string_view text;
    std::uint64_t number = 0;
    const std::uint64_t offset_bytes = wide_ ? 8 : 4;
    switch (form) {
      case 0x08:
        text = cursor_.text();
        break;
      case 0x0e:
        text = text_at(s_.str, cursor_.fixed(offset_bytes));
        break;
      case 0x1f:
        text = text_at(s_.line_str, cursor_.fixed(offset_bytes));
        break;
      case 0x0b:
        number = cursor_.fixed(1);
        break;
      case 0x05:
        number = cursor_.fixed(2);
        break;
      case 0x06:
        number = cursor_.fixed(4);
        break;
      case 0x07:
        number = cursor_.fixed(8);
        break;
      case 0x0f:
        number = cursor_.uleb();
        break;
      case 0x1e:
        cursor_.skip(16);
        break;
      case 0x09:
        cursor_.skip(cursor_.uleb());
        break;
      default:
        cursor_.skip(~std::uint64_t{0});
    }
    if (content == 1) name = text;
    if (content == 2) folder = number;
  }

  /// A row is in force from its address to the next row's.
  struct Rows {
    const std::vector<std::uint64_t>& addresses;
    std::vector<Line>& found;
    std::uint64_t start = 0;
    Line line;
    bool open = false;
    void add(std::uint64_t address, const Line& next, bool end) {
      if (open && address > start) {
        auto at = std::lower_bound(addresses.begin(), addresses.end(), start);
        for (; at != addresses.end() && *at < address; ++at)
          if (line.line != 0) found[static_cast<std::size_t>(at - addresses.begin())] = line;
      }
      start = address;
      // Line 0 is code that belongs to no line: what came before is as near as anything.
      if (next.line != 0 || !open) line = next;
      open = !end;
    }
  };

  void run(const std::vector<std::uint64_t>& addresses, std::vector<Line>& found) {
    Rows rows{addresses, found, 0, {}, false};
    cursor_.seek(program_);
    std::uint64_t address = 0;
    Line state{1, 1};
    while (!cursor_.done()) {
      const std::uint64_t opcode = cursor_.fixed(1);
      if (opcode >= opcode_base_) {
        const auto special = static_cast<int>(opcode - opcode_base_);
        address += static_cast<std::uint64_t>(special / line_range_) * smallest_step_;
        state.line += line_base_ + special % line_range_;
        rows.add(address, state, false);
      } else if (opcode == 0) {
        extended(rows, address, state);
      } else {
        standard(opcode, rows, address, state);
      }
    }
  }

  void standard(std::uint64_t opcode, Rows& rows, std::uint64_t& address, Line& state) {
    switch (opcode) {
      case 1:
        return rows.add(address, state, false);
      case 2:
        address += cursor_.uleb() * smallest_step_;
        return;
      case 3:
        state.line = static_cast<int>(static_cast<std::uint32_t>(state.line + cursor_.sleb()));
        return;
      case 4:
        state.file = cursor_.uleb();
        return;
      case 8:
        address += (255 - opcode_base_) / static_cast<std::uint64_t>(line_range_) * smallest_step_;
        return;
      case 9:
        address += cursor_.fixed(2);
        return;
      default:
        for (std::uint64_t i = 0; i < arguments_[opcode - 1] && cursor_.ok(); ++i) cursor_.uleb();
    }
  }

  void extended(Rows& rows, std::uint64_t& address, Line& state) {
    const std::uint64_t length = cursor_.uleb();
    const std::uint64_t end = cursor_.at() + length;
    const std::uint64_t opcode = length > 0 ? cursor_.fixed(1) : 0;
    if (opcode == 1) {
      rows.add(address, state, true);
      address = 0;
      state = {1, 1};
    } else if (opcode == 2 && length >= 5) {
      address = cursor_.fixed(std::min<std::uint64_t>(length - 1, 8));
    }
    cursor_.seek(end);
  }

  const DebugSections& s_;
  const UnitHead& unit_;
  std::string_view directory_;
  Cursor cursor_{{}, 0};
  bool usable_ = false;
  bool wide_ = false;
  std::uint64_t version_ = 0;
  std::uint64_t program_ = 0;
  std::uint64_t smallest_step_ = 1;
  int line_base_ = 0;
  int line_range_ = 1;
  std::uint64_t opcode_base_ = 1;
  std::vector<std::uint64_t> arguments_;
  std::vector<std::string_view> folders_;
  std::vector<std::pair<std::string_view, std::uint64_t>> files_;
};

// ---- one unit's answers ----------------------------------------------------------------------------------

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
    Cursor cursor(s_.info, unit_.first_entry);
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
    Cursor cursor(s_.info, offset);
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

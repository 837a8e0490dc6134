// Line number programs (DWARF 5, 6.2): addresses of one unit to files and lines.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/debug/bytes.hpp"
#include "profile/debug/debug_info.hpp"
#include "profile/debug/entries.hpp"

namespace corewise::profile::debug {

struct Line {
  std::uint64_t file = 0;
  int line = 0;
};

class LineTable {
 public:
  LineTable(const DebugSections& sections, const UnitHead& unit, std::string_view directory)
      : s_(sections), unit_(unit), directory_(directory) {
    if (!unit.entry.statements.there()) return;
    cursor_ = Bytes(s_.line, unit.entry.statements.number);
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
        advance(state, line_base_ + special % line_range_);
        rows.add(address, state, false);
      } else if (opcode == 0) {
        extended(rows, address, state);
      } else {
        standard(opcode, rows, address, state);
      }
    }
  }

  /// A damaged program may go beyond any line: numbers wrap.
  static void advance(Line& state, std::int64_t lines) {
    state.line = static_cast<int>(static_cast<std::uint32_t>(state.line) + static_cast<std::uint32_t>(lines));
  }

  void standard(std::uint64_t opcode, Rows& rows, std::uint64_t& address, Line& state) {
    switch (opcode) {
      case 1:
        return rows.add(address, state, false);
      case 2:
        address += cursor_.uleb() * smallest_step_;
        return;
      case 3:
        advance(state, cursor_.sleb());
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
  Bytes cursor_{{}, 0};
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

}  // namespace corewise::profile::debug

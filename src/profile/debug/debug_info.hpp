// Source places from a program's debug information (DWARF 2 to 5): addresses in an ELF file to functions, inlined
// ones included, with file and line.
//
// Contract: sections are handed in uncompressed and must outlive the DebugInfo; nothing else of the file is needed.
// Only an index of the compilation units is kept; a unit's line table and tree are walked when an address in it is
// asked for, so asking for many at once is cheaper. Whatever the sections hold, an answer may be empty but nothing
// outside them is read. Not read: units split into .dwo files, and names that lie in another file (dwz).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace corewise::profile {

struct DebugSections {
  std::string_view info, abbrev, line, str, line_str, ranges, rnglists, addr, str_offsets;
};

/// A function that the address lies in, and where in it.
struct SourceFrame {
  std::string name;     ///< as declared, without namespace
  std::string linkage;  ///< as the linker knows it, empty where that is the name
  std::string file;     ///< full path as far as the compiler recorded it
  int line = 0;         ///< 0 unknown
  bool fortran = false;
};

struct SourcePlace {
  std::vector<SourceFrame> frames;  ///< innermost first; the last one is no inlined function. May be empty
  std::string declared_file;        ///< where that last one is defined
  int declared_line = 0;
};

class DebugInfo {
 public:
  explicit DebugInfo(const DebugSections& sections);
  /// A place per address, in the order of `addresses`.
  [[nodiscard]] std::vector<SourcePlace> find(std::span<const std::uint64_t> addresses) const;
  [[nodiscard]] std::size_t units() const { return units_.size(); }

 private:
  struct Unit {
    std::uint64_t offset;  ///< of its header in .debug_info
    std::uint64_t end;
  };
  struct Range {
    std::uint64_t first;
    std::uint64_t end;
    std::size_t unit;
  };
  [[nodiscard]] const Range* range_of(std::uint64_t address) const;

  DebugSections sections_;
  std::vector<Unit> units_;
  std::vector<Range> ranges_;  ///< sorted by first
};

}  // namespace corewise::profile

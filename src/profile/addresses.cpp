// Parsing /proc/self/maps; see addresses.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "profile/addresses.hpp"

#include <algorithm>
#include <charconv>

namespace corewise::profile {
namespace {

/// Takes a hexadecimal number and the one character behind it off the front; false where there is none.
bool take_hex(std::string_view& text, char behind, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  const auto used = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || used >= text.size() || text[used] != behind) return false;
  text.remove_prefix(used + 1);
  return true;
}

void skip_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find(' '), text.size()));
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
}

}  // namespace

Mappings::Mappings(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    add(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void Mappings::add(std::string_view line) {
  Range range{};
  if (!take_hex(line, '-', range.first) || !take_hex(line, ' ', range.end)) return;
  skip_word(line);  // permissions
  if (!take_hex(line, ' ', range.offset)) return;
  skip_word(line);  // device
  skip_word(line);  // inode; what is left is the path
  range.object = line;
  if (!range.object.empty()) ranges_.push_back(std::move(range));
}

Place Mappings::find(std::uint64_t address) const {
  const auto found = std::find_if(ranges_.rbegin(), ranges_.rend(), [&](const Range& range) {
    return address >= range.first && address < range.end;
  });
  if (found == ranges_.rend()) return {{}, address};
  return {found->object, address - found->first + found->offset};
}

}  // namespace corewise::profile

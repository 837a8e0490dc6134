// The bytes of a DWARF section, read forward and never past their end.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace corewise::profile::debug {

/// Reads forward; past the end everything is 0 and `ok` false.
class Bytes {
 public:
  Bytes(std::string_view data, std::uint64_t at)
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

inline std::string_view text_at(std::string_view section, std::uint64_t offset) {
  Bytes cursor(section, offset);
  const std::string_view found = cursor.text();
  return cursor.ok() ? found : std::string_view{};
}

}  // namespace corewise::profile::debug

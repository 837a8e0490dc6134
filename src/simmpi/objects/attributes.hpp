// Attributes: what a program hangs on a communicator or a datatype under keys of its own (MPI-3.1, section 6.7).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace corewise::simmpi {

/// By key, in the order in which they were set.
class Attributes {
 public:
  [[nodiscard]] std::optional<void*> find(int key) const {
    for (const auto& [known, value] : values_) {
      if (known == key) return value;
    }
    return std::nullopt;
  }
  void set(int key, void* value) {
    for (auto& [known, kept] : values_) {
      if (known == key) {
        kept = value;
        return;
      }
    }
    values_.emplace_back(key, value);
  }
  void erase(int key) {
    std::erase_if(values_, [key](const auto& each) { return each.first == key; });
  }
  [[nodiscard]] const std::vector<std::pair<int, void*>>& all() const { return values_; }

 private:
  std::vector<std::pair<int, void*>> values_;
};

}  // namespace corewise::simmpi

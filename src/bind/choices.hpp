// What a caller chooses by name or number, checked. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "bind/failure.hpp"

namespace corewise::bind {

/// The enumerator whose name_of is `text`.
template <class Enum>
Enum chosen(const char* field, const std::string& text, Enum first, Enum second) {
  for (const Enum each : {first, second})
    if (text == name_of(each)) return each;
  raise(bad_field("", field, "'" + text + "'", std::string(name_of(first)) + ", " + std::string(name_of(second))));
}

inline void require_at_least_one(const char* field, int value) {
  if (value < 1) raise(bad_field("", field, std::to_string(value), "1 or more"));
}

}  // namespace corewise::bind

// Numbers on a command line.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace corewise::bench {

/// Those between commas.
inline std::vector<int> numbers(const std::string& text) {
  std::vector<int> found;
  std::stringstream words(text);
  for (std::string word; std::getline(words, word, ',');) found.push_back(std::atoi(word.c_str()));
  return found;
}

}  // namespace corewise::bench

// A cache by the book, which only counts: a list of lines per set, the one used last in front. What the software
// caches of an SPE and of a simulated rank are held against. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <vector>

namespace corewise::test {

class PlainCache {
 public:
  PlainCache(std::uint64_t line_bytes, std::uint64_t sets, std::uint64_t ways)
      : line_bytes_(line_bytes), ways_(ways), sets_(sets) {}

  /// All lines of [at, at + bytes), each once, in their order.
  void touch(std::uint64_t at, std::uint64_t bytes, bool write) {
    for (std::uint64_t line = at / line_bytes_; line <= (at + bytes - 1) / line_bytes_; ++line) {
      touch_line(line, write);
    }
  }
  void forget_counts() { hits = misses = write_backs = 0; }

  std::uint64_t hits = 0, misses = 0, write_backs = 0;

 private:
  struct Line {
    std::uint64_t number;
    bool written;
  };
  void touch_line(std::uint64_t number, bool write) {
    std::list<Line>& set = sets_[number % sets_.size()];
    const auto found = std::ranges::find(set, number, &Line::number);
    if (found != set.end()) {
      ++hits;
      found->written |= write;
      set.splice(set.begin(), set, found);
      return;
    }
    ++misses;
    if (set.size() == ways_) {
      write_backs += set.back().written ? 1 : 0;
      set.pop_back();
    }
    set.push_front({number, write});
  }

  std::uint64_t line_bytes_, ways_;
  std::vector<std::list<Line>> sets_;
};

}  // namespace corewise::test

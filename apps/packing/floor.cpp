// SPDX-License-Identifier: BSD-3-Clause
#include "floor.hpp"

#include <algorithm>
#include <cstdint>

namespace {

constexpr std::size_t kLine = 64;

/// A line as a vector, whatever its bytes are.
using Line [[gnu::vector_size(kLine), gnu::may_alias]] = std::uint64_t;

/// Bytes from the buffer's begin to its first whole line.
std::size_t to_line(const std::vector<char>& buffer) {
  return -reinterpret_cast<std::uintptr_t>(buffer.data()) % kLine;
}

std::size_t whole_lines(const std::vector<char>& buffer) {
  const std::size_t skipped = to_line(buffer);
  return buffer.size() < skipped ? 0 : (buffer.size() - skipped) / kLine;
}

/// Data bytes of every whole line of the buffer; `is_data` by offset.
std::vector<std::size_t> data_of_lines(const std::vector<bool>& is_data, const std::vector<char>& items) {
  std::vector<std::size_t> bytes(whole_lines(items), 0);
  for (std::size_t i = 0; i < bytes.size() * kLine; ++i) bytes[i / kLine] += is_data[to_line(items) + i] ? 1 : 0;
  return bytes;
}

/// Equal runs at one distance as one.
std::vector<LineRun> grouped(const std::vector<LineRun>& runs) {
  std::vector<LineRun> groups;
  for (const LineRun& run : runs) {
    LineRun* last = groups.empty() ? nullptr : &groups.back();
    const bool alike = last != nullptr && last->lines == run.lines && last->packed_lines == run.packed_lines;
    const std::size_t distance = alike ? run.first - last->first : 0;
    if (alike && (last->count == 1 || distance == last->stride * last->count)) {
      if (last->count == 1) last->stride = distance;
      ++last->count;
    } else {
      groups.push_back(run);
    }
  }
  return groups;
}

/// Of one run: as often as `Each` lines go with a packed line, and packed lines that are left.
struct Shares {
  Shares(const LineRun& run, std::size_t each)
      : both(std::min(run.packed_lines, run.lines / each)), rest(run.packed_lines - both) {}
  std::size_t both, rest;
};

template <std::size_t Each>
void pack_runs(const std::vector<LineRun>& runs, const char* items, Line* packed) {
  Line sum{};  // of what was loaded and is not stored yet
  const Line* const packed_begin = packed;
  for (const LineRun& run : runs) {
    const Shares shares(run, Each);
    const char* begin = items + run.first;
    for (std::size_t turn = 0; turn < run.count; ++turn, begin += run.stride) {
      const Line* from = reinterpret_cast<const Line*>(begin);
      for (std::size_t i = 0; i < shares.both; ++i) {
        for (std::size_t k = 0; k < Each; ++k) sum |= *from++;
        *packed++ = sum;
        sum ^= sum;
      }
      for (std::size_t i = shares.both * Each; i < run.lines; ++i) sum |= *from++;
      for (std::size_t i = 0; i < shares.rest; ++i) *packed++ = sum;
    }
  }
  if (packed != packed_begin) packed[-1] |= sum;
}

/// `none` is zero, which the compiler does not know.
template <std::size_t Each>
void unpack_runs(const std::vector<LineRun>& runs, const Line* packed, char* items, std::uint64_t none) {
  const Line zero = Line{} + none;
  Line last = zero;
  for (const LineRun& run : runs) {
    const Shares shares(run, Each);
    char* begin = items + run.first;
    for (std::size_t turn = 0; turn < run.count; ++turn, begin += run.stride) {
      Line* to = reinterpret_cast<Line*>(begin);
      for (std::size_t i = 0; i < shares.both; ++i) {
        last = *packed++ & zero;
        for (std::size_t k = 0; k < Each; ++k) *to++ |= last;
      }
      for (std::size_t i = 0; i < shares.rest; ++i) last |= *packed++ & zero;
      for (std::size_t i = shares.both * Each; i < run.lines; ++i) *to++ |= last;
    }
  }
}

/// Whether most lines hold half a line's data or less.
bool half_dense(const std::vector<LineRun>& runs) {
  std::size_t lines = 0, packed = 0;
  for (const LineRun& run : runs) {
    lines += run.count * run.lines;
    packed += run.count * run.packed_lines;
  }
  return 2 * lines >= 3 * packed;
}

}  // namespace

std::vector<LineRun> data_lines(const std::vector<bool>& is_data, const std::vector<char>& items,
                                const std::vector<char>& packed) {
  const std::size_t room = whole_lines(packed);
  const std::vector<std::size_t> data = data_of_lines(is_data, items);
  std::vector<LineRun> runs;
  std::size_t seen = 0, given = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] == 0) continue;
    if (i == 0 || data[i - 1] == 0) runs.push_back({.first = to_line(items) + i * kLine});
    ++runs.back().lines;
    seen += data[i];
    const std::size_t whole = std::min(seen / kLine, room);
    runs.back().packed_lines += whole - given;
    given = whole;
  }
  return grouped(runs);
}

void touch_as_packing(const std::vector<LineRun>& runs, const std::vector<char>& items, std::vector<char>& packed) {
  if (runs.empty()) return;
  Line* to = reinterpret_cast<Line*>(packed.data() + to_line(packed));
  (half_dense(runs) ? pack_runs<2> : pack_runs<1>)(runs, items.data(), to);
}

void touch_as_unpacking(const std::vector<LineRun>& runs, const std::vector<char>& packed,
                        std::vector<char>& items) {
  static const volatile std::uint64_t kNone = 0;
  const Line* from = reinterpret_cast<const Line*>(packed.data() + to_line(packed));
  (half_dense(runs) ? unpack_runs<2> : unpack_runs<1>)(runs, from, items.data(), kNone);
}

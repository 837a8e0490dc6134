// What tests of layouts hold simplification to: runs in packing order, the promises of the canonical form, and a
// generator of layouts out of any bytes, which random tests and the fuzzer share.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/packing/layout/layout.hpp"

namespace corewise::kernels::reference {

using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Runs in packing order; what continues the run before is part of it.
inline Runs runs_of(const Layout& layout) {
  Runs runs;
  for_each_run(layout, 0, [&runs](std::int64_t offset, std::int64_t bytes) {
    if (!runs.empty() && runs.back().first + runs.back().second == offset) {
      runs.back().second += bytes;
    } else {
      runs.emplace_back(offset, bytes);
    }
  });
  return runs;
}

/// The first promise that offsets, with the lengths of what lies there, break.
inline std::string broken_offsets(const std::vector<std::int64_t>& offsets, const auto& length) {
  bool even = true;
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i - 1] + length(i - 1) == offsets[i]) return "runs that continue each other";
    even = even && offsets[i] - offsets[i - 1] == offsets[1] - offsets[0] && length(i) == length(0);
  }
  if (offsets.size() < 2) return "a list of one";
  if (offsets.front() != 0) return "a list that does not begin at its offset";
  return even ? "a list that is a repeat" : "";
}

inline std::string broken_repeat(const Layout& node) {
  const Layout& child = node.children.front();
  if (node.count < 2) return "a repeat of one";
  if (child.offset != 0) return "a repeat that does not begin at its offset";
  if (child.kind == Layout::Kind::run && child.bytes == node.stride) return "a repeat that is a run";
  if (child.kind == Layout::Kind::repeat && child.count * child.stride == node.stride) return "two repeats for one";
  return "";
}

inline std::string broken_sequence(const Layout& node) {
  const auto contiguous = [](const Layout& child) {
    return child.kind == Layout::Kind::run || child.kind == Layout::Kind::runs;
  };
  if (node.children.size() < 2) return "a sequence of one";
  if (node.children.front().offset != 0) return "a sequence that does not begin at its offset";
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    if (node.children[i].kind == Layout::Kind::sequence) return "a sequence in a sequence";
    if (i > 0 && contiguous(node.children[i - 1]) && contiguous(node.children[i])) return "neighbouring runs";
  }
  return "";
}

inline std::string broken_node(const Layout& node) {
  switch (node.kind) {
    case Layout::Kind::run:
      return node.bytes <= 0 ? "a run without bytes" : "";
    case Layout::Kind::repeat:
      return broken_repeat(node);
    case Layout::Kind::list: {
      const Layout& child = node.children.front();
      if (child.kind == Layout::Kind::run) return "a list of runs that is none of `runs`";
      // What is no run has no end that the next one could continue at.
      return child.offset != 0 ? "a list that does not begin at its offset"
                               : broken_offsets(node.offsets, [](std::size_t) { return std::int64_t{1} << 60; });
    }
    case Layout::Kind::runs:
      return std::ranges::min(node.lengths) <= 0
                 ? "a run without bytes"
                 : broken_offsets(node.offsets, [&](std::size_t i) { return node.lengths[i]; });
    case Layout::Kind::sequence:
      break;
  }
  return broken_sequence(node);
}

inline std::string broken_below(const Layout& node) {
  for (const Layout& child : node.children) {
    if (const std::string below = broken_below(child); !below.empty()) return below;
  }
  return broken_node(node);
}

/// The promise of the canonical form that a layout breaks; empty where it keeps all.
inline std::string broken_promise(const Layout& layout) {
  return layout == Layout{} ? "" : broken_below(layout);
}

/// Layouts out of bytes, any bytes: small, so that their runs can be listed, and regular more often than by chance,
/// so that passes find something. The same bytes make the same layout; where they end, zeros follow.
class Maker {
 public:
  explicit Maker(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  Layout layout() { return node(4); }

 private:
  std::int64_t next(std::int64_t values) {
    const std::int64_t byte = at_ < bytes_.size() ? bytes_[at_] : 0;
    ++at_;
    return byte % values;
  }

  std::vector<std::int64_t> offsets(std::int64_t members) {
    const std::int64_t stride = 4 * (next(9) - 3), period = 1 + next(4), step = 4 * (next(9) - 3);
    const bool uneven = next(4) == 0;
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < members; ++i) {
      all.push_back(uneven && next(3) == 0 ? 4 * (next(40) - 20) : i * stride + i / period * step);
    }
    return all;
  }

  Layout runs() {
    Layout made;
    made.kind = Layout::Kind::runs;
    made.offsets = offsets(next(13));
    const std::int64_t bytes = 4 * next(4), other = 4 * next(4), period = 1 + next(4);
    for (std::size_t i = 0; i < made.offsets.size(); ++i) {
      made.lengths.push_back(static_cast<std::int64_t>(i) % period == 0 ? bytes : other);
    }
    return made;
  }

  Layout sequence(int levels) {
    Layout made;
    made.kind = Layout::Kind::sequence;
    const std::int64_t members = next(7);
    for (std::int64_t i = 0; i < members; ++i) {
      const std::int64_t as_before = next(3);
      made.children.push_back(i > 0 && as_before > 0 ? made.children.back() : node(levels - 1));
      made.children.back().offset += as_before == 1 ? 4 * (next(16) - 4) : 0;
    }
    return made;
  }

  Layout node(int levels) {
    constexpr std::int64_t kLeaves = 2;
    Layout made;
    switch (next(levels == 0 ? kLeaves : 5)) {
      case 0:
        made.bytes = 4 * next(4);
        break;
      case 1:
        made = runs();
        break;
      case 2:
        made.kind = Layout::Kind::repeat;
        made.count = next(5);
        made.stride = 4 * (next(17) - 4);
        made.children.push_back(node(levels - 1));
        break;
      case 3:
        made.kind = Layout::Kind::list;
        made.offsets = offsets(next(13));
        made.children.push_back(node(levels - 1));
        break;
      default:
        made = sequence(levels);
        break;
    }
    made.offset = next(3) == 0 ? 4 * (next(32) - 8) : 0;
    return made;
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

}  // namespace corewise::kernels::reference

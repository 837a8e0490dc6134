// Layouts in a line, and what a layout says about itself: its depth, and its text for people.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/layout/layout.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace corewise::kernels {
namespace {

using Kind = Layout::Kind;

constexpr std::size_t kShown = 4;     ///< entries of a list in a text
constexpr std::size_t kChildren = 6;  ///< members of a sequence in a text

std::string bytes_text(std::int64_t bytes) {
  return std::to_string(bytes) + " B";
}

std::string at_text(std::int64_t offset) {
  return offset == 0 ? "" : " at " + std::to_string(offset);
}

/// The first entries; with lengths, each as length@offset.
std::string entries_text(const Layout& layout) {
  std::string text;
  const std::size_t shown = std::min(kShown, layout.offsets.size());
  for (std::size_t i = 0; i < shown; ++i) {
    text += i == 0 ? "" : ", ";
    if (layout.kind == Kind::runs) text += bytes_text(layout.lengths[i]) + " at ";
    text += std::to_string(layout.offsets[i]);
  }
  return text + (shown < layout.offsets.size() ? ", ..." : "");
}

std::string node_text(const Layout& layout) {
  switch (layout.kind) {
    case Kind::run:
      return "run of " + bytes_text(layout.bytes) + at_text(layout.offset);
    case Kind::repeat:
      return "repeat " + std::to_string(layout.count) + " times, stride " + bytes_text(layout.stride) +
             at_text(layout.offset);
    case Kind::list:
      return "list of " + std::to_string(layout.offsets.size()) + at_text(layout.offset) + ": " +
             entries_text(layout);
    case Kind::runs:
      return "runs, " + std::to_string(layout.offsets.size()) + at_text(layout.offset) + ": " +
             entries_text(layout);
    case Kind::sequence:
      break;
  }
  return "sequence of " + std::to_string(layout.children.size()) + at_text(layout.offset);
}

void append(std::string& text, const Layout& layout, std::size_t level) {
  text += std::string(2 * level, ' ') + node_text(layout) + "\n";
  const std::size_t shown = std::min(kChildren, layout.children.size());
  for (std::size_t i = 0; i < shown; ++i) append(text, layout.children[i], level + 1);
  if (shown < layout.children.size()) {
    text +=
        std::string(2 * level + 2, ' ') + "... and " + std::to_string(layout.children.size() - shown) + " more\n";
  }
}

}  // namespace

Layout run_of(std::int64_t bytes, std::int64_t offset) {
  return {.kind = Kind::run, .offset = offset, .bytes = bytes};
}

Layout repeat_of(std::int64_t count, std::int64_t stride, Layout child, std::int64_t offset) {
  Layout made{.kind = Kind::repeat, .offset = offset, .count = count, .stride = stride};
  made.children.push_back(std::move(child));
  return made;
}

Layout list_of(std::vector<std::int64_t> offsets, Layout child, std::int64_t offset) {
  Layout made{.kind = Kind::list, .offset = offset, .offsets = std::move(offsets)};
  made.children.push_back(std::move(child));
  return made;
}

Layout runs_of(std::vector<std::int64_t> offsets, std::vector<std::int64_t> lengths, std::int64_t offset) {
  return {.kind = Kind::runs, .offset = offset, .offsets = std::move(offsets), .lengths = std::move(lengths)};
}

Layout sequence_of(std::vector<Layout> children, std::int64_t offset) {
  return {.kind = Kind::sequence, .offset = offset, .children = std::move(children)};
}

int depth_of(const Layout& layout) {
  int deepest = 0;
  for (const Layout& child : layout.children) deepest = std::max(deepest, depth_of(child));
  return deepest + 1;
}

std::string to_text(const Layout& layout) {
  std::string text;
  append(text, layout, 0);
  return text;
}

}  // namespace corewise::kernels

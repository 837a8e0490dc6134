// What a datatype looks like in memory: a tree over contiguous runs of bytes, in the order in which MPI packs them
// (the order of the type map, MPI-4.1 sections 5.1 and 5.2). The one form on which simplification, packing plans
// and copies from layout to layout work.
//
// Contract: a layout is a value. Offsets and strides are bytes relative to the address of the item, and may be
// negative or zero; runs may overlap (a receiver must not use such a type, a sender may). `size` is the data bytes
// of one item. A layout as constructed may have nodes without data; a canonical one (simplify.hpp) has none.
// Functions on layouts call themselves once per level: whoever builds one keeps to `kDeepest` levels
// (datatype.cpp). SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace corewise::kernels {

struct Layout {
  enum class Kind : std::uint8_t {
    run,       ///< `bytes` contiguous bytes
    repeat,    ///< `count` times the child, `stride` bytes apart
    list,      ///< the child at each of `offsets`
    runs,      ///< contiguous bytes: `lengths[i]` of them at `offsets[i]`
    sequence,  ///< the children, one after the other
  };

  Kind kind = Kind::run;
  std::int64_t offset = 0;  ///< bytes from where the parent puts this node to where it begins; every kind has it
  std::int64_t bytes = 0;   ///< run
  std::int64_t count = 0;   ///< repeat
  std::int64_t stride = 0;  ///< repeat: bytes from one beginning to the next
  std::vector<std::int64_t> offsets = {};  ///< list, runs
  std::vector<std::int64_t> lengths = {};  ///< runs, as many as offsets
  std::vector<Layout> children = {};       ///< repeat and list: one; sequence: any number

  bool operator==(const Layout&) const = default;
};

Layout run_of(std::int64_t bytes, std::int64_t offset = 0);
Layout repeat_of(std::int64_t count, std::int64_t stride, Layout child, std::int64_t offset = 0);
Layout list_of(std::vector<std::int64_t> offsets, Layout child, std::int64_t offset = 0);
Layout runs_of(std::vector<std::int64_t> offsets, std::vector<std::int64_t> lengths, std::int64_t offset = 0);
Layout sequence_of(std::vector<Layout> children, std::int64_t offset = 0);

/// Levels that a layout may have. A canonical one has fewer in any case: every repeat and every list doubles its
/// size.
inline constexpr int kDeepest = 200;

/// Levels of a layout: 1 where there are no children.
int depth_of(const Layout& layout);
/// A line per node, indented by its level; of long lists the first entries and the number of all.
std::string to_text(const Layout& layout);

/// The sum of `value(bytes)` over all runs, those without data too.
template <class Value>
std::int64_t sum_over_runs(const Layout& layout, const Value& value) {
  std::int64_t sum = layout.kind == Layout::Kind::run ? value(layout.bytes) : 0;
  for (const Layout& child : layout.children) sum += sum_over_runs(child, value);
  for (const std::int64_t bytes : layout.lengths) sum += value(bytes);
  const auto members = static_cast<std::int64_t>(layout.offsets.size());
  return sum * (layout.kind == Layout::Kind::repeat ? layout.count
                : layout.kind == Layout::Kind::list ? members
                                                    : 1);
}

/// Data bytes of one item.
inline std::int64_t size_of(const Layout& layout) {
  return sum_over_runs(layout, std::identity{});
}

/// Runs with data of one item.
inline std::int64_t count_runs(const Layout& layout) {
  return sum_over_runs(layout, [](std::int64_t bytes) { return std::int64_t{bytes > 0}; });
}

/// Calls `visit(offset, bytes)` for runs with data, in packing order, as long as it returns true; whether it always
/// did.
template <class Visit>
bool visit_runs(const Layout& layout, std::int64_t at, Visit&& visit) {
  at += layout.offset;
  switch (layout.kind) {
    case Layout::Kind::run:
      return layout.bytes <= 0 || visit(at, layout.bytes);
    case Layout::Kind::repeat:
      for (std::int64_t i = 0; i < layout.count; ++i)
        if (!visit_runs(layout.children.front(), at + i * layout.stride, visit)) return false;
      return true;
    case Layout::Kind::list:
      for (const std::int64_t offset : layout.offsets)
        if (!visit_runs(layout.children.front(), at + offset, visit)) return false;
      return true;
    case Layout::Kind::runs:
      for (std::size_t i = 0; i < layout.offsets.size(); ++i)
        if (layout.lengths[i] > 0 && !visit(at + layout.offsets[i], layout.lengths[i])) return false;
      return true;
    case Layout::Kind::sequence:
      for (const Layout& child : layout.children)
        if (!visit_runs(child, at, visit)) return false;
      return true;
  }
  return true;
}

/// Calls `visit(offset, bytes)` for every run with data, in packing order: the slow reference for whatever packs.
template <class Visit>
void for_each_run(const Layout& layout, std::int64_t at, Visit&& visit) {
  visit_runs(layout, at, [&visit](std::int64_t offset, std::int64_t bytes) {
    visit(offset, bytes);
    return true;
  });
}

}  // namespace corewise::kernels

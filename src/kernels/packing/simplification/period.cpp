// Passes on regularity: what is a shorter layout several times. All of them look at neighbours and at the distances
// between them, so that a list of a million entries costs a few sweeps.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/packing/simplification/passes.hpp"

namespace corewise::kernels::passes {
namespace {

using Kind = Layout::Kind;

bool same_shape(const Layout& one, const Layout& other) {
  return one.kind == other.kind && one.bytes == other.bytes && one.count == other.count &&
         one.stride == other.stride && one.offsets == other.offsets && one.lengths == other.lengths &&
         one.children == other.children;
}

/// Whether members i and j of a list or `runs` are alike.
bool alike(const Layout& node, std::size_t i, std::size_t j) {
  return node.lengths.empty() || node.lengths[i] == node.lengths[j];
}

/// Whether they are, and what follows each is as far away.
bool same_step(const Layout& node, std::size_t i, std::size_t j) {
  return node.offsets[i + 1] - node.offsets[i] == node.offsets[j + 1] - node.offsets[j] && alike(node, i, j);
}

/// Borders of the first `size - 1` steps: for each prefix the length of the longest proper prefix that also ends it
/// (Knuth, Morris and Pratt's failure function).
std::vector<std::size_t> borders_of(const Layout& node) {
  std::vector<std::size_t> borders(node.offsets.size() - 1, 0);
  std::size_t matched = 0;
  for (std::size_t i = 1; i < borders.size(); ++i) {
    while (matched > 0 && !same_step(node, i, matched)) {
      matched = borders[matched - 1];
    }
    matched += same_step(node, i, matched) ? 1 : 0;
    borders[i] = matched;
  }
  return borders;
}

/// The fewest members that, repeated evenly, are all members; all of them where there is no such number.
std::size_t shortest_period(const Layout& node) {
  const std::size_t size = node.offsets.size();
  const std::vector<std::size_t> borders = borders_of(node);
  for (std::size_t border = size - 1; border > 0;) {
    border = borders[border - 1];
    const std::size_t period = size - 1 - border;
    if (2 * period > size) break;
    if (size % period == 0 && alike(node, size - 1, size - 1 - period)) return period;
  }
  return size;
}

/// The first `members` of a list or `runs`; one alone is its own layout.
Layout first_members(Layout&& node, std::size_t members) {
  if (members == 1)
    return node.kind == Kind::runs ? run_of(node.lengths.front()) : std::move(node.children.front());
  node.offset = 0;
  node.offsets.resize(members);
  node.offsets.shrink_to_fit();
  if (node.kind == Kind::runs) {
    node.lengths.resize(members);
    node.lengths.shrink_to_fit();
  }
  return std::move(node);
}

}  // namespace

bool share(Layout& node) {
  const auto shared = [](const Layout& one, const Layout& next) { return same_shape(one, next); };
  if (node.kind != Kind::sequence ||
      std::adjacent_find(node.children.begin(), node.children.end(), shared) == node.children.end()) {
    return false;
  }
  std::vector<Layout> members;
  for (std::size_t from = 0, to = 0; from < node.children.size(); from = to) {
    std::vector<std::int64_t> offsets;
    for (to = from; to < node.children.size() && (to == from || shared(node.children[to - 1], node.children[to]));
         ++to) {
      offsets.push_back(node.children[to].offset);
    }
    Layout& first = node.children[from];
    if (offsets.size() > 1) {
      first.offset = 0;
      members.push_back(list_of(std::move(offsets), std::move(first)));
    } else {
      members.push_back(std::move(first));
    }
  }
  node.children = std::move(members);
  return true;
}

bool period(Layout& node) {
  if ((node.kind != Kind::list && node.kind != Kind::runs) || node.offsets.size() < 2) return false;
  const std::size_t size = node.offsets.size(), length = shortest_period(node);
  if (length == size) return false;
  const std::int64_t offset = node.offset + (length == 1 ? node.offsets.front() : 0);
  const std::int64_t stride = node.offsets[length] - node.offsets.front();
  node =
      repeat_of(static_cast<std::int64_t>(size / length), stride, first_members(std::move(node), length), offset);
  return true;
}

}  // namespace corewise::kernels::passes

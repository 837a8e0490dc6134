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

/// Shortest stretch that `stretch` makes a repeat: shorter ones cost more as a loop than as entries.
constexpr std::size_t kShortest = 4;

bool same_shape(const Layout& one, const Layout& other) {
  return one.kind == other.kind && one.bytes == other.bytes && one.count == other.count &&
         one.stride == other.stride && one.offsets == other.offsets && one.lengths == other.lengths &&
         one.children == other.children;
}

/// The members of a list, `runs` or sequence: where each begins, and which are alike.
class Members {
 public:
  explicit Members(const Layout& node)
      : node_(node), shapes_(node.kind == Kind::sequence ? number_shapes() : Shapes{}) {}

  std::size_t size() const { return node_.kind == Kind::sequence ? node_.children.size() : node_.offsets.size(); }
  std::int64_t offset(std::size_t i) const {
    return node_.kind == Kind::sequence ? node_.children[i].offset : node_.offsets[i];
  }
  bool alike(std::size_t i, std::size_t j) const {
    switch (node_.kind) {
      case Kind::runs:
        return node_.lengths[i] == node_.lengths[j];
      case Kind::sequence:
        return shapes_[i] == shapes_[j];
      default:
        return true;
    }
  }
  /// Whether members i and j are alike, and what follows each is as far away.
  bool same_step(std::size_t i, std::size_t j) const {
    return offset(i + 1) - offset(i) == offset(j + 1) - offset(j) && alike(i, j);
  }

 private:
  using Shapes = std::vector<std::size_t>;

  /// A number per member of a sequence, equal for members of equal shape: places in sorted order.
  Shapes number_shapes() const;

  const Layout& node_;
  Shapes shapes_;
};

/// Some order in which layouts of equal shape are equal; sizes first, because most differ there.
int compare(const Layout& one, const Layout& other, bool with_offset) {
  const auto by = [](const auto& a, const auto& b) { return a < b ? -1 : b < a ? 1 : 0; };
  int order = by(one.kind, other.kind);
  order = order != 0 ? order : by(one.bytes, other.bytes);
  order = order != 0 ? order : by(one.count, other.count);
  order = order != 0 ? order : by(one.stride, other.stride);
  order = order != 0 ? order : by(one.offsets.size(), other.offsets.size());
  order = order != 0 ? order : by(one.children.size(), other.children.size());
  order = order != 0 || !with_offset ? order : by(one.offset, other.offset);
  order = order != 0 ? order : by(one.offsets, other.offsets);
  order = order != 0 ? order : by(one.lengths, other.lengths);
  for (std::size_t i = 0; order == 0 && i < one.children.size(); ++i) {
    order = compare(one.children[i], other.children[i], true);
  }
  return order;
}

Members::Shapes Members::number_shapes() const {
  const std::vector<Layout>& members = node_.children;
  Shapes sorted(members.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    sorted[i] = i;
  }
  std::sort(sorted.begin(), sorted.end(),
            [&members](std::size_t i, std::size_t j) { return compare(members[i], members[j], false) < 0; });
  Shapes numbers(members.size());
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const bool same = compare(members[sorted[i - 1]], members[sorted[i]], false) == 0;
    numbers[sorted[i]] = numbers[sorted[i - 1]] + (same ? 0 : 1);
  }
  return numbers;
}

/// Borders of the first `size - 1` steps: for each prefix the length of the longest proper prefix that also ends it
/// (Knuth, Morris and Pratt's failure function).
std::vector<std::size_t> borders_of(const Members& members) {
  std::vector<std::size_t> borders(members.size() - 1, 0);
  std::size_t matched = 0;
  for (std::size_t i = 1; i < borders.size(); ++i) {
    while (matched > 0 && !members.same_step(i, matched)) {
      matched = borders[matched - 1];
    }
    matched += members.same_step(i, matched) ? 1 : 0;
    borders[i] = matched;
  }
  return borders;
}

/// The fewest members that, repeated evenly, are all members; all of them where there is no such number.
std::size_t shortest_period(const Members& members) {
  const std::size_t size = members.size();
  const std::size_t steps = size - 1;
  const std::vector<std::size_t> borders = borders_of(members);
  std::size_t border = steps;
  while (border > 0) {
    border = borders[border - 1];
    const std::size_t period = steps - border;
    if (2 * period > size) {
      break;
    }
    if (size % period == 0 && members.alike(size - 1, size - 1 - period)) {
      return period;
    }
  }
  return size;
}

/// Keeps the first `members` of a node.
void shorten(Layout& node, std::size_t members) {
  if (node.kind == Kind::sequence) {
    node.children.resize(members);
    return;
  }
  node.offsets.resize(members);
  node.offsets.shrink_to_fit();
  if (node.kind == Kind::runs) {
    node.lengths.resize(members);
    node.lengths.shrink_to_fit();
  }
}

/// A member of a list, `runs` or sequence as a layout of its own, relative to where the member begins.
Layout first_member(Layout&& node) {
  Layout member;
  if (node.kind == Kind::runs) {
    member.bytes = node.lengths.front();
  } else {
    member = std::move(node.children.front());
  }
  if (node.kind == Kind::sequence) {
    member.offset = 0;
  }
  return member;
}

Layout list_of(std::int64_t offset, std::vector<std::int64_t> offsets, Layout child) {
  Layout list;
  list.kind = Kind::list;
  list.offset = offset;
  list.offsets = std::move(offsets);
  list.children.push_back(std::move(child));
  return list;
}

/// How many members from `from` on are evenly spaced.
std::size_t even_stretch(const std::vector<std::int64_t>& offsets, std::size_t from) {
  std::size_t to = from + 1;
  while (to < offsets.size() && offsets[to] - offsets[to - 1] == offsets[from + 1] - offsets[from]) {
    ++to;
  }
  return to - from;
}

/// Whether a list is stretches of `length` members, all spaced as the first.
bool has_stretches(const std::vector<std::int64_t>& offsets, std::size_t length) {
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (i % length != 0 && offsets[i] - offsets[i - 1] != offsets[1] - offsets[0]) {
      return false;
    }
  }
  return true;
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
      members.push_back(list_of(0, std::move(offsets), std::move(first)));
    } else {
      members.push_back(std::move(first));
    }
  }
  node.children = std::move(members);
  return true;
}

bool period(Layout& node) {
  if (node.kind == Kind::run || node.kind == Kind::repeat) {
    return false;
  }
  const Members members(node);
  if (members.size() < 2) {
    return false;
  }
  const std::size_t length = shortest_period(members);
  if (length == members.size()) {
    return false;
  }
  Layout repeat;
  repeat.kind = Kind::repeat;
  repeat.offset = node.offset + members.offset(0);
  repeat.count = static_cast<std::int64_t>(members.size() / length);
  repeat.stride = members.offset(length) - members.offset(0);
  if (length == 1) {
    repeat.children.push_back(first_member(std::move(node)));
  } else {
    repeat.offset = node.offset;
    node.offset = 0;
    shorten(node, length);
    repeat.children.push_back(std::move(node));
  }
  node = std::move(repeat);
  return true;
}

bool stretch(Layout& node) {
  if (node.kind != Kind::list || node.offsets.size() < 2 * kShortest) {
    return false;
  }
  const std::vector<std::int64_t>& offsets = node.offsets;
  const std::size_t length = even_stretch(offsets, 0);
  if (length < kShortest || length == offsets.size() || offsets.size() % length != 0 ||
      !has_stretches(offsets, length)) {
    return false;
  }
  Layout repeat;
  repeat.kind = Kind::repeat;
  repeat.count = static_cast<std::int64_t>(length);
  repeat.stride = offsets[1] - offsets[0];
  repeat.children = std::move(node.children);
  std::vector<std::int64_t> starts;
  for (std::size_t i = 0; i < offsets.size(); i += length) {
    starts.push_back(offsets[i]);
  }
  node = list_of(node.offset, std::move(starts), std::move(repeat));
  return true;
}

}  // namespace corewise::kernels::passes

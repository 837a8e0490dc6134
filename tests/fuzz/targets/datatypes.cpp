// The fuzzer's target for datatypes and their simplification. Any bytes become a layout, or a nest of MPI's
// constructors; then no pass may change what is packed or its order, the result must keep every promise of the
// canonical form, and bounds must be those of the runs.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "fuzz.hpp"
#include "kernels/packing/layout/datatype.hpp"
#include "kernels/packing/layout_reference.hpp"
#include "kernels/packing/simplification/simplify.hpp"

namespace corewise::kernels {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kMostRuns = 20000;

void require(bool holds, const std::string& what, const Layout& layout) {
  if (!holds) {
    std::fprintf(stderr, "%s:\n%s", what.c_str(), to_text(layout).c_str());
    std::abort();
  }
}

void check_simplification(const Layout& layout) {
  const reference::Runs runs = reference::runs_of(layout);
  std::vector<Stage> stages;
  const Layout canonical = simplify(layout, &stages);
  for (const Stage& stage : stages) {
    require(reference::runs_of(stage.layout) == runs, "changed by " + std::string(stage.pass), layout);
  }
  require(stages.empty() ? canonical == layout : canonical == stages.back().layout, "not the last stage", layout);
  require(reference::broken_promise(canonical).empty(), reference::broken_promise(canonical), canonical);
  require(simplify(canonical) == canonical, "not a fixed point", canonical);
}

// Nests of constructors
// ------------------------------------------------------------------------------------------------

/// Numbers out of bytes; zeros where they end.
class Source {
 public:
  explicit Source(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool ended() const { return at_ >= bytes_.size(); }
  std::int64_t next(std::int64_t values) { return ended() ? 0 : bytes_[at_++] % values; }
  /// From a half below zero to a half above.
  std::int64_t around(std::int64_t values) { return next(values) - values / 2; }
  /// Now and then a number that MPI's arguments hardly ever are.
  std::int64_t any() {
    const std::int64_t number = around(32);
    return next(16) != 15 ? number : number * (std::int64_t{1} << (4 * next(15)));
  }
  std::int64_t few(std::int64_t values) { return next(16) != 15 ? next(values) : any(); }
  Integers several(std::size_t count, std::int64_t values) {
    Integers all(count);
    std::generate(all.begin(), all.end(), [this, values] { return few(values); });
    return all;
  }
  Integers places(std::size_t count) {
    Integers all(count);
    std::generate(all.begin(), all.end(), [this] { return any(); });
    return all;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

Order order_from(Source& from) {
  return from.next(2) == 0 ? Order::c : Order::fortran;
}

Result<Datatype> any_array(Source& from, const Datatype& old) {
  const auto dimensions = static_cast<std::size_t>(1 + from.next(3));
  if (from.next(2) == 0) {
    const Integers sizes = from.several(dimensions, 7), subsizes = from.several(dimensions, 6);
    return subarray(sizes, subsizes, from.several(dimensions, 4), order_from(from), old);
  }
  std::vector<Distribution> distributions;
  Integers dargs, psizes;
  std::int64_t size = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    distributions.push_back(static_cast<Distribution>(from.next(3)));
    dargs.push_back(from.next(5) - 1);
    psizes.push_back(1 + from.next(3));
    size *= psizes.back();
  }
  return darray(size, from.next(9), from.several(dimensions, 9), distributions, dargs, psizes, order_from(from),
                old);
}

/// One constructor around `old`; refused where its arguments are not valid.
Result<Datatype> any_type(Source& from, const Datatype& old) {
  const auto blocks = static_cast<std::size_t>(from.next(6));
  switch (from.next(10)) {
    case 0:
      return contiguous(from.any(), old);
    case 1:
      return vector(from.few(6), from.few(4), from.any(), old);
    case 2:
      return hvector(from.few(6), from.few(4), from.any(), old);
    case 3:
      return indexed(from.several(blocks, 4), from.places(blocks), old);
    case 4:
      return hindexed(from.several(blocks, 4), from.places(blocks), old);
    case 5:
      return indexed_block(from.few(4), from.places(blocks), old);
    case 6:
      return hindexed_block(from.few(4), from.places(blocks), old);
    case 7:
      return resized(old, from.any(), from.any());
    case 8: {
      std::vector<Datatype> types(blocks, old);
      for (std::size_t i = 0; i < blocks; i += 2) {
        types[i] = basic(1 + from.next(16)).value();
      }
      return structure(from.several(blocks, 3), from.places(blocks), types);
    }
    default:
      return any_array(from, old);
  }
}

void check_bounds(const Datatype& type) {
  std::int64_t size = 0, first = 0, last = 0;
  bool any = false;
  for_each_run(type.layout, 0, [&](std::int64_t offset, std::int64_t bytes) {
    size += bytes;
    first = any ? std::min(first, offset) : offset;
    last = any ? std::max(last, offset + bytes) : offset + bytes;
    any = true;
  });
  require(type.size == size, "not its size", type.layout);
  require(type.true_lb == first && type.true_extent == last - first, "not its true extent", type.layout);
  require(type.marked || (type.lb == first && type.extent >= last - first &&
                          type.extent < last - first + type.alignment && type.extent % type.alignment == 0),
          "not its extent", type.layout);
  require(depth_of(type.layout) <= kDeepest, "too deep", type.layout);
}

void check_nest(Source from) {
  Datatype type = from.next(8) == 0 ? basic_pair(8, 8, 4, 16).value() : basic(1 + from.next(16)).value();
  for (int level = 0; level < 300 && !from.ended(); ++level) {
    const Result<Datatype> next = any_type(from, type);
    if (next.ok() && count_runs(next.value().layout) <= kMostRuns) {
      type = next.value();
    }
  }
  check_bounds(type);
  check_simplification(type.layout);
}

}  // namespace
}  // namespace corewise::kernels

namespace corewise::fuzz {

void datatypes(Bytes bytes) {
  if (bytes.empty()) return;
  if (bytes.front() % 2 == 1) {
    kernels::check_nest(kernels::Source(bytes.subspan(1)));
    return;
  }
  const kernels::Layout layout = kernels::reference::Maker(bytes.subspan(1)).layout();
  if (kernels::count_runs(layout) <= kernels::kMostRuns) kernels::check_simplification(layout);
}

}  // namespace corewise::fuzz

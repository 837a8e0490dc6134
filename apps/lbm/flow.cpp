// SPDX-License-Identifier: BSD-3-Clause
#include "flow.hpp"

#include <algorithm>
#include <utility>

#include "../common/computing.hpp"

namespace lbm {

namespace {

/// Floating-point operations of collide().
constexpr double kOperationsPerCell = 300;

/// The cells that have no ghost among their neighbours.
Box inner_cells(const Vector& extent) {
  Box inner{{1, 1, 1}, {}};
  for (std::size_t axis = 0; axis < kAxes; ++axis) inner.extent[axis] = std::max(extent[axis] - 2, 0);
  return inner;
}

/// Calls body(box) for boxes that hold each cell which is not an inner one exactly once: both ends of an axis, of
/// what the axes before have left.
template <class Body>
void for_each_shell_box(const Vector& extent, Body&& body) {
  Box rest{{0, 0, 0}, extent};
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    Box end = rest;
    end.extent[axis] = 1;
    body(end);
    end.begin[axis] = extent[axis] - 1;
    if (extent[axis] > 1) body(end);
    rest.begin[axis] = 1;
    rest.extent[axis] = std::max(extent[axis] - 2, 0);
  }
}

}  // namespace

Flow::Flow(const Decomposition& decomposition, const TaylorGreen& vortex, double tau, Traffic& traffic)
    : cells_(decomposition.cells_of(decomposition.rank())),
      tau_(tau),
      now_(cells_.extent),
      next_(cells_.extent),
      halo_(decomposition, now_, traffic) {
  for_each_cell({{0, 0, 0}, cells_.extent}, [&](const Vector& local) {
    const Vector at = {cells_.begin[0] + local[0], cells_.begin[1] + local[1], cells_.begin[2] + local[2]};
    Cell cell = vortex.start(at);
    collide(cell, tau_);
    now_.store(local, cell);
  });
}

void Flow::step() {
  halo_.start(now_);
  advance(inner_cells(cells_.extent));
  halo_.finish(now_);
  for_each_shell_box(cells_.extent, [&](const Box& box) { advance(box); });
  std::swap(now_, next_);
}

/// Streams into the cells of `box` and collides there.
void Flow::advance(const Box& box) {
  std::array<const double*, kDirections> sources;
  std::array<double*, kDirections> targets;
  for (std::size_t direction = 0; direction < kDirections; ++direction) {
    const std::ptrdiff_t first = now_.index(direction, {0, 0, 0});
    sources[direction] = now_.data() + first - now_.distance(kVelocities[direction]);
    targets[direction] = next_.data() + first;
  }
  for_each_cell(box, [&](const Vector& at) {
    const std::ptrdiff_t here = now_.distance(at);
    Cell cell;
    for_each_direction([&](auto direction) { cell[direction] = sources[direction][here]; });
    collide(cell, tau_);
    for_each_direction([&](auto direction) { targets[direction][here] = cell[direction]; });
  });
  computing::operations(kOperationsPerCell * static_cast<double>(volume(box.extent)));
}

}  // namespace lbm

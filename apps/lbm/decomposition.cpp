// SPDX-License-Identifier: BSD-3-Clause
#include "decomposition.hpp"

#include <algorithm>
#include <numeric>

namespace lbm {

namespace {

std::string text_of(const Vector& v) {
  return std::to_string(v[0]) + "x" + std::to_string(v[1]) + "x" + std::to_string(v[2]);
}

/// First cell of part `part`: the first (size mod parts) parts have one cell more than the others.
int begin_of(int size, int parts, int part) {
  return part * (size / parts) + std::min(part, size % parts);
}

}  // namespace

Vector choose_dims(int ranks, const Vector& size) {
  Vector descending{};
  MPI_Dims_create(ranks, static_cast<int>(kAxes), descending.data());
  std::array<std::size_t, kAxes> axes{};
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::stable_sort(axes.begin(), axes.end(), [&](std::size_t a, std::size_t b) { return size[a] > size[b]; });
  Vector dims{};
  for (std::size_t i = 0; i < kAxes; ++i) dims[axes[i]] = descending[i];
  return dims;
}

std::optional<std::string> misfit(int ranks, const Vector& dims, const Vector& size) {
  if (volume(dims) != ranks) {
    return "--dims: " + text_of(dims) + " is " + std::to_string(volume(dims)) + " ranks, the program has " +
           std::to_string(ranks);
  }
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    if (dims[axis] > size[axis]) {
      return "--dims: " + text_of(dims) + " ranks leave some without cells in a box of " + text_of(size) +
             "; allowed: at most one rank per cell along each axis";
    }
  }
  return std::nullopt;
}

Decomposition::Decomposition(const Vector& dims, const Vector& size) : dims_(dims), size_(size) {
  const Vector periodic = {1, 1, 1};
  const int may_renumber = 1;
  MPI_Cart_create(MPI_COMM_WORLD, static_cast<int>(kAxes), dims_.data(), periodic.data(), may_renumber,
                  &communicator_);
  MPI_Comm_rank(communicator_, &rank_);
}

Box Decomposition::cells_of(int rank) const {
  Vector part{};
  MPI_Cart_coords(communicator_, rank, static_cast<int>(kAxes), part.data());
  Box cells{};
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    cells.begin[axis] = begin_of(size_[axis], dims_[axis], part[axis]);
    cells.extent[axis] = begin_of(size_[axis], dims_[axis], part[axis] + 1) - cells.begin[axis];
  }
  return cells;
}

int Decomposition::neighbour(const Vector& offset) const {
  Vector part{};
  MPI_Cart_coords(communicator_, rank_, static_cast<int>(kAxes), part.data());
  for (std::size_t axis = 0; axis < kAxes; ++axis) part[axis] += offset[axis];
  int rank = 0;
  MPI_Cart_rank(communicator_, part.data(), &rank);  // coordinates wrap, every axis is periodic
  return rank;
}

}  // namespace lbm

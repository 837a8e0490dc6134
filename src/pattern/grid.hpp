// Process grids: ranks laid out in rows and columns as MPI_Cart_create does it, the last axis running fastest.
// Owns the factorisation of a rank count into balanced dimensions. Pure functions.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace corewise::pattern {

/// Invariant: at least one axis, every dimension at least 1.
struct Grid {
  std::vector<int> dims;

  [[nodiscard]] int ranks() const;
  [[nodiscard]] std::vector<int> coordinates(int rank) const;
  /// Requires coordinates inside the grid.
  [[nodiscard]] int rank(const std::vector<int>& coordinates) const;
};

/// Factors of `ranks`, largest first, with the largest as small as possible, then the next, and so on: what
/// MPI_Dims_create means by "as close to each other as possible".
std::vector<int> balanced_dims(int ranks, int axes);

/// Replaces the zeros of `dims` by balanced factors, as MPI_Dims_create does. Empty when the given dimensions do
/// not divide `ranks` (or, without zeros, do not multiply to it).
std::vector<int> filled_dims(int ranks, std::vector<int> dims);

/// Every ordered way to write `ranks` as a product of `axes` factors of at least 2, in lexicographic order.
std::vector<std::vector<int>> ordered_factorisations(int ranks, int axes);

/// "4x3x2".
std::string dims_text(const std::vector<int>& dims);

}  // namespace corewise::pattern

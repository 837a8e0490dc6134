// Row-major process grids and the factorisations of a rank count.
// SPDX-License-Identifier: BSD-3-Clause
#include "pattern/grid.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace corewise::pattern {
namespace {

std::vector<int> divisors(int number) {
  std::vector<int> small;
  std::vector<int> large;
  for (int d = 1; d <= number / d; ++d) {
    if (number % d != 0) continue;
    small.push_back(d);
    if (d != number / d) large.push_back(number / d);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

/// Non-increasing factors of at most `limit`, the lexicographically smallest; false when there are none.
bool factor(int number, int axes, int limit, std::vector<int>& factors) {
  if (axes == 1) {
    if (number > limit) return false;
    factors.push_back(number);
    return true;
  }
  for (const int d : divisors(number)) {
    if (d > limit) return false;
    factors.push_back(d);
    if (factor(number / d, axes - 1, d, factors)) return true;
    factors.pop_back();
  }
  return false;
}

void extend(int number, int axes, std::vector<int>& head, std::vector<std::vector<int>>& all) {
  if (axes == 1) {
    if (number < 2) return;
    all.push_back(head);
    all.back().push_back(number);
    return;
  }
  for (const int d : divisors(number)) {
    if (d < 2) continue;
    head.push_back(d);
    extend(number / d, axes - 1, head, all);
    head.pop_back();
  }
}

}  // namespace

int Grid::ranks() const {
  return std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<>());
}

std::vector<int> Grid::coordinates(int rank) const {
  std::vector<int> at(dims.size());
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    at[axis] = rank % dims[axis];
    rank /= dims[axis];
  }
  return at;
}

int Grid::rank(const std::vector<int>& coordinates) const {
  int rank = 0;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) rank = rank * dims[axis] + coordinates[axis];
  return rank;
}

std::vector<int> balanced_dims(int ranks, int axes) {
  std::vector<int> factors;
  factor(ranks, axes, ranks, factors);
  return factors;
}

std::vector<int> filled_dims(int ranks, std::vector<int> dims) {
  int rest = ranks;
  for (const int d : dims) {
    if (d == 0) continue;
    if (rest % d != 0) return {};
    rest /= d;
  }
  const auto open = static_cast<int>(std::count(dims.begin(), dims.end(), 0));
  if (open == 0) return rest == 1 ? dims : std::vector<int>{};
  const auto factors = balanced_dims(rest, open);
  auto next = factors.begin();
  for (int& d : dims) {
    if (d == 0) d = *next++;
  }
  return dims;
}

std::vector<std::vector<int>> ordered_factorisations(int ranks, int axes) {
  std::vector<std::vector<int>> all;
  std::vector<int> head;
  extend(ranks, axes, head, all);
  return all;
}

std::string dims_text(const std::vector<int>& dims) {
  std::string text;
  for (const int d : dims) text.append(text.empty() ? "" : "x").append(std::to_string(d));
  return text;
}

}  // namespace corewise::pattern

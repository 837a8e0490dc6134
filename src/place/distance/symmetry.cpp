// Distance symmetry: backtracking for one automorphism at a time. See symmetry.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/distance/symmetry.hpp"

#include <utility>

namespace corewise::place {

namespace {

constexpr int most_steps = 2000;

}  // namespace

MatrixSymmetry::MatrixSymmetry(int size, std::vector<std::int64_t> values)
    : size_(size), values_(std::move(values)) {}

const MatrixSymmetry::Orbits& MatrixSymmetry::orbits_fixing(std::uint64_t fixed) {
  const auto [found, is_new] = known_.try_emplace(fixed);
  Orbits& orbits = found->second;
  if (!is_new) return orbits;
  for (int x = 0; x < size_; ++x) {
    int least = x;
    for (int other = 0; other < x && least == x && !(fixed & bit(x)); ++other) {
      const bool is_representative = orbits.least[static_cast<std::size_t>(other)] == other;
      if (is_representative && !(fixed & bit(other)) && has_automorphism(fixed, x, other)) least = other;
    }
    orbits.least.push_back(least);
    orbits.trivial = orbits.trivial && least == x;
  }
  return orbits;
}

bool MatrixSymmetry::has_automorphism(std::uint64_t fixed, int from, int to) {
  order_.clear();
  image_.clear();
  used_ = 0;
  steps_left_ = most_steps;
  for (int x = 0; x < size_; ++x) {
    if (fixed & bit(x)) order_.push_back(x);
  }
  for (std::size_t k = 0; k < order_.size(); ++k) {
    image_.push_back(order_[k]);
    used_ |= bit(order_[k]);
  }
  order_.push_back(from);
  if (!fits(order_.size() - 1, to)) return false;
  image_.push_back(to);
  used_ |= bit(to);
  for (int x = 0; x < size_; ++x) {
    if (x != from && !(fixed & bit(x))) order_.push_back(x);
  }
  return extend(image_.size());
}

bool MatrixSymmetry::fits(std::size_t depth, int image) const {
  const int x = order_[depth];
  if (value(x, x) != value(image, image)) return false;
  for (std::size_t k = 0; k < depth; ++k) {
    if (value(x, order_[k]) != value(image, image_[k])) return false;
  }
  return true;
}

bool MatrixSymmetry::extend(std::size_t depth) {
  if (depth == order_.size()) return true;
  for (int k = 0; k < size_; ++k) {
    // The index itself first: most automorphisms found move little.
    const int x = order_[depth];
    const int image = k == 0 ? x : (k <= x ? k - 1 : k);
    if (used_ & bit(image)) continue;
    if (--steps_left_ < 0) return false;
    if (!fits(depth, image)) continue;
    image_.push_back(image);
    used_ |= bit(image);
    if (extend(depth + 1)) return true;
    image_.pop_back();
    used_ &= ~bit(image);
  }
  return false;
}

}  // namespace corewise::place

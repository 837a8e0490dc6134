// Automorphism search: colour refinement and backtracking. See automorphism.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "place/symmetry/automorphism.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "base/index.hpp"

namespace corewise::place {

namespace {

constexpr int refinement_rounds = 3;
constexpr std::uint64_t node_limit = 200'000;

/// Splitmix64's output step: spreads sums of small numbers over 64 bits.
std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return mix(mix(a) + b);
}

}  // namespace

/// One depth-first search: units of `order_` get images one by one. For every link a sum over the assigned pairs
/// that cross it is kept on both sides; the two multisets of sums must agree at every depth.
class ImageSearch {
 public:
  ImageSearch(const AutomorphismSearch& context, std::span<const int> fixed, int from, int to);
  std::optional<std::vector<int>> run();

 private:
  struct Side {
    std::vector<std::uint64_t> link_sum;
    std::uint64_t total = 0;  ///< of mixed link sums: equal multisets have equal totals
  };

  void add(Side& side, std::span<const int> units, int depth, std::uint64_t sign) const;
  void add_pair(Side& side, int from, int to, std::uint64_t key) const;
  bool colours_agree(int depth, int unit) const;
  std::uint64_t expected_total(int depth);
  bool assign(int depth, int unit);
  bool descend(int depth);
  std::vector<int> permutation() const;

  const AutomorphismSearch& context_;
  int units_;
  std::vector<int> order_;
  std::vector<int> image_;  ///< of order_[i] at [i]
  std::vector<char> used_;
  int forced_ = 0;  ///< the first images are given
  Side source_;
  Side target_;
  std::vector<std::uint64_t> source_totals_;
  std::uint64_t nodes_ = 0;
};

ImageSearch::ImageSearch(const AutomorphismSearch& context, std::span<const int> fixed, int from, int to)
    : context_(context),
      units_(context.merged_.units()),
      order_(fixed.begin(), fixed.end()),
      image_(index(units_)),
      used_(index(units_)),
      forced_(static_cast<int>(fixed.size()) + 1) {
  order_.push_back(from);
  std::copy(fixed.begin(), fixed.end(), image_.begin());
  image_[fixed.size()] = to;
  for (int unit = 0; unit < units_; ++unit) {
    if (std::find(order_.begin(), order_.end(), unit) == order_.end()) order_.push_back(unit);
  }
  source_.link_sum.assign(context.link_colour_.size(), 0);
  target_.link_sum.assign(context.link_colour_.size(), 0);
}

void ImageSearch::add_pair(Side& side, int from, int to, std::uint64_t key) const {
  for (const Share& share : context_.merged_.shares(from, to)) {
    std::uint64_t& sum = side.link_sum[index(share.link)];
    const std::uint64_t colour = context_.link_colour_[index(share.link)];
    side.total -= mix(colour, sum);
    sum += key * share.parts;
    side.total += mix(colour, sum);
  }
}

/// Pairs of the unit at `depth` with itself and all before it; a `sign` of -1 takes them out again.
void ImageSearch::add(Side& side, std::span<const int> units, int depth, std::uint64_t sign) const {
  for (int i = 0; i <= depth; ++i) {
    const auto position = static_cast<std::uint64_t>(i) * index(units_) + index(depth);
    add_pair(side, units[index(i)], units[index(depth)], sign * mix(2 * position));
    if (i < depth) add_pair(side, units[index(depth)], units[index(i)], sign * mix(2 * position + 1));
  }
}

bool ImageSearch::colours_agree(int depth, int unit) const {
  const int source = order_[index(depth)];
  if (context_.colour(source, source) != context_.colour(unit, unit)) return false;
  for (int i = 0; i < depth; ++i) {
    const int before = order_[index(i)];
    const int image = image_[index(i)];
    if (context_.colour(before, source) != context_.colour(image, unit)) return false;
    if (context_.colour(source, before) != context_.colour(unit, image)) return false;
  }
  return true;
}

std::uint64_t ImageSearch::expected_total(int depth) {
  while (static_cast<int>(source_totals_.size()) <= depth) {
    add(source_, order_, static_cast<int>(source_totals_.size()), 1);
    source_totals_.push_back(source_.total);
  }
  return source_totals_[index(depth)];
}

bool ImageSearch::assign(int depth, int unit) {
  if (used_[index(unit)] || ++nodes_ > node_limit || !colours_agree(depth, unit)) return false;
  image_[index(depth)] = unit;
  add(target_, image_, depth, 1);
  used_[index(unit)] = 1;
  if (target_.total == expected_total(depth) && descend(depth + 1)) return true;
  used_[index(unit)] = 0;
  add(target_, image_, depth, ~std::uint64_t{0});
  return false;
}

bool ImageSearch::descend(int depth) {
  if (depth == units_) return context_.is_symmetry(permutation());
  if (depth < forced_) return assign(depth, image_[index(depth)]);
  // Staying in place first keeps generators short, which merges orbits sooner.
  if (assign(depth, order_[index(depth)])) return true;
  for (int unit = 0; unit < units_; ++unit) {
    if (unit != order_[index(depth)] && assign(depth, unit)) return true;
  }
  return false;
}

std::optional<std::vector<int>> ImageSearch::run() {
  if (!colours_agree(forced_ - 1, image_[index(forced_ - 1)]) || !descend(0)) return std::nullopt;
  return permutation();
}

std::vector<int> ImageSearch::permutation() const {
  std::vector<int> images(index(units_));
  for (int i = 0; i < units_; ++i) images[index(order_[index(i)])] = image_[index(i)];
  return images;
}

AutomorphismSearch::AutomorphismSearch(RoutedShares merged) : merged_(std::move(merged)) {
  const int units = merged_.units();
  signature_.resize(index(merged_.links()));
  for (int from = 0; from < units; ++from) {
    for (int to = 0; to < units; ++to) {
      for (const Share& share : merged_.shares(from, to)) {
        signature_[index(share.link)].emplace_back(pair(from, to), share.parts);
      }
      pair_colour_.push_back(mix(static_cast<std::uint64_t>(merged_.hops(from, to)), from == to ? 1 : 0));
    }
  }
  for (int link = 0; link < merged_.links(); ++link) {
    link_of_signature_.emplace(signature_[index(link)], link);
    link_colour_.push_back(mix(std::bit_cast<std::uint64_t>(merged_.bandwidth_gb_per_s(link))));
  }
  for (int round = 0; round < refinement_rounds; ++round) {
    refine_links();
    refine_pairs();
  }
}

void AutomorphismSearch::refine_links() {
  for (int link = 0; link < merged_.links(); ++link) {
    std::uint64_t sum = 0;
    for (const auto& [pair_of_units, parts] : signature_[index(link)]) {
      sum += mix(pair_colour_[index(pair_of_units)], parts);
    }
    link_colour_[index(link)] = mix(link_colour_[index(link)], sum);
  }
}

void AutomorphismSearch::refine_pairs() {
  const int units = merged_.units();
  std::vector<std::uint64_t> unit_sum(index(units), 0);
  for (int from = 0; from < units; ++from) {
    for (int to = 0; to < units; ++to) {
      std::uint64_t sum = 0;
      for (const Share& share : merged_.shares(from, to)) sum += mix(link_colour_[index(share.link)], share.parts);
      std::uint64_t& colour = pair_colour_[index(pair(from, to))];
      colour = mix(colour, sum);
      unit_sum[index(from)] += mix(colour, 1);
      unit_sum[index(to)] += mix(colour, 2);
    }
  }
  for (int from = 0; from < units; ++from) {
    for (int to = 0; to < units; ++to) {
      std::uint64_t& colour = pair_colour_[index(pair(from, to))];
      colour = mix(mix(colour, unit_sum[index(from)]), unit_sum[index(to)]);
    }
  }
}

bool AutomorphismSearch::keeps_hops(std::span<const int> image) const {
  for (int from = 0; from < merged_.units(); ++from) {
    for (int to = 0; to < merged_.units(); ++to) {
      if (merged_.hops(from, to) != merged_.hops(image[index(from)], image[index(to)])) return false;
    }
  }
  return true;
}

bool AutomorphismSearch::is_symmetry(std::span<const int> image) const {
  if (!keeps_hops(image)) return false;
  // Merged links have distinct signatures, so distinct links have distinct images: finding one for each is a
  // bijection.
  for (int link = 0; link < merged_.links(); ++link) {
    Signature moved;
    for (const auto& [pair_of_units, parts] : signature_[index(link)]) {
      const int from = pair_of_units / merged_.units();
      const int to = pair_of_units % merged_.units();
      moved.emplace_back(pair(image[index(from)], image[index(to)]), parts);
    }
    std::sort(moved.begin(), moved.end());
    const auto found = link_of_signature_.find(moved);
    if (found == link_of_signature_.end()) return false;
    if (merged_.bandwidth_gb_per_s(found->second) != merged_.bandwidth_gb_per_s(link)) return false;
  }
  return true;
}

std::optional<std::vector<int>> AutomorphismSearch::find(std::span<const int> fixed, int from, int to) const {
  return ImageSearch(*this, fixed, from, to).run();
}

}  // namespace corewise::place

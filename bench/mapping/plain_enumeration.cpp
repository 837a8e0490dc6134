// Contestant: every placement evaluated from scratch, in the plainest loops that a C programmer would write.
// Loads are floats, exact at this size: baseline x86-64 multiplies four of them at once, but not four ints.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstddef>

#include "contestants.hpp"

namespace corewise::bench {

namespace {

struct Flow {
  int from;
  int to;
  float bytes;
};

/// Of a placement and its fifteen images: rank 0 on unit 0, and the first rank off the mirror axis in the first
/// half of the ring.
bool is_first_of_its_images(const std::array<int, 8>& unit_of_rank) {
  if (unit_of_rank[0] != 0) return false;
  for (const int unit : unit_of_rank) {
    if (unit % 4 != 0) return unit < 4;
  }
  return true;
}

}  // namespace

PlainEnumeration::PlainEnumeration() {
  for (int from = 0; from < 8; ++from) {
    for (int to = 0; to < 8; ++to) {
      const int ahead = (to - from + 8) % 8;
      const float half_bytes = ahead == 4 ? 1.0F : 2.0F;
      for (int k = 0; ahead <= 4 && k < ahead; ++k) share_[from][to][(from + k) % 8] = half_bytes;
      for (int k = 0; ahead >= 4 && k < 8 - ahead; ++k) share_[from][to][8 + (from - 1 - k + 8) % 8] = half_bytes;
    }
  }
}

int PlainEnumeration::least_load(const pattern::Matrix& matrix, bool assume_symmetry) const {
  Flow flows[64];
  int flow_count = 0;
  for (const pattern::Message& message : matrix.entries) {
    flows[flow_count++] = {message.from, message.to, static_cast<float>(message.bytes)};
  }
  std::array<int, 8> unit_of_rank{0, 1, 2, 3, 4, 5, 6, 7};
  float least = 1e30F;
  do {
    if (assume_symmetry && unit_of_rank[0] != 0) break;  // ascending order: no more placements with rank 0 on 0
    if (assume_symmetry && !is_first_of_its_images(unit_of_rank)) continue;
    float load[16] = {};
    for (int f = 0; f < flow_count; ++f) {
      const float* share = share_[unit_of_rank[static_cast<std::size_t>(flows[f].from)]]
                                 [unit_of_rank[static_cast<std::size_t>(flows[f].to)]];
      for (int link = 0; link < 16; ++link) load[link] += flows[f].bytes * share[link];
    }
    float most = 0;
    for (const float on_link : load) most = on_link > most ? on_link : most;
    least = most < least ? most : least;
  } while (std::next_permutation(unit_of_rank.begin(), unit_of_rank.end()));
  return static_cast<int>(least);
}

}  // namespace corewise::bench

// Contestant, as a library: the least bottleneck of 8 ranks on an 8-unit ring with split ties, in half bytes on the
// most loaded link. Every placement is evaluated from scratch, in the plainest loops that a C programmer would
// write. Loads are floats, exact at this size: baseline x86-64 multiplies four of them at once, but not four ints.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstddef>

namespace {

struct Flow {
  int from;
  int to;
  float bytes;
};

/// Half bytes that each of the 16 links carries of a byte from one unit to another.
struct Shares {
  float at[8][8][16] = {};

  Shares() {
    for (int from = 0; from < 8; ++from) {
      for (int to = 0; to < 8; ++to) {
        const int ahead = (to - from + 8) % 8;
        const float half_bytes = ahead == 4 ? 1.0F : 2.0F;
        for (int k = 0; ahead <= 4 && k < ahead; ++k) at[from][to][(from + k) % 8] = half_bytes;
        for (int k = 0; ahead >= 4 && k < 8 - ahead; ++k) at[from][to][8 + (from - 1 - k + 8) % 8] = half_bytes;
      }
    }
  }
};

const Shares shares;

/// Of a placement and its fifteen images: rank 0 on unit 0, and the first rank off the mirror axis in the first
/// half of the ring.
bool is_first_of_its_images(const std::array<int, 8>& unit_of_rank) {
  if (unit_of_rank[0] != 0) return false;
  for (const int unit : unit_of_rank) {
    if (unit % 4 != 0) return unit < 4;
  }
  return true;
}

float bottleneck(const Flow* flows, int flow_count, const std::array<int, 8>& unit_of_rank) {
  float load[16] = {};
  for (int f = 0; f < flow_count; ++f) {
    const auto from = static_cast<std::size_t>(flows[f].from);
    const float* share = shares.at[unit_of_rank[from]][unit_of_rank[static_cast<std::size_t>(flows[f].to)]];
    for (int link = 0; link < 16; ++link) load[link] += flows[f].bytes * share[link];
  }
  float most = 0;
  for (const float on_link : load) most = on_link > most ? on_link : most;
  return most;
}

}  // namespace

/// `assume_symmetry` evaluates only the first of each placement's sixteen images on the ring: 2520 placements
/// instead of 40320.
extern "C" int least_load(const Flow* flows, int flow_count, int assume_symmetry) {
  std::array<int, 8> unit_of_rank{0, 1, 2, 3, 4, 5, 6, 7};
  float least = 1e30F;
  do {
    if (assume_symmetry != 0 && unit_of_rank[0] != 0) break;  // ascending: no more placements with rank 0 on unit 0
    if (assume_symmetry != 0 && !is_first_of_its_images(unit_of_rank)) continue;
    const float most = bottleneck(flows, flow_count, unit_of_rank);
    least = most < least ? most : least;
  } while (std::next_permutation(unit_of_rank.begin(), unit_of_rank.end()));
  return static_cast<int>(least);
}

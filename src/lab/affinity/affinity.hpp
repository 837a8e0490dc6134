// Thread-SPE affinities of paper 000: which physical SPE runs which thread rank, by name.
//
// Contract: pure data. "default" is not in the table, because it is no single affinity: DefaultAffinities draws it
// trial by trial. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/rng.hpp"
#include "cell/address.hpp"
#include "cell/default_affinity.hpp"

namespace corewise::lab {

/// The physical SPE of rank r at [r]; a permutation of 0 .. 7.
using Affinity = std::array<int, cell::kSpesPerChip>;

struct NamedAffinity {
  std::string_view name;
  std::string_view idea;  ///< one line: what it was made for
  Affinity spe_of_rank;
};

/// identity, ring, overlap, even_odd, leap2 (paper 000, section 5), in this order.
std::span<const NamedAffinity> affinities();

/// nullptr where there is none of that name.
const NamedAffinity* find_affinity(std::string_view name);

/// What the operating system gives without being asked, trial after trial: the same seed gives the same series.
class DefaultAffinities {
 public:
  explicit DefaultAffinities(std::uint64_t seed) : rng_(seed) {}
  Affinity next();

 private:
  Rng rng_;
  cell::FreeSpes free_;
};

}  // namespace corewise::lab

// The contestants of bench/mapping and the question they answer: the least bottleneck, in half bytes on the most
// loaded link, of 8 ranks on an 8-unit ring with split ties.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "machine/machine.hpp"
#include "pattern/pattern.hpp"

namespace corewise::bench {

/// Plain loops over a table of link shares; `assume_symmetry` evaluates only the first of each placement's
/// sixteen images on the ring: 2520 placements instead of 40320.
class PlainEnumeration {
 public:
  PlainEnumeration();
  [[nodiscard]] int least_load(const pattern::Matrix& matrix, bool assume_symmetry) const;

 private:
  float share_[8][8][16] = {};
};

/// The room `place`, prepared once for the ring.
class CorewiseSearch {
 public:
  CorewiseSearch();
  ~CorewiseSearch();
  CorewiseSearch(const CorewiseSearch&) = delete;
  CorewiseSearch& operator=(const CorewiseSearch&) = delete;
  [[nodiscard]] int least_load(const pattern::Matrix& matrix, bool find_worst) const;
  [[nodiscard]] std::uint64_t group_order() const;

 private:
  struct Prepared;
  std::unique_ptr<Prepared> prepared_;
};

/// The ring as the room sees it; built here so that the benchmark needs no files.
machine::Machine ring_of_eight();

}  // namespace corewise::bench

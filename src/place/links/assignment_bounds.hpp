// Bottleneck assignment: can every rank that is not placed still get a unit of its own? Owns the matching.
//
// With a threshold, the bottleneck assignment problem is a question of yes or no: rank r may lie on unit u where
// the traffic of r with the ranks already placed keeps the cost below the threshold; a matching of all ranks to
// allowed units exists, or no completion is below it. Allowed units are sets of bits.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>

namespace corewise::place {

/// Bit u of allowed[k]: the k-th rank may lie on unit u. At most 64 ranks. True where every rank gets its own unit.
bool has_assignment(std::span<const std::uint64_t> allowed);

}  // namespace corewise::place

// Which copy kernel is quickest on this core: measured, not assumed.
//
// Contract: takes about as long as it is told, and twice the largest size of memory, which it gives back. A tuning
// from here is as good as the quiet of the machine while it was made; `corewise bench copy --tune` takes longer,
// looks at foreign load and keeps the result. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "kernels/copy/copy.hpp"

namespace corewise::kernels {

/// What a calibration measures.
struct CopyCalibration {
  std::size_t largest = std::size_t{1} << 18;  ///< bytes; memcpy copies what is of a larger octave
  double seconds = 0.1;                        ///< but at least three rounds are run, however long they take
};

/// A kernel replaces memcpy for an octave of sizes, [2^k, 2^(k+1)), where it was quicker both at 2^k and at 1.5 *
/// 2^k by at least a twentieth, in the median of the rounds, and again in rounds against memcpy alone. For `self` a
/// kernel that writes past the caches must be quicker with reading the target included. One core cannot measure
/// `other_core_soon`: it gets what is quickest through the caches. memcpy throughout where there is no memory.
CopyTuning calibrate_copy(const CopyCalibration& calibration = {});

}  // namespace corewise::kernels

// What a program says of its own computation on simulated ranks (corewise simcc); with a real MPI it says nothing.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#if defined(COREWISE_SIMMPI)
extern "C" void cw_operations(double count);
extern "C" void cw_compute_ns(double nanoseconds);
#endif

namespace computing {

/// So many floating-point operations were done.
inline void operations([[maybe_unused]] double count) {
#if defined(COREWISE_SIMMPI)
  cw_operations(count);
#endif
}

/// It took so long.
inline void nanoseconds([[maybe_unused]] double count) {
#if defined(COREWISE_SIMMPI)
  cw_compute_ns(count);
#endif
}

}  // namespace computing

// What a program says of its own computation on simulated ranks (corewise simcc); with a real MPI it says nothing.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#if defined(COREWISE_SIMMPI)
extern "C" void cw_operations(double count);
extern "C" void cw_compute_ns(double nanoseconds);
extern "C" void cw_main_memory(const void* start, std::size_t bytes);
extern "C" void cw_local_store(const void* start);
extern "C" void cw_touch(const void* start, std::size_t bytes, int write);
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

/// While it lives, these data lie in main memory, where a simulated SPE has a software cache for such data.
class MainMemory {
 public:
  MainMemory(const void* start, [[maybe_unused]] std::size_t bytes) : start_(bytes > 0 ? start : nullptr) {
#if defined(COREWISE_SIMMPI)
    if (start_ != nullptr) cw_main_memory(start_, bytes);
#endif
  }
  ~MainMemory() {
#if defined(COREWISE_SIMMPI)
    if (start_ != nullptr) cw_local_store(start_);
#endif
  }
  MainMemory(const MainMemory&) = delete;
  MainMemory& operator=(const MainMemory&) = delete;

 private:
  const void* start_;
};

/// These bytes are read.
inline void reads([[maybe_unused]] const void* start, [[maybe_unused]] std::size_t bytes) {
#if defined(COREWISE_SIMMPI)
  cw_touch(start, bytes, 0);
#endif
}

/// They are written.
inline void writes([[maybe_unused]] const void* start, [[maybe_unused]] std::size_t bytes) {
#if defined(COREWISE_SIMMPI)
  cw_touch(start, bytes, 1);
#endif
}

}  // namespace computing

// Paper 001, section 2 and figure 2, as programs on the simulated Cell: what a DMA transfer takes, alone and with
// others beside it; what a copy from memory to memory takes through an SPE and on the PPE; what a strided buffer
// adds to a contiguous one.
//
// Contract: every call makes a machine of its own; the same input gives the same result. Times are simulated
// nanoseconds, seen by the program that waits (enqueue of the first command to the end of the wait). Data are real:
// a run that left wrong bytes is an error. A Status comes back for sizes that no DMA can have, SPEs or memories
// that the machine does not have. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "cell/parameters.hpp"

namespace corewise::lab {

enum class DmaWay : std::uint8_t { put, get };

/// What a transfer goes to (put) or comes from (get).
enum class DmaTarget : std::uint8_t {
  local_store,        ///< of the usable SPE with the next number on the same chip (after the last, the first)
  other_local_store,  ///< of the SPE with the same place on the other chip of a blade
  memory,             ///< of the own chip
  other_memory,       ///< of the other chip of a blade
};

/// Most bytes of one transfer of the studies: source and destination share a local store.
inline constexpr std::uint32_t kMostStudyBytes = 64 * 1024;

struct DmaCase {
  DmaWay way = DmaWay::put;
  DmaTarget target = DmaTarget::local_store;
  std::uint32_t bytes = 128;                ///< 16 to 65536, a multiple of 16
  std::uint32_t command_bytes = 16 * 1024;  ///< of each command, the last one's may be fewer; a multiple of 16
  int spes = 1;                             ///< the first so many usable ones do it at the same time
  int repetitions = 40;                     ///< by each SPE, with a drawn pause before each
  std::uint64_t seed = 1;                   ///< of the pauses
};

/// Over all repetitions of all SPEs.
struct DmaTimes {
  double mean_ns = 0;
  double deviation_ns = 0;  ///< of the sample
  double least_ns = 0;
  double most_ns = 0;
  [[nodiscard]] double gb_per_s(std::uint32_t bytes) const { return bytes / mean_ns; }
};

/// Figure 2, left: every SPE starts the commands of its transfer, waits for them, and does it again.
Result<DmaTimes> time_dma(const cell::Parameters& parameters, const DmaCase& asked);

/// A copy of 16 bytes to 16 MB, a multiple of 16, from one main memory to one (the same or another).
struct CopyCase {
  std::uint64_t bytes = 1 << 20;
  std::uint32_t buffer_bytes = 16 * 1024;  ///< of each buffer: 16 to 16384, a multiple of 16
  int buffers = 2;                         ///< 1: in, wait, out, wait; 2: one fills while the other empties
  int from_memory = 0;
  int to_memory = 0;
};

/// Figure 2, right: through the first usable SPE.
Result<double> time_copy_ns(const cell::Parameters& parameters, const CopyCase& asked);

/// Figure 2, right: memcpy on the first chip's PPE, its caches cold; `asked.buffer*` have no meaning.
Result<double> time_ppe_copy_ns(const cell::Parameters& parameters, const CopyCase& asked);

/// A buffer in the own chip's memory that consists of equal blocks at equal distances.
struct StridedCase {
  DmaWay way = DmaWay::get;
  std::uint32_t bytes = 16 * 1024;   ///< of all blocks: a multiple of block_bytes, at most 65536
  std::uint32_t block_bytes = 128;   ///< a multiple of 16, at most 16384
  std::uint32_t stride_bytes = 256;  ///< from block to block: a multiple of 16, at least block_bytes, at most 65536
  bool list = true;                  ///< DMA lists of at most 2048 elements; false: a command per block
};

struct StridedTimes {
  double strided_ns = 0;
  double contiguous_ns = 0;  ///< the same bytes in one piece, in commands of 16 KB
  [[nodiscard]] double added_ns() const { return strided_ns - contiguous_ns; }
};

/// Between the strided buffer and contiguous bytes in the local store of the first usable SPE.
Result<StridedTimes> time_strided(const cell::Parameters& parameters, const StridedCase& asked);

}  // namespace corewise::lab

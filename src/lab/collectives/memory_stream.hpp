// What a memory controller can move at best: SPEs that do nothing but stream to and from one main memory, without
// any protocol between them. The limit against which large collectives are held.
//
// Commands of 16 KB, four under way per SPE. Reads and writes are mixed in the proportion asked for and handed out
// one by one to whichever SPE is ready, so that all are busy to the end however far they sit from the memory.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "cell/parameters.hpp"

namespace corewise::lab {

struct MemoryStream {
  std::vector<int> spes;     ///< that take part; at least one
  int memory = 0;            ///< of which chip
  std::uint64_t reads = 0;   ///< commands of 16 KB
  std::uint64_t writes = 0;  ///< the same; reads + writes at least 1
};

/// GB/s of reads and writes together, from the common start to the last one's end.
Result<double> stream_memory_gb_per_s(const cell::Parameters& parameters, const MemoryStream& asked);

}  // namespace corewise::lab

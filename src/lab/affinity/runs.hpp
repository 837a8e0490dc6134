// Paper 000's measurements as programs on simulated SPEs: timed gets (its Table 1 and the single steps of its
// Table 2), collective operations of several phases, and random permutations of sources.
//
// Contract: every run makes a machine of its own; the same input gives the same result. Bandwidths are GB/s of
// 10^9 bytes, as the paper's. A Status comes back for flows that name no SPE, sizes no DMA can have, or a run that
// broke a rule of the hardware. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "cell/parameters.hpp"
#include "lab/affinity/affinity.hpp"
#include "lab/affinity/transfers.hpp"

namespace corewise::lab {

/// What a program reads to time itself.
enum class Clock : std::uint8_t {
  decrementer,  ///< as the paper did: ticks of 70 ns
  cycles,       ///< the simulated time itself: for runs of few repetitions
};

struct Timing {
  int repetitions = 100;
  Clock clock = Clock::decrementer;
};

/// Largest message: source and destination share a local store with the program.
inline constexpr std::uint32_t kMostMessageBytes = 64 * 1024;

/// Section 3 of the paper, single steps: the SPEs that get meet at a barrier; each then starts its timer, gets
/// `size_bytes` from its source `repetitions` times, waiting for each message, and stops its own timer. Messages
/// above 16 KB go as several commands that are awaited together. `flows` are physical SPEs, each getting at most
/// once. Returns GB/s per flow.
Result<std::vector<double>> time_gets(const cell::Parameters& parameters, std::span<const Flow> flows,
                                      std::uint32_t size_bytes, const Timing& timing);

/// What one collective run gave.
struct CollectiveRun {
  double time_us = 0.0;                         ///< one operation, on rank 0
  std::vector<std::vector<std::byte>> buffers;  ///< of every rank, after the last operation
};

/// Section 3, several phases: barrier, start timer, barrier, `repetitions` operations, barrier, stop timer. Ranks
/// follow each other by flags: a rank gets from a source when the source holds the data and has served the phases
/// before; a barrier ends every operation. Before the run, byte i of rank r's buffer is `initial_byte(r, i)`.
Result<CollectiveRun> run_collective(const cell::Parameters& parameters, const Collective& operation,
                                     const Affinity& spe_of_rank, const Timing& timing);

/// The pairwise-exchange barrier of eight SPEs, microseconds: the recipe above with nothing to do per operation.
Result<double> time_barrier(const cell::Parameters& parameters, const Affinity& spe_of_rank, const Timing& timing);

std::byte initial_byte(int rank, std::uint32_t index);

/// A permutation of sources in which nobody is its own: rank r gets from the r-th entry. The `index`-th of a seed.
Affinity random_sources(std::uint64_t seed, std::uint64_t index);

/// For each of `count` permutations from the `first` on: the least bandwidth among the eight ranks under identity,
/// ring, overlap, even_odd, leap2 and the default affinity; row by row.
Result<std::vector<double>> permutation_minima(const cell::Parameters& parameters, std::uint64_t seed,
                                               std::uint64_t first, std::uint64_t count, std::uint32_t size_bytes,
                                               const Timing& timing);

}  // namespace corewise::lab

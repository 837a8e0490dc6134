// One collective by one algorithm, run and checked: on the simulated Cell, where it takes time, and on ideal ranks,
// where only the data count.
//
// How a run goes. Warm-up calls; then calls one by one, before each of which all ranks meet at one simulated time
// (outside of what is measured) and start together, or each a drawn time later; then as many calls back to back.
// Latency is from the common start to the last rank's end; throughput time is that of the back-to-back calls
// divided by their number.
//
// Contract: a pure function of its input. Data are compared with the serial reference (data.hpp), and
// the receive buffers emptied, after the warm-up, after each of the calls one by one, and after the back-to-back
// calls, of which all leave their data where they fit into few sets; on ideal ranks after every call. Behind a
// software cache a rank's memory is what it would read through its cache, and after its last call the cache is
// flushed. Wrong data, a fault of the hardware, a deadlock, a barrier that lets somebody out early are errors, and
// so are settings, sizes and places that cannot be. Times are ns. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "cell/parameters.hpp"
#include "lab/collectives/request.hpp"
#include "lab/collectives/settings.hpp"
#include "machine/machine.hpp"
#include "machine/placement.hpp"

namespace corewise::lab {

/// What user data may take of a local store: all but the port's part and 28 KB for the program and its stack.
inline constexpr std::uint32_t kMostLocalData = 192 * 1024;

/// What one controller moved in a call, on average over the calls one by one.
struct MemoryTraffic {
  double read_bytes = 0;
  double written_bytes = 0;
  double gb_per_s = 0;  ///< of both together, over the call's latency
};

/// What the ranks' software caches did in a call, all together, on average over the calls one by one.
struct CacheUse {
  double hits = 0, misses = 0, write_backs = 0;
  std::uint32_t bytes = 0;  ///< of one rank's local store; 0: there was no cache
};

struct CollectiveTimes {
  std::vector<double> latency_ns;       ///< of each call
  std::vector<double> rank_end_ns;      ///< of the last of them, from the common start
  double throughput_ns = 0;             ///< 0 without calls back to back
  std::vector<MemoryTraffic> memories;  ///< of each chip
  double dma_commands = 0;              ///< of all SPEs, per call
  std::uint32_t local_store_bytes = 0;  ///< that a rank takes beside its code and user data, its cache included
  CacheUse cache;
  std::vector<int> spes;
  std::uint64_t events = 0;
  Settings settings;  ///< all that the algorithm had

  [[nodiscard]] double mean_latency_ns() const;
};

/// Runs on a machine of its own. `spes`: of the ranks; empty: the usable SPEs in the order of their numbers.
Result<CollectiveTimes> run_collective_on_cell(const cell::Parameters& machine, const CollectiveRequest& request,
                                               const std::vector<int>& spes = {});

/// The same on a machine whose model is the Cell. `placement`: the unit of every rank; empty: rank r is on unit r.
Result<CollectiveTimes> run_collective(const machine::Machine& machine, const CollectiveRequest& request,
                                       const machine::Placement& placement = {});

/// The same calls on ideal ranks (ideal_port.hpp), calm or, with a port_seed, adversarial. The memory and the cache
/// have no meaning but for local_store.
Status run_collective_on_ideal(const CollectiveRequest& request, std::uint64_t port_seed = 0);

}  // namespace corewise::lab

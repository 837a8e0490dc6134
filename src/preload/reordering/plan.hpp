// The plan of a reordering, and what is decided from it: pure functions, which call nothing but the kernel's files.
//
// A plan is the value of COREWISE_REORDER: "reverse", "order:2,0,1" (world rank r was launch rank N), or the
// absolute path of a file that python/corewise/mpi/reorder.py wrote: words between white space:
//   corewise-reorder 1
//   RANKS UNITS           of one node
//   operating-system index of every unit
//   unit of every rank
//   UNITS x UNITS whole numbers: how far each unit is from each
// Contract: every rank decides from the seats of all ranks, which are equal everywhere; the answer is a whole order
// or none, with the reason in one sentence.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace corewise::preload::reorder {

/// What one rank tells all others; compared and sent as bytes.
struct Seat {
  static constexpr std::int64_t kUnbound = -1;    ///< may run on several units
  static constexpr std::int64_t kElsewhere = -2;  ///< on a CPU that belongs to no unit of the plan
  static constexpr std::int64_t kNoPlan = -3;     ///< could not read the plan
  std::uint64_t node = 0;                         ///< ranks with one value are on one node
  std::uint64_t plan = 0;                         ///< of the plan's text
  std::int64_t unit = kUnbound;
};

struct Plan {
  enum class Kind { none, reverse, order, placement };
  Kind kind = Kind::none;
  std::uint64_t hash = 0;
  std::vector<int> order;              ///< kind order: launch rank of every world rank
  std::vector<int> os_index;           ///< kind placement: of every unit
  std::vector<int> unit_of_rank;       ///< kind placement
  std::vector<std::int64_t> distance;  ///< kind placement: units x units
  std::int64_t farthest = 0;           ///< the largest distance
};

/// Reads what `text` (the knob's value) says. Kind none where it cannot be read or understood.
Plan read_plan(std::string_view text);

/// The unit that the calling thread is bound to, by its CPUs: all of them one unit's, hardware threads of a core
/// counted as one. Else kUnbound or kElsewhere.
std::int64_t find_unit(const Plan& plan);

struct Decision {
  std::vector<int> launch_ranks;  ///< of every world rank; empty: the launcher's order stays
  std::string reason;             ///< why it stays
};

/// The order of the world, from the seats of all launch ranks.
Decision decide(const Plan& plan, const std::vector<Seat>& seats);

/// How far the seats of two launch ranks are from each other: more between nodes than within any.
std::int64_t distance(const Plan& plan, const std::vector<Seat>& seats, int a, int b);

}  // namespace corewise::preload::reorder

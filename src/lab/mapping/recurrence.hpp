// StateRepeat: notices that a deterministic simulation is again in a state in which it has been before, which is a
// proof that it goes on as it did then.
//
// Contract. A state is a list of numbers: everything that decides what happens next, with times relative to the
// present. States are kept and compared in full; a hash only saves comparisons, so a repeat is never guessed. What
// a state must hold is its maker's duty. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/state.hpp"

namespace corewise::lab {

class StateRepeat {
 public:
  /// Adds a state; the index (0, 1, ...) of the first earlier one that is equal, if there is one.
  std::optional<std::size_t> add(sim::State state);
  [[nodiscard]] std::size_t size() const { return states_.size(); }

 private:
  std::vector<sim::State> states_;
  std::unordered_multimap<std::uint64_t, std::size_t> by_hash_;  ///< looked up only, never iterated over as a whole
};

}  // namespace corewise::lab

// The kept states.
// SPDX-License-Identifier: BSD-3-Clause
#include "lab/mapping/recurrence.hpp"

#include <bit>
#include <utility>

#include "base/rng.hpp"

namespace corewise::lab {
namespace {

std::uint64_t hash_of(const sim::State& state) {
  std::uint64_t hash = state.size();
  for (const std::int64_t value : state) {
    hash = (std::rotl(hash, 23) ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15U;
  }
  return splitmix64(hash);
}

}  // namespace

std::optional<std::size_t> StateRepeat::add(sim::State state) {
  const std::uint64_t hash = hash_of(state);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto seen = first; seen != last; ++seen) {
    if (states_[seen->second] == state) return seen->second;
  }
  by_hash_.emplace(hash, states_.size());
  states_.push_back(std::move(state));
  return std::nullopt;
}

}  // namespace corewise::lab

// The house's random numbers: xoshiro256** seeded through splitmix64 (Blackman and Vigna, "Scrambled linear
// pseudorandom number generators", 2018; both in the public domain).
//
// Contract: the same seed gives the same numbers on every compiler and platform, which the distributions and
// std::shuffle of the standard library do not promise; so draws and shuffles are done here and only here.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace corewise {

/// One step of splitmix64: advances `state` and returns the next number.
constexpr std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

class Rng {
 public:
  using State = std::array<std::uint64_t, 4>;

  explicit constexpr Rng(std::uint64_t seed) {
    for (std::uint64_t& word : state_) word = splitmix64(seed);
  }
  /// Continues from a given state, which must not be all zero.
  explicit constexpr Rng(const State& state) : state_(state) {}

  /// The next 64 bits.
  constexpr std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform in 0 .. bound-1, without bias; bound at least 1.
  constexpr std::uint64_t below(std::uint64_t bound) {
    // 2^64 mod bound values at the bottom would be drawn once too often: they are thrown away.
    const std::uint64_t reject_under = (0 - bound) % bound;
    std::uint64_t draw = next();
    while (draw < reject_under) draw = next();
    return draw % bound;
  }

  /// The same by other draws, mostly without a division (Lemire, "Fast random integer generation in an interval",
  /// 2019).
  constexpr std::uint64_t fast_below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    Wide product = static_cast<Wide>(next()) * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t reject_under = (0 - bound) % bound;
      while (static_cast<std::uint64_t>(product) < reject_under) product = static_cast<Wide>(next()) * bound;
    }
    return static_cast<std::uint64_t>(product >> 64U);
  }

  /// Uniform in [0, 1), a multiple of 2^-53.
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  /// Every order equally likely (Fisher and Yates).
  template <class T>
  constexpr void shuffle(std::span<T> items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      using std::swap;
      swap(items[left - 1], items[static_cast<std::size_t>(below(left))]);
    }
  }

 private:
  State state_{};
};

}  // namespace corewise

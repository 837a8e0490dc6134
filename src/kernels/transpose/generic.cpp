// Transposes in plain C++: the rivals of the others, and what any processor can run.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/transpose/kernels.hpp"

namespace corewise::kernels {
namespace {

/// Rows and columns of a block of 16 KB: source and target together fill the first cache of most processors.
constexpr std::size_t block = 32;

/// The compiler may not know that it is 0, or it would drop the reads of the target (paper 004, section 3).
volatile std::uint64_t nothing = 0;

template <class Move>
void by_blocks(const Transposition& m, Move&& move) {
  for (std::size_t row = 0; row < m.rows; row += block)
    for (std::size_t column = 0; column < m.columns; column += block) {
      const std::size_t end_row = std::min(row + block, m.rows);
      const std::size_t end_column = std::min(column + block, m.columns);
      for (std::size_t c = column; c < end_column; ++c)
        for (std::size_t r = row; r < end_row; ++r) move(m.to[c * m.to_stride + r], m.from[r * m.from_stride + c]);
    }
}

}  // namespace

void transpose_naive(const Transposition& m) {
  for (std::size_t r = 0; r < m.rows; ++r)
    for (std::size_t c = 0; c < m.columns; ++c) m.to[c * m.to_stride + r] = m.from[r * m.from_stride + c];
}

void transpose_blocked(const Transposition& m) {
  by_blocks(m, [](Complex& to, const Complex& from) { to = from; });
}

void transpose_blocked_read_allocate(const Transposition& m) {
  // The paper adds zero times what the target holds. Bits are combined instead: a NaN there must not survive.
  const std::uint64_t zero = nothing;
  by_blocks(m, [zero](Complex& to, const Complex& from) {
    std::uint64_t before[2], after[2];
    std::memcpy(before, &to, sizeof before);
    std::memcpy(after, &from, sizeof after);
    after[0] |= before[0] & zero;
    std::memcpy(static_cast<void*>(&to), after, sizeof after);
  });
}

}  // namespace corewise::kernels

// Where the bytes of a window go. Contract in window.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/plans/window.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace corewise::kernels {
namespace {

constexpr auto kVector = static_cast<std::int64_t>(kWindowBytes);
constexpr std::int64_t kWidest = kVector * static_cast<std::int64_t>(kWindowVectors);

/// As many members as fill a vector and lie in few enough: `low` and `high` are the bounds of the first one.
bool fit_group(Window& window, std::int64_t low, std::int64_t high) {
  for (window.group = kVector / window.unit; window.group > 0; --window.group) {
    const std::int64_t last = (window.group - 1) * window.stride;
    window.begin = low + std::min<std::int64_t>(0, last);
    const std::int64_t span = high + std::max<std::int64_t>(0, last) - window.begin;
    window.vectors = (span + kVector - 1) / kVector;
    if (span <= kWidest) return true;
  }
  return false;
}

/// Fills the tables; false where two bytes of data are the same memory.
bool place_bytes(Window& window, std::span<const Piece> pieces) {
  std::int64_t packed = 0;
  for (std::int64_t member = 0; member < window.group; ++member) {
    for (const Piece& piece : pieces) {
      for (std::int64_t i = 0; i < piece.bytes; ++i, ++packed) {
        const std::int64_t at = piece.offset + member * window.stride + i - window.begin;
        const auto vector = static_cast<std::size_t>(at / kVector);
        const std::int64_t byte = at % kVector;
        if ((window.data[vector] >> byte & 1U) != 0) return false;
        window.data[vector] |= std::uint64_t{1} << byte;
        window.packed[vector] |= std::uint64_t{1} << packed;
        window.from[vector][static_cast<std::size_t>(packed)] = static_cast<std::uint8_t>(byte);
        window.to[vector][static_cast<std::size_t>(byte)] = static_cast<std::uint8_t>(packed);
      }
    }
  }
  return true;
}

void find_lines(Window& window) {
  const auto stride = static_cast<std::uint64_t>(window.stride);
  if (window.group * window.stride % kVector != 0 || stride % kWindowBytes == 0) return;
  window.line_shift = std::countr_zero(stride);
  const std::uint64_t odd = stride >> window.line_shift;
  window.line_inverse = 1;
  for (int bits = 1; bits < 6; bits *= 2) window.line_inverse *= 2 - odd * window.line_inverse;  // Newton
}

}  // namespace

std::int64_t members_to_a_line(const Window& window, const std::byte* vector) {
  const std::uint64_t missing = -reinterpret_cast<std::uintptr_t>(vector) % kWindowBytes;
  const int shift = window.line_shift;
  if (shift < 0 || missing >> shift << shift != missing) return 0;
  return static_cast<std::int64_t>((missing >> shift) * window.line_inverse & ((kWindowBytes >> shift) - 1));
}

std::int64_t moves_of(std::int64_t bytes) {
  constexpr std::int64_t kShortestPair = 8;
  return std::has_single_bit(static_cast<std::uint64_t>(bytes)) ? 1 : bytes < kShortestPair ? 4 : 2;
}

std::unique_ptr<const Window> make_window(std::span<const Piece> pieces, std::int64_t stride) {
  constexpr std::int64_t kLoopMoves = 4, kFar = std::int64_t{1} << 40;
  auto window = std::make_unique<Window>();
  std::int64_t low = pieces.front().offset, high = low, moves = 0;
  for (const Piece& piece : pieces) {
    low = std::min(low, piece.offset);
    high = std::max(high, piece.offset + piece.bytes);
    window->unit += piece.bytes;
    moves += moves_of(piece.bytes);
  }
  window->stride = stride;
  if (window->unit > kVector || std::abs(stride) > kFar || !fit_group(*window, low, high) ||
      kLoopMoves * window->vectors > window->group * moves || !place_bytes(*window, pieces)) {
    return nullptr;
  }
  find_lines(*window);
  return window;
}

}  // namespace corewise::kernels

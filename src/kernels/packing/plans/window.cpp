// Where the lanes of a window go. Contract in window.hpp.
// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/packing/plans/window.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <vector>

namespace corewise::kernels {
namespace {

/// The widest lane that everything is a multiple of, 0 where none that the limits allow.
std::int64_t lane_of(std::span<const Piece> pieces, std::int64_t stride, const WindowLimits& limits) {
  std::int64_t lane = std::gcd(stride, std::int64_t{4});
  for (const Piece& piece : pieces) {
    lane = std::gcd(std::gcd(piece.offset - pieces.front().offset, piece.bytes), lane);
  }
  return lane >= limits.narrowest_lane ? lane : 0;
}

struct Bounds {
  std::int64_t low;
  std::int64_t high;
};

Bounds bounds_of(std::span<const Piece> pieces) {
  Bounds bounds = {pieces.front().offset, pieces.front().offset};
  for (const Piece& piece : pieces) {
    bounds.low = std::min(bounds.low, piece.offset);
    bounds.high = std::max(bounds.high, piece.offset + piece.bytes);
  }
  return bounds;
}

/// Bytes that a byte shuffle works on at a time.
constexpr std::int64_t kShuffled = 16;
/// A shuffle's index for a byte without source.
constexpr std::uint8_t kNoByte = 0x80;

void set_lane(std::array<std::uint8_t, kWindowBytes>& lanes, std::int64_t lane, std::int64_t bytes,
              std::int64_t value) {
  for (std::int64_t i = 0; i < bytes; ++i) {
    lanes[static_cast<std::size_t>(lane * bytes + i)] = static_cast<std::uint8_t>(value >> (8 * i));
  }
}

/// Fills the tables; false where two lanes of data are the same memory.
bool place_lanes(Window& window, std::span<const Piece> pieces, std::int64_t vector_bytes) {
  const std::int64_t lanes = vector_bytes / window.lane;
  std::int64_t packed = 0;
  if (window.lane == 1) {
    std::fill(window.gather.front().data(), window.gather.front().data() + sizeof window.gather, kNoByte);
  }
  for (std::int64_t member = 0; member < window.group; ++member) {
    window.data[static_cast<std::size_t>(member + 1)] = window.data[static_cast<std::size_t>(member)];
    Window::Lanes& data = window.data[static_cast<std::size_t>(member + 1)];
    for (const Piece& piece : pieces) {
      for (std::int64_t i = 0; i < piece.bytes; i += window.lane, ++packed) {
        const std::int64_t at = (piece.offset + member * window.stride + i - window.begin) / window.lane;
        const auto vector = static_cast<std::size_t>(at / lanes);
        const std::int64_t lane = at % lanes;
        if ((data[vector] >> lane & 1U) != 0) {
          return false;
        }
        data[vector] |= std::uint64_t{1} << lane;
        window.packed[vector] |= std::uint64_t{1} << packed;
        set_lane(window.scatter[vector], lane, window.lane, packed);
        if (window.lane == 1) {
          // A byte shuffle stays within 16 bytes: each puts what it has where it belongs in the packed 16.
          window.gather[vector][static_cast<std::size_t>(lane / kShuffled * kShuffled + packed)] =
              static_cast<std::uint8_t>(lane % kShuffled);
        } else {
          set_lane(window.gather[vector == 1 ? 0 : vector], packed, window.lane, vector == 1 ? lanes + lane : lane);
        }
      }
    }
  }
  return true;
}

}  // namespace

std::unique_ptr<const Window> make_window(std::span<const Piece> pieces, std::int64_t stride,
                                          const WindowLimits& limits) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int32_t>::max();
  const auto [low, high] = bounds_of(pieces);
  if (limits.vector_bytes == 0 || high - low > kFar || std::abs(stride) > kFar) {
    return nullptr;
  }
  auto window = std::make_unique<Window>();
  window->lane = lane_of(pieces, stride, limits);
  window->stride = stride;
  for (const Piece& piece : pieces) {
    window->unit += piece.bytes;
  }
  const std::int64_t most = window->lane == 1 ? kShuffled : limits.vector_bytes;
  if (window->lane == 0 || window->unit == 0 || window->unit > most) {
    return nullptr;
  }
  for (window->group = most / window->unit; window->group > 0; --window->group) {
    const std::int64_t last = (window->group - 1) * stride;
    window->begin = low + std::min<std::int64_t>(0, last);
    const std::int64_t span = high + std::max<std::int64_t>(0, last) - window->begin;
    window->vectors = (span + limits.vector_bytes - 1) / limits.vector_bytes;
    if (window->vectors <= limits.most_vectors) {
      break;
    }
  }
  constexpr std::int64_t kLine = 64;
  if (stride > 0 && kLine % stride == 0 && window->group * stride % kLine == 0) {
    window->line_shift = std::countr_zero(static_cast<std::uint64_t>(stride));
  }
  window->pieces = window->group * static_cast<std::int64_t>(pieces.size());
  if (window->vectors >= window->pieces || !place_lanes(*window, pieces, limits.vector_bytes)) {
    return nullptr;
  }
  return window;
}

}  // namespace corewise::kernels

// Windows: small strided pieces moved whole vectors at a time, private to the room.
//
// A window is a few vectors of memory that lie side by side. Packing loads the lanes of them that are data (masked,
// so nothing else is read), permutes them into one vector, and stores it; unpacking permutes one vector into the
// lanes of each and stores those. How lanes move is the same for every group of members, so it is worked out when a
// plan is compiled.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace corewise::kernels {

inline constexpr std::size_t kWindowVectors = 8;
inline constexpr std::size_t kWindowBytes = 64;  ///< of the widest vector
inline constexpr std::size_t kWindowLanes =
    32;  ///< of two bytes, in the widest vector: the most members of a group

struct Window {
  std::int64_t lane = 0;     ///< bytes
  std::int64_t vectors = 0;  ///< that one group spans
  std::int64_t group = 0;    ///< members of a group
  std::int64_t unit = 0;     ///< data bytes of a member
  std::int64_t stride = 0;   ///< from member to member
  std::int64_t pieces = 0;   ///< of a group
  std::int64_t begin = 0;    ///< from the first member of a group to the first vector
  int line_shift = -1;  ///< log2 of the stride, if moving some members first makes all vectors begin with lines

  using Lanes = std::array<std::uint64_t, kWindowVectors>;
  /// By members of a group: the lanes of each vector that are data (bit sets).
  std::array<Lanes, kWindowLanes + 1> data{};
  /// Packing: lanes of the packed vector that come from each vector.
  Lanes packed{};
  /// Packing: for each vector and lane of the packed one, the lane it comes from; vector 1's lanes are numbered on
  /// from vector 0's, and are listed with them. `lane` bytes each. Of byte lanes: for each vector and byte of it
  /// the byte of the 16 around it that goes there, counted from where these begin, bit 7 set where none does.
  alignas(64) std::array<std::array<std::uint8_t, kWindowBytes>, kWindowVectors> gather{};
  /// Unpacking: for each vector and lane of it, the lane of the packed vector, which has 16 where lanes are bytes.
  alignas(64) std::array<std::array<std::uint8_t, kWindowBytes>, kWindowVectors> scatter{};
};

/// Loops over groups of members.
struct WindowKernels {
  void (*pack)(std::byte* packed, const std::byte* items, const Window& window, std::int64_t members) = nullptr;
  void (*unpack)(std::byte* items, const std::byte* packed, const Window& window, std::int64_t members) = nullptr;
};

/// A contiguous piece of a member.
struct Piece {
  std::int64_t offset;
  std::int64_t bytes;
};

/// What an instruction set's permutations can do; no vectors where it has none.
struct WindowLimits {
  std::int64_t vector_bytes = 0;
  std::int64_t narrowest_lane = 0;
  std::int64_t most_vectors = 0;
};

/// The window for members of these pieces, in packing order; none where lanes do not fit, where pieces overlap, or
/// where it would not take fewer loads than there are pieces.
std::unique_ptr<const Window> make_window(std::span<const Piece> pieces, std::int64_t stride,
                                          const WindowLimits& limits);

}  // namespace corewise::kernels

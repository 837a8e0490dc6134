// Windows: small strided pieces moved whole vectors at a time, private to the room.
//
// A window is a few vectors of memory that lie side by side. Packing loads the bytes of them that are data (masked,
// so nothing else is read), permutes them into one vector, and stores it; unpacking permutes one vector into the
// bytes of each and stores those. How bytes move is the same for every group of members, so it is worked out when a
// plan is compiled. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace corewise::kernels {

inline constexpr std::size_t kWindowVectors = 8;
inline constexpr std::size_t kWindowBytes = 64;  ///< of a vector

struct Window {
  std::int64_t vectors = 0;  ///< that one group spans
  std::int64_t group = 0;    ///< members of a group
  std::int64_t unit = 0;     ///< data bytes of a member
  std::int64_t stride = 0;   ///< from member to member
  std::int64_t begin = 0;    ///< from the first member of a group to the first vector
  /// Where every group's vectors lie alike in lines: the stride's power of two, and the inverse of its odd rest
  /// modulo `kWindowBytes`. Else -1.
  int line_shift = -1;
  std::uint64_t line_inverse = 0;

  using Masks = std::array<std::uint64_t, kWindowVectors>;
  using Bytes = std::array<std::array<std::uint8_t, kWindowBytes>, kWindowVectors>;
  Masks data{};              ///< the bytes of each vector that are data
  Masks packed{};            ///< the bytes of the packed vector that come from each vector
  alignas(64) Bytes from{};  ///< packing: for each vector and byte of the packed one, the byte it comes from
  alignas(64) Bytes to{};    ///< unpacking: for each vector and byte of it, the byte of the packed vector
};

/// Loops over whole groups of members.
struct WindowKernels {
  void (*pack)(std::byte* packed, const std::byte* items, const Window& window, std::int64_t groups) = nullptr;
  void (*unpack)(std::byte* items, const std::byte* packed, const Window& window, std::int64_t groups) = nullptr;
};

/// A contiguous piece of a member.
struct Piece {
  std::int64_t offset;
  std::int64_t bytes;
};

/// Loads and stores that a loop takes for a piece, about: one by one where its length is that of a register, two
/// that overlap, or several behind branches.
std::int64_t moves_of(std::int64_t bytes);

/// Members before the first one whose group's vectors begin with lines of memory, `vector` being where they begin
/// now; 0 where there is none.
std::int64_t members_to_a_line(const Window& window, const std::byte* vector);

/// The window for members of these pieces, in packing order; none where pieces overlap or lie too far apart, or
/// where a loop takes fewer than four moves for each vector: measured, a vector costs as much.
std::unique_ptr<const Window> make_window(std::span<const Piece> pieces, std::int64_t stride);

}  // namespace corewise::kernels

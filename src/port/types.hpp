// The words of the port: names of control lines, sequence numbers, tags, places in a stage. Plain values; nothing
// here depends on which port is used. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace corewise::port {

/// Bytes from the start of a rank's stage. Every stage starts on a multiple of kStageAlignment.
using StageOffset = std::uint32_t;
inline constexpr std::uint32_t kStageAlignment = 128;

/// A place in the stage of `peer` (which may be the rank itself).
struct Remote {
  int peer = 0;
  StageOffset at = 0;
};

/// How a port makes one operand of two. `run` writes THEIRS op OWN to `to`, and to `too` unless that is null; `to`
/// may be `own`. The port hands it places that it can reach, `context` must outlive the operation.
struct Combination {
  using Run = void (*)(const void* context, const std::byte* theirs, const std::byte* own, std::byte* to,
                       std::byte* too, std::uint32_t bytes);
  Run run = nullptr;
  const void* context = nullptr;
};

/// Groups operations that are waited for together, 0 .. kTags - 1.
using Tag = std::uint32_t;
inline constexpr Tag kTags = 32;
/// Bit t stands for tag t.
using TagMask = std::uint32_t;
constexpr TagMask mask_of(Tag tag) {
  return TagMask{1} << tag;
}

/// The number in a control line that says which write it holds; it wraps.
using Sequence = std::uint32_t;
/// Has `seen` got to `wanted`? Right while the two are less than 2^31 writes apart, across the wrap too.
constexpr bool reached(Sequence seen, Sequence wanted) {
  return static_cast<std::int32_t>(seen - wanted) >= 0;
}

/// Names one of a rank's control lines of 16 bytes: a sequence number and up to 12 bytes beside it.
struct Line16 {
  static constexpr std::uint32_t kBytes = 16;
  static constexpr std::uint32_t kPayloadBytes = kBytes - sizeof(Sequence);
  std::uint32_t index = 0;
};
/// The same with 128 bytes: up to 124 beside the sequence number.
struct Line128 {
  static constexpr std::uint32_t kBytes = 128;
  static constexpr std::uint32_t kPayloadBytes = kBytes - sizeof(Sequence);
  std::uint32_t index = 0;
};
/// The line `count` further on.
constexpr Line16 operator+(Line16 line, std::uint32_t count) {
  return {line.index + count};
}
constexpr Line128 operator+(Line128 line, std::uint32_t count) {
  return {line.index + count};
}

/// What every rank of a job has; equal on all ranks.
struct Layout {
  std::uint32_t stage_bytes = 0;
  std::uint32_t lines16 = 0;
  std::uint32_t lines128 = 0;
  std::uint32_t atomic_words = 0;  ///< of the job, not of each rank: see port::AtomicWords
  /// So many lines of 16 bytes, 1, 2, 4 or 8, counted from the first on, have one writer: they may lie together.
  std::uint32_t lines16_together = 1;

  friend bool operator==(const Layout&, const Layout&) = default;
};

}  // namespace corewise::port

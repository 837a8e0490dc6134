// What Open MPI 4.1 and 5.0 keep of a transfer under way, as far as we read and write it. Not trusted: see
// proof.hpp. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace corewise::preload::packing::engine {

struct Convertor;
/// Moves what fits into (pack) or what lies in (unpack) some pieces of memory, from where the convertor is. In:
/// pieces and their room; out: how many were used, how much of each, and the sum. 1 where that was the rest, else
/// 0.
using Advance = std::int32_t(Convertor*, iovec* pieces, std::uint32_t* count, std::size_t* bytes);
/// Goes to a byte of the stream; says where it is then.
using SetPosition = std::int32_t(Convertor*, std::size_t* position);

#ifndef COREWISE_CONVERTOR_SHIFT
#define COREWISE_CONVERTOR_SHIFT 0  // for tests: fields that are not where they should be
#endif

struct Convertor {
  std::byte object[16 + COREWISE_CONVERTOR_SHIFT];
  std::uint32_t remote_architecture;
  std::uint32_t flags;
  std::size_t local_size;   ///< bytes of the whole stream
  std::size_t remote_size;  ///< the same, between equal processors
  std::uint64_t datatype;   ///< the handle
  const void* description;
  std::size_t count;
  std::uint32_t stack_size;
  std::byte* base;  ///< the program's buffer
  void* stack;      ///< where the MPI's engine is; ours does not follow it
  Advance* advance;
  const void* master;
  std::uint32_t stack_position;
  std::size_t partial;
  std::size_t position;  ///< bytes of the stream that were moved
};

// Flags.
inline constexpr std::uint32_t kSend = 0x00040000;
inline constexpr std::uint32_t kHomogeneous = 0x00080000;
inline constexpr std::uint32_t kCompleted = 0x08000000;
inline constexpr std::uint32_t kNoOperation = 0x00100000;  ///< one run: bytes are moved where they lie
/// Conversion for the sender, no operation, a checksum, three for memory of an accelerator.
inline constexpr std::uint32_t kOthers =
    0x00010000 | kNoOperation | 0x00200000 | 0x00400000 | 0x00800000 | 0x10000000;

/// Plain bytes of the CPU's memory, some of them still to be moved.
inline bool is_plain(const Convertor& convertor) {
  return (convertor.flags & (kHomogeneous | kOthers | kCompleted)) == kHomogeneous &&
         convertor.local_size == convertor.remote_size && convertor.position < convertor.local_size;
}

}  // namespace corewise::preload::packing::engine

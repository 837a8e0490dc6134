// The codec: a chunk's records in a sixth of their room, and back. Owns the bytes behind ChunkHeader::encoding ==
// kDelta; pure memory, no state between chunks, so that each chunk is read on its own.
//
// Contract: `decode` is the exact inverse of `encode` whatever the records hold. `encode` may be called on a
// recording thread: it allocates nothing and writes only inside `room`. `decode` trusts nothing: any bytes give at
// most `bytes` bytes of whole records, never a crash.
//
// A record is a 16-bit token, the rest of its time stamp's distance, what is new about it, and its duration:
//   token    bits 0-5 index into a dictionary of 64 templates, bit 6 set: the template follows and takes that
//            place, bit 7 set: the time stamp lies before the last one, bits 8-9 length of the distance's rest
//            (1, 2, 3, 8 bytes), bits 10-11 length of the duration less one, bits 12-15 the distance's low bits
//   distance of `start` from the last one, whose low 4 bits are in the token; 0 comes before the first record, and
//            records of arrivals and cancellations, whose start is an earlier call's, are not `the last one`
//   template call and site, volume, peer, tag (in the short records without a duration: their first 32 bits in the
//            place of volume). A new one is coded against one of 16 recent templates, by exclusive or: a 16-bit
//            word (bits 0-3 which, 4-5 set: call and site differ, 6-9 bytes of volume, 10-12 of peer, 13-15 of
//            tag), then 4 bytes of call and site if they differ, then the bytes named. It takes the place of that
//            recent template.
//   duration 1 to 4 bytes, as packed in the record; absent in records of functions, regions, phases and recording
// Dictionary and recent templates are zero at the start of a chunk. Little-endian.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace corewise::trace {

/// The encoded size, at most `room`; 0 where `records` are not whole records or do not fit.
std::uint32_t encode(const std::byte* records, std::uint32_t bytes, std::byte* out, std::uint32_t room);

/// Bytes of whole records restored; `bytes` when all is well, fewer where `encoded` is damaged.
std::uint32_t decode(const std::byte* encoded, std::uint32_t size, std::byte* records, std::uint32_t bytes);

/// No record of 32 bytes is encoded in fewer than 4.
inline constexpr std::uint32_t kLargestExpansion = 8;

}  // namespace corewise::trace

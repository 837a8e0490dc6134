// Port: what a rank can do towards its peers, modelled on what an SPE of the Cell has, so that an algorithm is
// written once and runs on simulated SPEs (room cell) and between the cores of a host (room shm).
//
// A rank owns a stage (the Cell's local store; on a host its part of a shared segment) and control lines. Peers
// copy to and from the stage and write the lines; only the owner polls its lines. User memory is reached from the
// own rank alone, by copies to and from the own stage.
//
// Contract.
//   Tags. put, get, copy_in, copy_out and put_line start an operation under a tag. wait(mask) returns when all that
//     this rank started under those tags is complete: what a put or copy_out wrote is there, its source may be
//     changed; what a get or copy_in fetched may be read. Operations under way have no order among each other,
//     except for the next rule. A port may complete an operation at once.
//   Order (the fence). put_line takes effect after everything that the same rank started earlier under the
//     same tag. So data and then, under the same tag, the line that announces them need no wait between them. A
//     rank that has seen a line's sequence number sees all that the writer's fence covered.
//   Lines. A line has one writer, which always writes it under the same tag; so its values arrive in the order in
//     which they were written, though the owner may miss some. The sequence number is never seen torn. The payload
//     beside it is whole while the writer does not write the line again, so who sends payloads writes again only
//     when it knows that the reader has read (an acknowledging line, or the algorithm's own logic). What is put in
//     a line is taken at the call: its source may be changed at once.
//   Start. Every line's sequence number is 0, its payload 0.
//   Blocking. wait, wait_lines block until what they wait for is there; put, get, copy_in, copy_out and put_line
//     may block while the port's queue is full, never on a peer. Whoever blocks lets others run.
//   Copies. The two places of a copy do not overlap and are congruent modulo P::kCopyAlignment (1 where any
//     two will do). A copy of 0 bytes does nothing.
//   Threads. One rank, one thread (or fiber); a port is not shared.
//   Errors. None is returned: a call outside its bounds is a mistake of the algorithm. The Cell's port ends the
//     simulated run with the hardware's fault; a host's port asserts, where it is built so.
//   Time. compute(cycles) declares computation in cycles of the machine's core; on a host it is nothing.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>

#include "port/types.hpp"

namespace corewise::port {

/// What a port offers for lines of kind L (Line16 or Line128).
template <class P, class L>
concept HasLines =
    requires(P& port, const P& seen, L line, int peer, Sequence sequence, std::span<const std::byte> payload,
             Tag tag, std::uint32_t count, bool (*ready)(), const std::source_location& where) {
      // Writes `line` of `peer` (which may be the rank itself): the sequence number and at most L::kPayloadBytes
      // beside it. Payload bytes not given are unspecified at the reader.
      port.put_line(peer, line, sequence, payload, tag);
      // What the own line holds now.
      { seen.line_sequence(line) } -> std::same_as<Sequence>;
      { seen.line_payload(line) } -> std::same_as<std::span<const std::byte, L::kPayloadBytes>>;
      // Blocks until ready(), which looks only at the own lines `line` .. `line + count - 1`, is true. ready may be
      // called any number of times. `where` is for the report of a wait that never ends.
      port.wait_lines(line, count, ready, where);
    };

template <class P>
concept Port =
    HasLines<P, Line16> && HasLines<P, Line128> &&
    requires(P& port, const P& seen, typename P::UserAddress user, typename P::ConstUserAddress const_user,
             Remote remote, StageOffset at, std::uint32_t bytes, Tag tag, TagMask mask, std::int64_t cycles) {
      // Who: 0 .. size() - 1.
      { seen.rank() } -> std::same_as<int>;
      { seen.size() } -> std::same_as<int>;
      { seen.layout() } -> std::convertible_to<Layout>;
      // The own stage, layout().stage_bytes long.
      { port.stage() } -> std::same_as<std::span<std::byte>>;
      // A constant: see Copies.
      { std::integral_constant<std::uint32_t, P::kCopyAlignment>::value } -> std::convertible_to<std::uint32_t>;
      // Between a peer's stage and the own one; from, to.
      port.get(remote, at, bytes, tag);
      port.put(at, remote, bytes, tag);
      // Between user memory and the own stage; from, to.
      port.copy_in(const_user, at, bytes, tag);
      port.copy_out(at, user, bytes, tag);
      // All under these tags complete; test says which tags of the mask have nothing under way.
      port.wait(mask);
      { port.test(mask) } -> std::same_as<TagMask>;
      port.compute(cycles);
    };

}  // namespace corewise::port

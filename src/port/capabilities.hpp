// What only some ports can do, each as a concept that refines Port. An algorithm that needs one says so in its
// template head and is one more row in its collective's table; a port models a capability by having its functions.
//
// The contract of port.hpp holds; tags and blocking are as there. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "port/port.hpp"

namespace corewise::port {

/// Reads a peer's user memory with one copy. The address must have come from that peer.
template <class P>
concept DirectRead =
    Port<P> && requires(P& port, int peer, typename P::ConstUserAddress from, StageOffset to, std::uint32_t bytes,
                        Tag tag) { port.read_user(peer, from, to, bytes, tag); };

/// Writes a peer's user memory with one copy; the counterpart of DirectRead.
template <class P>
concept DirectWrite =
    Port<P> && requires(P& port, int peer, StageOffset from, typename P::UserAddress to, std::uint32_t bytes,
                        Tag tag) { port.write_user(peer, from, to, bytes, tag); };

/// Copies between a peer's user memory and own user memory with one copy, as long as they are: pull reads the
/// peer's, push writes it. The address must have come from that peer. Both are complete at return, and say how many
/// bytes they moved, from the front: a system may refuse at any time, and the rest is the algorithm's to move
/// otherwise.
template <class P>
concept PeerUserCopy = Port<P> && requires(P& port, int peer, typename P::ConstUserAddress from,
                                           typename P::UserAddress to, std::uint64_t bytes) {
  { port.pull(peer, from, to, bytes) } -> std::same_as<std::uint64_t>;
  { port.push(peer, from, to, bytes) } -> std::same_as<std::uint64_t>;
};

/// Copies from a peer's stage straight to own user memory: one copy where get and copy_out are two. Any two places
/// will do, whatever kCopyAlignment is.
template <class P>
concept PeerStageRead = Port<P> && requires(P& port, Remote from, typename P::UserAddress to, std::uint32_t bytes,
                                            Tag tag) { port.get_user(from, to, bytes, tag); };

/// Copies own user memory to own user memory, not through the stage. Any two places, as above.
template <class P>
concept UserCopy = Port<P> && requires(P& port, typename P::ConstUserAddress from, typename P::UserAddress to,
                                       std::uint64_t bytes, Tag tag) { port.copy_user(from, to, bytes, tag); };

/// Lines of 128 bytes of a peer in a row, their numbers' places too, as one run of bytes: for payloads that many
/// lines would carry. put_run writes them; as with a line's payload, data is taken at the call, and who writes
/// again knows that the reader has read. A line of a run is never written as a line.
template <class P>
concept LineRuns = Port<P> && requires(P& port, const P& seen, int peer, Line128 first, std::uint32_t bytes,
                                       std::span<const std::byte> data, Tag tag) {
  port.put_run(peer, first, data, tag);
  { seen.run(first, bytes) } -> std::convertible_to<std::span<const std::byte>>;
};

/// Combines a peer's stage with own user memory into own user memory, and into the own stage where `too` is given;
/// nothing else is copied. `to` may be `own`, otherwise places do not overlap; any will do, as above.
template <class P>
concept PeerStageCombine =
    Port<P> && requires(P& port, Remote theirs, typename P::ConstUserAddress own, typename P::UserAddress to,
                        std::optional<StageOffset> too, const Combination& how, std::uint32_t bytes,
                        Tag tag) { port.combine_user(theirs, own, to, too, how, bytes, tag); };

/// The numbers by which ranks tell of mapped memory are below this one: two fit into an entry.
inline constexpr std::uint64_t kOffersEnd = std::uint64_t{1} << 48;

/// User memory that all ranks have mapped: each of them copies and combines in a peer's as in its own. offer() is
/// the number of own user memory for that, or 0 where it is no such memory; reach() is the address, for copy_user
/// and combine_reached of this rank alone, of what a rank offered, this one too. combine_reached leaves theirs OP
/// own at `to`, and at `too` where it is given; each of them is own memory or reached. `to` may be one of the
/// operands, `too` neither, otherwise places do not overlap. give() copies own memory, or reached, to what it
/// reached. On such a port bytes of a line's payload that are not given keep what they were. Calls of kLeastLent
/// bytes or more gain by it, of kLeastShared or more also where one more message lets another rank do a part.
template <class P>
concept MappedUserMemory =
    UserCopy<P> && requires(P& port, int peer, std::uint64_t offered, typename P::ConstUserAddress own,
                            typename P::UserAddress to, std::optional<typename P::UserAddress> too,
                            const Combination& how, std::uint64_t bytes, std::uint32_t count, Tag tag) {
      { port.offer(own, bytes) } -> std::same_as<std::uint64_t>;
      { port.reach(peer, offered, bytes) } -> std::same_as<typename P::UserAddress>;
      port.combine_reached(own, own, to, too, how, count, tag);
      port.give(own, to, bytes, tag);
      { P::kLeastLent } -> std::convertible_to<std::uint64_t>;
      { P::kLeastShared } -> std::convertible_to<std::uint64_t>;
    };

/// User memory that is itself a place a peer can copy to and from (on the Cell: in the own local store). Where
/// `bytes` at `user` are such a place, the offset by which get, put, read_user and write_user reach it, which may
/// lie outside of the stage.
template <class P>
concept UserMemoryInPlace = Port<P> && requires(P& port, typename P::ConstUserAddress user, std::uint32_t bytes) {
  { port.in_place(user, bytes) } -> std::same_as<std::optional<StageOffset>>;
};

/// User memory is as much at the rank's hand as its stage, and its addresses are pointers: what rides in lines need
/// not pass through the stage.
template <class P>
concept UserMemoryAtHand =
    Port<P> && std::same_as<typename P::UserAddress, std::byte*> && requires { requires P::kUserMemoryAtHand; };

/// Knows whether user memory is further from this rank than from others (on a blade: the other chip's).
template <class P>
concept NearAndFar = Port<P> && requires(const P& seen, typename P::ConstUserAddress user) {
  { seen.far(user) } -> std::same_as<bool>;
};

/// A register per rank into which peers OR bits. wait_signal blocks until it is not 0, returns it and empties it.
/// send_signal has put_line's order.
template <class P>
concept SignalRegister = Port<P> && requires(P& port, int peer, std::uint32_t bits, Tag tag) {
  port.send_signal(peer, bits, tag);
  { port.wait_signal() } -> std::same_as<std::uint32_t>;
};

/// One command for many pieces. put_line_list is put_line to several peers at once; the lists of copies take
/// consecutive bytes of the stage to or from pieces of user memory (`typename P::UserPiece`: at, bytes).
template <class P>
concept DmaLists = Port<P> && requires(P& port, std::span<const int> peers, Line16 line, Sequence sequence,
                                       std::span<const std::byte> payload, Tag tag,
                                       std::span<const typename P::UserPiece> pieces, StageOffset at) {
  port.put_line_list(peers, line, sequence, payload, tag);
  port.copy_in_list(pieces, at, tag);
  port.copy_out_list(at, pieces, tag);
};

/// layout().atomic_words words of 32 bits that all ranks share, 0 at the start. fetch_add returns the value before;
/// what a rank did before it is seen by whoever sees its result.
template <class P>
concept AtomicWords = Port<P> && requires(P& port, std::uint32_t word, std::uint32_t value) {
  { port.fetch_add(word, value) } -> std::same_as<std::uint32_t>;
  { port.load_word(word) } -> std::same_as<std::uint32_t>;
};

/// Blocks until ready(), which looks at the word by load_word, is true, and lets others run as wait_lines does.
/// Where it is missing a program looks again and again, and spends the looks.
template <class P>
concept WordWaits =
    AtomicWords<P> && requires(P& port, std::uint32_t word, bool (*ready)()) { port.wait_word(word, ready); };

/// Words of 32 bits to and from a coordinator that is no rank (the Cell's PPE), in order; full or empty blocks.
template <class P>
concept Mailboxes = Port<P> && requires(P& port, std::uint32_t value) {
  port.write_mailbox(value);
  { port.read_mailbox() } -> std::same_as<std::uint32_t>;
};

}  // namespace corewise::port

// AG (paper 001, section 7): each rank reduces a piece of the data out of all ranks' main memory and writes it to
// the root's. All tell all where their operands lie (the root, where it wants the result); then nobody waits for
// anybody until the closing barrier, which this algorithm cannot do without: a rank's operand must stay until the
// last reader is done.
//
// Operands are combined in the order of the ranks, so any operator will do. Reading runs through four areas in turn
// and one operand ahead of the combining, or two (Parameters::buffering, ahead). Pieces of at least
// Parameters::min_piece: with little data the first ranks from the root on do it all. Payloads: an entry with an
// address is read before its reader enters the closing barrier, and the next entry to that reader comes after it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "coll/reduce/areas.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::reduce {

/// Who reduces what: the first ranks from `first` on, a part each, none shorter than Parameters::min_piece.
class Shares {
 public:
  template <class P>
  Shares(const Call<P>& call, const Parameters& parameters, int ranks, int first, const Areas& areas)
      : ranks_(ranks),
        first_(first),
        parts_(call.bytes, workers(call.bytes, parameters.min_piece, ranks), call.operation->element_bytes,
               areas.bytes()) {}

  [[nodiscard]] std::uint64_t at(int rank) const { return parts_.at(place(rank)); }
  [[nodiscard]] std::uint64_t bytes(int rank) const { return parts_.bytes(place(rank), place(rank) + 1); }

 private:
  static int workers(std::uint64_t bytes, std::uint32_t least, int ranks) {
    const std::uint64_t pieces = bytes / std::max(1U, least);
    return static_cast<int>(std::clamp<std::uint64_t>(pieces, 1, static_cast<std::uint64_t>(ranks)));
  }
  [[nodiscard]] int place(int rank) const { return (rank - first_ + ranks_) % ranks_; }

  int ranks_, first_;
  Parts parts_;
};

/// One rank's work on its share: reads every rank's operand, combines, hands each finished piece to `write`.
template <port::DirectRead P>
class ShareReducer {
 public:
  using Addresses = std::vector<typename P::ConstUserAddress>;

  ShareReducer(Rank<P>& me, const Call<P>& call, const Parameters& parameters, const Areas& areas,
               const Addresses& operands)
      : me_(me),
        call_(call),
        areas_(areas),
        operands_(operands),
        ahead_(turns(parameters) == 1 ? 0
               : parameters.ahead     ? 2
                                      : 1),
        piece_bytes_(piece_bytes(call, parameters, areas)) {}

  /// write(area, at, bytes): bytes of the result that belong at `at` are in the area; its copies go under the
  /// area's tag.
  template <class Write>
  void operator()(std::uint64_t begin, std::uint64_t bytes, Write write) {
    const Pieces pieces(bytes, piece_bytes_);
    const auto ranks = static_cast<std::uint64_t>(me_.size());
    const std::uint64_t count = pieces.count() * ranks;
    std::uint64_t read = 0;
    for (std::uint64_t k = 0; k < count; ++k) {
      for (; read < std::min(count, k + 1 + static_cast<std::uint64_t>(ahead_)); ++read) {
        start(read, begin, pieces);
      }
      me_.port.wait(areas_.mask(area(k)));
      const std::uint32_t size = pieces.bytes(k / ranks);
      if (k % ranks > 0) me_.stage.combine(*call_.operation, areas_.at(area(k - 1)), areas_.at(area(k)), size);
      if (k % ranks == ranks - 1) write(area(k), begin + pieces.at(k / ranks), size);
    }
    me_.port.wait(areas_.mask(0) | areas_.mask(1) | areas_.mask(2) | areas_.mask(3));
  }

 private:
  /// Operand k of all pieces' operands in a row goes here; it stays until operand k + 1 is combined with it.
  [[nodiscard]] static int area(std::uint64_t k) { return static_cast<int>(k % 4); }

  void start(std::uint64_t k, std::uint64_t begin, const Pieces& pieces) {
    const auto ranks = static_cast<std::uint64_t>(me_.size());
    const int from = static_cast<int>(k % ranks);
    const std::uint64_t piece = k / ranks;
    me_.port.compute(cost::kPiece);
    me_.port.wait(areas_.mask(area(k)));  // a result that is being written from there
    const auto address = operands_[static_cast<std::size_t>(from)] + (begin + pieces.at(piece));
    if (from == me_.rank()) {
      me_.stage.load(address, areas_.at(area(k)), pieces.bytes(piece), buffer_tag(area(k)));
    } else {
      me_.stage.read(from, address, areas_.at(area(k)), pieces.bytes(piece), buffer_tag(area(k)));
    }
  }

  Rank<P>& me_;
  const Call<P>& call_;
  const Areas& areas_;
  const Addresses& operands_;
  int ahead_;
  std::uint64_t piece_bytes_;
};

/// Tells all others an address in the own user memory.
template <port::Port P, class Address>
void tell_address(Rank<P>& me, Channels<P>& channels, Address own, const Parameters& parameters) {
  port::TagMask tags = 0;
  for (int step = 1; step < me.size(); ++step) {
    const int peer = (me.rank() + step) % me.size();
    me.port.compute(cost::kPeer);
    channels.tell_value(peer, own);
    tags |= port::mask_of(metadata_tag(peer));
  }
  if (parameters.waits) me.port.wait(tags);
}

/// All tell all the address of something in their user memory, by the entries of `channels`.
template <port::Port P, class Address>
std::vector<Address> all_gather_addresses(Rank<P>& me, Channels<P>& channels, Address own,
                                          const Parameters& parameters) {
  tell_address(me, channels, own, parameters);
  std::vector<Address> addresses(static_cast<std::size_t>(me.size()), own);
  for (int step = 1; step < me.size(); ++step) {
    const int peer = (me.rank() + step) % me.size();
    me.port.compute(cost::kPeer);
    addresses[static_cast<std::size_t>(peer)] = channels.template hear_value<Address>(peer);
  }
  return addresses;
}

/// Part of the result, to the user memory of `peer`, which may be the rank itself.
template <port::DirectWrite P>
void write_result(Rank<P>& me, int peer, port::StageOffset from, typename P::UserAddress to, std::uint32_t bytes,
                  port::Tag tag) {
  if (peer == me.rank()) {
    me.stage.store(from, to, bytes, tag);
  } else {
    me.stage.write(peer, from, to, bytes, tag);
  }
}

template <port::DirectRead P>
  requires port::DirectWrite<P>
void pieces(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes == 0) return me.close(parameters);
  const auto operands = all_gather_addresses(me, me.announcements, call.send, parameters);
  typename P::UserAddress result = call.receive;
  if (me.rank() == call.root) {
    tell_address(me, me.acknowledgements, result, parameters);
  } else {
    result = me.acknowledgements.template hear_value<typename P::UserAddress>(call.root);
  }
  const Areas areas(me.shape, 4);
  const Shares shares(call, parameters, me.size(), call.root, areas);
  ShareReducer<P> reducer(me, call, parameters, areas, operands);
  reducer(shares.at(me.rank()), shares.bytes(me.rank()), [&](int area, std::uint64_t at, std::uint32_t bytes) {
    write_result(me, call.root, areas.at(area), result + at, bytes, buffer_tag(area));
  });
  me.closing_barrier();
}

}  // namespace corewise::coll::reduce

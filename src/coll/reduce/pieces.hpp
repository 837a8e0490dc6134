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
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "coll/reduce/operand_buffers.hpp"
#include "port/capabilities.hpp"

namespace corewise::coll::reduce {

/// What a rank tells all others at the start of a call: where its data lie, and how much of the work it takes.
template <class Address>
struct Stated {
  Address address{};
  std::uint32_t weight = 100;
};

/// Parameters::far_percent for who is far from its data, else 100.
template <port::Port P>
std::uint32_t weight_of(const Rank<P>& me, typename P::ConstUserAddress data, const Parameters& parameters) {
  if constexpr (port::NearAndFar<P>) {
    if (me.port.far(data)) return static_cast<std::uint32_t>(parameters.far_percent);
  }
  return 100;
}

/// Who reduces what: the first ranks from `first` on, a part each, none but the last shorter than
/// Parameters::min_piece; where all take part, weighed after that: a smaller weight may be a part below the
/// minimum.
class Shares {
 public:
  template <class P, class Address>
  Shares(const Call<P>& call, const Parameters& parameters, const std::vector<Stated<Address>>& stated, int first,
         const Areas& areas)
      : ranks_(static_cast<int>(stated.size())), first_(first) {
    const int count = workers(call.bytes, parameters.min_piece, ranks_);
    const std::uint32_t element = call.operation->element_bytes;
    const Parts parts(call.bytes, count, element, areas.bytes());
    for (int place = 0; place <= ranks_; ++place) begins_.push_back(parts.at(place));
    if (count == ranks_) weigh(call.bytes, parts.step(), stated);
  }

  [[nodiscard]] std::uint64_t at(int rank) const { return begins_[place(rank)]; }
  [[nodiscard]] std::uint64_t bytes(int rank) const { return begins_[place(rank) + 1] - at(rank); }

 private:
  static int workers(std::uint64_t bytes, std::uint32_t least, int ranks) {
    const std::uint64_t pieces = bytes / std::max(1U, least);
    return static_cast<int>(std::clamp<std::uint64_t>(pieces, 1, static_cast<std::uint64_t>(ranks)));
  }
  [[nodiscard]] std::size_t place(int rank) const {
    return static_cast<std::size_t>((rank - first_ + ranks_) % ranks_);
  }

  /// Equal weights leave equal parts as they are.
  template <class Address>
  void weigh(std::uint64_t bytes, std::uint64_t step, const std::vector<Stated<Address>>& stated) {
    std::uint64_t total = 0;
    bool equal = true;
    for (const Stated<Address>& rank : stated) {
      total += rank.weight;
      equal = equal && rank.weight == stated.front().weight;
    }
    if (equal) return;
    std::uint64_t before = 0;
    for (int at = 0; at < ranks_; ++at) {
      const auto here = static_cast<std::size_t>(at);
      begins_[here] = std::min(bytes, bytes / step * before / total * step);
      before += stated[static_cast<std::size_t>((at + first_) % ranks_)].weight;
    }
    begins_.back() = bytes;
  }

  int ranks_, first_;
  std::vector<std::uint64_t> begins_;  ///< of each place from `first` on, and the end
};

/// One rank's work on its share: reads every rank's operand, combines, hands each finished piece to `write`.
template <port::DirectRead P>
class ShareReducer {
 public:
  using Addresses = std::vector<Stated<typename P::ConstUserAddress>>;

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
      if (k % ranks > 0) {
        me_.stage.combine(*call_.operation, areas_.at(area(k - 1)), areas_.at(area(k)), size);
      }
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
    const auto address = operands_[static_cast<std::size_t>(from)].address;
    const std::uint64_t at = begin + pieces.at(piece);
    const port::Tag tag = buffer_tag(area(k));
    if (from == me_.rank()) {
      me_.stage.load_strided(address, call_.send_stride, at, areas_.at(area(k)), pieces.bytes(piece), tag);
    } else {
      me_.stage.read_strided(from, address, call_.send_stride, at, areas_.at(area(k)), pieces.bytes(piece), tag);
    }
  }

  Rank<P>& me_;
  const Call<P>& call_;
  const Areas& areas_;
  const Addresses& operands_;
  int ahead_;
  std::uint64_t piece_bytes_;
};

/// Tells all others what lies where in the own user memory.
template <port::Port P, class Address>
void tell_all(Rank<P>& me, Channels<P>& channels, const Stated<Address>& own, const Parameters& parameters) {
  std::array<std::byte, sizeof(Address) + sizeof(own.weight)> entry;
  std::memcpy(entry.data(), &own.address, sizeof(Address));
  std::memcpy(entry.data() + sizeof(Address), &own.weight, sizeof(own.weight));
  port::TagMask tags = 0;
  for (int step = 1; step < me.size(); ++step) {
    const int peer = (me.rank() + step) % me.size();
    me.port.compute(cost::kPeer);
    channels.tell(peer, entry);
    tags |= port::mask_of(metadata_tag(peer));
  }
  if (parameters.waits) me.port.wait(tags);
}

template <class Address, port::Port P>
Stated<Address> hear_stated(Channels<P>& channels, int peer) {
  const auto entry = channels.hear(peer);
  Stated<Address> stated;
  std::memcpy(&stated.address, entry.data(), sizeof(Address));
  std::memcpy(&stated.weight, entry.data() + sizeof(Address), sizeof(stated.weight));
  return stated;
}

/// All tell all, by the entries of `channels`.
template <port::Port P, class Address>
std::vector<Stated<Address>> all_gather_stated(Rank<P>& me, Channels<P>& channels, const Stated<Address>& own,
                                               const Parameters& parameters) {
  tell_all(me, channels, own, parameters);
  std::vector<Stated<Address>> all(static_cast<std::size_t>(me.size()), own);
  for (int step = 1; step < me.size(); ++step) {
    const int peer = (me.rank() + step) % me.size();
    me.port.compute(cost::kPeer);
    all[static_cast<std::size_t>(peer)] = hear_stated<Address>(channels, peer);
  }
  return all;
}

template <port::Port P, class Address>
std::vector<Stated<Address>> all_gather_addresses(Rank<P>& me, Channels<P>& channels, Address own,
                                                  const Parameters& parameters) {
  return all_gather_stated(me, channels, Stated<Address>{own}, parameters);
}

/// Bytes [at, at + bytes) of the result, which begins at `to` in the user memory of `peer`, which may be the rank
/// itself.
template <port::DirectWrite P>
void write_strided_result(Rank<P>& me, int peer, port::StageOffset from, typename P::UserAddress to,
                          const Stride& stride, std::uint64_t at, std::uint32_t bytes, port::Tag tag) {
  if (peer == me.rank()) {
    me.stage.store_strided(from, to, stride, at, bytes, tag);
  } else {
    me.stage.write_strided(peer, from, to, stride, at, bytes, tag);
  }
}
template <port::DirectWrite P>
void write_result(Rank<P>& me, int peer, port::StageOffset from, typename P::UserAddress to, std::uint32_t bytes,
                  port::Tag tag) {
  write_strided_result<P>(me, peer, from, to, {}, 0, bytes, tag);
}

template <port::DirectRead P>
  requires port::DirectWrite<P>
void pieces(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  using Address = typename P::UserAddress;
  me.port.compute(cost::kCall);
  if (call.bytes == 0) return me.close(parameters);
  const Stated<typename P::ConstUserAddress> own{call.send, weight_of(me, call.send, parameters)};
  const auto operands = all_gather_stated(me, me.announcements, own, parameters);
  Stated<Address> result{call.receive};
  if (me.rank() == call.root) {
    tell_all(me, me.acknowledgements, result, parameters);
  } else {
    result = hear_stated<Address>(me.acknowledgements, call.root);
  }
  const Areas areas(me.shape, 4);
  const Shares shares(call, parameters, operands, call.root, areas);
  ShareReducer<P> reducer(me, call, parameters, areas, operands);
  reducer(shares.at(me.rank()), shares.bytes(me.rank()), [&](int area, std::uint64_t at, std::uint32_t bytes) {
    write_strided_result(me, call.root, areas.at(area), result.address, call.receive_stride, at, bytes,
                         buffer_tag(area));
  });
  me.closing_barrier();
}

}  // namespace corewise::coll::reduce

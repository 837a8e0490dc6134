// Scan and exscan as AG does reduce (reduce/pieces.hpp; paper 001, section 7): each rank takes a part of the data
// through all ranks' main memory, from rank 0 on, and writes every prefix where it belongs. All work at once, and
// main memory is read and written once for each rank's operand. Contract and closing barrier as there.
//
// In place: what a prefix replaces has been read before (in exscan it belongs to the next rank, whose operand is
// waited for first), by this rank, and nobody else reads it. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "coll/reduce/pieces.hpp"
#include "coll/scan/chain.hpp"

namespace corewise::coll::scan {

/// One rank's part of the data.
template <port::DirectRead P>
  requires port::DirectWrite<P>
class PrefixWriter {
 public:
  using Operands = std::vector<reduce::Stated<typename P::ConstUserAddress>>;
  using Results = std::vector<reduce::Stated<typename P::UserAddress>>;

  PrefixWriter(Rank<P>& me, const Call<P>& call, const Parameters& parameters, const Operands& operands,
               const Results& results)
      : me_(me),
        call_(call),
        operands_(operands),
        results_(results),
        areas_(me.shape, 4),
        ahead_(reduce::turns(parameters) == 2 ? 1U : 0U),
        piece_bytes_(reduce::piece_bytes(call, parameters, areas_)) {}

  void operator()(Kind kind, std::uint64_t begin, std::uint64_t bytes) {
    const Pieces pieces(bytes, piece_bytes_);
    const std::uint64_t count = pieces.count() * ranks();
    std::uint64_t read = 0;
    for (std::uint64_t k = 0; k < count; ++k) {
      for (; read < std::min(count, k + 1 + ahead_); ++read) start(read, begin, pieces);
      const std::uint64_t at = begin + pieces.at(k / ranks());
      const std::uint32_t size = pieces.bytes(k / ranks());
      const int rank = static_cast<int>(k % ranks());
      me_.port.wait(areas_.mask(area(k)));
      if (rank > 0 && kind == Kind::exclusive) write(k - 1, rank, at, size);
      if (rank > 0 && (kind == Kind::inclusive || rank + 1 < me_.size())) {
        me_.stage.combine(*call_.operation, areas_.at(area(k - 1)), areas_.at(area(k)), size);
      }
      if (kind == Kind::inclusive) write(k, rank, at, size);
    }
    me_.port.wait(areas_.mask(0) | areas_.mask(1) | areas_.mask(2) | areas_.mask(3));
  }

 private:
  [[nodiscard]] std::uint64_t ranks() const { return static_cast<std::uint64_t>(me_.size()); }
  /// Of operand k of all pieces' operands in a row, and of the prefix that it becomes.
  [[nodiscard]] static int area(std::uint64_t k) { return static_cast<int>(k % 4); }

  void start(std::uint64_t k, std::uint64_t begin, const Pieces& pieces) {
    const int from = static_cast<int>(k % ranks());
    const std::uint64_t piece = k / ranks();
    const auto address = operands_[static_cast<std::size_t>(from)].address + (begin + pieces.at(piece));
    me_.port.compute(cost::kPiece);
    me_.port.wait(areas_.mask(area(k)));  // what was written from there
    if (from == me_.rank()) {
      me_.stage.load(address, areas_.at(area(k)), pieces.bytes(piece), buffer_tag(area(k)));
    } else {
      me_.stage.read(from, address, areas_.at(area(k)), pieces.bytes(piece), buffer_tag(area(k)));
    }
  }
  void write(std::uint64_t k, int rank, std::uint64_t at, std::uint32_t bytes) {
    reduce::write_result(me_, rank, areas_.at(area(k)), results_[static_cast<std::size_t>(rank)].address + at,
                         bytes, buffer_tag(area(k)));
  }

  Rank<P>& me_;
  const Call<P>& call_;
  const Operands& operands_;
  const Results& results_;
  reduce::Areas areas_;
  std::uint64_t ahead_;
  std::uint64_t piece_bytes_;
};

template <Kind kKind, port::DirectRead P>
  requires port::DirectWrite<P>
void pieces(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  if (call.bytes == 0) return me.close(parameters);
  const reduce::Stated<typename P::ConstUserAddress> own{call.send, reduce::weight_of(me, call.send, parameters)};
  const auto operands = reduce::all_gather_stated(me, me.announcements, own, parameters);
  const auto results = reduce::all_gather_addresses(me, me.acknowledgements, call.receive, parameters);
  const reduce::Shares shares(call, parameters, operands, 0, reduce::Areas(me.shape, 4));
  PrefixWriter<P> writer(me, call, parameters, operands, results);
  writer(kKind, shares.at(me.rank()), shares.bytes(me.rank()));
  me.closing_barrier();
}

}  // namespace corewise::coll::scan

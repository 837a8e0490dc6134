// Reduce-scatter by recursive halving in local stores (reduce/recursive_halving.hpp): the blocks, one behind the
// other, are the operand; chunk by chunk every rank of a power of two ends with one part of it, and every rank
// fetches what of its block others have. Any operator, any number of ranks, any blocks.
//
// What is fetched comes to the same place of the own chunk: whoever has a part has it from ranks that have read
// what lay there. A rank's own part stays until all who want some of it have acknowledged.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "coll/reduce/recursive_halving.hpp"

namespace corewise::coll::reduce_scatter {

/// Blocks one behind the other, whatever lies between them in memory.
class Concatenation {
 public:
  Concatenation(const Blocks& blocks, int ranks) : blocks_(blocks), begins_(1, 0) {
    for (int rank = 0; rank < ranks; ++rank) begins_.push_back(begins_.back() + blocks.bytes(rank));
  }
  [[nodiscard]] std::uint64_t bytes() const { return begins_.back(); }
  [[nodiscard]] std::uint64_t begin(int rank) const { return begins_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::uint64_t end(int rank) const { return begins_[static_cast<std::size_t>(rank) + 1]; }
  /// Where its byte `at` is in the buffer that has the blocks.
  [[nodiscard]] std::uint64_t offset(int rank, std::uint64_t at) const {
    return blocks_.offset(rank) + (at - begin(rank));
  }

  /// Calls visit(rank, first, last) for the ranks that own some of [first, last): bytes of their blocks.
  template <class Visit>
  void for_owners(std::uint64_t first, std::uint64_t last, Visit visit) const {
    for (int rank = 0; rank + 1 < static_cast<int>(begins_.size()); ++rank) {
      const std::uint64_t from = std::max(first, begin(rank)), to = std::min(last, end(rank));
      if (from < to) visit(rank, from, to);
    }
  }

 private:
  Blocks blocks_;
  std::vector<std::uint64_t> begins_;
};

template <port::Port P>
class HalvingByBlocks {
 public:
  HalvingByBlocks(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me),
        all_(call.receive_blocks, me.size()),
        call_(whole(call)),
        halving_(me, call_, parameters),
        turns_(static_cast<std::uint64_t>(halving_.turns_used())),
        ahead_(reduce::loads_ahead(parameters)) {}
  HalvingByBlocks(const HalvingByBlocks&) = delete;
  HalvingByBlocks& operator=(const HalvingByBlocks&) = delete;

  void operator()() {
    const std::uint64_t count = halving_.chunks().count();
    for (std::uint64_t chunk = 0; chunk < count; ++chunk) {
      if (chunk == 0 || !ahead_) begin(chunk);
      if (ahead_ && chunk + 1 < count) begin(chunk + 1);
      halving_.reduce_scatter(chunk, [this](int peer) { me_.acknowledgements.tell(peer); });
      spread(chunk);
    }
    for (std::uint64_t chunk = count - std::min(count, turns_); chunk < count; ++chunk) hear_readers(chunk);
    me_.port.wait(halving_.mask(0) | halving_.mask(1));
  }

 private:
  /// The call whose operand is all blocks.
  [[nodiscard]] Call<P> whole(Call<P> call) const {
    call.bytes = all_.bytes();
    return call;
  }
  [[nodiscard]] port::StageOffset place(std::uint64_t chunk, std::uint64_t at) const {
    return halving_.at(chunk) + static_cast<std::uint32_t>(at - halving_.chunks().at(chunk));
  }
  /// Bytes [first, last) of all blocks that are part `part` of a chunk.
  struct Extent {
    std::uint64_t first, last;
  };
  [[nodiscard]] Extent part_of(std::uint64_t chunk, int number) const {
    const reduce::Range range = halving_.fold().range(number, halving_.fold().steps());
    const reduce::Parts parts = halving_.parts(chunk);
    const std::uint64_t at = halving_.chunks().at(chunk);
    return {at + parts.at(range.first), at + parts.at(range.last)};
  }

  void begin(std::uint64_t chunk) {
    if (chunk >= turns_) hear_readers(chunk - turns_);
    me_.port.compute(cost::kPiece);
    me_.port.wait(halving_.mask(chunk));  // what was stored from there
    const std::uint64_t at = halving_.chunks().at(chunk);
    all_.for_owners(at, at + halving_.chunks().bytes(chunk),
                    [&](int owner, std::uint64_t first, std::uint64_t last) {
                      me_.stage.load(call_.send + all_.offset(owner, first), place(chunk, first),
                                     static_cast<std::uint32_t>(last - first), buffer_tag(halving_.area(chunk)));
                    });
  }

  /// Calls visit(rank) for the others whose block has some of this rank's part.
  template <class Visit>
  void for_readers(std::uint64_t chunk, Visit visit) {
    if (halving_.number() < 0) return;
    const Extent own = part_of(chunk, halving_.number());
    all_.for_owners(own.first, own.last, [&](int reader, std::uint64_t, std::uint64_t) {
      if (reader != me_.rank()) visit(reader);
    });
  }
  /// Calls visit(holder, first, last) for the others that have some of this rank's block.
  template <class Visit>
  void for_holders(std::uint64_t chunk, Visit visit) {
    for (int number = 0; number < halving_.fold().numbers(); ++number) {
      const Extent part = part_of(chunk, number);
      const std::uint64_t first = std::max(part.first, all_.begin(me_.rank()));
      const std::uint64_t last = std::min(part.last, all_.end(me_.rank()));
      if (number != halving_.number() && first < last) visit(halving_.fold().rank(number), first, last);
    }
  }

  /// One acknowledgement of each that reads from this rank in a chunk.
  void hear_readers(std::uint64_t chunk) {
    const reduce::Fold& fold = halving_.fold();
    if (halving_.number() < 0) {
      me_.acknowledgements.hear(fold.partner(me_.rank()));
      return;
    }
    for (int step = 0; step < fold.steps(); ++step) {
      me_.acknowledgements.hear(fold.rank(halving_.number() ^ (1 << step)));
    }
    for_readers(chunk, [this](int reader) { me_.acknowledgements.hear(reader); });
  }

  /// Everybody gets its block's share of this chunk.
  void spread(std::uint64_t chunk) {
    for_readers(chunk, [this](int reader) {
      me_.port.compute(cost::kPeer);
      me_.announcements.tell(reader);
    });
    const std::uint64_t at = halving_.chunks().at(chunk);
    for_holders(chunk, [&](int holder, std::uint64_t first, std::uint64_t last) {
      me_.port.compute(cost::kPeer);
      me_.announcements.hear(holder);
      halving_.fetch(chunk, holder, first - at, last - first);
    });
    me_.port.wait(halving_.mask(chunk));
    for_holders(chunk, [this](int holder, std::uint64_t, std::uint64_t) { me_.acknowledgements.tell(holder); });
    const std::uint64_t first = std::max(at, all_.begin(me_.rank()));
    const std::uint64_t last = std::min(at + halving_.chunks().bytes(chunk), all_.end(me_.rank()));
    if (first >= last) return;
    me_.stage.store(place(chunk, first), call_.receive + (first - all_.begin(me_.rank())),
                    static_cast<std::uint32_t>(last - first), buffer_tag(halving_.area(chunk)));
  }

  Rank<P>& me_;
  Concatenation all_;
  Call<P> call_;
  reduce::RecursiveHalving<P> halving_;
  std::uint64_t turns_;
  bool ahead_;
};

template <port::Port P>
void recursive_halving(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  HalvingByBlocks<P>(me, call, parameters)();
  me.close(parameters);
}

}  // namespace corewise::coll::reduce_scatter

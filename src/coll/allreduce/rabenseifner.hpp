// Rabenseifner's allreduce: a reduce-scatter by recursive halving, then the same steps backwards as an all-gather;
// chunk by chunk, in local stores. Every part is computed by one rank, so all have the same bytes.
//
// On the way back a rank fetches from each partner the half that it gave up to it, into the same place: the partner
// has read what lay there, or it could not have the result. One acknowledgement per partner and chunk, after the
// last read, keeps a chunk's area until then. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "coll/reduce/recursive_halving.hpp"

namespace corewise::coll::allreduce {

template <port::Port P>
class Rabenseifner {
 public:
  Rabenseifner(Rank<P>& me, const Call<P>& call, const Parameters& parameters)
      : me_(me), halving_(me, call, parameters), ahead_(reduce::loads_ahead(parameters)) {}

  void operator()() {
    const std::uint64_t count = halving_.chunks().count();
    const auto turns = static_cast<std::uint64_t>(halving_.turns_used());
    for (std::uint64_t chunk = 0; chunk < count; ++chunk) {
      if (chunk == 0 || !ahead_) begin(chunk);
      if (ahead_ && chunk + 1 < count) begin(chunk + 1);
      halving_.reduce_scatter(chunk, [](int /*peer*/) {});
      all_gather(chunk);
      halving_.store(chunk);
    }
    for (std::uint64_t chunk = 0; chunk < std::min(count, turns); ++chunk) hear_readers();
    me_.port.wait(halving_.mask(0) | halving_.mask(1));
  }

 private:
  void begin(std::uint64_t chunk) {
    if (chunk >= static_cast<std::uint64_t>(halving_.turns_used())) hear_readers();
    halving_.load(chunk);
  }

  /// One acknowledgement of each that reads from this rank in a chunk. A rank that only hands over has none: when
  /// it has the result it has been read.
  void hear_readers() {
    const reduce::Fold& fold = halving_.fold();
    if (halving_.number() < 0) return;
    for (int step = 0; step < fold.steps(); ++step) {
      me_.acknowledgements.hear(fold.rank(halving_.number() ^ (1 << step)));
    }
    if (const int pair = fold.partner(me_.rank()); pair >= 0) me_.acknowledgements.hear(pair);
  }

  void all_gather(std::uint64_t chunk) {
    const reduce::Fold& fold = halving_.fold();
    const int number = halving_.number();
    const int pair = fold.partner(me_.rank());
    if (number < 0) return fetch_all(chunk, pair);
    const reduce::Parts parts = halving_.parts(chunk);
    for (int step = fold.steps() - 1; step >= 0; --step) {
      const int partner = number ^ (1 << step);
      const reduce::Range theirs = fold.range(partner, step + 1);
      me_.port.compute(cost::kPeer);
      me_.announcements.tell(fold.rank(partner));
      me_.announcements.hear(fold.rank(partner));
      fetch(chunk, fold.rank(partner), parts.at(theirs.first), parts.bytes(theirs.first, theirs.last));
    }
    if (pair >= 0) me_.announcements.tell(pair);
  }

  void fetch_all(std::uint64_t chunk, int from) {
    me_.announcements.hear(from);
    fetch(chunk, from, 0, halving_.chunks().bytes(chunk));
  }
  void fetch(std::uint64_t chunk, int from, std::uint64_t at, std::uint64_t bytes) {
    halving_.fetch(chunk, from, at, bytes);
    me_.port.wait(halving_.mask(chunk));
    me_.acknowledgements.tell(from);
  }

  Rank<P>& me_;
  reduce::RecursiveHalving<P> halving_;
  bool ahead_;
};

template <port::Port P>
void rabenseifner(Rank<P>& me, const Call<P>& call, const Parameters& parameters) {
  me.port.compute(cost::kCall);
  Rabenseifner<P>(me, call, parameters)();
  me.close(parameters);
}

}  // namespace corewise::coll::allreduce
